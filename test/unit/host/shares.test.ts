/** Users, queues, and what waits, as a server's reply says it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Connection } from '../../../src/client/connect.ts';
import { Emitter } from '../../../src/common/emitter.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { ordinal, waitingText } from '../../../src/common/waitingText.ts';
import { WindowShares } from '../../../src/host/targets/windowShares.ts';
import { batchItem } from '../../../src/host/views/batches/batchNodes.ts';
import { shareNodes } from '../../../src/host/views/targets/shareNodes.ts';
import type { ShareRow, SharesReply } from '../../../src/protocol/shares.ts';
import { batchRow } from './rows.ts';

const alice: ShareRow = {
  kind: 'user',
  name: 'alice',
  weight: 2,
  entitled: 0.5,
  used: 0.62,
  batches: 1,
  rollouts: { running: 120, held: 4, queued: 300, limit: 200 },
  pods: { running: 8 },
  tokens: { hour: 1_200_000, limit: 5_000_000 },
  gpu_hours: 12.4,
  cpu_hours: 0.5,
};
const research = { batch: 'b1', why: 'queue', position: 2, of: 3, text: 'queue research is at its limit.' } as const;
const reply: SharesReply = {
  rows: [alice, { ...alice, name: '', used: 0.1, pods: { running: 0 }, rollouts: { running: 1, held: 0, queued: 0 } }],
  waiting: [research, { ...research, batch: 'b2', position: 1 }],
  own: { kind: 'user', name: 'alice' },
  queues: [],
};

const nodes = (shares: SharesReply | undefined, isOwn = false) =>
  shareNodes({
    target: 'k',
    shares,
    isOwn,
    batchName: (batch) => (batch === 'b1' ? 'nightly' : undefined),
  });

describe('shares in the Targets view', () => {
  it('show users with their share, and batches that wait in order, with why', () => {
    const [users, waiting] = nodes(reply);
    assert.deepEqual(
      users?.children.map(({ item }) => [item.label, item.description]),
      [
        ['alice', 'you · 62% of 50% · 120 of 200 rollouts · 8 pods'],
        ['client token', '10% of 50% · 1 rollout'],
      ],
    );
    const tooltip = users.children[0]?.item.tooltip ?? '';
    for (const part of [/weight 2/, /4 held, 300 queued/, /1\.2M of 5\.0M tokens/i, /12 GPU hours, 0\.5 CPU hours/])
      assert.match(tooltip, part);
    assert.deepEqual(
      waiting?.children.map(({ item, opens }) => [item.label, item.description, opens]),
      [
        ['1. b2', 'queue research is at its limit.', 'b2'],
        ['2. nightly', 'queue research is at its limit.', 'b1'],
      ],
    );
  });

  it('are absent where the server does not say, or serves one user only', () => {
    assert.deepEqual(nodes(undefined), []);
    const [empty, ...more] = nodes({ ...reply, rows: [], waiting: [] });
    assert.deepEqual([empty?.item.label, empty?.item.description, more], ['Users', 'nobody runs anything now', []]);
    assert.deepEqual(nodes({ ...reply, rows: [alice], waiting: [] }, true), []);
    const queue = { ...alice, kind: 'queue' as const, name: 'research' };
    assert.equal(nodes({ ...reply, rows: [queue] })[0]?.item.label, 'Queues');
  });
});

describe('a batch that waits', () => {
  it('says its place and why, unless a part of it runs', () => {
    assert.equal(waitingText(research), '2nd of 3 · queue research is at its limit');
    const waits = batchItem(batchRow({ counts: { queued: 96 } }), 0, research);
    assert.match(waits.description ?? '', /^Waiting: 2nd of 3 · queue research is at its limit · 0\/96/);
    assert.equal(waits.icon?.id, 'watch');
    const runs = batchItem(batchRow({ counts: { queued: 90, running: 6 } }), 0, research);
    assert.match(runs.description ?? '', /^0\/96/);
    assert.match(runs.tooltip ?? '', /Waiting, 2nd of 3: queue research/);
    assert.deepEqual([1, 2, 3, 4, 11, 12, 13, 21, 102, 111].map(ordinal), [
      ...['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '102nd', '111th'],
    ]);
  });
});

describe('reading shares', () => {
  const connected = new Emitter<Connection>();
  const changed = new Emitter<undefined>();
  let asked = 0;
  let answer: () => Promise<SharesReply> = () => Promise.resolve(reply);
  const connection = {
    api: {
      shares: () => {
        asked += 1;
        return answer();
      },
    },
  } as unknown as Connection;
  const ports = {
    server: {
      connection: () => Promise.resolve(connection),
      connected: connected.event,
      serverChanged: changed.event,
    },
    log: { warn: () => undefined },
  };

  it('happens while a view shows them; an older server is asked once for each connection', async () => {
    const shares = new WindowShares(ports);
    shares.refresh();
    assert.equal(asked, 0, 'nobody looks');
    const read = new Promise<void>((resolve) => shares.value.changed(() => resolve()));
    const watch = shares.watch();
    await read;
    assert.equal(shares.value.value, reply);

    answer = () => Promise.reject(new StudioError('not_found', 'No such path: /v1/shares.'));
    const gone = new Promise<void>((resolve) => shares.value.changed(() => resolve()));
    shares.refresh();
    await gone;
    assert.equal(shares.value.value, undefined);
    const before = asked;
    shares.refresh();
    assert.equal(asked, before, 'the server said that it cannot tell');
    answer = () => Promise.resolve(reply);
    const again = new Promise<void>((resolve) => shares.value.changed(() => resolve()));
    connected.fire(connection);
    await again;
    assert.equal(shares.value.value, reply);
    watch.dispose();
    shares.dispose();
  });
});
