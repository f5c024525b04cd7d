// What the editor knows of the tools of simulated worlds: completion, problems, hovers, definitions, and renames.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkFile } from '../../../src/language/diagnostics/check.ts';
import { complete } from '../../../src/language/features/completion.ts';
import { definition } from '../../../src/language/features/definition.ts';
import { hover } from '../../../src/language/features/hover.ts';
import { rename } from '../../../src/language/features/rename.ts';
import { type Facts, NO_FACTS } from '../../../src/language/workspace/facts.ts';
import { rolloutTools } from '../../../src/language/workspace/rolloutTools.ts';
import { Lines } from '../../../src/language/workspace/text.ts';
import type { Workspace } from '../../../src/language/workspace.ts';
import { at, DESK, edited, workspaceOf } from './workspaceKit.ts';

const WORLD = '/w/worlds/sim.world.yaml';
const MODEL = "kind: simulated\nmodel: { endpoint: 'demo:', name: demo }\n";
const SIM = `version: 1\nname: sim\n${MODEL}`;
const DEFINITIONS = JSON.stringify({
  tools: [
    { name: 'list_fines', description: 'Lists fines.', inputSchema: { type: 'object', properties: {} } },
    { type: 'function', function: { name: 'pay_fine', parameters: { type: 'object', properties: {} } } },
    { name: 'recall_book' },
  ],
});
const FILES: Readonly<Record<string, string>> = {
  ...DESK,
  '/w/worlds/tools.json': DEFINITIONS,
  '/w/batches/sim.batch.yaml': (DESK['/w/batches/one.batch.yaml'] ?? '').replace('library.world', 'sim.world'),
};
const REAL = 'real: { world: library.world.yaml }\n';
const OWN = 'tools: [{ file: tools.json }]\n';

function withWorld(text: string, facts: Facts = NO_FACTS): Workspace {
  return workspaceOf({ ...FILES, [WORLD]: SIM + text }, facts);
}

/** `¦` in the text is the cursor. */
async function offered(text: string, facts: Facts = NO_FACTS): Promise<string[]> {
  const whole = SIM + text;
  const plain = whole.replace('¦', '');
  const position = new Lines(plain).positionAt(whole.indexOf('¦'));
  const list = await complete(withWorld(text.replace('¦', ''), facts), WORLD, position);
  return (list?.items ?? []).map(({ label }) => label);
}

async function problemsOf(text: string): Promise<string[]> {
  const { problems } = await checkFile(withWorld(text), WORLD);
  const unknown = problems.filter(({ code }) => code === 'unknown_tool');
  return unknown.map(({ line, column, message, hint }) => `${line}:${column} ${message} — ${hint}`);
}

