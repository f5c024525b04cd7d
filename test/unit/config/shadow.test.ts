/** `shadow` and `lookahead` of a world file: what is checked, and what is sent. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadBatch, loadWorld } from '../../../src/config/load.ts';
import { revisionDifferences } from '../../../src/config/revisions.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { type Submission, sideModelsOf } from '../../../src/config/submission.ts';
import { buildSubmission } from '../../../src/config/submit.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../support/noSimulation.ts';

const DESK = 'version: 1\nname: desk\nkind: module\nmodule: desk.ts\n';
const SIM =
  'version: 1\nname: twin\nkind: simulated\nmodel: { endpoint: "demo:?world=faulty", name: twin-model }\n' +
  'tools: [{ file: tools.json }]\n';
const FILES: Record<string, string> = {
  'b.batch.yaml':
    'version: 1\nagent: a.agent.yaml\nworld: desk.world.yaml\ndataset: { file: tasks.jsonl }\n' +
    'scorer: { kind: exact }\n',
  'a.agent.yaml': 'version: 1\nname: a\nmodel: { endpoint: "demo:", name: demo }\nprompt: Do it.\n',
  'tasks.jsonl': '{"id":"t1","question":"q","answer":"1"}\n',
  'tools.json': '[{ "name": "find" }]',
  'desk.ts': 'export function open() {}',
  'desk.world.yaml': `${DESK}shadow: { world: twin.world.yaml }\n`,
  'twin.world.yaml': SIM,
};

async function problemsOf(shadow: string, changes: Record<string, string> = {}): Promise<string[]> {
  const files = memoryFiles({ ...FILES, 'desk.world.yaml': `${DESK}${shadow}\n`, ...changes });
  const { problems } = await loadWorld(files, 'desk.world.yaml');
  return problems.map((problem) => formatProblem(problem, '/w'));
}

async function build(changes: Record<string, string> = {}): Promise<Submission> {
  const files = memoryFiles({ ...FILES, ...changes });
  const { value, problems } = await loadBatch(files, 'b.batch.yaml', { root: '/w' });
  assert.ok(value !== undefined, problems.map(({ message }) => message).join('\n'));
  const code = new Uint8Array();
  const { submission } = await buildSubmission(value, {
    files,
    bundle: (path) =>
      Promise.resolve({
        file: path.slice('/w/'.length),
        code,
        map: code,
        bundleSha: '1'.repeat(64),
        mapSha: '2'.repeat(64),
      }),
    scenarios: () => Promise.resolve(new Map()),
    env: () => undefined,
    simulation: NO_SIMULATION,
    git: () => Promise.resolve(undefined),
    product: 'rollout-studio 1',
  });
  return submission;
}

describe('the shadow of a world', () => {
  it('is sent with its condition and its judge, and its models are side models', async () => {
    const when = `when: 'tool.effect != "pure"'`;
    const judge = 'judge: critic';
    const submission = await build({
      'desk.world.yaml':
        `${DESK}models: { critic: { endpoint: "demo:", name: critic-model } }\n` +
        `shadow: { world: twin.world.yaml, ${when}, ${judge} }\n`,
    });
    const { shadow, worlds } = submission.world ?? {};
    assert.deepEqual([shadow?.when, shadow?.judge?.name], ['tool.effect != "pure"', 'critic-model']);
    assert.deepEqual([worlds?.shadow?.kind, worlds?.shadow?.name], ['simulated', 'twin']);
    assert.deepEqual(
      sideModelsOf(submission).map(({ side, model }) => [side, model.name]),
      [
        ['shadow', 'twin-model'],
        ['judge', 'critic-model'],
        ['critic', 'critic-model'],
      ],
    );
    const changed = await build({
      'desk.world.yaml': `${DESK}shadow: { world: twin.world.yaml, judge: { endpoint: "demo:", name: other } }\n`,
    });
    assert.deepEqual(
      revisionDifferences(submission, changed).filter((line) => /shadow\.(when|judge\.name)/.test(line)),
      ['world.shadow.when removed', 'world.shadow.judge.name: critic-model → other'],
    );
  });

  it('is refused with the place of the mistake', async () => {
    const first = async (shadow: string, changes?: Record<string, string>): Promise<string> =>
      (await problemsOf(shadow, changes)).join('\n');
    assert.equal(await first('shadow: { world: twin.world.yaml }'), '');
    assert.match(await first('shadow: { world: none.world.yaml }'), /desk\.world\.yaml:5:18.*none\.world\.yaml/);
    assert.match(
      await first('shadow: { world: twin.world.yaml, when: reward == 1.0 }'),
      /desk\.world\.yaml:5:41: .*a prediction is made before the call, when `reward` cannot be used/,
    );
    assert.match(await first("shadow: { world: twin.world.yaml, when: 'tool.name ==' }"), /column \d+ of `when`/);
    assert.match(
      await first('shadow: { world: twin.world.yaml, judge: critic }'),
      /desk\.world\.yaml:5:42: .*`models` has no model `critic`/,
    );
    assert.match(
      await first('shadow: { world: other.world.yaml }', { 'other.world.yaml': DESK.replace('desk\n', 'other\n') }),
      /the world other is of kind `module`, which makes calls instead of predicting them/,
    );
    assert.match(
      await first('shadow: { world: twin.world.yaml }', {
        'twin.world.yaml': `${SIM}real: { world: other.world.yaml }\n`,
        'other.world.yaml': DESK,
      }),
      /the world twin makes real calls/,
    );
    assert.match(
      await first('shadow: { world: twin.world.yaml }', {
        'twin.world.yaml': `${SIM}shadow: { world: twin.world.yaml }\n`,
      }),
      /the shadow \(`shadow`\) of twin\.world\.yaml does not apply here/,
    );
  });
});

describe('the look-ahead of a world', () => {
  it('is sent as a world that it contains, whose model is a side model of its own', async () => {
    const submission = await build({
      'desk.world.yaml': `${DESK}shadow: { world: twin.world.yaml }\nlookahead: { world: ahead.world.yaml }\n`,
      'ahead.world.yaml': SIM.replaceAll('twin', 'ahead'),
    });
    assert.deepEqual(Object.keys(submission.world?.worlds ?? {}), ['shadow', 'lookahead']);
    assert.deepEqual(
      sideModelsOf(submission).map(({ side, model }) => [side, model.name]),
      [
        ['shadow', 'twin-model'],
        ['lookahead', 'ahead-model'],
      ],
    );
    const without = await build({ 'desk.world.yaml': `${DESK}shadow: { world: twin.world.yaml }\n` });
    assert.ok(revisionDifferences(submission, without).some((line) => line.includes('lookahead')));
  });

  it('is refused if it makes calls, and warned about inside another world', async () => {
    assert.deepEqual(await problemsOf('lookahead: { world: twin.world.yaml }'), []);
    const [problem] = await problemsOf('lookahead: { world: other.world.yaml }', {
      'other.world.yaml': DESK.replace('desk\n', 'other\n'),
    });
    assert.match(problem ?? '', /desk\.world\.yaml:5:21.*the world other is of kind `module`, which makes calls/);
    const [warning] = await problemsOf('shadow: { world: twin.world.yaml }', {
      'twin.world.yaml': `${SIM}lookahead: { world: ahead.world.yaml }\n`,
      'ahead.world.yaml': SIM.replaceAll('twin', 'ahead'),
    });
    assert.match(warning ?? '', /the look-ahead \(`lookahead`\) of twin\.world\.yaml does not apply here/);
  });

  it('takes the name of its side', async () => {
    const problems = await problemsOf('models: { lookahead: { endpoint: "demo:", name: demo } }');
    assert.match(problems.join('\n'), /`lookahead` is already the name of another side model/);
  });
});
