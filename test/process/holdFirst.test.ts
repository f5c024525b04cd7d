// “Hold the first where X” on a batch of 64: one is held and stays held, whichever process dies.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { endOf, ofKind, Workspace } from '../support/testWorkspace.ts';

const TASKS = 8;
const ATTEMPTS = 8;

describe('a batch that holds the first match', { timeout: 480_000 }, () => {
  const workspace = new Workspace();
  let batch: string;
  let held: RolloutRow;
  /**
   * The gates it was held at: before or after which call. A call that was lost with its worker is requested again under
   * its own ID.
   */
  const gates = (
    events: readonly TraceEvent[],
  ): { call: string | undefined; side: string; why: string; breakpoint: string | undefined }[] =>
    ofKind(events, 'hold').map(({ span, data }) => ({
      call: ofKind(events, 'tool.start').find(({ seq }) => seq === span)?.data.call,
      side: data.side,
      why: data.why,
      breakpoint: data.breakpoint,
    }));
  before(() => {
    workspace.batch('first', {
      endpoint: 'demo:?latency_ms=20',
      agent: { tools: [{ builtin: ['calculator'] }] },
      tasks: Array.from({ length: TASKS }, (_, index) => ({
        id: `t${index}`,
        question: `call calculate {"expression": "40 + ${index}"} times 3\nanswer {{last}}`,
        answer: String(40 + index),
      })),
      batch: { attempts: ATTEMPTS, concurrency: 16 },
    });
  });
  after(() => workspace.close());

  it('reports an invalid condition before anything starts', async () => {
    const { code, stderr } = await workspace.run('run', 'first.batch.yaml', '--hold-where', 'tool.name ==');
    assert.equal(code, 2);
    assert.match(stderr, /tool\.name ==/);
  });

  it('holds exactly one while the others run to their end, even though the launching process is gone', async () => {
    const launcher = workspace.bench.start(
      [
        'run',
        'first.batch.yaml',
        '--hold-where',
        'tool.name == "calculate" && tool.arguments.expression in ["40 + 3", "40 + 5"]',
      ],
      { cwd: workspace.path() },
    );
    launcher.stdout?.resume();
    for await (const line of createInterface({ input: launcher.stderr ?? process.stdin })) {
      const printed = /^batch (b\w+)$/.exec(line)?.[1];
      if (printed === undefined) continue;
      batch = printed;
      break;
    }
    const closed = once(launcher, 'close');
    launcher.kill('SIGKILL');
    await closed;

    const rows = await workspace.waitForRows(
      batch,
      (all) =>
        all.filter(({ state }) => state === 'ended').length === TASKS * ATTEMPTS - 1 &&
        all.some(({ state }) => state === 'held'),
    );
    assert.equal(rows.length, TASKS * ATTEMPTS);
    const standing = rows.filter(({ state }) => state !== 'ended');
    assert.deepEqual(
      standing.map(({ state }) => state),
      ['held'],
    );
    held = standing[0] as RolloutRow;
    assert.ok(['t3', 't5'].includes(held.task), held.task);
    assert.ok(
      rows.every((row) => row === held || row.progress.passed === true),
      'the others passed',
    );
    const events = await workspace.events(held.rollout);
    const [call] = ofKind(events, 'tool.start');
    assert.ok(call !== undefined);
    assert.deepEqual(gates(events), [
      { call: call.data.call, side: 'before', why: 'breakpoint', breakpoint: 'run:first' },
    ]);
    assert.equal(ofKind(events, 'tool.end').length, 0, 'the call did not run');
  });

  it('is held by another worker at the same gate when its worker is killed', async () => {
    const pid = Number(/\d+$/.exec(held.worker ?? '')?.[0]);
    assert.ok(pid > 0, held.worker);
    process.kill(pid, 'SIGKILL');
    const events = await workspace.waitForEvents(held.rollout, (all) => ofKind(all, 'hold').length === 2);
    const [first, again] = gates(events);
    assert.deepEqual(again, first);
    const leases = ofKind(events, 'rollout.lease');
    assert.equal(leases.length, 2);
    assert.notEqual(leases[1]?.data.worker, leases[0]?.data.worker);
    assert.deepEqual(
      ofKind(events, 'tool.end').map(({ data }) => data.error?.class),
      ['infrastructure'],
      'the call never ran, it was only lost',
    );
    assert.equal(ofKind(events, 'release').length, 0);
    const [row] = await workspace
      .waitForRows(batch, (all) => all.some(({ rollout, state }) => rollout === held.rollout && state === 'held'))
      .then((all) => all.filter(({ rollout }) => rollout === held.rollout));
    assert.deepEqual([row?.state, row?.try], ['held', held.try], 'the same try');
  });

  it('passes when it is released, and ends', async () => {
    const { code, stderr } = await workspace.run('resume', held.rollout);
    assert.equal(code, 0, stderr);
    const rows = await workspace.ended(batch);
    assert.deepEqual(
      rows.map(({ state, settles, progress }) => [state, settles, progress.passed]),
      Array.from({ length: TASKS * ATTEMPTS }, () => ['ended', true, true]),
    );
    const events = await workspace.events(held.rollout);
    assert.deepEqual(
      [
        ofKind(events, 'tool.end').filter(({ data }) => data.status === 'ok').length,
        ofKind(events, 'release').length,
        endOf(events).touched,
      ],
      [3, 1, false],
    );
  });
});
