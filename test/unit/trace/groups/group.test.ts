import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { reportText } from '../../../../src/client/text/reportText.ts';
import { finish } from '../../../../src/common/piecewise.ts';
import { allWasted, type GroupFigures, groupFigures } from '../../../../src/trace/groups/figures.ts';
import { groupOf, memberAdvantages } from '../../../../src/trace/groups/group.ts';
import { noSignalText } from '../../../../src/trace/groups/text.ts';
import { report } from '../../../../src/trace/statistics.ts';
import { EMPTY_PROGRESS, type Progress, type RolloutRow } from '../../../../src/trace/summary.ts';

let rev = 0;

/** An attempt that has ended, of 100 tokens. */
function row(attempt: number, progress: Partial<Progress>, over: Partial<RolloutRow> = {}): RolloutRow {
  rev += 1;
  return {
    rollout: `r${rev}`,
    batch: 'b1',
    task: 't1',
    task_index: 0,
    attempt,
    try: 1,
    state: 'ended',
    epoch: 1,
    last: 9,
    settles: true,
    rev,
    progress: { ...EMPTY_PROGRESS, status: 'done', input_tokens: 90, output_tokens: 10, ...progress },
    ...over,
  };
}

function rewarded(attempt: number, reward: number, over: Partial<RolloutRow> = {}): RolloutRow {
  return row(attempt, { reward, passed: reward === 1 }, over);
}

const LOST = { status: 'infrastructure', passed: null, reward: null } as const;

function figures(counting: readonly RolloutRow[], others: readonly RolloutRow[] = []): GroupFigures {
  return finish(groupFigures({ counting, rows: [...counting, ...others] }));
}

describe('group of a task', () => {
  it('has the mean and the spread of the rewards that count', () => {
    const group = groupOf([rewarded(1, 1), rewarded(2, 0), rewarded(3, 0), rewarded(4, 0)], 4);
    assert.deepEqual(
      { ...group, members: group.members.length },
      { members: 4, scored: 4, excluded: 0, open: 0, mean: 0.25, spread: 0.5, signal: 'some' },
    );
    const advantages = memberAdvantages(group, 'ms_swift').map((value) => value?.toFixed(4));
    assert.deepEqual(advantages, ['1.4997', '-0.4999', '-0.4999', '-0.4999']);
  });

  it('excludes members with the reason, and never counts them as 0', () => {
    const group = groupOf(
      [
        rewarded(1, 1),
        row(2, LOST),
        row(3, { status: 'cancelled', reward: null }),
        row(4, { reward: 0, touched: true }),
        row(5, { reward: null }),
        row(6, { reward: Number.NaN }),
        rewarded(7, 0),
      ],
      7,
    );
    assert.deepEqual(
      group.members.map(({ reward, why }) => why ?? reward),
      [
        1,
        'it was lost to infrastructure',
        'it was cancelled',
        'a person changed it',
        'nobody can say what it is worth',
        'nobody can say what it is worth',
        0,
      ],
    );
    assert.equal(group.mean, 0.5);
    assert.equal(group.excluded, 5);
    const equal = groupOf([rewarded(1, 1), rewarded(2, 0)], 2);
    const of = (members: typeof group) => memberAdvantages(members, 'verl').filter((value) => value !== null);
    assert.deepEqual(of(group), of(equal));
    assert.equal(memberAdvantages(group, 'verl')[1], null);
  });

  it('has no signal once all have ended with equal rewards', () => {
    const same = [rewarded(1, 0.1), rewarded(2, 0.1), rewarded(3, 0.1)];
    const open = groupOf(same, 4);
    assert.equal(open.signal, 'open');
    assert.equal(open.open, 1);
    assert.equal(noSignalText(open), undefined);
    const group = groupOf(same, 3);
    assert.equal(group.signal, 'none');
    assert.equal(group.spread, 0);
    assert.equal(group.mean, 0.1);
    assert.equal(noSignalText(group), 'No signal: all 0.1');
    assert.deepEqual(memberAdvantages(group, 'rloo'), [0, 0, 0]);
    assert.equal(groupOf([...same, row(4, LOST)], 4).signal, 'none');
    assert.equal(groupOf([row(1, LOST)], 1).signal, 'excluded');
    assert.equal(groupOf([], 4).signal, 'open');
    assert.equal(groupOf([rewarded(1, 1)], 1).signal, 'none');
  });

  it('has a signal as soon as two rewards differ', () => {
    const running = row(3, {}, { state: 'running', settles: false });
    assert.equal(groupOf([rewarded(1, 1), rewarded(2, 0), running], 4).signal, 'some');
  });

  it('does not count members that others replaced, in any view', () => {
    const rows = [rewarded(1, 0), rewarded(2, 1), row(3, { reward: 1, passed: true, replaced: true })];
    const group = groupOf(rows, 3);
    assert.deepEqual([group.mean, group.scored, group.excluded], [0.5, 2, 1]);
    assert.equal(group.members[2]?.why, 'its weights were too old, and another took its place');
    assert.equal(figures(rows).wasted.excluded, 100);
  });

  it('does not exclude a held attempt that a person changed before it ends', () => {
    const held = row(1, { touched: true }, { state: 'held', settles: false });
    assert.deepEqual(groupOf([held], 1).members[0], { attempt: 1, reward: null, open: true, tokens: 100 });
  });
});

