/** Outline, folding, and links. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DocumentSymbol } from 'vscode-languageserver-types';
import { foldingRanges } from '../../../src/language/features/folding.ts';
import { documentLinks } from '../../../src/language/features/links.ts';
import { documentSymbols } from '../../../src/language/features/symbols.ts';
import { DESK, workspaceOf } from './workspaceKit.ts';

const AGENT = '/w/a.agent.yaml';
const TEXT = `version: 1
# first
# second
name: a
prompt: |
  # Heading
  text

tools:
- module: tools/loans.ts
- mcp:
    command: uvx
  name: fetch
- builtin: [terminal, code]
model: { endpoint: x, name: y }
`;

function tree(symbols: readonly DocumentSymbol[]): unknown[] {
  return symbols.map(({ name, detail, range, children }) => [
    `${range.start.line + 1}-${range.end.line + 1} ${name}${detail === undefined ? '' : `: ${detail}`}`,
    ...(children === undefined ? [] : tree(children)),
  ]);
}

test('the outline has every key, and list items by the names they contain', async () => {
  assert.deepEqual(tree(await documentSymbols(workspaceOf({ [AGENT]: TEXT }), AGENT)), [
    ['1-1 version: 1'],
    ['4-4 name: a'],
    ['5-7 prompt: # Heading'],
    [
      '9-14 tools',
      ['10-10 loans.ts', ['10-10 module: tools/loans.ts']],
      ['11-13 fetch', ['11-12 mcp', ['12-12 command: uvx']], ['13-13 name: fetch']],
      ['14-14 terminal, code', ['14-14 builtin']],
    ],
    ['15-15 model', ['15-15 endpoint: x'], ['15-15 name: y']],
  ]);
});

test('a symbol contains its name, including with repeated anchors and in broken text', async () => {
  for (const text of [
    'a: &x { b: 1 }\nc: *x\n<<: *x\n',
    'name: a\ntools:\n  - module: [\nmodel: {',
    '',
    '- 1\n',
    'a:\n  "": 1\n',
  ]) {
    const all = (symbols: readonly DocumentSymbol[]): DocumentSymbol[] =>
      symbols.flatMap((symbol) => [symbol, ...all(symbol.children ?? [])]);
    for (const { range, selectionRange, name } of all(await documentSymbols(workspaceOf({ [AGENT]: text }), AGENT))) {
      const key = (at: { line: number; character: number }): number => at.line * 1000 + at.character;
      assert.ok(
        key(range.start) <= key(selectionRange.start) && key(selectionRange.end) <= key(range.end) && name !== '',
        JSON.stringify({ text, name, range, selectionRange }),
      );
    }
  }
});

test('indented blocks fold, as do lists below their key and runs of comments', async () => {
  const folds = await foldingRanges(workspaceOf({ [AGENT]: TEXT }), AGENT);
  assert.deepEqual(
    folds.map(
      ({ startLine, endLine, kind }) => `${startLine + 1}-${endLine + 1}${kind === undefined ? '' : ` ${kind}`}`,
    ),
    ['2-3 comment', '5-7', '9-14', '11-13'],
  );
  assert.deepEqual(
    await foldingRanges(workspaceOf({ '/w/p.md': '# a\n  b\n' }), '/w/p.md'),
    [],
    'Markdown has its own',
  );
});

test('paths lead to their files if they exist', async () => {
  const workspace = workspaceOf({
    ...DESK,
    '/w/batches/lost.batch.yaml':
      'version: 1\nagent: ../agents/gone.agent.yaml\ndataset: { file: ../data/tasks.jsonl }\n',
  });
  const targets = async (file: string): Promise<(string | undefined)[]> =>
    (await documentLinks(workspace, file)).map(({ target }) => target);
  assert.deepEqual(await targets('/w/agents/desk.agent.yaml'), [
    'file:///w/prompts/desk.md',
    'file:///w/tools/index.ts',
  ]);
  assert.deepEqual(await targets('/w/batches/lost.batch.yaml'), ['file:///w/data/tasks.jsonl']);
});
