import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFile } from '../../../src/config/source/parse.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { closest } from '../../../src/config/source/suggest.ts';

const problemsOf = (text: string): string[] =>
  parseFile('f.yaml', text).problems.map((problem) => formatProblem(problem));

describe('positions', () => {
  const parsed = parseFile(
    'f.yaml',
    [
      'base: &base { steps: 3, seconds: 5 }',
      'limits:',
      '  <<: *base',
      '  seconds: 60',
      'tools:',
      '  - module: a.ts',
      '  - mcp: { command: uvx }',
      'again: *base',
    ].join('\n'),
  );

  it('exist for values and keys', () => {
    assert.deepEqual(parsed.valueRange(['limits', 'seconds']), { line: 4, column: 12, endLine: 4, endColumn: 14 });
    assert.deepEqual(parsed.keyRange(['limits', 'seconds']), { line: 4, column: 3, endLine: 4, endColumn: 10 });
    assert.deepEqual(parsed.valueRange(['tools', 1, 'mcp', 'command']), {
      line: 7,
      column: 21,
      endLine: 7,
      endColumn: 24,
    });
  });
  it('follow anchors and merged maps', () => {
    assert.deepEqual(parsed.value, {
      base: { steps: 3, seconds: 5 },
      limits: { steps: 3, seconds: 60 },
      tools: [{ module: 'a.ts' }, { mcp: { command: 'uvx' } }],
      again: { steps: 3, seconds: 5 },
    });
    assert.deepEqual(parsed.keyRange(['limits', 'steps']), { line: 1, column: 15, endLine: 1, endColumn: 20 });
    assert.equal(parsed.valueRange(['again', 'steps']).column, 22);
  });
  it('are the nearest place for missing values', () => {
    assert.equal(parsed.has(['limits', 'tokens']), false);
    assert.equal(parsed.valueRange(['limits', 'tokens']).line, 3);
    assert.deepEqual(parseFile('f', '').valueRange(['a']), { line: 1, column: 1, endLine: 1, endColumn: 1 });
  });
  it('mark only the first line of what spans several', () => {
    assert.deepEqual(parsed.valueRange(['tools']), { line: 6, column: 3, endLine: 6, endColumn: 17 });
  });
  it('are the same with CRLF and a byte order mark', () => {
    const crlf = parseFile('f', 'a: 1\r\nb: { c: 2 }\r\n');
    assert.deepEqual(crlf.value, { a: 1, b: { c: 2 } });
    assert.deepEqual(crlf.valueRange(['b', 'c']), { line: 2, column: 9, endLine: 2, endColumn: 10 });
    assert.deepEqual(parseFile('f', '\uFEFFa: 1').value, { a: 1 });
  });
  it('exist in JSON, including tabs', () => {
    const json = parseFile('f', '{\n\t"a": [1,\n\t\t{"b": "x"}]\n}');
    assert.deepEqual(json.value, { a: [1, { b: 'x' }] });
    assert.deepEqual(json.problems, []);
    assert.deepEqual(json.valueRange(['a', 1, 'b']), { line: 3, column: 9, endLine: 3, endColumn: 12 });
  });
});

