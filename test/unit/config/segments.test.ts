// A long file parsed in parts equals the file parsed whole.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ParsedFile, type Path, parseFile } from '../../../src/config/source/parse.ts';
import { Segments } from '../../../src/config/source/segments.ts';

const ENTRIES = 300;
const long = [
  '# A comment above',
  'version: 1',
  'name: desk',
  'prompt: |',
  '  Say: hello',
  '  - and so on',
  'model:',
  '  endpoint: demo',
  '  name: demo',
  '',
  'tools: # many',
  '  # the first',
  ...Array.from({ length: ENTRIES }, (_, index) => [
    `  - mcp:`,
    `      url: http://localhost:3000/mcp${index}`,
    `    name: s${index}`,
    `    tools: [a, b]`,
    ...(index % 7 === 0 ? ['', '  # next'] : []),
  ]).flat(),
  'limits: { steps: 3 }',
  '',
].join('\n');

function compare(text: string, segmented = new Segments().parse('/f.yaml', text)): void {
  const whole = parseFile('/f.yaml', text);
  assert.deepEqual(segmented.value, whole.value);
  assert.deepEqual(segmented.problems, whole.problems);
  const look = (parsed: ParsedFile, at: Path): unknown => [
    parsed.has(at),
    parsed.keyRange(at),
    parsed.valueRange(at),
    parsed.wholeRange(at),
  ];
  for (const at of [
    ['version'],
    ['model'],
    ['model', 'name'],
    ['prompt'],
    ['tools'],
    ['tools', 0],
    ['tools', 5],
    ['tools', 120, 'mcp', 'url'],
    ['tools', 299, 'tools', 1],
    ['limits', 'steps'],
    ['nothing'],
    ['tools', 900],
  ] satisfies Path[]) {
    assert.deepEqual(look(segmented, at), look(whole, at), at.join('.'));
  }
  const lines = text.split('\n');
  for (let line = 1; line <= lines.length; line += 13) {
    for (const column of [1, 5, 9, 14].filter((place) => place <= (lines[line - 1] ?? '').length))
      assert.deepEqual(segmented.at(line, column), whole.at(line, column), `${line}:${column}`);
  }
}

describe('a file in parts', () => {
  it('is long enough to be parsed in parts', () => assert.ok(long.length > 16_000));
  it('has the same values, places, and problems', () => compare(long));
  it('may have Windows line ends, lists at the beginning of lines, and a list of lists', () => {
    compare(long.replaceAll('\n', '\r\n'));
    compare(long.replaceAll(/^ {2}(?=[- ] )/gm, ''));
    compare(long.replace('limits: {', 'more:\n  - - a\n    - b\n  -\n    c: 1\nlimits: {'));
  });
  it('may have anchors, a duplicate key, and keys that are not plain', () => {
    compare(long.replace('name: desk', 'name: &n desk').replace('name: s7\n', 'name: *n\n'));
    compare(`${long}name: again\n`);
    compare(long.replace('name: desk', 'name: *nowhere'));
    compare(`---\n${long}`);
    compare(long.replace('version: 1', '"version": 1'));
  });
  it('follows edits', () => {
    const segments = new Segments();
    segments.parse('/f.yaml', long);
    for (const text of [
      long.replace('mcp120\n', 'mcp120x\n'),
      long.replace('version: 1\n', 'version: 1\n\n\n'),
      long.replace('  - mcp:\n      url: http://localhost:3000/mcp60\n', ''),
      long,
    ])
      compare(text, segments.parse('/f.yaml', text));
  });
  it('reports a mistake in one part, and reads the others', () => {
    const text = long.replace('name: s120\n', 'name: "s120\n');
    const parsed = new Segments().parse('/f.yaml', text);
    const line = text.slice(0, text.indexOf('"s120')).split('\n').length;
    assert.ok(
      parsed.problems.length > 0 &&
        parsed.problems.every((problem) => problem.line >= line && problem.line <= line + 3),
    );
    assert.equal(parsed.has(['limits', 'steps']), true);
  });
});
