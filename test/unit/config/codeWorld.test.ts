/** Batches with a world of kind `code`: what is checked, and what is sent. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sha256Hex } from '../../../src/common/hash.ts';
import { type LoadedBatch, type LoadOptions, loadBatch, loadWorld } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { codeSha, configSha, type SubmittedCodeWorld } from '../../../src/config/submission.ts';
import type { SubmissionBlob } from '../../../src/config/submit/blobs.ts';
import { buildSubmission } from '../../../src/config/submit.ts';
import { scenarioRows } from '../../support/awmFolder.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../support/noSimulation.ts';
import { FILES } from './sample.ts';

const BATCH = 'batches/nightly.batch.yaml';
const WORLD = 'worlds/shelves.world.yaml';
const lines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const awm = (...names: string[]): Record<string, string> => ({
  'worlds/awm/gen_scenario.jsonl': lines(names.flatMap((name) => scenarioRows(name).scenario)),
  'worlds/awm/gen_tasks.jsonl': lines(names.flatMap((name) => scenarioRows(name).tasks)),
});
const world = (more = ''): Record<string, string> => ({
  [WORLD]: `version: 1\nname: shelves\nkind: code\nformat: awm\nfrom: awm/\n${more}`,
});
const batch = (dataset: string, kind = 'world'): Record<string, string> => ({
  [BATCH]:
    'version: 1\nagent: ../a.agent.yaml\nworld: ../worlds/shelves.world.yaml\n' +
    `dataset: ${dataset}\nscorer: { kind: ${kind} }\n`,
  'a.agent.yaml': 'version: 1\nname: a\nmodel: { endpoint: "demo:", name: demo }\nprompt: Do it.\n',
});
const SHELVES = { ...FILES, ...awm('Top Shelf', 'low'), ...world(), ...batch('{ file: ../worlds/awm/, format: awm }') };

async function load(
  changes: Record<string, string> = {},
  options: LoadOptions = {},
): Promise<{ value: LoadedBatch | undefined; problems: string[] }> {
  const { value, problems } = await loadBatch(memoryFiles({ ...SHELVES, ...changes }), BATCH, options);
  return { value, problems: problems.map((problem) => formatProblem(problem, '/w')) };
}

const blob = (text: string): SubmissionBlob & { bytes: Uint8Array } => {
  const bytes = new TextEncoder().encode(text);
  return { sha: sha256Hex(bytes), media: 'text/plain', bytes };
};

async function build(changes: Record<string, string> = {}, options: LoadOptions = {}) {
  const files = memoryFiles({ ...SHELVES, ...changes });
  const { value, problems } = await loadBatch(files, BATCH, { root: '/w', ...options });
  assert.ok(value !== undefined, JSON.stringify(problems));
  const read: string[][] = [];
  const built = await buildSubmission(value, {
    files,
    bundle: () => Promise.reject(new Error('no module')),
    scenarios: ({ folder }, names) => {
      read.push([folder, ...names]);
      return Promise.resolve(
        new Map(
          names.map((name) => [
            name,
            {
              code: blob(`code of ${name}`),
              template: blob(`template of ${name}`),
              verifiers: blob(`verifiers of ${name}`),
              place: { file: `${folder}/gen_envs.jsonl`, line: 2 },
              problems: [],
            },
          ]),
        ),
      );
    },
    env: () => undefined,
    simulation: NO_SIMULATION,
    git: () => Promise.resolve(undefined),
    product: 'rollout-studio 1',
  });
  return { built, read };
}

describe('a code world', () => {
  it('has the scenarios that its tasks name', async () => {
    const { value, problems } = await load();
    assert.deepEqual(problems, []);
    assert.ok(value?.world?.kind === 'code');
    assert.deepEqual([...value.world.scenarios.names], ['top_shelf', 'low']);
    assert.deepEqual(
      value.dataset.head.map(({ task }) => [task.id, task.world, task.meta]),
      [
        ['top_shelf-0', { scenario: 'top_shelf' }, { task_idx: 0 }],
        ['top_shelf-1', { scenario: 'top_shelf' }, { task_idx: 1 }],
        ['low-0', { scenario: 'low' }, { task_idx: 0 }],
        ['low-1', { scenario: 'low' }, { task_idx: 1 }],
      ],
    );
    assert.deepEqual(value.world.file.rewards, {
      complete: 1,
      partial: 0.1,
      agent_error: 0,
      format: -1,
      environment_error: null,
    });
    assert.deepEqual([value.world.file.expose, value.world.file.verifier], ['tools', 'code']);
  });

  it('leaves out the tasks that it sets aside, unless they are named', async () => {
    const ids = async (aside: string, options: LoadOptions = {}): Promise<string[]> => {
      const { built } = await build(world(`set_aside: [${aside}]\n`), options);
      return (await Array.fromAsync(built.tasks)).map(({ id }) => id);
    };
    assert.deepEqual(await ids('top_shelf-0, low-1'), ['top_shelf-1', 'low-0']);
    assert.deepEqual(await ids('top_shelf-0', { limit: 2 }), ['top_shelf-1', 'low-0']);
    assert.deepEqual(await ids('top_shelf-0', { tasks: ['top_shelf-0'] }), ['top_shelf-0']);
    const { read } = await build(world('set_aside: [low-0, low-1]\n'));
    assert.deepEqual(read, [['/w/worlds/awm', 'top_shelf']]);
    const { problems } = await load(world('set_aside: [top_shelf-0, top_shelf-1, low-0, low-1]\n'));
    assert.match(problems[0] ?? '', / has no tasks that the world file does not set aside/);
  });

  it('is sent with only these scenarios, and each task names its own', async () => {
    const { built, read } = await build(
      world('python: .venv/bin/python\nclock: { start: 2026-03-16T09:00:00Z }\ntools: [list_boxes]\n'),
      { limit: 2 },
    );
    assert.deepEqual(read, [['/w/worlds/awm', 'top_shelf']]);
    const sent = built.submission.world as SubmittedCodeWorld;
    assert.deepEqual(sent, {
      name: 'shelves',
      file: WORLD,
      kind: 'code',
      format: 'awm',
      expose: 'tools',
      verifier: 'code',
      rewards: { complete: 1, partial: 0.1, agent_error: 0, format: -1, environment_error: null },
      python: '/w/worlds/.venv/bin/python',
      session: { memory_mb: 512, network: 'none' },
      clock: { start: '2026-03-16T09:00:00Z', step: 1 },
      tools: ['list_boxes'],
      needs: ['python'],
      position: { file: WORLD, line: 3, column: 7 },
      perturb: [],
      scenarios: {
        top_shelf: {
          code: blob('code of top_shelf').sha,
          template: blob('template of top_shelf').sha,
          verifiers: blob('verifiers of top_shelf').sha,
          place: { file: 'worlds/awm/gen_envs.jsonl', line: 2 },
        },
      },
    });
    const shas = (await Array.fromAsync(built.code)).map(({ sha }) => sha);
    const expected = ['code', 'template', 'verifiers'].map((part) => blob(`${part} of top_shelf`).sha);
    assert.deepEqual(shas.sort(), expected.sort());
    assert.deepEqual(built.submission.sandbox?.hide, ['/w/worlds/awm', '/w/worlds/awm']);
  });

  it('needs Python, whatever else it needs', async () => {
    const { built } = await build(world('needs: [git]\n'));
    assert.deepEqual(built.submission.world?.needs, ['python', 'git']);
    const other = await build(world('needs: [git, python3.12]\n'));
    assert.deepEqual(other.built.submission.world?.needs, ['git', 'python3.12']);
  });

  it('names its own scenario for tasks that name none', async () => {
    const { built } = await build({
      ...world('scenario: Top Shelf\n'),
      ...batch('{ file: ../data/tasks.jsonl }'),
    });
    const tasks = await Array.fromAsync(built.tasks);
    assert.deepEqual(
      tasks.map((task) => task.world),
      [{ scenario: 'top_shelf' }, { scenario: 'top_shelf' }],
    );
  });

  it('counts as code, not as configuration, and Python belongs to the machine', async () => {
    const [one, two, three] = await Promise.all([
      build({}, { limit: 1 }),
      build({}, { limit: 4 }),
      build(world('python: python3.12\n'), { limit: 1 }),
    ]);
    assert.equal(configSha(one.built.submission), configSha(two.built.submission));
    assert.notEqual(codeSha(one.built.submission), codeSha(two.built.submission));
    assert.equal(configSha(one.built.submission), configSha(three.built.submission));
    const other = await build(world('expose: meta\n'), { limit: 1 });
    assert.notEqual(configSha(one.built.submission), configSha(other.built.submission));
  });

  it('limits the tasks to scenarios, and counts only those', async () => {
    const dataset = (more: string): Record<string, string> =>
      batch(`{ file: ../worlds/awm/gen_tasks.jsonl, scenarios: [Low], ${more} }`);
    const { value, problems } = await load(dataset('offset: 1, limit: 1'));
    assert.deepEqual(problems, []);
    assert.deepEqual(
      value?.dataset.head.map(({ task }) => task.id),
      ['low-1'],
    );
    const { problems: wrong } = await load(batch('{ file: ../data/tasks.jsonl, scenarios: [Low] }'));
    assert.match(wrong[0]!, /4:39: a dataset of format `jsonl` has no `scenarios` — Remove it\./);
  });

  it('takes questions of Agent-World with their answers', async () => {
    const { value, problems } = await load({
      'g/environment_mix/garden/plants.json': '[]',
      'g/environment_mix/garden_step4_checkpoint.json': '{}',
      'g/questions/garden.json': JSON.stringify({
        env_id: 'garden',
        tasks: [{ task: 'Water it.', reference_answer: '1' }],
      }),
      [WORLD]: 'version: 1\nname: garden\nkind: code\nformat: agent-world\nfrom: ../g\n',
      ...batch('{ file: ../g, format: agent-world }'),
    });
    assert.deepEqual(problems, []);
    const [item] = value!.dataset.head;
    assert.deepEqual(item?.task, {
      id: 'garden-0',
      question: 'Water it.',
      answer: '1',
      world: { scenario: 'garden' },
      meta: { task_idx: 0 },
    });
  });
});

describe('problems of code worlds', () => {
  const AT = 'worlds/awm';
  const cases: [name: string, changes: Record<string, string>, expected: string[]][] = [
    [
      'keys of other kinds, and missing ones',
      { [WORLD]: 'version: 1\nname: shelves\nkind: code\nmodule: a.ts\nfrom: awm\n' },
      [
        `${WORLD}:1:1: \`format\` is missing — Add \`format: awm\`.`,
        `${WORLD}:4:1: a world of kind \`code\` has no \`module\` — Remove it, or write \`kind: module\`.`,
      ],
    ],
    [
      'keys of code worlds in a module world',
      { [WORLD]: 'version: 1\nname: shelves\nkind: module\nmodule: library.ts\nexpose: meta\n' },
      [`${WORLD}:5:1: a world of kind \`module\` has no \`expose\` — Remove it, or write \`kind: code\`.`],
    ],
    [
      'values and misspelled keys',
      world('expose: all\nrewards: { complete: yes }\nclock: { start: noon }\nsession: { memory: 1 }\n'),
      [
        `${WORLD}:6:9: \`expose\` must be one of tools, meta, not the text "all" — Write \`expose: tools\`.`,
        `${WORLD}:7:22: \`rewards.complete\` must be a number, or null, not the text "yes" — For example, write ` +
          '`complete: 1`.',
        `${WORLD}:8:17: \`clock.start\` must be a date and time with its zone, not the text "noon" — For example, ` +
          'write `start: 2026-03-16T09:00:00Z`.',
        `${WORLD}:9:12: unknown key \`memory\` in \`session\` — Did you mean \`memory_mb\`?`,
      ],
    ],
    [
      'a folder without the files',
      { [WORLD]: 'version: 1\nname: shelves\nkind: code\nformat: awm\nfrom: ../data\n' },
      [`${WORLD}:5:7: data has no gen_scenario.jsonl — Name the folder that contains gen_scenario.jsonl.`],
    ],
    [
      'another format',
      {
        [WORLD]: 'version: 1\nname: shelves\nkind: code\nformat: awm\nfrom: ../g\n',
        'g/environment_mix/garden/plants.json': '[]',
      },
      [`${WORLD}:4:9: g has no gen_scenario.jsonl — Write \`format: agent-world\`.`],
    ],
    [
      'a scenario that does not exist',
      { ...world('scenario: lov\n'), ...batch('{ file: ../data/tasks.jsonl }') },
      [`${WORLD}:6:11: there is no scenario \`lov\` in awm — Did you mean \`low\`?`],
    ],
    [
      'rows that are cut off, named twice, or without a name',
      {
        [`${AT}/gen_scenario.jsonl`]: [
          SHELVES[`${AT}/gen_scenario.jsonl`]!.trim(),
          '{"name":"low","description":"x"}',
          '{"description":"x"}',
          '{"name":"cu',
        ].join('\n'),
      },
      [
        `${AT}/gen_scenario.jsonl:3:1: the scenario \`low\` is already in line 2 — Remove one of the two rows.`,
        `${AT}/gen_scenario.jsonl:4:1: the row names no scenario — Add its \`name\`, or remove the row.`,
        `${AT}/gen_scenario.jsonl:5:12: invalid JSON: unterminated string — Fix the record: use double quotes for ` +
          'keys and strings, and no trailing comma. If it is cut off, download the file again.',
      ],
    ],
    [
      'rows of tasks that are cut off, named twice, without a name, or of an unknown scenario',
      {
        [`${AT}/gen_tasks.jsonl`]:
          `${SHELVES[`${AT}/gen_tasks.jsonl`]!}{"scenario":"LOW","tasks":["x"]}\n{"tasks":["x"]}\n` +
          '{"scenario":"lowe","tasks":["x"]}\n{"scenario":"low","ta',
      },
      [
        `${AT}/gen_tasks.jsonl:3:1: the tasks of scenario \`low\` are already in line 2 — Remove one of the two rows.`,
        `${AT}/gen_tasks.jsonl:4:1: the row names no scenario — Write { "scenario": "…", "tasks": ["…"] }. Download ` +
          'the file again, or remove this row.',
        `${AT}/gen_tasks.jsonl:5:1: task \`lowe-0\`: there is no scenario \`lowe\` in awm — Did you mean \`low\`?`,
        `${AT}/gen_tasks.jsonl:6:22: invalid JSON: unterminated string — Download the file again, or remove this ` +
          'row.',
      ],
    ],
    [
      'tasks that name no scenario',
      batch('{ file: ../data/tasks.jsonl, limit: 1 }'),
      [
        'data/tasks.jsonl:1:1: task `one` names no scenario — Add "world": { "scenario": "…" } to the task, or ' +
          '`scenario:` to the world file.',
      ],
    ],
    [
      'tasks of another scenario than that of the world',
      { ...world('scenario: low\n'), ...batch('{ file: ../worlds/awm, format: awm, limit: 1 }') },
      [
        `${AT}/gen_tasks.jsonl:1:1: task \`top_shelf-0\`: its scenario is \`top_shelf\`, but the world has ` +
          '`scenario: low` — Remove `scenario` from the world file, or choose other tasks, e.g. with ' +
          '`dataset.scenarios`.',
      ],
    ],
    [
      'pods without Python, and without what it needs besides',
      { [BATCH]: `${SHELVES[BATCH]!}target: gpu\n`, ...world('needs: [git]\n') },
      [
        `${WORLD}:3:7: the world shelves needs python, which the image of the pods does not have — Use an image that ` +
          'has it (`pods.image` with `pods.provides: [python]`). `rollout world image` writes the recipe of one with ' +
          'its packages.',
        `${WORLD}:6:9: the world shelves needs git, which the image of the pods does not have — Use an image that ` +
          'has it (`pods.image` with `pods.provides: [git]`).',
      ],
    ],
  ];
  for (const [name, changes, expected] of cases)
    it(`report ${name}`, async () => {
      const { problems } = await load(changes);
      assert.deepEqual(problems, expected);
    });

  it('are found without a batch, too', async () => {
    const files = memoryFiles({ ...SHELVES, ...world('scenario: lov\n') });
    const { problems } = await loadWorld(files, WORLD);
    assert.deepEqual(
      problems.map(({ line, code, fixes }) => [line, code, fixes]),
      [[6, 'value', [{ do: 'replace', text: 'low' }]]],
    );
  });
});
