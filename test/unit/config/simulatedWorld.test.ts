/** Batches with a world of kind `simulated`: what is checked, and what is sent. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { resolveSubmission } from '../../../src/config/env.ts';
import { type LoadedBatch, loadBatch } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { configSha, sideModelsOf } from '../../../src/config/submission.ts';
import { buildSubmission } from '../../../src/config/submit.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../support/noSimulation.ts';

const BATCH = 'desk.batch.yaml';
const TOOLS = {
  tools: [
    { name: 'find', description: 'Finds books.', inputSchema: { type: 'object' }, outputSchema: { type: 'array' } },
    { type: 'function', function: { name: 'lend', parameters: { type: 'object' } } },
    { name: 'renew', input_schema: { type: 'object' } },
  ],
};
const world = (more: string): Record<string, string> => ({
  'desk.world.yaml': `version: 1\nname: desk\nkind: simulated\n${more}`,
});
const MODEL = 'model: { endpoint: "http://${env:HOST}:8000/v1", name: world-model }\n';
const FILES = {
  [BATCH]:
    'version: 1\nagent: a.agent.yaml\nworld: desk.world.yaml\n' +
    'dataset: { file: tasks.jsonl }\nscorer: { kind: exact }\n',
  'a.agent.yaml': 'version: 1\nname: a\nmodel: { endpoint: "demo:", name: demo }\nprompt: Do it.\n',
  'tasks.jsonl': '{"id":"t1","question":"q","answer":"1","wish":"Emma"}\n',
  'tools.json': JSON.stringify(TOOLS),
  'state.md': 'There is {{task.meta.wish}}.\n',
  ...world(`${MODEL}tools: [{ file: tools.json }]\nstate: state.md\ninstruction: All loans fail.\n`),
};

async function load(
  changes: Record<string, string> = {},
  options: { noPerturb?: boolean } = {},
): Promise<{ value: LoadedBatch | undefined; problems: string[] }> {
  const { value, problems } = await loadBatch(memoryFiles({ ...FILES, ...changes }), BATCH, { root: '/w', ...options });
  return { value, problems: problems.map((problem) => formatProblem(problem, '/w')) };
}

async function build(changes: Record<string, string> = {}, options: { noPerturb?: boolean } = {}) {
  const { value, problems } = await load(changes, options);
  assert.ok(value !== undefined, problems.join('\n'));
  return buildSubmission(value, {
    files: memoryFiles({ ...FILES, ...changes }),
    bundle: () => Promise.reject(new Error('no module')),
    scenarios: () => Promise.reject(new Error('no scenarios')),
    env: (name) => (name === 'HOST' ? 'gpu-1' : undefined),
    simulation: NO_SIMULATION,
    git: () => Promise.resolve(undefined),
    product: 'rollout-studio 1',
  });
}

describe('what rules say to a world model', () => {
  const RULED =
    `${MODEL}tools: [{ file: tools.json }]\ninstruction: All loans fail.\nperturb:\n` +
    "  - { name: limit, when: 'tool.name == \"renew\"', say: 'Renewals of {{task.meta.wish}} fail.', " +
    'check: observation.failed }\n  - { name: slow, effect: delay, args: { wait: 1s } }\n';
  const problemsWith = async (rule: string): Promise<string[]> =>
    (await load(world(`${MODEL}tools: [{ file: tools.json }]\nperturb:\n  - ${rule}\n`))).problems;

  it('is part of its instruction, unless the batch runs without rules', async () => {
    const ruled = world(RULED);
    const { submission } = await build(ruled);
    assert.ok(submission.world?.kind === 'simulated');
    assert.equal(submission.world.texts.instruction, 'All loans fail.\nRenewals of {{task.meta.wish}} fail.');
    assert.deepEqual(submission.world.perturb[0], {
      name: 'limit',
      when: 'tool.name == "renew"',
      p: 1,
      say: 'Renewals of {{task.meta.wish}} fail.',
      check: 'observation.failed',
      effect: 'say',
    });
    const off = await build(ruled, { noPerturb: true });
    assert.ok(off.submission.world?.kind === 'simulated');
    assert.equal(off.submission.world.texts.instruction, 'All loans fail.');
  });

  it('is checked, with places', async () => {
    assert.deepEqual(await problemsWith("{ name: a, say: 'See {{task.meta.wsh}}' }"), [
      'desk.world.yaml:7:26: `{{task.meta.wsh}}`: tasks have no `meta.wsh` — Did you mean `{{task.meta.wish}}`?',
    ]);
    assert.deepEqual(await problemsWith('{ name: a, say: It fails, p: 0.5, args: { x: 1 } }'), [
      'desk.world.yaml:7:34: `p` has no effect in a rule that only says something — Say how often it applies in `say`.',
      'desk.world.yaml:7:45: `args` has no effect in a rule that only says something — Remove it.',
    ]);
    assert.match(
      (await problemsWith('{ name: a, say: It fails, check: \'observation.txt == ""\' }'))[0] ?? '',
      /column 13 of `check`: observation has no "txt"; it has text, json, failed/,
    );
    assert.match(
      (await problemsWith("{ name: a, say: It fails, check: 'reward == 1' }"))[0] ?? '',
      /a check cannot use `reward` — Use observation, tool, step, agent, task, attempt/,
    );
  });
});

describe('a simulated world', () => {
  it('is sent with the definitions of its tools in any format, and its texts', async () => {
    const { submission, secrets } = await build();
    assert.ok(submission.world?.kind === 'simulated');
    const { domain, definitions, texts, model } = submission.world;
    assert.deepEqual(
      { domain, definitions, texts },
      {
        domain: 'mcp',
        definitions: [
          { name: 'find', description: 'Finds books.', parameters: { type: 'object' }, output: { type: 'array' } },
          { name: 'lend', description: '', parameters: { type: 'object' } },
          { name: 'renew', description: '', parameters: { type: 'object' } },
        ],
        texts: { state: 'There is {{task.meta.wish}}.\n', instruction: 'All loans fail.' },
      },
    );
    assert.deepEqual(model.endpoints, ['http://${env:HOST}:8000/v1']);
    const resolved = resolveSubmission(submission, secrets);
    assert.deepEqual(
      sideModelsOf(resolved).map(({ side, model: { endpoints } }) => [side, ...endpoints]),
      [['world', 'http://gpu-1:8000/v1']],
    );
    const other = await build({ 'state.md': 'There is nothing.\n' });
    assert.notEqual(configSha(other.submission), configSha(submission));
  });

  const cases: readonly (readonly [name: string, changes: Record<string, string>, problems: readonly string[]])[] = [
    [
      'without its model and its tools',
      world(''),
      [
        'desk.world.yaml:1:1: `model` is missing — Add `model:` with `endpoint` and `name`: the model that plays the ' +
          'world.',
        'desk.world.yaml:1:1: a simulated world needs the definitions of its tools — Add ' +
          '`tools: [{ file: tools.json }]`.',
      ],
    ],
    [
      'with names of tools, and keys of other kinds',
      world(`${MODEL}tools: [find]\nexpose: meta\nmodule: a.ts\n`),
      [
        'desk.world.yaml:5:9: a simulated world takes its tools from files, modules, MCP servers, and recordings — ' +
          'Write `{ file: tools.json }`, a file with the definitions.',
        'desk.world.yaml:6:1: a world of kind `simulated` has no `expose` — Remove it, or write `kind: code`.',
        'desk.world.yaml:7:1: a world of kind `simulated` has no `module` — Remove it, or write `kind: module`.',
      ],
    ],
    [
      'with a file that is not there',
      world(`${MODEL}tools: [{ file: tool.json }]\n`),
      ['desk.world.yaml:5:17: file tool.json not found — Did you mean `tools.json`?'],
    ],
    [
      'with files that have no definitions',
      { 'tools.json': '{"tools":[]}' },
      [
        'tools.json:1:1: the file has no tool definitions — It must be a list of tools, or an object with a list ' +
          '`tools`, as the answer of an MCP server to `tools/list`.',
      ],
    ],
    [
      'with a broken definition',
      { 'tools.json': '[\n  { "name": "find" },\n  { "title": "lend" }\n]' },
      [
        'tools.json:3:3: this is not a tool definition — It needs a `name`, and its parameters as a JSON schema in ' +
          '`inputSchema`.',
      ],
    ],
    [
      'with two tools of one name',
      { 'tools.json': '[{ "name": "find" }, { "name": "find" }]' },
      ['desk.world.yaml:5:9: two tools are named `find` — Remove one of them from its file.'],
    ],
    [
      'with a text that uses a field of no task',
      { 'state.md': 'There is {{task.meta.wsh}}.\n' },
      ['state.md:1:10: `{{task.meta.wsh}}`: tasks have no `meta.wsh` — Did you mean `{{task.meta.wish}}`?'],
    ],
  ];
  for (const [name, changes, expected] of cases)
    it(`is refused ${name}`, async () => {
      const { value, problems } = await load(changes);
      assert.deepEqual(problems, expected);
      assert.equal(value, undefined);
    });
});
