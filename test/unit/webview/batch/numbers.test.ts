import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { finish } from '../../../../src/common/piecewise.ts';
import type { RolloutRow } from '../../../../src/trace/summary.ts';
import { countCauses, tasksText } from '../../../../webview/batch/figures/causes.ts';
import { flowOf, timeLeft } from '../../../../webview/batch/figures/flow.ts';
import { causesIn, toggleCause } from '../../../../webview/batch/model/causeFilter.ts';
import { cellName, rewardText, stateText } from '../../../../webview/batch/model/cellText.ts';
import { parseFilter } from '../../../../webview/batch/model/filter.ts';
import { aRow, failed, passed } from './rows.ts';

const HOUR = 3_600_000;
const ended = (started_at: number, ended_at: number) =>
  passed({ progress: { ...passed().progress, started_at, ended_at } });

suite('the speed of a batch', () => {
  test('shows ends per hour and rollouts in flight over the last hour', () => {
    const now = 10 * HOUR;
    const rows = Array.from({ length: 120 }, (_, i) =>
      ended(now - HOUR - 60_000 + i * 30_000, now - HOUR + i * 30_000 + 1),
    );
    const flow = finish(flowOf(rows, now));
    assert.ok(flow !== undefined);
    assert.equal(flow.to - flow.from, HOUR);
    assert.ok(Math.abs(flow.perHour - 120) < 6, String(flow.perHour));
    assert.ok(Math.abs(flow.ends.reduce((sum, each) => sum + each, 0) / 60 - 120) < 6);
    assert.ok((flow.inFlight[30] ?? 0) >= 2 && (flow.inFlight[30] ?? 0) <= 3);
  });

  test('of a batch that just began is not measured over time it did not have', () => {
    const now = 10 * HOUR;
    const flow = finish(
      flowOf(
        [
          ended(now - 6000, now - 3000),
          ended(now - 6000, now - 1000),
          aRow({ state: 'running', progress: { started_at: now - 500 } }),
        ],
        now,
      ),
    );
    assert.ok(flow !== undefined);
    assert.ok(Math.abs(flow.perHour - (2 * HOUR) / 6000) < 1, String(flow.perHour));
    assert.equal(flow.running, 1);
  });

  test('shows the peak in flight, however short and long ago', () => {
    const begun = 10 * HOUR;
    const most = (rows: readonly RolloutRow[], now: number) => finish(flowOf(rows, now))?.most;
    // Two workers, one of which goes from one rollout to the next: all within one slice of time.
    const quick = [
      ended(begun, begun + 40),
      ended(begun + 40, begun + 90),
      ended(begun + 90, begun + 120),
      ended(begun + 10, begun + 100),
    ];
    assert.equal(most(quick, begun + 130), 2);
    assert.deepEqual(
      finish(flowOf(quick, begun + 130))?.inFlight.filter((one) => one > 0),
      [2],
      'the picture says so too',
    );
    // Five that ended long ago, and one that keeps running.
    const early = Array.from({ length: 5 }, (_, i) => ended(begun + i, begun + 1_000 + i));
    assert.equal(most([...early, ended(begun + 2_000, begun + 5 * HOUR)], begun + 5 * HOUR), 5);
    assert.equal(most([ended(begun, begun), ended(begun, begun)], begun + 1), 2, 'also those that took no time');
    assert.equal(most([aRow({ state: 'running', progress: { started_at: begun } }), ...early], begun + 10), 6);
  });

  test('takes the peak at a single moment', () => {
    const begun = 10 * HOUR;
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    const rows = Array.from({ length: 300 }, () => {
      const start = begun + random(500);
      return ended(start, start + random(60));
    });
    const at = (time: number): number =>
      rows.filter(
        ({ progress: { started_at: start = 0, ended_at: end = 0 } }) =>
          start <= time && time < Math.max(end, start + 1),
      ).length;
    const moments = Array.from({ length: 600 }, (_, i) => at(begun + i));
    const flow = finish(flowOf(rows, begun + 600));
    assert.equal(flow?.most, Math.max(...moments));
    assert.deepEqual(
      flow.inFlight.filter((one) => one > 0),
      [Math.max(...moments)],
    );
  });

  test('of an ended batch is its attempts over its whole duration, however long ago and however long', () => {
    for (const lasted of [12_500, 3 * HOUR]) {
      const rows = Array.from({ length: 96 }, (_, i) => ended(HOUR, HOUR + ((i + 1) / 96) * lasted));
      const flow = finish(flowOf(rows, 'ended'));
      assert.ok(flow !== undefined);
      assert.ok(Math.abs(flow.perHour - (96 * HOUR) / lasted) < 1, String(flow.perHour));
      assert.equal(flow.to - flow.from, lasted);
    }
  });

  test('does not count attempts that were lost to infrastructure, or cancelled', () => {
    const unsettled = (status: 'infrastructure' | 'cancelled') => (started_at: number, ended_at: number) =>
      aRow({ state: 'ended', settles: false, progress: { started_at, ended_at, status } });
    const [lost, cancelled] = [unsettled('infrastructure'), unsettled('cancelled')];
    const rows = [ended(HOUR, HOUR + 1000), lost(HOUR, HOUR + 2000), cancelled(HOUR + 1000, HOUR + 4000)];
    for (const at of ['ended', HOUR + 4000] as const) {
      const flow = finish(flowOf(rows, at));
      assert.equal(flow?.perHour, HOUR / 4000);
      assert.equal(flow.ends.filter((one) => one > 0).length, 1);
      assert.equal(flow.most, 2, 'they were in flight');
    }
    assert.equal(finish(flowOf(rows.slice(1), 'ended'))?.perHour, 0);
  });

  test('is undefined without times', () => {
    assert.equal(finish(flowOf([passed(), failed(), aRow({ state: 'queued' })], HOUR)), undefined);
    assert.equal(timeLeft(10, 0), undefined);
    assert.equal(timeLeft(0, 10), undefined);
    assert.equal(timeLeft(10, 20), HOUR / 2);
  });
});