describe('group of an ended batch', () => {
  it('does not wait for attempts that never began', () => {
    const group = groupOf([rewarded(1, 1), rewarded(2, 1)], 3, true);
    assert.equal(group.signal, 'none');
    assert.deepEqual(group.members[2], { attempt: 3, reward: null, open: false, why: 'it never began', tokens: 0 });
    const rows = [rewarded(1, 1), rewarded(2, 1)];
    const { groups } = report({ batch: 'b1', rows, attempts: 3, tasks: 1, at: 'ended' });
    assert.deepEqual(groups, { some: 0, none: 1, open: 0, excluded: 0 });
    assert.equal(report({ batch: 'b1', rows, attempts: 3, tasks: 1, at: rev }).groups.open, 1);
  });
});

describe('figures of groups', () => {
  it('count every wasted token once', () => {
    const t = (name: string): Partial<RolloutRow> => ({ task: name });
    const counting = [
      rewarded(1, 1, t('with')),
      rewarded(2, 0, t('with')),
      row(3, LOST, t('with')),
      rewarded(1, 1, t('without')),
      rewarded(2, 1, t('without')),
      row(3, { status: 'cancelled', reward: null }, t('without')),
      row(1, LOST, t('excluded')),
      rewarded(1, 1, t('open')),
      row(2, {}, { ...t('open'), state: 'running', settles: false }),
    ];
    const others = [row(1, LOST, { ...t('with'), settles: false })];
    const { groups, wasted, lost } = figures(counting, others);
    assert.deepEqual(groups, { some: 1, none: 1, open: 1, excluded: 1 });
    assert.deepEqual(wasted, { tries: 100, excluded: 300, no_signal: 200 });
    assert.equal(allWasted(wasted), 600);
    assert.deepEqual(lost, { rollouts: 3, of: 9 });
  });

  it('agree with the groups of the tasks', () => {
    const counting = [
      rewarded(1, 1),
      rewarded(2, 1),
      rewarded(1, 0.5, { task: 't2' }),
      row(2, { reward: Number.NaN }, { task: 't2' }),
    ];
    const { groups } = figures(counting);
    assert.equal(groupOf(counting.slice(0, 2), 2).signal, 'none');
    assert.equal(groupOf(counting.slice(2), 2).signal, 'none');
    assert.deepEqual(groups, { some: 0, none: 2, open: 0, excluded: 0 });
  });

  it('are printed by the report', () => {
    const rows = [
      rewarded(1, 1),
      rewarded(2, 0),
      row(3, LOST),
      rewarded(1, 1, { task: 't2' }),
      rewarded(2, 1, { task: 't2' }),
    ];
    const text = reportText(report({ batch: 'b1', rows, at: 'ended' }), 100);
    assert.match(text, /^groups {5}1 with signal, 1 without$/m);
    assert.match(text, /^wasted {5}60\.0% of the tokens: 200 in groups without signal, 100 of excluded attempts$/m);
    assert.match(text, /^lost {7}1 of 5 rollouts to infrastructure \(20\.0%\)$/m);
  });

  it('count attempts and tasks without a row as open', () => {
    const counting = [rewarded(1, 1), rewarded(2, 1)];
    const all = finish(groupFigures({ counting, rows: counting, attempts: 4, tasks: 3 }));
    assert.deepEqual(all.groups, { some: 0, none: 0, open: 3, excluded: 0 });
    assert.equal(allWasted(all.wasted), 0);
  });

  it('list versions of the weights in their order', () => {
    const version = (oldest: string, newest: string) => row(1, { reward: 1, weights: { desk: [oldest, newest] } });
    const { versions } = figures([version('9', '10'), version('9', '9'), version('2', '2'), version('10', '10')]);
    assert.deepEqual(versions, [
      ['2', 1],
      ['9', 1],
      ['10', 2],
    ]);
  });
});