describe('the tools of a simulated world', () => {
  it('are those of definitions, modules, servers, and recordings, as far as files say', async () => {
    const names = async (tools: string, facts: Facts = NO_FACTS): Promise<unknown> =>
      rolloutTools(withWorld(tools, facts), WORLD, new Set());
    assert.deepEqual(await names(OWN), {
      names: ['find_books', 'list_fines', 'pay_fine', 'recall_book', 'submit'],
      complete: true,
    });
    assert.deepEqual(await names('tools: [{ module: ../tools/books.ts }, { builtin: [calculator] }]\n'), {
      names: ['calculate', 'find_books', 'submit'],
      complete: true,
    });
    const server = { ...NO_FACTS, mcpTools: () => [{ name: 'fetch' }, { name: 'search' }] };
    assert.deepEqual(await names('tools: [{ mcp: { command: x }, tools: [search] }]\n', server), {
      names: ['find_books', 'search', 'submit'],
      complete: true,
    });
    const recorded = 'tools: [{ recorded: last/a/1, tools: [find_member] }]\n';
    assert.deepEqual(await names(recorded), { names: ['find_books', 'find_member', 'submit'], complete: true });
    for (const unknown of ['tools: [{ recorded: last/a/1 }]\n', 'tools: [{ mcp: { command: x } }]\n'])
      assert.deepEqual(await names(unknown), { names: ['find_books', 'submit'], complete: false }, unknown);
  });

  it('are those of its real world, and not those of the world that only predicts', async () => {
    const workspace = withWorld(`${REAL}${OWN}shadow: { world: shadow.world.yaml }\n`);
    workspace.edit('/w/worlds/shadow.world.yaml', `${SIM}tools: [{ file: other.json }]\n`, 1);
    workspace.edit('/w/worlds/other.json', '[{ "name": "predicted_only" }]', 1);
    const { names } = await rolloutTools(workspace, WORLD, new Set());
    assert.deepEqual(names, ['find_books', 'list_fines', 'pay_fine', 'recall_book', 'submit']);
  });

  it('complete routes, the conditions of rules and of the shadow, and the list of a server', async () => {
    const tools = ['find_books', 'list_fines', 'pay_fine', 'recall_book', 'submit'];
    assert.deepEqual(await offered(`${REAL}${OWN}route:\n  - tools: [pay_fine, ¦]\n    by: real\n`), [
      'find_books',
      'list_fines',
      'recall_book',
      'submit',
    ]);
    const conditions = tools.map((name) => `'tool.name == "${name}"'`);
    assert.deepEqual(await offered(`${OWN}perturb:\n  - name: a\n    when: ¦\n`), conditions);
    assert.deepEqual(await offered(`${OWN}shadow:\n  world: x.world.yaml\n  when: ¦\n`), conditions);
    const server = { ...NO_FACTS, mcpTools: () => [{ name: 'fetch' }, { name: 'search' }] };
    assert.deepEqual(await offered('tools:\n  - mcp: { command: x }\n    tools: [search, ¦]\n', server), ['fetch']);
  });

  it('complete the paths of definitions, modules, and texts', async () => {
    assert.deepEqual(await offered('tools:\n  - file: ¦\n'), ['tools.json']);
    assert.ok((await offered('tools:\n  - module: ¦\n')).includes('../tools/books.ts'));
    assert.ok((await offered(`${OWN}state: ¦\n`)).includes('../prompts/desk.md'));
  });

  it('are checked in routes, with a fix, where all of them are known', async () => {
    const route = (pattern: string): string => `route: [{ tools: [${pattern}], by: simulated }]\n`;
    assert.deepEqual(await problemsOf(`${REAL}${route('find_bocks')}`), [
      '6:19 `find_bocks` names none of the tools of this world: no attempt could start — Did you mean `find_books`?',
    ]);
    assert.deepEqual(await problemsOf(`${REAL}${route('"find_*"')}`), []);
    assert.deepEqual(await problemsOf(`${REAL}tools: [{ recorded: last/a/1 }]\n${route('find_bocks')}`), []);
    const { problems } = await checkFile(withWorld(`${REAL}${route('find_bocks')}`), WORLD);
    assert.deepEqual(problems.find(({ code }) => code === 'unknown_tool')?.fixes, [
      { do: 'replace', text: 'find_books' },
    ]);
  });

  it('are checked in conditions of rules and of the shadow', async () => {
    assert.deepEqual(
      await problemsOf(`${OWN}perturb: [{ name: a, when: 'tool.name == "pay_fines"', effect: empty }]\n`),
      ['6:42 no agent in this world has a tool `pay_fines`: the rule would never match — Did you mean `pay_fine`?'],
    );
    assert.deepEqual(await problemsOf(`${OWN}shadow: { world: gone.world.yaml, when: 'tool.name == "pay_fines"' }\n`), [
      '6:55 no agent in this world has a tool `pay_fines`: nothing would be predicted — Did you mean `pay_fine`?',
    ]);
  });

  it('are explained, found, and renamed in routes', async () => {
    const routes = 'route: [{ tools: [find_books], by: real }, { tools: [list_fines], by: simulated }]\n';
    const text = `${REAL}${OWN}${routes}`;
    const workspace = withWorld(text);
    const explained = async (name: string): Promise<string> =>
      JSON.stringify((await hover(workspace, WORLD, await at(workspace, WORLD, name)))?.contents);
    assert.match(await explained('list_fines'), /Lists fines.*A definition, without code/);
    assert.match(await explained('find_books'), /tools\/books\.ts:2/);
    const position = await at(workspace, WORLD, 'find_books');
    assert.deepEqual(
      (await definition(workspace, WORLD, position)).map(({ uri }) => uri.split('/').at(-1)),
      ['books.ts'],
    );
    const changes = await edited(workspace, await rename(workspace, WORLD, position, 'find_titles'));
    assert.match(changes[WORLD] ?? '', /tools: \[find_titles\]/);
    assert.match(changes['/w/tools/books.ts'] ?? '', /export const find_titles/);
  });
});
