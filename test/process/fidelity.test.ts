/** A world compared with recordings, on the command line: only the models of the world and the judge are called. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { Bench } from '../support/cli.ts';

interface Report {
  readonly batch: string;
  readonly how: string;
  readonly calls: number;
  readonly right: number;
  readonly failed: number;
  readonly accuracy: { readonly micro: number | null; readonly macro: number | null };
  readonly marks?: Readonly<Record<string, { readonly micro: number }>>;
  readonly faults: Readonly<Record<string, number>>;
  readonly by_turn: readonly { readonly turn: number; readonly accuracy: number }[];
  readonly worst: readonly { readonly call: string; readonly fault: string; readonly explanation?: string }[];
  readonly tokens: { readonly input: number };
}

/** Kinds of errors that the demo model plants, and the classes in which they are found. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  succeeds: ['status'],
  fails: ['status'],
  deterministic: ['deterministic', 'existing', 'keys'],
  existing: ['existing', 'deterministic'],
  runtime: ['runtime', 'existing'],
  missing_key: ['keys'],
  additional_key: ['keys'],
  malformed: ['keys'],
};

describe('rollout world fidelity', { timeout: 480_000 }, () => {
  const bench = new Bench({ sharesProcess: true });
  const cwd = bench.path('desk');
  let recorded = '';
  let sim = '';

  before(async () => {
    await bench.run(['init', 'desk'], { cwd: bench.folder });
    sim = await readFile(bench.path('desk', 'worlds', 'library-sim.world.yaml'), 'utf8');
    // The simulation knows nothing of the copies that the desk lends by seed, which only the last task touches.
    const args = ['run', 'batches/desk.batch.yaml', '--attempts', '2', '--limit', '11'];
    ({ batch: recorded } = await bench.json<{ batch: string }>(args, { cwd }));
  });
  after(() => bench.close());

  /** Writes a world file whose demo model plants errors. Returns its path. */
  async function world(name: string, query: string): Promise<string> {
    const text = sim
      .replace(/endpoint: .*/, `endpoint: 'demo:?${query}'`)
      .replace('name: library-sim', `name: ${name}`);
    await writeFile(bench.path('desk', 'worlds', `${name}.world.yaml`), text);
    return `worlds/${name}.world.yaml`;
  }

  function fidelity(file: string, ...more: readonly string[]): Promise<Report> {
    return bench.json<Report>(['world', 'fidelity', recorded, '--world', file, ...more], { cwd });
  }

  it('says before the launch what it costs, and runs nothing', async () => {
    const args = ['world', 'fidelity', recorded, '--world', 'worlds/library-sim.world.yaml', '--judge', 'demo@demo:'];
    const estimate = await bench.json<{ rollouts: number; calls: number; model_calls: number; input_tokens: number }>(
      [...args, '--estimate'],
      { cwd },
    );
    assert.equal(estimate.rollouts, 22);
    assert.equal(estimate.model_calls, 2 * estimate.calls);
    assert.ok(estimate.input_tokens > 10_000);
    const { batches } = await bench.json<{ batches: readonly unknown[] }>(['batches'], { cwd });
    assert.equal(batches.length, 1);
  });

  it('finds that the faithful simulation is always right, in both modes; no agent calls a model', async () => {
    for (const how of ['forced', 'free']) {
      const report = await fidelity('worlds/library-sim.world.yaml', ...(how === 'free' ? ['--free'] : []));
      assert.deepEqual([report.how, report.accuracy, report.failed], [how, { micro: 1, macro: 1 }, 0]);
      assert.equal(report.right, report.calls);
      assert.ok(report.calls > 50, `${report.calls} calls`);
      assert.ok(report.tokens.input > 0);
      const { batches } = await bench.json<{
        batches: readonly { batch: string; input_tokens: number; counts: { passed: number } }[];
      }>(['batches'], { cwd });
      const own = batches.find(({ batch }) => batch === report.batch);
      assert.deepEqual([own?.input_tokens, own?.counts.passed], [0, 22]);
    }
  });

  it('finds the errors that a world plants, of each kind, and exits with 1 below a threshold', async () => {
    for (const [kind, classes] of Object.entries(KINDS)) {
      const report = await fidelity(await world(kind, `world=${kind}:1`));
      const found = Object.keys(report.faults);
      assert.ok(
        classes.some((fault) => found.includes(fault)),
        `${kind}: ${JSON.stringify(report.faults)}`,
      );
    }
    const file = await world('fails', 'world=fails:1');
    const ran = await bench.run(
      ['world', 'fidelity', `${recorded}/renew-one`, '--world', file, '--fail-under', '0.9'],
      { cwd },
    );
    assert.equal(ran.code, 1, ran.stderr);
    assert.match(ran.stdout, /fails, teacher-forced: 0% accurate/);
    assert.match(ran.stdout, /worst calls[^]*r\w+@\d+ /);
    assert.match(ran.stderr, /below 90%/);
  });

  it('gives the marks of a judge, with its reasons', async () => {
    const file = await world('keyless', 'world=missing_key:1');
    const report = await fidelity(file, '--judge', 'demo@demo:', '--most', '3');
    assert.deepEqual(Object.keys(report.marks ?? {}), ['format', 'factuality', 'consistency', 'realism', 'quality']);
    assert.ok((report.marks?.['format']?.micro ?? 5) < 5);
    assert.match(report.worst[0]?.explanation ?? '', /\w/);
  });

  it('a call of the comparison says what was predicted, and that the rest is recorded', async () => {
    const report = await fidelity(await world('keyless', 'world=missing_key:1'), '--most', '1');
    const { stdout } = await bench.run(['show', report.worst[0]?.call.split('@')[0] ?? ''], { cwd });
    assert.match(stdout, /recorded/);
    assert.match(stdout, /predict/i);
  });

  it('refuses recordings without calls, of several batches, and of comparisons without results', async () => {
    const args = ['world', 'fidelity', '--world', 'worlds/library-sim.world.yaml'];
    const none = await bench.run([...args], { cwd });
    assert.match(none.stderr, /Name the recordings/);
    const judge = await bench.run([...args, recorded, '--judge', 'batches/desk.batch.yaml'], { cwd });
    assert.match(judge.stderr, /is not a judge/);
    const unknown = await bench.run([...args, `${recorded}/no-such-task`], { cwd });
    assert.match(unknown.stderr, /has no attempts of task/);
  });
});
