import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEFAULTS } from '../../../src/config/defaults.ts';
import { mcpName } from '../../../src/config/load/tools.ts';
import { type LoadedBatch, type LoadOptions, loadAgent, loadBatch, loadWorld } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { FILES } from './sample.ts';

const BATCH = 'batches/nightly.batch.yaml';

async function load(
  changes: Record<string, string> = {},
  options: LoadOptions = {},
): Promise<{ value?: LoadedBatch; problems: string[] }> {
  const { value, problems } = await loadBatch(memoryFiles({ ...FILES, ...changes }), BATCH, options);
  return {
    ...(value === undefined ? {} : { value }),
    problems: problems.map((problem) => formatProblem(problem, '/w')),
  };
}

/** The sample's batch with one line replaced or added. */
const batchWith = (from: string | RegExp, to: string): Record<string, string> => ({
  [BATCH]: FILES[BATCH]!.replace(from, to),
});
const agentWith = (from: string | RegExp, to: string): Record<string, string> => ({
  'agents/desk.agent.yaml': FILES['agents/desk.agent.yaml']!.replace(from, to),
});

describe('loadBatch', () => {
  it('reads the files of the design, including units', async () => {
    const { value, problems } = await load();
    assert.deepEqual(problems, []);
    assert.equal(value?.name, 'nightly');
    assert.deepEqual(value.file.stop, { passes_per_task: 8, failures: 0.5, tokens: 50e6 });
    assert.equal(value.file.hold_limit, 3600);
    assert.equal(value.agent.file.model?.endpoint, '${env:VLLM_URL}');
    assert.deepEqual(value.agent.prompt, { text: FILES['agents/prompts/desk.md'], path: '/w/agents/prompts/desk.md' });
    assert.equal(value.world?.file.module, 'library.ts');
    assert.equal(value.dataset.tasks, 2);
    assert.deepEqual(
      value.dataset.head.map(({ task }) => task.id),
      ['one', 'two'],
    );
  });

  it('fills in every default', async () => {
    const { value, problems } = await load({
      [BATCH]: 'version: 1\nagent: ../a.agent.yaml\ndataset: { file: ../data/tasks.jsonl }\nscorer: { kind: exact }\n',
      'a.agent.yaml': 'version: 1\nname: a\nmodel: { endpoint: "demo:", name: demo }\nprompt: Do it.\n',
    });
    assert.deepEqual(problems, []);
    const { file, agent } = value!;
    assert.deepEqual(agent.file.limits, DEFAULTS.limits);
    assert.deepEqual(agent.file.context, DEFAULTS.context);
    assert.equal(agent.file.model?.endpoint_wait, 600);
    assert.deepEqual(agent.file.tools, []);
    assert.equal(agent.file.answer, 'last_message');
    assert.deepEqual(
      [
        file.attempts,
        file.seed,
        file.hold_limit,
        file.order,
        file.priority,
        file.concurrency,
        file.retry.infrastructure,
        file.target,
      ],
      [1, 0, 3600, 'breadth', 0, 'auto', 3, 'local'],
    );
    assert.deepEqual(agent.prompt, { text: 'Do it.' });
  });

  it('lets the caller override, without new contradictions', async () => {
    const { value, problems } = await load(
      {},
      { attempts: 2, seed: 9, concurrency: 4, limit: 1, name: 'mine', root: '/w' },
    );
    assert.deepEqual(problems, []);
    assert.deepEqual(
      [
        value?.file.attempts,
        value?.file.seed,
        value?.file.concurrency,
        value?.dataset.spec.limit,
        value?.name,
        value?.root,
      ],
      [2, 9, 4, 1, 'mine', '/w'],
    );
    await assert.rejects(load({}, { attempts: 0 }), { name: 'StudioError', code: 'usage' });
    await assert.rejects(load({}, { concurrency: 1.5 }), { code: 'usage' });
  });

  it('picks tasks by ID, including those after the limit of the file', async () => {
    const few = batchWith('limit: 100', 'limit: 1');
    assert.deepEqual((await load(few, { tasks: ['two'] })).problems, []);
    assert.deepEqual((await load({}, { tasks: ['one', 'twoo'] })).problems, [
      'batches/nightly.batch.yaml:4:18: tasks.jsonl has no task `twoo` — Did you mean `two`?',
    ]);
  });

  it('reads at most the requested number of records', async () => {
    const broken = { 'data/tasks.jsonl': `${FILES['data/tasks.jsonl']!}nonsense\n` };
    assert.equal((await load(broken)).problems.length, 1);
    const { value, problems } = await load(broken, { records: 1 });
    assert.deepEqual(problems, []);
    assert.deepEqual([value?.dataset.tasks, value?.dataset.whole], [1, false]);
  });

  it('stops at the fiftieth problem of a dataset', async () => {
    const { problems } = await load({ 'data/tasks.jsonl': `${FILES['data/tasks.jsonl']!}${'x\n'.repeat(500)}` });
    assert.equal(problems.length, 51);
    assert.match(problems.at(-1)!, /found 50 problems/);
  });

  it('works with Windows paths', async () => {
    const inner = memoryFiles(Object.fromEntries(Object.entries(FILES).map(([path, text]) => [`C:/ws/${path}`, text])));
    const { value, problems } = await loadBatch(
      { ...inner, absolute: (path) => `C:/ws/${path.replaceAll('\\', '/')}` },
      'batches\\nightly.batch.yaml',
    );
    assert.deepEqual(problems, []);
    assert.equal(value?.agent.path, 'C:/ws/agents/desk.agent.yaml');
  });
});

