/** Batches with a world of kind `recorded`: what is checked, and what is sent. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type LoadedBatch, loadBatch } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { codeSha, configSha } from '../../../src/config/submission.ts';
import { type RecordingFile, SourceError } from '../../../src/config/submit/recordings.ts';
import { buildSubmission } from '../../../src/config/submit.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../support/noSimulation.ts';

const BATCH = 'desk.batch.yaml';
const ID = 'b0123456789abcdefg';
const world = (more: string): Record<string, string> => ({
  'desk.world.yaml': `version: 1\nname: desk\nkind: recorded\n${more}`,
});
const FILES = {
  [BATCH]:
    'version: 1\nagent: a.agent.yaml\nworld: desk.world.yaml\n' +
    'dataset: { file: tasks.jsonl }\nscorer: { kind: exact }\n',
  'a.agent.yaml': 'version: 1\nname: a\nmodel: { endpoint: "demo:", name: demo }\nprompt: Do it.\n',
  'tasks.jsonl': '{"id":"t1","question":"q","answer":"1"}\n{"id":"t2","question":"other","answer":"1"}\n',
  'trials.json': '[]',
  ...world(`from: [${ID}/t1, trials.json]\ntools: [find, lend]\nmatch: order\n`),
};

async function load(
  changes: Record<string, string> = {},
): Promise<{ value: LoadedBatch | undefined; found: string[] }> {
  const { value, problems } = await loadBatch(memoryFiles({ ...FILES, ...changes }), BATCH, { root: '/w' });
  return { value, found: problems.map((problem) => formatProblem(problem, '/w')) };
}

const sha = (digit: string): string => digit.repeat(64);
const blob = (digit: string) => ({ sha: sha(digit), media: 'application/json', path: `/cache/${digit}` });
const RECORDING: RecordingFile = {
  calls: blob('a'),
  blobs: [blob('b')],
  attempts: [{ task: 't1', question: 'q' }],
  tools: ['find'],
  leftOut: [{ source: 1, text: '2 rollouts of trials.json called no tools' }],
};

async function build(recording: Partial<RecordingFile> | Error = {}) {
  const { value, found } = await load();
  assert.ok(value !== undefined, found.join('\n'));
  const asked: unknown[] = [];
  const built = await buildSubmission(value, {
    files: memoryFiles(FILES),
    bundle: () => Promise.reject(new Error('no module')),
    scenarios: () => Promise.reject(new Error('no scenarios')),
    recordings: (sources) => {
      asked.push(...sources);
      return recording instanceof Error ? Promise.reject(recording) : Promise.resolve({ ...RECORDING, ...recording });
    },
    env: () => undefined,
    simulation: NO_SIMULATION,
    git: () => Promise.resolve(undefined),
    product: 'rollout-studio 1',
  });
  return { ...built, asked };
}

describe('a recorded world', () => {
  it('is sent as one file of calls, and its long answers', async () => {
    const { submission, code, warnings, asked } = await build();
    assert.deepEqual(asked, [
      { at: ['from', 0], ref: `${ID}/t1` },
      { at: ['from', 1], path: '/w/trials.json' },
    ]);
    assert.deepEqual(submission.world, {
      name: 'desk',
      file: 'desk.world.yaml',
      kind: 'recorded',
      match: 'order',
      calls: sha('a'),
      blobs: [sha('b')],
      attempts: 1,
      tools: ['find', 'lend'],
      perturb: [],
    });
    assert.deepEqual(
      (await Array.fromAsync(code)).map((sent) => sent.sha),
      [sha('a'), sha('b')],
    );
    assert.deepEqual(
      warnings.map((problem) => formatProblem(problem, '/w')),
      [
        'desk.world.yaml:4:31: warning: 2 rollouts of trials.json called no tools — They do not answer calls.',
        'desk.world.yaml:4:7: warning: 1 task of the batch has no recording — All recordings answer in these tasks.',
        'desk.world.yaml:5:15: warning: the recordings have no tool `lend` — Their tools are find.',
      ],
    );
    const other = await build({ calls: blob('c') });
    assert.equal(configSha(other.submission), configSha(submission));
    assert.notEqual(codeSha(other.submission), codeSha(submission));
  });

  it('names the place of a source that cannot be read', async () => {
    await assert.rejects(build(new SourceError(1, 'trials.json has no finished rollouts', 'Wait.')), {
      message: 'desk.world.yaml:4:31: trials.json has no finished rollouts — Wait.',
    });
  });

  const cases: readonly (readonly [name: string, changes: Record<string, string>, problems: readonly string[]])[] = [
    [
      'without recordings',
      world(''),
      [
        'desk.world.yaml:1:1: `from` is missing — Add `from:` with a list of batches, tasks, attempts, rollouts, or ' +
          'files.',
      ],
    ],
    [
      'with an empty list',
      world('from: []\n'),
      [
        'desk.world.yaml:4:7: a recorded world needs a recording — Add a batch, a task, an attempt, a rollout, or a ' +
          'file.',
      ],
    ],
    [
      'with the newest batch, and a file that is not there',
      world('from: [last/t1, trial.json]\n'),
      [
        'desk.world.yaml:4:8: `last` is another batch after each run — Write the ID of the batch. `rollout batches` ' +
          'lists them.',
        'desk.world.yaml:4:17: file trial.json not found — Did you mean `trials.json`?',
      ],
    ],
    [
      'with definitions of tools, and keys of other kinds',
      world(`from: ${ID}\ntools: [{ file: trials.json }]\nmodule: a.ts\n`),
      [
        'desk.world.yaml:5:9: a recorded world has the tools of its recordings — Write the name of one of them.',
        'desk.world.yaml:6:1: a world of kind `recorded` has no `module` — Remove it, or write `kind: module`.',
      ],
    ],
  ];
  for (const [name, changes, expected] of cases)
    it(`is refused ${name}`, async () => {
      const { value, found } = await load(changes);
      assert.deepEqual(found, expected);
      assert.equal(value, undefined);
    });
});