suite('the causes', () => {
  test('are counted, the most frequent first, with their tasks; cancelled and running attempts do not count', () => {
    const because = (text: string, task: string, attempt: number): RolloutRow =>
      failed({
        task,
        task_index: task === 'renew' ? 0 : 1,
        attempt,
        progress: { ...failed().progress, cause: { kind: 'check', text } },
      });
    const {
      all,
      notPassed,
      ended: of,
    } = finish(
      countCauses([
        passed(),
        because('no answer', 'renew', 2),
        because('row not renewed', 'renew', 3),
        because('row not renewed', 'hold', 1),
        because('row not renewed', 'hold', 2),
        aRow({ progress: { status: 'cancelled' } }),
        aRow({ state: 'running' }),
      ]),
    );
    assert.deepEqual([notPassed, of], [4, 5]);
    assert.deepEqual(
      all.map(({ text, count, first }) => [text, count, first]),
      [
        ['row not renewed', 3, { index: 0, attempt: 3 }],
        ['no answer', 1, { index: 0, attempt: 2 }],
      ],
    );
    assert.equal(tasksText(all[0]?.tasks ?? []), 'hold 2, and 1 more task');
    assert.equal(
      all.reduce((sum, { count }) => sum + count, 0),
      notPassed,
    );
  });

  test('filter by one, by several, and no longer', () => {
    const one = toggleCause('renew', 'no answer', false);
    assert.equal(one, 'renew cause:"no answer"');
    const two = toggleCause(one, 'said "no"', true);
    assert.deepEqual(causesIn(two), ['no answer', "said 'no'"]);
    assert.equal(toggleCause(two, 'no answer', true), 'renew cause:"said \'no\'"');
    assert.equal(toggleCause(one, 'no answer', false), 'renew');
    const row = failed({ progress: { ...failed().progress, cause: { kind: 'check', text: 'said "no"' } } });
    const matches = (text: string): boolean => {
      const parsed = parseFilter(text);
      return parsed.kind === 'parts' && parsed.parts.every(({ test: is }) => is(row, undefined));
    };
    assert.deepEqual(
      ['cause:"no answer"', 'cause:"no answer","said \'no\'"', 'cause:said', 'cause:"said"'].map(matches),
      [false, true, true, false],
    );
  });
});

suite('the description of an attempt', () => {
  test('names a cell', () => {
    assert.equal(
      cellName('renew', 3, aRow({ state: 'running', progress: { step: 7 } })),
      'renew attempt 3: running, step 7',
    );
    assert.equal(cellName('renew', 3, aRow({ state: 'running' })), 'renew attempt 3: running');
    assert.equal(cellName('renew', 3, undefined), 'renew attempt 3: queued');
    assert.equal(cellName('renew', 1, passed()), 'renew attempt 1: passed');
    assert.equal(
      cellName('renew', 1, aRow({ progress: { status: 'done', passed: null } })),
      'renew attempt 1: unscored',
    );
  });

  test('has what an attempt waits for while it has not ended', () => {
    assert.deepEqual(
      stateText(
        aRow({ state: 'held', progress: { hold: { why: 'breakpoint', side: 'before', seq: 4, breakpoint: 'late' } } }),
      ),
      { head: 'Paused before a call: breakpoint', text: 'Breakpoint late' },
    );
    assert.equal(stateText(aRow({ state: 'queued' }))?.head, 'Waiting for a worker');
    assert.equal(stateText(undefined)?.head, 'Waiting for a worker');
    assert.equal(stateText(aRow({ state: 'running', progress: { step: 4 } }))?.head, 'At step 4');
    assert.equal(stateText(failed()), undefined);
  });

  test('has a reward with one decimal or more', () => {
    assert.equal(rewardText(failed()), '0.0');
    assert.equal(rewardText(aRow({ progress: { reward: 2 / 3 } })), '0.667');
    assert.equal(rewardText(aRow({ progress: { reward: null } })), undefined);
    assert.equal(rewardText(undefined), undefined);
  });
});
