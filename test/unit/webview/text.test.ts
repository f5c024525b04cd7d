import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ago } from '../../../webview/format.ts';
import { nameOf } from '../../../webview/keys.ts';
import { ansiSpans } from '../../../webview/text/ansiSpans.ts';
import { type Block, markdownBlocks, markdownSpans, type Span } from '../../../webview/text/markdownBlocks.ts';

const words = (spans: readonly Span[]): string =>
  spans.map((span) => ('text' in span ? span.text : words(span.spans))).join('');
const outline = (blocks: readonly Block[]): unknown[] =>
  blocks.map((block) => {
    switch (block.type) {
      case 'paragraph':
        return words(block.spans);
      case 'heading':
        return `h${block.level} ${words(block.spans)}`;
      case 'code':
        return `code ${block.language}: ${block.text}`;
      case 'list':
        return [block.ordered ? `ol ${block.start}` : 'ul', ...block.items.map(outline)];
      case 'quote':
        return ['quote', ...outline(block.blocks)];
      case 'table':
        return ['table', block.head.map(words), ...block.rows.map((row) => row.map(words))];
      case 'rule':
        return 'rule';
    }
  });

describe('Markdown', () => {
  it('reads the blocks that models write', () => {
    assert.deepEqual(
      outline(
        markdownBlocks(
          '# Plan\n\nFirst *this*,\nthen that.\n\n- one\n  - inner\n- two\n\n3. three\n4. four\n\n> said\n> ' +
            'so\n\n---\n```ts\nconst a = 1;\n```\n',
        ),
      ),
      [
        'h1 Plan',
        'First this,\nthen that.',
        ['ul', ['one', ['ul', ['inner']]], ['two']],
        ['ol 3', ['three'], ['four']],
        ['quote', 'said\nso'],
        'rule',
        'code ts: const a = 1;',
      ],
    );
  });

  it('reads tables, and a line with a bar that is not a table', () => {
    assert.deepEqual(outline(markdownBlocks('| a | b |\n| --- | :-: |\n| 1 | x\\|y |\n| 2 |\n\na | b')), [
      ['table', ['a', 'b'], ['1', 'x|y'], ['2', '']],
      'a | b',
    ]);
  });

  it('takes little time and memory for any text', { timeout: 30_000 }, () => {
    const spaces = ' '.repeat(100_000);
    for (const text of [`# a${spaces}b`, `# ${'#'.repeat(100_000)} b`, `a | b\n${spaces}x`, `a | b\n:-${spaces}x`])
      assert.equal(markdownBlocks(text).length, 1);
    const wide = `${'a|'.repeat(20_000)}\n${'-|'.repeat(20_000)}\n${'a|\n'.repeat(20_000)}`;
    assert.equal(
      markdownBlocks(wide).every(({ type }) => type === 'paragraph'),
      true,
    );
    assert.deepEqual(outline(markdownBlocks('# a # b ##  ')), ['h1 a # b']);
  });

  it('leaves HTML and unfinished marks as text', () => {
    assert.deepEqual(markdownSpans('<img src=x onerror=alert(1)> **open'), [
      { type: 'text', text: '<img src=x onerror=alert(1)> **open' },
    ]);
    assert.deepEqual(outline(markdownBlocks('```\nnever closed')), ['code : never closed']);
    assert.deepEqual(
      markdownSpans('snake_case_name 2*3*4').map((span) => span.type),
      ['text', 'em', 'text'].slice(0, 3),
    );
  });

  it('links only http addresses', () => {
    const links = (text: string): string[] =>
      markdownSpans(text).flatMap((span) => (span.type === 'link' ? [span.url] : []));
    assert.deepEqual(
      links('see https://a.example/x_(y). [b](http://b.example) [c](javascript:alert(1)) [d](file:///etc/passwd)'),
      ['https://a.example/x_(y', 'http://b.example'],
    );
  });

  it('is fast on hostile input', () => {
    const started = performance.now();
    for (const text of [
      '*'.repeat(30_000),
      '['.repeat(30_000),
      '`a'.repeat(10_000),
      `${'> '.repeat(5_000)}x`,
      '- '.repeat(5_000),
      '**a '.repeat(4_000),
    ])
      assert.ok(markdownBlocks(text).length > 0);
    assert.ok(performance.now() - started < 10_000);
  });
});

describe('terminal colors', () => {
  it('are kept, every other sequence is dropped', () => {
    assert.deepEqual(
      ansiSpans(
        'a\u001b[1;31mred\u001b[0m\u001b[2K\u001b]8;;http://x\u0007link\u001b]8;;\u0007 ' +
          '\u001b[38;5;2mgreen\u001b[38;2;1;2;3m?\u001b[39mplain',
      ),
      [
        { text: 'a' },
        { text: 'red', colour: 1, bold: true },
        { text: 'link' },
        { text: ' ' },
        { text: 'green', colour: 2 },
        { text: '?', colour: 2 },
        { text: 'plain' },
      ],
    );
  });
});

describe('times and keys', () => {
  it('are written as people read them', () => {
    assert.deepEqual(
      [ago(0, 30_000), ago(0, 180_000), ago(0, 7_200_000), ago(0, 172_800_000)],
      ['just now', '3 min ago', '2 h ago', '2 d ago'],
    );
  });

  it('have names', () => {
    const key = (name: string, over: Partial<KeyboardEvent> = {}): string =>
      nameOf({ key: name, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...over });
    assert.deepEqual(
      [
        key('j'),
        key('E', { shiftKey: true }),
        key('?', { shiftKey: true }),
        key('F', { ctrlKey: true }),
        key('f', { metaKey: true }),
        key('ArrowLeft', { altKey: true }),
        key('F3', { shiftKey: true }),
      ],
      ['j', 'shift+e', '?', 'mod+f', 'mod+f', 'alt+ArrowLeft', 'shift+F3'],
    );
  });
});
