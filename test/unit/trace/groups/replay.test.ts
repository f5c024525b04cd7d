import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { needsReplay, replayAdvantage, replayableOf, replayCount } from '../../../../src/trace/groups/replay.ts';
import { EMPTY_PROGRESS, type Progress, type RolloutRow } from '../../../../src/trace/summary.ts';

function member(progress: Partial<Progress>): RolloutRow {
  return {
    rollout: 'r',
    batch: 'b',
    task: 't',
    task_index: 0,
    attempt: 1,
    try: 1,
    state: 'ended',
    epoch: 1,
    last: 1,
    settles: true,
    rev: 1,
    progress: { ...EMPTY_PROGRESS, status: 'done', ...progress },
  };
}

const solved = (oldest?: number, newest = oldest, over: Partial<Progress> = {}): RolloutRow =>
  member({
    passed: true,
    reward: 1,
    ...(oldest === undefined ? {} : { weights: { a: [String(oldest), String(newest)] } }),
    ...over,
  });
const missed = member({ passed: false, reward: 0 });
const behinds = (rows: readonly RolloutRow[], current: number | undefined, age: number, isVersioned = true) =>
  replayableOf(rows, () => current, { age, isVersioned }).map(({ index, behind }) => [index, behind]);

describe('replay', () => {
  it('is for groups in which no member passed', () => {
    assert.deepEqual(
      [[missed, missed], [missed, solved()], []].map((members) => needsReplay(members)),
      [true, false, false],
    );
  });

  it('is bounded by its share of all rollouts of the group', () => {
    assert.deepEqual(
      [2, 3, 4, 8, 16].map((members) => replayCount(members, 0.25)),
      [0, 1, 1, 2, 5],
    );
    assert.equal(replayCount(4, 0.2), 1);
    for (const share of [0.1, 0.2, 0.25, 0.3, 0.5, 0.9])
      for (let members = 1; members <= 64; members++) {
        const count = replayCount(members, share);
        assert.ok(count / (members + count) <= share + 1e-9);
        assert.ok((count + 1) / (members + count + 1) > share);
      }
  });

  it('takes successes of informative groups, the least old first, up to an age', () => {
    assert.deepEqual(behinds([solved(3), missed, solved(6), solved(4, 7), solved(5, 6)], 7, 3), [
      [2, 1],
      [4, 2],
      [3, 3],
    ]);
    assert.deepEqual(behinds([solved(7), solved(7)], 7, 3), [], 'all passed: nothing to learn from them');
    assert.deepEqual(behinds([solved(9), missed], 7, 3), [], 'its version was taken back');
    assert.deepEqual(behinds([solved(7, 7, { touched: true }), missed], 7, 3), [], 'a person changed it');
  });

  it('takes rollouts without a version only if nothing has one', () => {
    assert.deepEqual(behinds([solved(), missed], undefined, 3, false), [[0, null]]);
    assert.deepEqual(behinds([solved(), missed], 7, 3), []);
    assert.deepEqual(behinds([solved(3), missed], undefined, 3), [], 'nobody knows what is served now');
  });

  it('has the advantage of one more member', () => {
    assert.equal(replayAdvantage('rloo', [0, 0, 0], 1), 1);
    assert.equal(replayAdvantage('dr_grpo', [0, 0, 0], 1), 0.75);
    assert.equal(replayAdvantage('ms_swift', [0, 0, 0], 1), 0.75 / (0.5 + 1e-4));
    assert.equal(replayAdvantage('rloo', [0, 0], null), null);
  });
});
