// Completion, hovers, and problems of the rules in a world file.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkFile } from '../../../src/language/diagnostics/check.ts';
import { complete } from '../../../src/language/features/completion.ts';
import { hover } from '../../../src/language/features/hover.ts';
import { Lines } from '../../../src/language/workspace/text.ts';
import { DESK, workspaceOf } from './workspaceKit.ts';

const WORLD = '/w/worlds/library.world.yaml';
const HEAD = 'version: 1\nname: library\nkind: module\nmodule: library.ts\nperturb:\n';
const FILES: Readonly<Record<string, string>> = {
  ...DESK,
  '/w/worlds/faults.ts': 'export function stale_rows() {}\nexport const other = () => 1;\n',
};

/** `¦` in the text is the cursor. */
async function offered(rule: string): Promise<string[]> {
  const text = HEAD + rule;
  const plain = text.replace('¦', '');
  const position = new Lines(plain).positionAt(text.indexOf('¦'));
  const list = await complete(workspaceOf({ ...FILES, [WORLD]: plain }), WORLD, position);
  return (list?.items ?? []).map(({ label }) => label);
}

async function hoverText(rule: string): Promise<string> {
  const text = HEAD + rule;
  const plain = text.replace('¦', '');
  const position = new Lines(plain).positionAt(text.indexOf('¦'));
  const found = await hover(workspaceOf({ ...FILES, [WORLD]: plain }), WORLD, position);
  return found !== undefined && typeof found.contents === 'object' && 'value' in found.contents
    ? found.contents.value
    : '';
}

async function problemsOf(rule: string, files: Readonly<Record<string, string>> = FILES): Promise<string[]> {
  const { problems } = await checkFile(workspaceOf({ ...files, [WORLD]: HEAD + rule }), WORLD);
  return problems.map(
    ({ line, column, endColumn, message, hint }) => `${line}:${column}-${endColumn} ${message} — ${hint}`,
  );
}

describe('rules of a world', () => {
  it('are completed: keys, effects, and the arguments of the effect', async () => {
    const keys = await offered('  - name: a\n    ¦\n');
    for (const key of ['when', 'p', 'effect', 'args', 'module', 'export']) assert.ok(keys.includes(key), key);
    const effects = await offered('  - name: a\n    effect: ¦\n');
    assert.deepEqual(effects.toSorted(), ['delay', 'drop', 'empty', 'error', 'stale', 'text', 'timeout', 'truncate']);
    assert.deepEqual((await offered('  - name: a\n    effect: truncate\n    args:\n      ¦\n')).toSorted(), [
      'chars',
      'items',
      'more',
    ]);
    assert.deepEqual(await offered('  - name: a\n    effect: delay\n    args:\n      ¦\n'), ['wait']);
  });

  it('are completed with conditions on the tools of their rollouts, modules, and functions', async () => {
    assert.deepEqual(await offered('  - name: a\n    when: ¦\n'), [
      `'tool.name == "find_books"'`,
      `'tool.name == "submit"'`,
    ]);
    assert.ok((await offered('  - name: a\n    module: ¦\n')).includes('faults.ts'));
    assert.deepEqual(await offered('  - name: a\n    module: faults.ts\n    export: ¦\n'), ['stale_rows', 'other']);
  });

  it('explain effects and arguments', async () => {
    assert.match(await hoverText('  - { name: a, effect: tru¦ncate, args: { items: 2 } }\n'), /the result ends early/);
    assert.match(
      await hoverText('  - { name: a, effect: truncate, args: { it¦ems: 2 } }\n'),
      /How many items of the result's longest list to keep/,
    );
    assert.match(await hoverText('  - { name: a, p¦: 0.5, effect: empty }\n'), /Probability/);
  });

  it('are warned of tools that no agent in this world has', async () => {
    assert.deepEqual(await problemsOf(`  - { name: a, when: 'tool.name == "find_bocks"', effect: empty }\n`), [
      '6:36-48 no agent in this world has a tool `find_bocks`: the rule would never match — Did you mean `find_books`?',
    ]);
    assert.deepEqual(
      await problemsOf(`  - { name: a, when: 'tool.name in ["submit", "find_books"]', effect: empty }\n`),
      [],
    );
  });

  it('are not warned where the tools are unknown', async () => {
    const rule = `  - { name: a, when: 'tool.name == "find_bocks"', effect: empty }\n`;
    assert.deepEqual(await problemsOf(rule, { ...FILES, '/w/batches/one.batch.yaml': 'version: 1\n' }), []);
    const server = (FILES['/w/agents/desk.agent.yaml'] ?? '').replace('tools:\n', 'tools:\n  - mcp: { command: x }\n');
    assert.deepEqual(await problemsOf(rule, { ...FILES, '/w/agents/desk.agent.yaml': server }), []);
  });

  it('must name a function that the module exports', async () => {
    const problems = await problemsOf('  - { name: a, module: faults.ts, export: stale_row }\n');
    assert.equal(problems.length, 1, problems.join('\n'));
    assert.match(problems[0] ?? '', /^6:43-52 .*stale_row/);
  });

  it('show errors of conditions at their column', async () => {
    const [problem] = await problemsOf(`  - { name: a, when: 'tool.name = "x"', effect: empty }\n`);
    assert.match(problem ?? '', /^6:33-\d+ column 11 of `when`: a single "="; to compare, write "=="/);
  });
});
