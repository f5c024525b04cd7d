/** What a simulated world is read from, for real: a server, a module, a database, a program, a recording. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import type { JsonObject } from '../../src/common/json.ts';
import { answerText, type FakeEndpoint, fakeEndpoint } from '../support/endpoint.ts';
import { connectMcp, textOf } from '../support/mcpClient.ts';
import { Workspace } from '../support/testWorkspace.ts';

const ANNOUNCED = path.resolve(import.meta.dirname, '../fixtures/mcp/announced.mjs');
const MEMORY_SERVER = path.resolve(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/server-memory/dist/index.js',
);
/** Writes the number of its run to a file, and prints it. */
const COUNTS = `
const fs = require('node:fs');
fs.appendFileSync('runs', 'x');
console.error('a warning');
console.log('Run ' + fs.readFileSync('runs', 'utf8').length + ' for {{task.id}}');
`;

let workspace: Workspace;
/** Plays every world. */
let player: FakeEndpoint;
before(async () => {
  workspace = new Workspace();
  player = await fakeEndpoint(({ path: asked }, response) => {
    if (asked.endsWith('/chat/completions')) answerText(response, 'done');
    else response.writeHead(404).end();
  });
  workspace.write(
    'loans.ts',
    `import { tool } from 'rollout-studio';
import { z } from 'zod';
export const lend = tool({ description: 'Lends.', input: z.object({ book: z.number() }), run: () => 'lent' });
export const take_back = tool({ description: '', input: z.object({}), run: () => { throw new Error('not lent'); } });
`,
  );
  workspace.write('count.cjs', COUNTS);
  using database = new DatabaseSync(workspace.path('library.sqlite'));
  database.exec("CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO books VALUES (1, 'Emma')");
});
after(async () => {
  await workspace.close();
  await player[Symbol.asyncDispose]();
});

const simulated = (more: JsonObject): JsonObject => ({
  kind: 'simulated',
  model: { endpoint: player.url, name: 'world-model' },
  ...more,
});
const task = (question: string) => ({ id: 'one', question, answer: 'yes' });
const EXACT = { scorer: { kind: 'exact' }, sandbox: 'off' };

/** Returns the system prompts that the world model got since `from`. */
function prompts(from: number): string[] {
  return player.seen
    .slice(from)
    .filter(({ path: asked }) => asked.endsWith('/chat/completions'))
    .map(({ body }) => (body['messages'] as JsonObject[])[0]?.['content'] as string);
}

