/** What a simulated world takes from elsewhere: checked where it is written, and read once when it is submitted. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { type LoadedBatch, loadBatch } from '../../../src/config/load.ts';
import type { Recording, SeenCall } from '../../../src/config/simulation/recording.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { configSha, modulesOf, type Submission, toolsOf } from '../../../src/config/submission.ts';
import type { SimulationPorts } from '../../../src/config/submit/simulation.ts';
import { buildSubmission } from '../../../src/config/submit.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../support/noSimulation.ts';

const BATCH = 'desk.batch.yaml';
const FILES = {
  [BATCH]:
    'version: 1\nagent: a.agent.yaml\nworld: desk.world.yaml\n' +
    'dataset: { file: tasks.jsonl }\nscorer: { kind: exact }\n',
  'a.agent.yaml': 'version: 1\nname: a\nmodel: { endpoint: "demo:", name: demo }\nprompt: Do it.\n',
  'tasks.jsonl': '{"id":"t1","question":"q","answer":"1"}\n',
  'tools.json': '[{ "name": "find" }]',
  'loans.ts': '',
  'library.sqlite': '',
  'a.txt': 'A is {{task.id}}.',
  'b.txt': 'B.',
};
const world = (more: string): Record<string, string> => ({
  'desk.world.yaml': `version: 1\nname: desk\nkind: simulated\nmodel: { endpoint: "demo:", name: w }\n${more}`,
});
const TOOLS = 'tools: [{ file: tools.json }]\n';
const call = (seq: number, name: string, response: string, failed = false): SeenCall => ({
  seq,
  name,
  arguments: { id: seq },
  response,
  failed,
});
const RECORDING: Recording = {
  calls: [
    call(10, 'find', 'a long answer that says what was found'),
    call(20, 'find', 'found'),
    call(30, 'lend', 'no such book', true),
    call(40, 'lend', 'lent'),
    call(50, 'find', '{{task.nothing}}'),
  ],
  changes: [
    { table: 'loans', key: 1, op: 'insert', after: { id: 1, book: 4 } },
    { table: 'loans', key: 1, op: 'update', before: { book: 4 }, after: { book: 5 } },
    { table: 'holds', key: 2, op: 'delete', before: { id: 2 } },
  ],
  tools: [],
};

async function load(more: string): Promise<{ value: LoadedBatch | undefined; problems: string[] }> {
  const files = memoryFiles({ ...FILES, ...world(more) });
  const { value, problems } = await loadBatch(files, BATCH, { root: '/w' });
  return { value, problems: problems.map((problem) => formatProblem(problem, '/w')) };
}

async function build(
  more: string,
  ports: Partial<SimulationPorts> = {},
  permit?: (planned: Submission) => Promise<void>,
) {
  const { value, problems } = await load(more);
  assert.ok(value !== undefined, problems.join('\n'));
  const { submission, warnings } = await buildSubmission(value, {
    files: memoryFiles({ ...FILES, ...world(more) }),
    bundle: (path) =>
      Promise.resolve({
        file: path,
        code: new Uint8Array(),
        map: new Uint8Array(),
        bundleSha: 'a'.repeat(64),
        mapSha: 'b'.repeat(64),
      }),
    simulation: { ...NO_SIMULATION, ...ports },
    scenarios: () => Promise.reject(new Error('no scenarios')),
    env: () => 'a long secret',
    git: () => Promise.resolve(undefined),
    product: 'rollout-studio 1',
    ...(permit === undefined ? {} : { permit }),
  });
  assert.ok(submission.world?.kind === 'simulated');
  return { submission, world: submission.world, warnings: warnings.map((problem) => formatProblem(problem, '/w')) };
}

describe('the tools of a simulated world', () => {
  const SERVER = '{ mcp: { command: some-server, args: ["${env:TOKEN}"] } }';

  it('are listed once, in their order, and workers open none of them', async () => {
    const listed: string[] = [];
    const { submission, world: sent } = await build(
      `tools: [{ module: loans.ts }, { file: tools.json }, ${SERVER}, { builtin: [calculator] }]\n`,
      {
        listTools: (entries) => {
          const kinds = entries.map(({ kind }) => kind).join();
          listed.push(kinds);
          return Promise.resolve([{ name: `${kinds}_tool`, description: '', parameters: { type: 'object' } }]);
        },
      },
    );
    assert.deepEqual(listed, ['module', 'mcp', 'builtin']);
    assert.deepEqual(
      sent.definitions.map(({ name }) => name),
      ['module_tool', 'find', 'mcp_tool', 'builtin_tool'],
    );
    assert.deepEqual([toolsOf(submission), modulesOf(submission)], [[], []]);
    assert.deepEqual(
      sent.sources?.tools?.map(({ kind }) => kind),
      ['module', 'mcp', 'builtin'],
    );
    assert.doesNotMatch(JSON.stringify(submission), /a long secret/);
  });

  it('are part of the configuration, but not where they come from', async () => {
    const listTools: SimulationPorts['listTools'] = () =>
      Promise.resolve([{ name: 'find', description: '', parameters: { type: 'object', properties: {} } }]);
    const [file, server] = [await build(TOOLS), await build(`tools: [${SERVER}]\n`, { listTools })];
    assert.equal(configSha(file.submission), configSha(server.submission));
    const other = await build(`tools: [{ module: loans.ts }]\n`, {
      listTools: async (...args) =>
        (await listTools(...args)).map((definition) => ({ ...definition, description: 'Finds.' })),
    });
    assert.notEqual(configSha(other.submission), configSha(file.submission));
  });

  it('of a recording are those that its agent had, or those that it called', async () => {
    const read = (recording: Recording): Partial<SimulationPorts> => ({
      recordings: () => Promise.resolve([recording]),
    });
    const { world: sent } = await build('tools: [{ recorded: last/a/1 }]\n', read(RECORDING));
    const parameters = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
    assert.deepEqual(sent.definitions, [
      { name: 'find', description: '', parameters },
      { name: 'lend', description: '', parameters },
    ]);
    const tools = [
      { name: 'lend', description: 'Lends.', parameters: {} },
      { name: 'renew', description: '', parameters: {} },
    ];
    const own = await build('tools: [{ recorded: last/a/1, tools: [lend] }]\n', read({ ...RECORDING, tools }));
    assert.deepEqual(own.world.definitions, tools.slice(0, 1));
    await assert.rejects(build('tools: [{ recorded: last/a/1, tools: [lent] }]\n', read({ ...RECORDING, tools })), {
      message: 'desk.world.yaml:5:9: last/a/1 has no tool `lent` — Available tools: lend, renew.',
    });
  });

  it('are refused, with the place, if two have one name or they cannot be listed', async () => {
    const find = { name: 'find', description: '', parameters: {} };
    await assert.rejects(
      build(`tools: [{ file: tools.json }, ${SERVER}]\n`, { listTools: () => Promise.resolve([find]) }),
      {
        message:
          'desk.world.yaml:5:31: two tools are named `find` — Remove one of them, or select tools with `tools:`.',
      },
    );
    const failing = (): Promise<never> =>
      Promise.reject(new StudioError('unavailable', 'The MCP server "some-server" ended.', { hint: 'See its log.' }));
    await assert.rejects(build(`tools: [${SERVER}]\n`, { listTools: failing }), {
      message: 'desk.world.yaml:5:9: The MCP server "some-server" ended — See its log.',
    });
  });
});

describe('what a simulated world is read from', () => {
  const command = `${TOOLS}state: { command: [git, status] }\n`;

  it('is permitted before anything of it is opened or run', async () => {
    const seen: unknown[] = [];
    const refused = new StudioError('forbidden', 'A person must allow this.');
    await assert.rejects(
      build(command, { run: () => Promise.reject(new Error('it ran')) }, (planned) => {
        seen.push(planned.world?.kind === 'simulated' ? planned.world.sources : undefined);
        return Promise.reject(refused);
      }),
      refused,
    );
    assert.deepEqual(seen, [{ command: ['git', 'status'], cwd: '/w' }]);
  });

  it('becomes the initial state: rows, files, output, a recording', async () => {
    const tables = [
      { name: 'books', columns: ['id', 'title'], key: ['id'], rows: [[1, 'Emma {{task.x}}']], left: 2 },
      { name: 'holds', columns: ['id'], key: [], rows: [], left: 0 },
    ];
    const cases: readonly (readonly [source: string, text: string, literal: boolean])[] = [
      [
        '{ sql: { database: library.sqlite } }',
        '## Table books\nColumns: id, title. Key: id\n{"id":1,"title":"Emma {{task.x}}"}\n(2 more rows)\n\n' +
          '## Table holds\nColumns: id\n(no rows)',
        true,
      ],
      ['{ file: a.txt }', 'A is {{task.id}}.', false],
      ['{ files: [a.txt, b.txt] }', '## File a.txt\nA is {{task.id}}.\n\n## File b.txt\nB.', false],
      ['{ command: [git, status], timeout: 5s }', 'git status in /w, 5 s', false],
      [
        '{ recorded: last/a/1@45 }',
        '## Changed so far\nloans 1: {"id":1,"book":5}\nholds 2: deleted\n\n## Calls so far\n' +
          '{"name":"find","arguments":{"id":10}}\na long answer that says what was found\n\n' +
          '{"name":"find","arguments":{"id":20}}\nfound\n\n{"name":"lend","arguments":{"id":30}}\nno such book\n\n' +
          '{"name":"lend","arguments":{"id":40}}\nlent\n\n{"name":"find","arguments":{"id":50}}\n{{task.nothing}}',
        true,
      ],
    ];
    for (const [source, text, literal] of cases) {
      const { world: sent } = await build(`${TOOLS}state: ${source}\n`, {
        tables: () => Promise.resolve(tables),
        run: (words, folder, seconds) => Promise.resolve(`${words.join(' ')} in ${folder}, ${seconds} s`),
        recordings: () => Promise.resolve([RECORDING]),
      });
      assert.equal(sent.texts.state, text);
      assert.deepEqual(sent.literal ?? [], literal ? ['state'] : []);
    }
  });

  it('shows the rows of queries, in place of tables or next to those that are named', async () => {
    const tables = [{ name: 'books', columns: ['id'], key: [], rows: [[1]], left: 0 }];
    const query = 'SELECT title FROM books';
    const state = async (sql: string, more: boolean): ReturnType<typeof build> =>
      build(`${TOOLS}state: { sql: { database: library.sqlite, ${sql} } }\n`, {
        tables: () => Promise.resolve(tables),
        queryRows: (_database, _query, chars) => Promise.resolve({ rows: [{ title: 'Emma', chars }], more }),
      });
    const { world: only } = await state(`queries: [${query}]`, false);
    assert.equal(only.texts.state, `## Query\n${query}\n{"title":"Emma","chars":400000}`);
    assert.deepEqual(only.literal, ['state']);
    const { world: both, warnings } = await state(`tables: [books], queries: [${query}]`, true);
    assert.equal(
      both.texts.state,
      `## Table books\nColumns: id\n{"id":1}\n\n## Query\n${query}\n{"title":"Emma","chars":200000}\n` +
        '(more rows are left out)',
    );
    assert.match(warnings.join('\n'), /:6:\d+: warning: the query returns more rows than the state can show.*1 row/);
  });

  it('is cut with a warning if it is too long, and refused if it is empty', async () => {
    const run = (text: string): Partial<SimulationPorts> => ({ run: () => Promise.resolve(text) });
    const { world: sent, warnings } = await build(command, run('x'.repeat(500_000)));
    assert.match(sent.texts.state ?? '', /xxx\n\(100,000 more characters\)$/);
    assert.match(
      warnings.join('\n'),
      /desk.world.yaml:6:8: warning: the initial state is too long: 100,000 characters/,
    );
    await assert.rejects(build(command, run(' \n')), { message: /desk.world.yaml:6:8: the initial state is empty/ });
  });

  it('becomes demonstrations: each tool first, success and failure, within a budget', async () => {
    const recordings = (): Promise<readonly Recording[]> => Promise.resolve([RECORDING]);
    const shown = async (source: string): Promise<string[]> => {
      const { world: sent } = await build(`${TOOLS}demonstrations: ${source}\n`, { recordings });
      assert.deepEqual(sent.literal, ['demonstrations']);
      return [...(sent.texts.demonstrations ?? '').matchAll(/"id":(\d+)/g)].map(([, id]) => id ?? '');
    };
    assert.deepEqual(await shown('{ recorded: last/a/1 }'), ['10', '20', '30', '40', '50']);
    assert.deepEqual(await shown('{ recorded: [last/a/1], tokens: 90 }'), ['20', '30', '40']);
    assert.deepEqual(await shown('{ recorded: last/a/1, calls: [10, 50] }'), ['10', '50']);
    const { world: sent } = await build(`${TOOLS}demonstrations: { recorded: x, calls: [40] }\n`, { recordings });
    assert.equal(
      sent.texts.demonstrations,
      '## Example 1\n**Action:**\n```json\n{"name":"lend","arguments":{"id":40}}\n```\n\n' +
        '**Environment Observation:**\nlent',
    );
    await assert.rejects(build(`${TOOLS}demonstrations: { recorded: x, calls: [40, 41] }\n`, { recordings }), {
      message: /desk.world.yaml:6:44: no recorded call with a result begins at event 41/,
    });
    await assert.rejects(build(`${TOOLS}demonstrations: { recorded: x, tokens: 3 }\n`, { recordings }), {
      message: /no recorded call fits — Increase `tokens`/,
    });
  });

  const refused: readonly (readonly [name: string, more: string, problem: RegExp])[] = [
    [
      'a module that does not exist',
      'tools: [{ module: loan.ts }]\n',
      /:5:19: file loan.ts not found — Did you mean `loans/,
    ],
    ['one module twice', 'tools: [{ module: loans.ts }, { module: loans.ts }]\n', /is listed twice in `tools`/],
    ['an entry of two kinds', 'tools: [{ module: loans.ts, builtin: [code] }]\n', /cannot have `module` and `builtin`/],
    ['a state without a source', `${TOOLS}state: {}\n`, /:6:8: `state` needs one of `sql`, `file`/],
    ['a state with two', `${TOOLS}state: { file: a.txt, command: [ls] }\n`, /has only one of `file` and `command`/],
    ['a database that does not exist', `${TOOLS}state: { sql: { database: x.sqlite } }\n`, /:6:27: file x.sqlite not/],
    ['a timeout without a command', `${TOOLS}state: { file: a.txt, timeout: 3s }\n`, /`timeout` requires `command`/],
    ['demonstrations of nothing', `${TOOLS}demonstrations: { calls: [1] }\n`, /`demonstrations.recorded` is missing/],
  ];
  for (const [name, more, problem] of refused)
    it(`is refused with ${name}`, async () => {
      const { value, problems } = await load(more);
      assert.match(problems.join('\n'), problem);
      assert.equal(value, undefined);
    });
});