describe('contradictions and missing references', () => {
  const cases: [name: string, changes: Record<string, string>, expected: string[]][] = [
    [
      'a missing agent',
      batchWith('desk.agent', 'dekc.agent'),
      [
        'batches/nightly.batch.yaml:2:8: file ../agents/dekc.agent.yaml not found — Did you mean ' +
          '`../agents/desk.agent.yaml`?',
      ],
    ],
    [
      'a folder for a file',
      batchWith('../agents/desk.agent.yaml', '../agents'),
      ['batches/nightly.batch.yaml:2:8: agents is a folder — Choose a file in it.'],
    ],
    [
      'a variable in a path',
      batchWith('../agents/desk.agent.yaml', '${env:A}/a.agent.yaml'),
      [
        'batches/nightly.batch.yaml:2:8: `agent` is a path, which cannot contain ${…} — Write the literal path, ' +
          'relative to this file.',
      ],
    ],
    [
      'a missing module',
      agentWith('tools/loans.ts', 'tools/loan.ts'),
      ['agents/desk.agent.yaml:11:13: file tools/loan.ts not found — Did you mean `tools/loans.ts`?'],
    ],
    [
      'an invalid module',
      agentWith('tools/loans.ts', 'prompts/desk.md'),
      [
        'agents/desk.agent.yaml:11:13: `tools[0].module` must be a file that ends in .ts, .mts, .cts, .tsx, .js, ' +
          '.mjs, .cjs, .jsx, not `prompts/desk.md` — Choose a file of that type.',
      ],
    ],
    [
      'a missing prompt',
      agentWith('prompts/desk.md', 'prompts/none.md'),
      [
        'agents/desk.agent.yaml:9:9: file prompts/none.md not found — Create the file, or fix the path, which is ' +
          'relative to desk.agent.yaml.',
      ],
    ],
    [
      'an empty prompt',
      { 'agents/prompts/desk.md': ' \n' },
      ['agents/desk.agent.yaml:9:9: desk.md is empty — Add the prompt to the file.'],
    ],
    [
      'a missing prompt key',
      agentWith(/prompt: .*\n/, ''),
      ['agents/desk.agent.yaml:1:1: `prompt` is missing — Add `prompt: prompts/desk.md`, or write the prompt inline.'],
    ],
    [
      'unknown placeholders',
      { 'agents/prompts/desk.md': 'Hello\n  {{task.city}} {{task.meta.cty}} {{task.level}} {{task.}}' },
      [
        'agents/prompts/desk.md:2:3: `{{task.city}}`: tasks have no `city` — Did you mean `{{task.meta.city}}`?',
        'agents/prompts/desk.md:2:17: `{{task.meta.cty}}`: tasks have no `meta.cty` — Did you mean ' +
          '`{{task.meta.city}}`?',
        'agents/prompts/desk.md:2:35: `{{task.level}}`: tasks have no `level` — Available: id, question, answer, ' +
          'files, meta.city.',
        'agents/prompts/desk.md:2:50: `{{task.}}` does not name a field — For example, write {{task.question}}.',
      ],
    ],
    [
      'a placeholder that only some tasks have',
      { 'data/tasks.jsonl': '{"question":"a","answer":1,"city":null}\n{"question":"b"}' },
      [
        'agents/prompts/desk.md:1:25: `{{task.meta.city}}`: task `#2` (line 2) has no `meta.city` — Add it to every ' +
          'record; use null if there is no value.',
      ],
    ],
    [
      'suspicious placeholders',
      { 'agents/prompts/desk.md': '{{question}} {{task.answer}} {{city}} {{other}}' },
      [
        'agents/prompts/desk.md:1:1: warning: `{{question}}` is not replaced — Write {{task.question}}.',
        'agents/prompts/desk.md:1:14: warning: `{{task.answer}}` reveals the expected answer to the agent — Remove ' +
          'it, unless this is intended.',
        'agents/prompts/desk.md:1:30: warning: `{{city}}` is not replaced — Write {{task.meta.city}}.',
      ],
    ],
    [
      'a missing column',
      batchWith('answer: answer', 'answer: anser'),
      ['batches/nightly.batch.yaml:4:67: tasks.jsonl has no column `anser` — Did you mean `answer: answer`?'],
    ],
    [
      'a GAIA file in another format',
      {
        ...batchWith('question: question, answer: answer, ', ''),
        'data/tasks.jsonl': '{"task_id":"a","Question":"q","Final answer":"x"}',
      },
      [
        'batches/nightly.batch.yaml:4:18: tasks.jsonl has no column `question` — This looks like GAIA: add ' +
          '`format: gaia`.',
      ],
    ],
    [
      'no answers to compare with',
      { ...batchWith('answer: answer, ', ''), 'data/tasks.jsonl': '{"question":"q","city":"x"}' },
      [
        'batches/nightly.batch.yaml:7:17: `exact` compares with expected answers, but no task has one — Set ' +
          '`dataset.answer` to the column with the answers, or choose another scorer.',
      ],
    ],
    [
      'a dataset without tasks',
      { 'data/tasks.jsonl': '\n' },
      ['batches/nightly.batch.yaml:4:18: tasks.jsonl has no tasks — Add a record to the file.'],
    ],
    [
      'an offset after the end',
      batchWith('limit: 100', 'offset: 5'),
      ['batches/nightly.batch.yaml:4:18: tasks.jsonl has no tasks after the first 5 — Decrease `offset`.'],
    ],
    [
      'a dataset of unknown format',
      { ...batchWith('tasks.jsonl', 'tasks.tsv'), 'data/tasks.tsv': 'x' },
      [
        'batches/nightly.batch.yaml:4:18: cannot detect the format of tasks.tsv — Add `format: jsonl` (or ' +
          'csv, json, gaia, awm, agent-world, agentworldbench) to `dataset`.',
      ],
    ],
    [
      'a missing attachment',
      { 'data/tasks.jsonl': '{"question":"q","answer":"a","city":"x","files":"f.png"}' },
      [
        'data/tasks.jsonl:1:1: task `#1`: file /w/data/f.png not found — Paths of attachments are relative to the ' +
          'dataset.',
      ],
    ],
    [
      'a world scorer without a world',
      {
        ...batchWith(/world: .*\n/, ''),
        [BATCH]: batchWith(/world: .*\n/, '')[BATCH]!.replace('kind: exact', 'kind: world'),
      },
      [
        "batches/nightly.batch.yaml:6:17: the scorer is the world's verifier, but the batch has no `world` — Add " +
          '`world: ../worlds/….world.yaml`, or choose another scorer.',
      ],
    ],
    [
      'invalid patterns',
      {
        ...batchWith('{ kind: exact }', '{ kind: regex, pattern: "(a" }'),
        ...agentWith('last_message', '{ regex: "[" }'),
      },
      [
        'agents/desk.agent.yaml:14:18: invalid regular expression: unterminated character class — Escape special ' +
          'characters with a backslash, and put the pattern in single quotes so that YAML keeps the backslashes.',
        'batches/nightly.batch.yaml:7:33: invalid regular expression: unterminated group — Escape special ' +
          'characters with a backslash, and put the pattern in single quotes so that YAML keeps the backslashes.',
      ],
    ],
    [
      'a tag in brackets',
      agentWith('last_message', '{ tag: <answer> }'),
      [
        'agents/desk.agent.yaml:14:16: `<answer>` is not a valid tag name — Write the name without < and >: ' +
          '`answer: { tag: answer }`.',
      ],
    ],
    [
      'an answer by a tool without tools',
      {
        ...agentWith(/tools:\n(  - .*\n)+answer: last_message/, 'answer: { tool: submit }'),
        ...batchWith(/world: .*\n/, ''),
      },
      [
        'agents/desk.agent.yaml:10:17: the answer is a call to `submit`, but the agent has no tools — Add a tool ' +
          'with that name to `tools:`, or write `answer: last_message`.',
      ],
    ],
    [
      'contradictory limits',
      agentWith(/limits: .*/, 'limits: { seconds: 60, tool_seconds: 2 min, tokens: 2000 }'),
      [
        'agents/desk.agent.yaml:6:58: a reply may have 4096 tokens, but the whole rollout only 2000 — Increase ' +
          '`limits.tokens` or decrease `max_tokens`.',
        'agents/desk.agent.yaml:15:49: a tool result may have 8000 tokens, but the whole rollout only 2000 — ' +
          'Increase `limits.tokens` or decrease `tool_result_tokens`.',
        'agents/desk.agent.yaml:16:38: a tool may run for 120 s, but the whole rollout only for 60 s — Increase ' +
          '`seconds` or decrease `tool_seconds`.',
      ],
    ],
    [
      'more passes than attempts',
      batchWith('attempts: 32', 'attempts: 1'),
      [
        'batches/nightly.batch.yaml:8:26: 1 attempt can never reach 8 passes — Increase `attempts` or decrease ' +
          '`passes_per_task`.',
      ],
    ],
    [
      'a duplicate tool',
      agentWith(
        '  - builtin',
        '  - module: tools/loans.ts\n  - mcp: { command: some-server }\n  - builtin: [code]\n  - builtin',
      ),
      [
        'agents/desk.agent.yaml:13:13: the module `tools/loans.ts` is listed twice in `tools` — Remove one of them.',
        'agents/desk.agent.yaml:14:5: an MCP server `some-server` is listed twice in `tools` — Add a unique `name:` ' +
          'to each.',
        'agents/desk.agent.yaml:16:25: the built-in `code` is listed twice in `tools` — Remove one of them.',
      ],
    ],
    [
      'invalid endpoints',
      agentWith('${env:VLLM_URL}', '[gpu-1:8000/v1, "http://gpu-2/v1", "http://gpu-2/v1", foo bar]'),
      [
        'agents/desk.agent.yaml:4:14: `model.endpoint[0]` must be a URL, not the text "gpu-1:8000/v1" — Write ' +
          '`http://gpu-1:8000/v1`.',
        'agents/desk.agent.yaml:4:48: this endpoint is listed twice — Remove one of them.',
        'agents/desk.agent.yaml:4:67: `model.endpoint[3]` must be a URL, not the text "foo bar" — For example, ' +
          'write `http://localhost:8000/v1`, `target:`, or `demo:`.',
      ],
    ],
    [
      'impossible pods',
      batchWith(
        'sidecars: []',
        'sidecars: [{ name: worker, image: x }, { name: b, securityContext: { privileged: true } }, ' +
          '{ name: c, image: x, args: ["${env:HOOK}"] }]',
      ),
      [
        'batches/nightly.batch.yaml:16:93: a sidecar cannot be named `worker`, like a container that runs rollouts — ' +
          'Choose another name.',
        'batches/nightly.batch.yaml:16:113: `pods.sidecars[1].image` is missing — Add `image: ' +
          'registry.example.org/browser:1`.',
        'batches/nightly.batch.yaml:16:143: unknown key `privileged` in `pods.sidecars[1].securityContext` — ' +
          'Available: runAsUser, runAsGroup, runAsNonRoot, allowPrivilegeEscalation, readOnlyRootFilesystem, ' +
          'capabilities, seccompProfile.',
        'batches/nightly.batch.yaml:16:193: in a sidecar, `${env:…}` is only supported as the whole `value` of an ' +
          'entry in `env` — Write `env: [{ name: X, value: "${env:X}" }]`. The container gets the value as a secret.',
      ],
    ],
    [
      'unavailable features',
      {
        ...agentWith(
          'answer:',
          'program: { command: [python3, a.py], env: { OPENAI_BASE_URL: "${gateway.url}" } }\nanswer:',
        ),
      },
      [
        'agents/desk.agent.yaml:14:1: `program` is not available yet — Remove it and use `prompt`, `model`, and ' +
          '`tools`.',
      ],
    ],
  ];
  for (const [name, changes, expected] of cases) {
    it(`report ${name}`, async () => {
      const { value, problems } = await load(changes);
      assert.deepEqual(problems, expected);
      assert.equal(
        value === undefined,
        expected.some((text) => !text.includes(': warning: ')),
      );
    });
  }

  it('never arise from a default: no tool may outlast its rollout', async () => {
    const { value } = await load(agentWith(/limits: .*/, 'limits: { seconds: 60 }'));
    assert.equal(value?.agent.file.limits.tool_seconds, 60);
  });
});

