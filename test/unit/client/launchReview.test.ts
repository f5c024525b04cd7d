import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type LaunchedBatch, launchReview } from '../../../src/client/launchReview.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { reviewChoices } from '../../../src/host/launch/reviewChoices.ts';
import type { ShareRow, SharesReply } from '../../../src/protocol/shares.ts';

function row(kind: ShareRow['kind'], name: string, some: Partial<ShareRow> = {}): ShareRow {
  return {
    ...{ kind, name, weight: 1, entitled: 0, used: 0, batches: 0, gpu_hours: 0, cpu_hours: 0 },
    ...{ rollouts: { running: 0, held: 0, queued: 0 }, pods: { running: 0 }, tokens: { hour: 0 } },
    ...some,
  };
}

const ANN = { kind: 'user', name: 'ann' } as const;
const reply = (some: Partial<SharesReply>): SharesReply => ({ rows: [], waiting: [], queues: [], own: ANN, ...some });
const batch = (some: Partial<LaunchedBatch> = {}): LaunchedBatch => ({
  ...{ attempts: 320, queue: undefined, priority: 0, concurrency: 'auto', pods: undefined, tokens: undefined },
  ...some,
});
const running = (number: number, limit?: number): ShareRow['rollouts'] => ({
  ...{ running: number, held: 0, queued: 0 },
  ...(limit === undefined ? {} : { limit }),
});

