import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_SANDBOX } from '../../../../src/config/submission.ts';
import { BUILTIN_TOOLS } from '../../../../src/config/tools/builtinTools.ts';
import { toolFileKind, toolLocations } from '../../../../src/host/toolCalls/state/toolLocations.ts';
import { openBuiltin } from '../../../../src/tools/builtins/open.ts';
import type { ToolEnvironment } from '../../../../src/tools/environment.ts';

const CODE = `import { tool } from 'rollout-studio';
const context = 1;
// export const commented = tool({
export const renew = tool({
  description: 'A (b',
  run: ({ id }, { state }: ToolContext<Desk>) => state.renew(id),
});
const inner = tool<X, Y>({
  async run(args, context) {
    return 1;
  },
});
export const spread = tool({ input,
  run: async (
    args,
  ) => 1 });
export { inner as outer };
`;

const files: Readonly<Record<string, string>> = {
  '/w/tools/loans.ts': CODE,
  '/w/world.ts': "import * as loans from './tools/loans.ts';\nexport const open = 1;",
};
const readText = (file: string): Promise<string | undefined> => Promise.resolve(files[file]);

test('exported tools in code, with the places of their names and the ends of their parameters', async () => {
  const spots = await toolLocations('code', '/w/tools/loans.ts', CODE, readText);
  const lines = CODE.split('\n');
  assert.deepEqual(
    spots.map(({ names, line, column, endColumn }) => [names, lines[line - 1]?.slice(column - 1, endColumn - 1)]),
    [
      [['renew'], 'renew'],
      [['outer'], 'inner'],
      [['spread'], 'spread'],
    ],
  );
  assert.deepEqual(
    spots.map(({ parameters }) => parameters && lines[parameters.line - 1]?.slice(0, parameters.column - 1)),
    ['  run: ({ id }, { state }: ToolContext<Desk>)', '  async run(args, context)', undefined],
  );
});

test('code that cannot define tools is not parsed', async () => {
  assert.deepEqual(await toolLocations('code', '/w/x.ts', 'export const renew = tool({});', readText), []);
});

test('entries of an agent file with their tools; a server without a list has none', async () => {
  const text = `version: 1
tools:
  - module: tools/loans.ts
  - builtin: [files, calculator]
  - mcp: { command: uvx }
    tools: [search, fetch]
  - mcp:
      url: http://localhost/mcp
  - module: gone.ts
`;
  const spots = await toolLocations('agent', '/w/desk.agent.yaml', text, readText);
  assert.deepEqual(
    spots.map(({ line, names }) => [line, names]),
    [
      [3, ['renew', 'outer', 'spread']],
      [4, ['calculate', ...BUILTIN_TOOLS.files]],
      [5, ['search', 'fetch']],
      [7, undefined],
      [9, []],
    ],
  );
  assert.deepEqual(await toolLocations('agent', '/w/desk.agent.yaml', 'tools: {', readText), []);
});

test('the module of a world file, with the tools it leads to', async () => {
  const spots = await toolLocations('world', '/w/lib.world.yaml', 'version: 1\nmodule: world.ts\n', readText);
  assert.deepEqual(
    spots.map(({ line, column, endColumn, names }) => [line, column, endColumn, names]),
    [[2, 9, 17, ['renew', 'outer', 'spread']]],
  );
});

test('the entries of a simulated world, and its real world, with their tools', async () => {
  const text = `version: 1
kind: simulated
tools:
  - file: tools.json
  - module: tools/loans.ts
  - mcp: { command: uvx }
  - recorded: last/a/1
    tools: [pay]
real: { world: lib.world.yaml }
`;
  const all: Readonly<Record<string, string>> = {
    ...files,
    '/w/tools.json': '[{ "name": "list_fines" }, { "type": "function", "function": { "name": "pay_fine" } }, 3]',
    '/w/lib.world.yaml': 'version: 1\nmodule: world.ts\n',
    '/w/loop.world.yaml': 'kind: simulated\nreal: { world: loop.world.yaml }\n',
  };
  const read = (file: string): Promise<string | undefined> => Promise.resolve(all[file]);
  const spots = await toolLocations('world', '/w/sim.world.yaml', text, read);
  assert.deepEqual(
    spots.map(({ line, names }) => [line, names]),
    [
      [4, ['list_fines', 'pay_fine']],
      [5, ['renew', 'outer', 'spread']],
      [6, undefined],
      [7, ['pay']],
      [9, ['renew', 'outer', 'spread']],
    ],
  );
  const loop = await toolLocations('world', '/w/loop.world.yaml', all['/w/loop.world.yaml'] ?? '', read);
  assert.deepEqual(
    loop.map(({ line, names }) => [line, names]),
    [[2, undefined]],
  );
});

test('kinds of files by their names', () => {
  const kinds = [
    'a.ts',
    'a.mjs',
    'a.d.ts',
    'x/desk.agent.yaml',
    'b.world.yml',
    'b.batch.yaml',
    'a.json',
    'c.agent.json',
  ].map(toolFileKind);
  assert.deepEqual(kinds, ['code', 'code', undefined, 'agent', 'world', undefined, undefined, 'agent']);
});

test('the tools of built-in entries are those of their set', async () => {
  const endpoint = { endpoint: 'http://localhost/v1', model: 'm' };
  const settings = {
    search: { provider: 'searxng', url: 'http://localhost' },
    vision: endpoint,
    audio: endpoint,
  } as const;
  for (const [name, tools] of Object.entries(BUILTIN_TOOLS)) {
    const host = openBuiltin(
      name as keyof typeof BUILTIN_TOOLS,
      { cwd: '/', pools: { env: {} }, sandbox: DEFAULT_SANDBOX } as ToolEnvironment,
      settings,
    );
    assert.deepEqual(host.specs.map((spec) => spec.name).toSorted(), tools.toSorted(), name);
    await host.close();
  }
});