describe('loadAgent, loadWorld', () => {
  it('check a file alone', async () => {
    const files = memoryFiles({
      ...FILES,
      'w.world.yaml':
        'version: 1\nname: w\nkind: module\nuser: { model: { endpoint: "demo:", name: m }, prompt: "I am ' +
        '{{task.}}" }\nperturb: [{ name: r, when: "true &&", effect: error }]\n',
    });
    assert.equal((await loadAgent(files, 'agents/desk.agent.yaml')).value?.file.name, 'desk');
    assert.equal((await loadWorld(files, 'worlds/library.world.yaml')).value?.file.name, 'library');
    const { value, problems } = await loadWorld(files, 'w.world.yaml');
    assert.equal(value, undefined);
    assert.deepEqual(
      problems.map((problem) => `${problem.line} ${problem.code}`),
      ['1 missing', '4 placeholder', '5 value'],
    );
  });
});

describe('mcpName', () => {
  it('is a natural name for the server', () => {
    const name = (mcp: Parameters<typeof mcpName>[0]['mcp']): string => mcpName({ mcp });
    assert.equal(
      name({ command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem@2.1.0', '/tmp'] }),
      'server-filesystem',
    );
    assert.equal(name({ command: '/opt/bin/search-mcp', args: ['--port', '1'] }), 'search-mcp');
    assert.equal(name({ command: 'node', args: ['dist/notes.mjs'] }), 'notes');
    assert.equal(name({ command: 'uv', args: ['run', 'weather.py'] }), 'weather');
    assert.equal(name({ url: 'https://user@mcp.example.org:8080/x' }), 'mcp.example.org:8080');
    assert.equal(name({ command: '${env:CMD}' }), 'mcp');
    assert.equal(mcpName({ mcp: { command: 'x' }, name: 'mine' }), 'mine');
  });
});
