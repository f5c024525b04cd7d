/** Batches that score recorded attempts again: with other scorers, edited code, a judge, and a world's verifier. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Verified } from '../../src/rerun/verify.ts';
import type { Agreement } from '../../src/trace/agreement/agreement.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import type { VerdictChanges } from '../../src/trace/verdicts.ts';
import { Bench } from '../support/cli.ts';
import { type DemoServer, startDemoServer } from '../support/demoServer.ts';
import { answerText, callsOf, chatEndpoint, type FakeEndpoint } from '../support/endpoint.ts';
import { endOf, ofKind, Workspace } from '../support/testWorkspace.ts';

const WORLD = `import { tool } from 'rollout-studio';
import { z } from 'zod';
const LIMIT = 0;
export const open = (task, seed, from) => {
  const state = from === undefined ? { count: 0, opened: 1 } : JSON.parse(new TextDecoder().decode(from));
  return {
    state,
    tools: {
      add: tool({ description: 'Adds.', input: z.object({ n: z.number() }), run: ({ n }, { state }) => { \
state.count += n; return state.count; } }),
      send: tool({ description: 'Sends.', input: z.object({}), effect: 'irreversible', run: (_args, { state }) => { \
state.count += 100; return 'sent'; } }),
    },
    verify: ({ expected, messages }) => {
      const passed = state.count === expected + LIMIT;
      return { value: passed ? 1 : 0, passed, checks: [{ name: 'count', passed, actual: state.count }], \
explanation: JSON.stringify(messages) };
    },
    SNAPSHOT
  };
};
`;
const SAVES = 'snapshot: () => new TextEncoder().encode(JSON.stringify(state)),';
const EXACT =
  'export const score = ({ answer, messages }) => ({ value: answer === "42" ? 1 : 0, explanation: ' +
  'String(messages.length) });\n';
const LENIENT =
  'export const score = ({ answer, messages }) => ({ value: answer.includes("4") ? 1 : 0, explanation: ' +
  'messages.map(({ role }) => role).join() });\n';

interface VerifiedAll {
  readonly rollouts: readonly Verified[];
  readonly flipped: number;
}

interface Rescored {
  readonly batch: string;
  readonly passed: number;
  readonly failed: number;
  readonly unscored: number;
  readonly rescored: VerdictChanges;
}

describe('rescoring', { timeout: 480_000 }, () => {
  let demo: DemoServer;
  let workspace: Workspace;
  before(async () => {
    demo = await startDemoServer();
    workspace = new Workspace(new Bench({ sharesProcess: true, env: { ROLLOUT_SANDBOX: 'off', ROLLOUT_USER: 'ada' } }));
    workspace.write('rows.ts', WORLD.replace('SNAPSHOT', SAVES));
    workspace.write('plain.ts', WORLD.replace('SNAPSHOT', ''));
    workspace.write('score.ts', EXACT);
  });
  after(async () => {
    await workspace.close();
    await demo.close();
  });

  const tasks = [
    { id: 'a', question: 'answer 42', answer: '42' },
    { id: 'b', question: 'answer 41', answer: '42' },
  ];
  const run = async (name: string, batch: object, more: object = {}): Promise<string> => {
    const files = { endpoint: demo.url, tasks, batch: { attempts: 2, ...batch }, ...more };
    return (await workspace.json<{ batch: string }>('run', workspace.batch(name, files))).batch;
  };
  const rescore = (batch: string, ...args: string[]): Promise<Rescored> =>
    workspace.json<Rescored>('rescore', batch, ...args);
  const verdictsOf = (rows: readonly RolloutRow[], scorer: string): (boolean | null | undefined)[] =>
    rows.map(({ progress }) => progress.verdicts?.[scorer]?.passed);
  const own = async (row: RolloutRow): Promise<TraceEvent[]> => {
    const events = await workspace.events(row.rollout);
    return events.slice(events.findLastIndex(({ kind }) => kind === 'rollout.start'));
  };

  it('keeps the verdict of another scorer, and of an edited one, next to the reward', async () => {
    const batch = await run('plain', { scorer: { kind: 'module', module: 'score.ts' } });
    const calls = demo.counters().calls;
    workspace.write('other.yaml', 'scorer: { kind: contains, name: has four }\n');
    const first = await rescore(batch, '--scorer', 'other.yaml');
    assert.deepEqual([first.passed, first.failed], [2, 2]);
    workspace.write('score.ts', LENIENT);
    const edited = await rescore(batch, '--where', 'reward == 0.0');
    workspace.write('score.ts', EXACT);
    assert.deepEqual([edited.passed, edited.failed, edited.rescored.failed_to_passed], [2, 0, 2]);
    assert.equal(demo.counters().calls, calls, 'the agent was not run');
    const rows = await workspace.rows(batch);
    assert.deepEqual(
      rows.map(({ progress }) => progress.passed),
      [true, true, false, false],
      'the rewards stay',
    );
    assert.deepEqual(verdictsOf(rows, 'has four'), [true, true, false, false]);
    assert.deepEqual(verdictsOf(rows, 'module score of score.ts'), [undefined, undefined, true, true]);
    const [row] = await workspace.rows(edited.batch);
    const events = await own(row!);
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['rollout.start', 'rollout.lease', 'score', 'rollout.end'],
    );
    const [score] = ofKind(events, 'score');
    assert.equal(score?.data.explanation, 'system,user,assistant', 'it reads the recorded conversation');
    assert.equal(endOf(events).answer, '41');
    const [verdict, reward] = [
      rows[2]?.progress.verdicts?.['module score of score.ts'],
      ofKind(await workspace.events(rows[2]!.rollout), 'score')[0],
    ];
    assert.deepEqual([verdict?.by, verdict?.run], ['ada', row?.rollout]);
    assert.ok(verdict?.version !== undefined && verdict.version !== reward?.data.version, 'the code has changed');
    const again = await workspace.run('rescore', edited.batch);
    assert.equal(again.code, 2);
    assert.match(again.stderr, new RegExp(`Rescore batch ${batch}`));
  });

  it('keeps the labels of people, and compares all scorers', async () => {
    const batch = await run('labeled', { scorer: { kind: 'exact' } });
    workspace.write('lenient.yaml', 'scorer: { kind: regex, pattern: "4(.*)", name: lenient }\n');
    await rescore(batch, '--scorer', 'lenient.yaml');
    await workspace.json('label', `${batch}/a/1`, 'failed');
    await workspace.json('label', `${batch}/a/1`, 'passed', '--note', 'it is right');
    await workspace.json('label', `${batch}/b/2`, 'failed', '--by', 'bo');
    await workspace.json('label', `${batch}/b/1`, 'passed');
    await workspace.json('label', `${batch}/b/1`, 'none');
    const result = await workspace.json<Agreement>('agreement', batch);
    assert.deepEqual(
      result.scorers.map(({ scorer, judged, passed }) => [scorer, judged, passed]),
      [
        ['reward', 4, 2],
        ['lenient', 4, 0],
        ['person:ada', 1, 1],
        ['person:bo', 1, 0],
      ],
    );
    assert.ok(result.disagreements.some(({ passed }) => passed['lenient'] === false && passed['reward'] === true));
    const [first] = ofKind(await workspace.events(batch), 'score').filter(
      ({ data }) => data.explanation === 'it is right',
    );
    assert.deepEqual([first?.data.scorer, first?.data.by, first?.data.passed], ['person:ada', 'ada', true]);
    const report = await workspace.json<{ passed: number; failed: number; unscored: number }>(
      'report',
      batch,
      '--scorer',
      'person:ada',
    );
    assert.deepEqual([report.passed, report.failed, report.unscored], [1, 0, 3]);
    const compared = await workspace.run('compare', batch, batch, '--scorer', 'lenient');
    assert.equal(compared.code, 0, compared.stderr);
    const unknown = await workspace.run('report', batch, '--scorer', 'nobody');
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /Scorers: reward, lenient, person:ada, person:bo/);
    const { csv } = await workspace.json<{ csv: string }>('export', batch);
    assert.match(csv, /"\{""lenient"":false,""person:ada"":true\}"/);
  });

  it('explains invalid scorer files, with their place', async () => {
    const batch = await run('invalid', { attempts: 1 });
    workspace.write('bad.yaml', 'scorer:\n  kind: contains\n  ignore: true\n');
    workspace.write('none.yaml', 'scorer: { kind: module, module: missing.ts }\n');
    for (const [file, problem] of [
      ['bad.yaml', /bad\.yaml:3:3: unknown key `ignore`/],
      ['none.yaml', /none\.yaml:1:\d+: .*missing\.ts/],
      ['absent.yaml', /absent\.yaml/],
    ] as const) {
      const { code, stderr } = await workspace.run('rescore', batch, '--scorer', file);
      assert.equal(code, 2, file);
      assert.match(stderr, problem);
    }
    const world = await workspace.run('rescore', batch, '--scorer', workspace.write('w.yaml', 'scorer: {kind: world}'));
    assert.match(world.stderr, /this batch has no world/);
  });

  it('runs the current verifier of a world on the final state, and nothing else of the rollout', async () => {
    const moves = (answer: number) => [
      { id: 'it', question: 'call add {"n": 1} times 18\ncall add {"n": 2}\nanswer done', answer },
    ];
    for (const file of ['rows.ts', 'plain.ts']) {
      const world = { kind: 'module', module: file };
      const batch = await run(`world-${file}`, { attempts: 1 }, { tasks: moves(20), world });
      const [row] = await workspace.rows(batch);
      assert.equal(row?.progress.passed, true);
      const snapshots = ofKind(await workspace.events(row.rollout), 'world.snapshot').length;
      assert.equal(snapshots, file === 'rows.ts' ? 2 : 0, 'every 16 calls, and at the end');
      const code = readFileSync(workspace.path(file), 'utf8');
      workspace.write(file, code.replace('LIMIT = 0', 'LIMIT = 1'));
      const { rescored, batch: scored } = await rescore(batch);
      const verified = await workspace.json<VerifiedAll>('world', 'verify', batch);
      workspace.write('edited.ts', code.replace('expected + LIMIT', '20'));
      workspace.write(file, code);
      const same = await workspace.json<VerifiedAll>('world', 'verify', row.rollout, '--with', 'edited.ts');
      assert.deepEqual(
        [verified.flipped, verified.rollouts[0]?.checks, same.flipped, same.rollouts[0]?.now?.passed],
        [1, [{ name: 'count', stored: true, now: false, index: 0 }], 0, true],
        file,
      );
      assert.deepEqual([rescored.compared, rescored.passed_to_failed], [1, 1], file);
      const events = await own((await workspace.rows(scored))[0]!);
      assert.deepEqual(
        events.map(({ kind }) => kind),
        ['rollout.start', 'rollout.lease', 'world.open', 'score', 'world.close', 'rollout.end'],
      );
      const [score] = ofKind(events, 'score');
      assert.equal(score?.data.checks?.[0]?.actual, 20, 'the state at the end');
      const said = ofKind(await workspace.events(row.rollout), 'score')[0]?.data.explanation ?? '';
      assert.match(said, /^\[\{"m":1,"role":"system",.*"role":"user",.*"done"/, 'it gets the conversation');
      assert.deepEqual([score.data.explanation, verified.rollouts[0]?.now?.explanation], [said, said], file);
    }
  });

  it('scores imported recordings, which have no world', async () => {
    const file = fileURLToPath(new URL('../fixtures/tau-bench/two-tasks.json', import.meta.url));
    const { batch } = await workspace.json<{ batch: string }>('import', file);
    const before = await workspace.rows(batch);
    workspace.write(
      'talk.ts',
      'export const score = ({ messages }) => ({ value: messages.length > 3 ? 1 : 0, ' +
        'explanation: messages[0].role });',
    );
    workspace.write('talk.yaml', 'scorer: { kind: module, module: talk.ts, name: talk }\n');
    const scored = await rescore(batch, '--scorer', 'talk.yaml');
    const settled = before.filter(({ settles }) => settles);
    assert.equal(scored.passed + scored.failed, settled.length);
    const rows = await workspace.rows(batch);
    assert.ok(settled.length > 0);
    for (const row of rows) {
      assert.equal(row.progress.verdicts?.['talk'] !== undefined, row.settles);
      assert.equal(row.progress.reward, before.find(({ rollout }) => rollout === row.rollout)?.progress.reward);
    }
    const none = await workspace.run('rescore', batch);
    assert.match(none.stderr, /was imported, so it has no scorer of its own/);
    const world = await workspace.run('rescore', batch, '--scorer', workspace.write('w.yaml', 'scorer: {kind: world}'));
    assert.equal(world.code, 2);
    assert.match(world.stderr, /imported recordings have no world/);
  });

  it('has no verdict on a final state that cannot be restored, and says why', async () => {
    const sent = [{ id: 'it', question: 'call send {}\ncall add {"n": 1}\nanswer done', answer: 101 }];
    const world = { kind: 'module', module: 'plain.ts' };
    const batch = await run('sent', { attempts: 1 }, { tasks: sent, world });
    const { stdout } = await workspace.run('rescore', batch, '--json');
    const { unscored, batch: scored } = JSON.parse(stdout) as Rescored;
    assert.equal(unscored, 1);
    const events = await own((await workspace.rows(scored))[0]!);
    const [score] = ofKind(events, 'score');
    assert.match(score?.data.error?.message ?? '', /send is irreversible/);
    assert.equal(endOf(events).status, 'done');
    const verified = await workspace.run('world', 'verify', batch);
    assert.match(verified.stdout, /it\/1 {2}passed → no verdict: .*send is irreversible/);
    const [row] = await workspace.rows(batch);
    assert.deepEqual([row?.progress.passed, verdictsOf([row!], 'world')], [true, [null]]);
  });

  it('records what a judge is asked, and goes on after its worker is killed without asking twice', async () => {
    const released = Promise.withResolvers<undefined>();
    const asked = Promise.withResolvers<undefined>();
    await using judge: FakeEndpoint = await chatEndpoint(async ({ body }, response) => {
      if (JSON.stringify(body).includes('<answer>\\n41')) {
        asked.resolve(undefined);
        await released.promise;
      }
      answerText(response, JSON.stringify({ score: 0.7, explanation: 'nearly' }));
    });
    const batch = await run('judged', { attempts: 1, scorer: { kind: 'exact' } });
    const model = { endpoint: judge.url, name: 'judge' };
    const scorer = { kind: 'judge', name: 'careful', model, rubric: 'Is it right?', pass: 0.5 };
    workspace.write('judge.yaml', JSON.stringify({ scorer }));
    const { batch: scored } = await workspace.json<{ batch: string }>(
      'rescore',
      batch,
      '--scorer',
      'judge.yaml',
      '--detach',
    );
    await asked.promise;
    const rows = await workspace.waitForRows(scored, (all) => all.some(({ state }) => state === 'ended'));
    const open = rows.find(({ state }) => state === 'running');
    process.kill(Number(/^local-(\d+)$/.exec(open?.worker ?? '')?.[1]), 'SIGKILL');
    released.resolve(undefined);
    const ended = await workspace.ended(scored);
    // The first verdict was recorded; the second one's answer was lost with the worker.
    assert.equal(callsOf(judge), 3);
    for (const row of ended) {
      const events = await own(row);
      assert.ok(ofKind(events, 'model.start').every(({ agent, data }) => agent === 'judge' && data.side === 'judge'));
      assert.deepEqual([row.progress.side?.calls, row.progress.steps, row.try], [1, 0, 1]);
    }
    const verdicts = (await workspace.rows(batch)).map(({ progress }) => progress.verdicts?.['careful']);
    assert.deepEqual(
      verdicts.map((verdict) => [verdict?.value, verdict?.passed]),
      [
        [0.7, true],
        [0.7, true],
      ],
    );
    const copied = ofKind(await workspace.events(batch), 'score');
    assert.deepEqual(
      copied.map(({ data }) => data.explanation),
      ['nearly', 'nearly'],
    );
  });
});
