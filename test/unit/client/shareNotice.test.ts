import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareNotice } from '../../../src/client/shareNotice.ts';
import type { ShareRow, SharesReply } from '../../../src/protocol/shares.ts';

function row(kind: ShareRow['kind'], name: string, some: Partial<ShareRow> = {}): ShareRow {
  return {
    kind,
    name,
    weight: 1,
    entitled: 0,
    used: 0,
    batches: 0,
    rollouts: { running: 0, held: 0, queued: 0 },
    pods: { running: 0 },
    tokens: { hour: 0 },
    gpu_hours: 0,
    cpu_hours: 0,
    ...some,
  };
}

const reply = (some: Partial<SharesReply>): SharesReply => ({ rows: [], waiting: [], queues: [], ...some });

test('nothing is said where nothing is in the way', () => {
  assert.equal(shareNotice(reply({}), { rollouts: 1_000 }), undefined);
  const rows = [row('user', 'ann', { rollouts: { running: 10, held: 0, queued: 0, limit: 42 } })];
  assert.equal(shareNotice(reply({ rows, own: { kind: 'user', name: 'ann' } }), { rollouts: 32 }), undefined);
});

test('a limit on rollouts says how many start now', () => {
  const rows = [
    row('queue', 'default'),
    row('queue', 'research', { rollouts: { running: 180, held: 3, queued: 9, limit: 200 } }),
    row('user', 'ann', { rollouts: { running: 50, held: 0, queued: 0, limit: 50 } }),
  ];
  const shares = reply({ rows, queues: ['default', 'research'], own: { kind: 'user', name: 'ann' } });
  assert.equal(
    shareNotice(shares, { queue: 'research', rollouts: 320 }),
    "Queue research: 180 of 200 rollouts run; 20 of this batch's 320 start now.",
  );
  // Without a queue it goes to the default one, which has no limit, and the user's own limit counts.
  assert.equal(shareNotice(shares, { rollouts: 8 }), "ann: 50 of 50 rollouts run; none of this batch's 8 start now.");
});

test('limits on tokens and pods say what they wait for', () => {
  const own = { kind: 'user', name: '' } as const;
  assert.equal(
    shareNotice(reply({ rows: [row('user', '', { tokens: { hour: 1_200_000, limit: 1_000_000 } })], own }), {
      rollouts: 1,
    }),
    'Everyone with a client token: 1,200,000 of 1,000,000 tokens of this hour are used; ' +
      'this batch starts when they are more than an hour old.',
  );
  assert.equal(
    shareNotice(reply({ rows: [row('user', '', { pods: { running: 8, limit: 8 } })], own }), { rollouts: 1 }),
    'Everyone with a client token: 8 of 8 pods run; this batch gets pods when others end.',
  );
});

test('where batches wait for the models, the part that the new batch gets', () => {
  const rows = [row('user', 'ann', { weight: 2 }), row('user', 'bob', { entitled: 1 })];
  const waiting = [{ batch: 'b1', why: 'share', position: 1, of: 1, text: 'It waits.' } as const];
  assert.equal(
    shareNotice(reply({ rows, waiting, own: { kind: 'user', name: 'ann' } }), { rollouts: 4 }),
    '1 batch waits for the models; ann gets about 67% of the calls.',
  );
});