describe('a launch', () => {
  test('has nothing to review where nobody else is, and nothing is limited', () => {
    assert.equal(launchReview(reply({}), batch()), undefined);
    const rows = [row('user', 'ann', { batches: 3, rollouts: running(9) }), row('user', 'bob')];
    assert.equal(launchReview(reply({ rows }), batch()), undefined, 'bob runs nothing');
    const shared = launchReview(reply({ rows: [row('user', 'ann'), row('user', 'bob', { batches: 1 })] }), batch());
    assert.deepEqual(shared?.start, { label: 'Starts now', text: '' });
    assert.equal(shared.waits, false);
  });

  test('shows its queue, its user, what they use, and their limits', () => {
    const rows = [
      row('queue', 'default', { batches: 1, entitled: 0.4 }),
      row('queue', 'research', {
        ...{ weight: 2, entitled: 0.6, used: 0.25, batches: 2, rollouts: running(120), pods: { running: 6, limit: 8 } },
      }),
      row('user', 'ann', { rollouts: running(30, 50), tokens: { hour: 900_000, limit: 1_000_000 } }),
    ];
    const shares = reply({ rows, queues: ['default', 'research'] });
    const review = launchReview(shares, batch({ queue: 'research', tokens: 2_400_000 }));
    assert.deepEqual(review, {
      waits: true,
      matters: true,
      start: { label: 'Starts with 20 rollouts of 320; more follow as others end', text: '' },
      shares: [
        {
          kind: 'queue',
          label: 'queue research',
          text: 'gets 67%, uses 25% · 120 rollouts · 6 pods',
        },
        { kind: 'user', label: 'ann', text: 'uses 0% · 30 rollouts' },
      ],
      limits: [
        { label: 'Pods of research', text: '6 of 8 run · 2 of 10 start now', isReached: true, isLow: false },
        {
          label: 'Tokens per hour of ann',
          text: '900k of 1.0M used · needs about 2.4M',
          isReached: true,
          isLow: false,
        },
        { label: 'Rollouts of ann', text: '30 of 50 run · 20 of 320 start now', isReached: true, isLow: false },
      ],
    });
    const facts = { tasks: 10, complete: true, attempts: 32 };
    const choices = reviewChoices(review, { facts, answers: { tasks: { kind: 'all' } }, target: 'gpus' });
    assert.deepEqual(
      choices.map(({ label, icon, section, value }) => [label, icon, section, value]),
      [
        ['Launch 320 attempts on gpus', 'watch', undefined, true],
        ['queue research', 'list-ordered', '', false],
        ['ann', 'account', undefined, false],
        ['Pods of research', 'warning', '', false],
        ['Tokens per hour of ann', 'warning', undefined, false],
        ['Rollouts of ann', 'warning', undefined, false],
      ],
    );
    const small = launchReview(shares, batch({ queue: 'research', concurrency: 4, tokens: 1_000 }));
    assert.deepEqual([small?.waits, small?.matters, small?.start.label], [false, false, 'Starts now']);
    assert.deepEqual(
      small?.limits.map(({ isReached }) => isReached),
      [false, false, false],
    );
  });

  test('matters to somebody who repeats it if it waits, or if few tokens are left', () => {
    const matters = (hour: number, tokens?: number, some: Partial<SharesReply> = {}): boolean | undefined =>
      launchReview(
        reply({ rows: [row('user', 'ann', { tokens: { hour, limit: 1_000_000 } })], ...some }),
        batch({ tokens }),
      )?.matters;
    assert.deepEqual([matters(500_000), matters(950_000), matters(1_000_000)], [false, true, true]);
    assert.deepEqual([matters(950_000, 10_000), matters(950_000, 60_000)], [false, true], 'what it needs is known');
    assert.equal(matters(0, undefined, { ahead: [{ priority: 0, batches: 1 }] }), true);
    const low = launchReview(
      reply({ rows: [row('user', 'ann', { tokens: { hour: 950_000, limit: 1_000_000 } })] }),
      batch(),
    );
    assert.deepEqual(
      [low?.waits, low?.start.label, low?.limits[0]?.text],
      [false, 'Starts now', '950k of 1.0M used · 50.0k left'],
    );
    const facts = { tasks: 10, complete: true, attempts: 32 };
    const choices = reviewChoices(low!, { facts, answers: { tasks: { kind: 'all' } }, target: 'gpus' });
    assert.deepEqual(choices.at(-1)?.icon, 'warning');
  });

  test('says what it waits for, how long, and at which place', () => {
    const rows = [
      row('user', 'ann', { tokens: { hour: 1_200_000, limit: 1_000_000, free_ms: 12 * 60_000 } }),
      row('user', 'bob', { weight: 3, batches: 2, entitled: 1 }),
    ];
    const ahead = [
      { priority: 5, batches: 1 },
      { priority: 0, batches: 2 },
      { priority: -1, batches: 7 },
    ];
    const full = launchReview(reply({ rows, ahead }), batch());
    assert.deepEqual(full?.start, {
      label: 'Waits until tokens are free in about 12 minutes',
      text: '3 batches wait, this one would be the 4th',
    });
    assert.equal(full.limits[0]?.text, '1.2M of 1.0M used, free again in about 12 minutes');
    const others = rows.map((one) => ({ ...one, tokens: { hour: 0 } }));
    assert.deepEqual(launchReview(reply({ rows: others, ahead }), batch({ priority: 5 }))?.start, {
      label: 'Shares the models with others: about 25% of the calls for ann',
      text: '1 batch waits, this one would be the 2nd',
    });
    const blocked = others.map((one) => ({ ...one, rollouts: running(50, 50) }));
    assert.equal(launchReview(reply({ rows: blocked }), batch())?.start.label, 'Waits until other rollouts of ann end');
  });

  test('names the queues if its own does not exist', () => {
    const shares = reply({
      rows: [row('queue', 'default'), row('queue', 'research')],
      queues: ['default', 'research'],
    });
    assert.throws(
      () => launchReview(shares, batch({ queue: 'reserch' })),
      (error) =>
        StudioError.is(error, 'config') &&
        error.message === 'This server has no queue reserch.' &&
        error.hint === 'Set `queue` in the batch file to one of: default, research.',
    );
    // A server without queues ignores it, so that a file runs anywhere.
    assert.equal(launchReview(reply({}), batch({ queue: 'research' })), undefined);
  });
});