describe('a simulated world that is read from elsewhere', { timeout: 480_000 }, () => {
  it('is read once, at submit: every attempt sees the same, and no worker starts anything', async () => {
    const from = player.seen.length;
    const pids = workspace.path('pids');
    const file = workspace.batch('sources', {
      endpoint: 'demo:',
      tasks: [task('call lend {"book": 1}\nanswer yes')],
      world: simulated({
        tools: [
          { module: 'loans.ts' },
          { mcp: { command: process.execPath, args: [ANNOUNCED, pids, MEMORY_SERVER] }, tools: ['read_graph'] },
          { builtin: ['calculator'] },
        ],
        state: { command: [process.execPath, 'count.cjs'] },
      }),
      batch: { ...EXACT, attempts: 3 },
    });
    const { batch } = await workspace.json<{ batch: string }>('run', file);
    const systems = prompts(from);
    assert.equal(systems.length, 3);
    for (const system of systems) {
      assert.match(system, /"name":"lend","description":"Lends.","parameters":\{.*"book"/);
      assert.match(system, /"name":"read_graph","description":"Read the entire knowledge graph"/);
      assert.doesNotMatch(system, /create_entities/);
      assert.match(system, /"name":"calculate"/);
      assert.match(system, /# Initial State\nRun 1 for one$/m);
    }
    assert.equal(readFileSync(pids, 'utf8').trim().split('\n').length, 1, 'the server was started once');
    assert.equal(readFileSync(workspace.path('runs'), 'utf8'), 'x');
    assert.ok((await workspace.rows(batch)).every(({ progress }) => progress.passed));
  });

  it('takes tools, state, and demonstrations from an attempt of the store, and rows from a database', async () => {
    const recorded = workspace.batch('recorded', {
      endpoint: 'demo:',
      tasks: [task('call lend {"book": 7}\ncall lent_to {}\ncall take_back {}\nanswer yes')],
      agent: { tools: [{ module: 'loans.ts' }] },
      batch: EXACT,
    });
    const { batch } = await workspace.json<{ batch: string }>('run', recorded);
    const reference = `${batch}/one/1`;
    const from = player.seen.length;
    const run = async (name: string, more: JsonObject): Promise<void> => {
      const tools = [{ recorded: reference, tools: ['lend'] }];
      const file = workspace.batch(name, {
        endpoint: 'demo:',
        tasks: [task('call lend {"book": 1}\nanswer yes')],
        world: simulated({ tools, ...more }),
        batch: EXACT,
      });
      await workspace.json('run', file);
    };
    await run('imitated', {
      state: { sql: { database: 'library.sqlite' } },
      demonstrations: { recorded: reference },
    });
    await run('continued', { state: { recorded: reference } });
    const [imitated = '', continued = ''] = prompts(from);
    assert.match(imitated, /# Tools\n\{"name":"lend","description":"Lends."[^\n]*\}\n\n# Initial State/);
    assert.match(imitated, /## Table books\nColumns: id, title. Key: id\n\{"id":1,"title":"Emma"\}/);
    assert.match(imitated, /## Example 1\n\*\*Action:\*\*\n```json\n\{"name":"lend","arguments":\{"book":7\}\}/);
    assert.match(imitated, /## Example 2\n[^#]*"take_back"[^#]*\*\*Environment Observation:\*\*\n.*not lent/);
    for (const prompt of [imitated, continued])
      assert.doesNotMatch(prompt, /lent_to/, 'there is no such tool, so no world is asked for it');
    assert.match(continued, /# Initial State\n## Calls so far\n\{"name":"lend","arguments":\{"book":7\}\}\nlent/);
  });

  it('is refused with the place if a program fails or takes too long', async () => {
    const file = workspace.batch('failing', {
      endpoint: 'demo:',
      tasks: [task('answer yes')],
      world: simulated({ tools: [{ module: 'loans.ts' }], state: { command: [process.execPath, '-e', 'x()'] } }),
      batch: EXACT,
    });
    const failed = await workspace.run('run', file);
    assert.equal(failed.code, 2, failed.stderr);
    assert.match(failed.stderr, /failing\.world\.yaml:\d+:\d+: `.*` failed with exit code 1: .*x is not defined/s);
    const endless = [process.execPath, '-e', 'setInterval(() => {}, 1000)'];
    workspace.batch('endless', {
      endpoint: 'demo:',
      tasks: [task('answer yes')],
      world: simulated({ tools: [{ module: 'loans.ts' }], state: { command: endless, timeout: '200ms' } }),
      batch: EXACT,
    });
    const late = await workspace.run('run', 'endless.batch.yaml');
    assert.match(late.stderr, /endless\.world\.yaml:\d+:\d+: `.*` was still running after 0\.2 s/);
  });

  it('runs nothing for a coding agent unless a person allows it', async () => {
    const file = workspace.batch('asked', {
      endpoint: 'demo:',
      tasks: [task('answer yes')],
      world: simulated({
        tools: [{ module: 'loans.ts' }],
        state: { command: [process.execPath, '-e', 'require("node:fs").writeFileSync("ran", "")'] },
      }),
      batch: EXACT,
    });
    const client = await connectMcp(workspace, { mode: 'legacy' });
    try {
      const refused = await client.callTool({ name: 'launch_batch', arguments: { file } });
      assert.equal(refused.isError, true);
      assert.match(textOf(refused), /It runs .* on this machine for the initial state of its world/);
      assert.equal(existsSync(workspace.path('ran')), false);
    } finally {
      await client.close();
    }
  });
});