describe('syntax errors', () => {
  const cases: [name: string, text: string, expected: string[]][] = [
    ['a duplicate key', 'a: 1\nb: 2\na: 3\n', ['f.yaml:3:1: duplicate key `a` — Remove one of them.']],
    [
      'a tab',
      'a:\n\tb: 1\n',
      ['f.yaml:2:1: this line is indented with a tab, but YAML allows only spaces — Replace the tab with spaces.'],
    ],
    [
      'unequal indentation',
      'a:\n  b: 1\n c: 2\n',
      [
        'f.yaml:3:1: the indentation of this line does not match the lines around it — Indent all keys of a group ' +
          'with the same number of spaces.',
      ],
    ],
    [
      'an open bracket',
      'a: [1,\nb: 2\n',
      ['f.yaml:2:1: a [ or { is not closed before this line — Close it with ] or }, or indent its contents.'],
    ],
    ['an open quote', 'a: "x\nb: 2\n', ['f.yaml:3:1: a quote is not closed — Close the quote.']],
    [
      'two documents',
      'a: 1\n---\nb: 2\n',
      ['f.yaml:2:1: a second document starts here (`---`) — Keep one document per file.'],
    ],
    [
      'an extra colon',
      'a: b: c\n',
      [
        'f.yaml:1:4: a second `:` in a line is ambiguous — Put the text in quotes, or start the inner key on its ' +
          'own line.',
      ],
    ],
    ['a bare @', 'a: @x\n', ['f.yaml:1:4: text cannot start with this character — Put the text in quotes.']],
    [
      'an unknown tag',
      'a: !x 1\n',
      ['f.yaml:1:4: text cannot start with an unknown tag (`!…`) — Put the text in quotes.'],
    ],
    [
      'a variable in a flow map',
      'a: { b: ${env:X} }\nc: 1\n',
      ['f.yaml:1:10: inside [ ] and { }, text with ${…} must be in quotes — Add quotes: "${env:NAME}".'],
    ],
    [
      'a placeholder without quotes',
      'a: {{task.id}}\n',
      [
        'f.yaml:1:5: text that starts with {{ must be in quotes — Put the text in quotes, or start it on the next ' +
          'line after |.',
      ],
    ],
    [
      'an unknown anchor',
      'a: 1\nb: *x\n',
      [
        'f.yaml:2:4: there is no anchor `&x` before this `*x` — Define the anchor with & first, or put the text in ' +
          'quotes.',
      ],
    ],
    [
      'a list after keys',
      '- a\nb: 1\n',
      [
        'f.yaml:2:1: invalid YAML: unexpected scalar at node end — Check the indentation, quotes, and brackets in ' +
          'this line and the line above.',
      ],
    ],
    [
      'several errors at once',
      'a: 1\na: 2\nb: @x\nc: "d\n',
      [
        'f.yaml:2:1: duplicate key `a` — Remove one of them.',
        'f.yaml:3:4: text cannot start with this character — Put the text in quotes.',
        'f.yaml:5:1: a quote is not closed — Close the quote.',
      ],
    ],
  ];
  for (const [name, text, expected] of cases) it(`report ${name}`, () => assert.deepEqual(problemsOf(text), expected));

  it('include an anchor that contains itself and one that explodes', () => {
    assert.match(problemsOf('a: &a [*a]\n').join(), /cannot resolve the anchors of this file/);
    const bomb = [
      'a0: &a0 [x, x]',
      ...Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]`),
    ].join('\n');
    assert.match(problemsOf(bomb).join(), /cannot resolve the anchors of this file/);
  });
  it('never repeat a text of the file in a message', () => {
    assert.doesNotMatch(problemsOf('- a\n"sk-abcdefghijklmnop"\n').join(), /sk-/);
  });
});

describe('closest', () => {
  it('finds the intended name and nothing else', () => {
    const names = ['steps', 'seconds', 'tool_seconds', 'tokens'];
    assert.equal(closest('stesp', names), 'steps');
    assert.equal(closest('Steps', names), 'steps');
    assert.equal(closest('max_steps', names), 'steps');
    assert.equal(closest('toolseconds', names), 'tool_seconds');
    assert.equal(closest('colour', names), undefined);
  });
});

describe('nesting', () => {
  const files: readonly (readonly [string, (levels: number) => string])[] = [
    ['lists on one line', (levels) => `a:\n  ${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}`],
    ['groups on one line', (levels) => `${'{a: '.repeat(levels)}1${'}'.repeat(levels)}`],
    ['lists that are not closed', (levels) => '['.repeat(levels)],
    ['lists in lists', (levels) => `${'- '.repeat(levels)}x`],
    ['groups by indentation', (levels) => Array.from({ length: levels }, (_, at) => `${' '.repeat(at)}a:`).join('\n')],
  ];
  for (const [name, text] of files) {
    it(`that is too deep is named with its place: ${name}`, () => {
      for (const levels of [201, 900, 1_600, 5_000]) {
        if (levels === 5_000 && name === 'groups by indentation') continue; // 12 MB
        const { value, problems } = parseFile('f.yaml', text(levels));
        assert.equal(value, undefined);
        assert.equal(problems.length, 1, problems.map((problem) => formatProblem(problem)).join('\n'));
        const [problem] = problems;
        assert.match(problem?.message ?? '', /^lists and groups are nested too deeply, in more than 200 levels/);
        assert.ok((problem?.line ?? 0) + (problem?.column ?? 0) > 200, `${problem?.line}:${problem?.column}`);
      }
    });
  }

  it('of 200 levels is read', () => {
    for (const [name, text] of files.filter(([name]) => name !== 'lists that are not closed'))
      assert.deepEqual(parseFile('f.yaml', text(200)).problems, [], name);
  });
});
