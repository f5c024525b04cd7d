import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { type SharesFile, sharesFile } from '../../../src/config/schema/sharesFile.ts';
import type { Submission } from '../../../src/config/submission.ts';
import { sharesReply as replySchema } from '../../../src/protocol/shares.ts';
import type { Caller } from '../../../src/server/pressure/options.ts';
import { roomUnder } from '../../../src/server/shares/caps.ts';
import { sharesReply } from '../../../src/server/shares/reply.ts';
import { WaitReports } from '../../../src/server/shares/reports.ts';
import { ShareSettings } from '../../../src/server/shares/settings.ts';
import { Shares } from '../../../src/server/shares/shares.ts';
import { TokenUsage } from '../../../src/server/shares/tokenUsage.ts';
import { type EndpointWait, type WaitingSources, waitingBatches } from '../../../src/server/shares/waiting.ts';
import type { BatchRecord, Store } from '../../../src/store/store.ts';
import type { PodTotal } from '../../../src/store/usageStore.ts';
import { plainSubmission } from '../../support/rolloutServer.ts';
import { event, newBatch } from '../../support/trajectories.ts';

interface Counts {
  readonly queued?: number;
  readonly running?: number;
  readonly held?: number;
  readonly by?: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly paused?: boolean;
  readonly at?: number;
}

/** Shares with batches and workers of the test. */
function kit(file: unknown, submission: Submission = plainSubmission({ concurrency: 'auto' })) {
  const settings: SharesFile = sharesFile.parse(file);
  const state = {
    callers: [] as Caller[],
    requested: new Map<string, number>(),
    freed: 0,
    changed: 0,
    now: 0,
    tokens: [] as { queue: string; user: string; tokens: number }[],
    pods: [] as PodTotal[],
    endpoint: undefined as EndpointWait | undefined,
    events: [] as string[],
  };
  const store = {
    now: () => Promise.resolve(state.now),
    sessions: () => Promise.resolve([]),
    elect: () => Promise.resolve(true),
    addBatchEvent: (batch: string, kind: string, { text }: { text: string }) => {
      state.events.push(`${batch} ${kind} ${text}`);
      return Promise.resolve(state.events.length);
    },
    usage: {
      addTokens: (uses: readonly { queue: string; user: string; tokens: number }[]) => {
        for (const { queue, user, tokens } of uses) state.tokens.push({ queue, user, tokens });
        return Promise.resolve();
      },
      tokensSince: () => Promise.resolve(state.tokens),
      podTotals: () => Promise.resolve(state.pods),
    },
  } as unknown as Store;
  const usage = new TokenUsage({
    store,
    log: (text) => assert.fail(text),
    changed: () => shares.tokensChanged(),
    now: () => state.now,
  });
  const shares: Shares = new Shares({
    settings: new ShareSettings(settings),
    usage,
    callers: () => state.callers,
    requested: (batch) => state.requested.get(batch) ?? 0,
    freed: () => (state.freed += 1),
    changed: () => (state.changed += 1),
  });
  const record = (id: string, { by, queue, priority = 0, ...counts }: Counts): BatchRecord => {
    const { queued = 0, running = 0, held = 0, paused = false, at = 0 } = counts;
    return {
      row: { batch: id, created_at: at, counts: { queued, running, held }, ...(by === undefined ? {} : { by }) },
      spec: newBatch({
        id,
        priority,
        ...(by === undefined ? {} : { by }),
        ...(queue === undefined ? {} : { queue }),
      }),
      paused,
    } as unknown as BatchRecord; // what shares read
  };
  const add = (id: string, counts: Counts): BatchRecord => {
    const one = record(id, counts);
    shares.update(one, submission);
    state.requested.set(id, counts.queued ?? 0);
    return one;
  };
  const sources: WaitingSources = {
    shares,
    podsWait: () => undefined,
    endpointWait: () => state.endpoint,
    wantsMore: (batch) => (state.requested.get(batch) ?? 0) > 0,
  };
  return { state, store, usage, shares, add, sources };
}

describe('settings', () => {
  test('are those of a line, else of the default, and a queue that is gone counts as the default one', () => {
    const settings = new ShareSettings(
      sharesFile.parse({
        users: { ann: { weight: 3, tokens_per_hour: '50M' } },
        default: { rollouts: 9 },
        queues: { research: { weight: 2 } },
      }),
    );
    assert.deepEqual(settings.user('ann'), { weight: 3, tokens_per_hour: 50_000_000 });
    assert.deepEqual(settings.user('toString'), { rollouts: 9 });
    assert.deepEqual(settings.queues, ['default', 'research']);
    assert.deepEqual(
      [settings.queueOf('research'), settings.queueOf('old'), settings.queueOf(undefined)],
      ['research', 'default', 'default'],
    );
  });

  test('refuse a queue that does not exist, or that others may use, and name those that do', () => {
    const settings = new ShareSettings(
      sharesFile.parse({ queues: { research: { users: ['ann'] }, open: {}, default: { users: ['ann', 'bob'] } } }),
    );
    const refused = (queue: string | undefined, user: string | undefined): [string, string | undefined] => {
      try {
        settings.requireQueue(queue, user);
        return ['fine', undefined];
      } catch (error) {
        assert.ok(StudioError.is(error));
        return [error.code, error.hint];
      }
    };
    assert.equal(refused('reserch', 'ann')[0], 'config');
    assert.match(refused('reserch', 'ann')[1] ?? '', /research, open, default/);
    assert.equal(refused('research', 'ann')[0], 'fine');
    assert.deepEqual(refused('research', 'bob'), [
      'forbidden',
      'Set `queue` in the batch file to one of: open, default.',
    ]);
    assert.equal(refused(undefined, 'eve')[0], 'forbidden');
    assert.equal(refused('research', undefined)[0], 'fine', 'a client token may do everything');
    new ShareSettings({}).requireQueue('research', 'ann');
  });
});

describe('limits', () => {
  test('are divided like everything, never exceeded, and nothing stays free', () => {
    const one = (batch: string, user: string, has: number, demand: number, priority = 0) => ({
      ...{ batch, user, has, demand, priority, queue: undefined, queueWeight: 1, userWeight: 1 },
    });
    const all = [one('a', 'ann', 8, 10_000), one('b', 'bob', 0, 5)];
    assert.deepEqual([roomUnder(10, all, 'a'), roomUnder(10, all, 'b')], [0, 2], 'the large one leaves what is free');
    const thirds = [one('a', 'ann', 3, 9), one('b', 'bob', 3, 9), one('c', 'eve', 3, 9)];
    assert.deepEqual(
      ['a', 'b', 'c'].map((batch) => roomUnder(10, thirds, batch)),
      [1, 1, 1],
    );
    assert.equal(roomUnder(9, thirds, 'a'), 0);
    assert.equal(roomUnder(10, [one('a', 'ann', 0, 9), one('b', 'bob', 0, 9, 1)], 'a'), 1);
    assert.equal(roomUnder(10, all, 'none'), 0);
  });

  test('hold for all batches of a user and of a queue, also while rollouts are being leased', () => {
    const { shares, add, state } = kit({ default: { rollouts: 4 }, queues: { small: { rollouts: 6 } } });
    const first = add('b1', { by: 'ann', queue: 'small', queued: 50, running: 2 });
    const other = add('b2', { by: 'ann', queued: 50 });
    assert.deepEqual([shares.room(first), shares.room(other)], [0, 2]);
    const leased = shares.lease('b2', 2);
    assert.equal(shares.room(other), 0);
    leased();
    assert.equal(shares.room(other), 2);
    // What workers of this server run since the record was read counts, too.
    state.callers = [{ session: 's1', batch: 'b2', running: 2, demand: 2 }];
    assert.equal(shares.room(other), 0);
    const bob = add('b3', { by: 'bob', queue: 'small', queued: 50 });
    assert.equal(shares.room(bob), 3, 'its part of the six of the queue');
    shares.remove('b1');
    assert.equal(shares.room(bob), 4, 'its own limit');
    assert.equal(kit({}).add('b1', { queued: 1 }).row.batch, 'b1');
  });

  test('on pods give each batch its part, and never less than it has', () => {
    const { shares, add } = kit({ users: { ann: { pods: 8 } } });
    for (const batch of ['b1', 'b2']) add(batch, { by: 'ann', queued: 9 });
    add('b3', { by: 'bob', queued: 9 });
    const batches = ['b1', 'b2', 'b3'];
    const pods = (...has: number[]) => {
      const counts = new Map(batches.map((batch, index) => [batch, { has: has[index] ?? 0, wants: 16 }]));
      return batches.map((batch) => shares.podsOf(batch, counts));
    };
    assert.deepEqual(pods(0, 0, 0), [4, 4, 16]);
    assert.deepEqual(pods(8, 0, 0), [8, 0, 16]);
    assert.deepEqual(pods(6, 0, 0), [6, 2, 16]);
    // Pods that are leaving count until they are gone, and no longer.
    shares.remove('b1');
    assert.deepEqual(pods(6, 0, 0).slice(1), [2, 16]);
    assert.deepEqual(pods(0, 2, 0).slice(1), [8, 16]);
  });

  test('on tokens hold until they are an hour old, over a restart', async () => {
    const { shares, add, state, usage } = kit({ users: { ann: { tokens_per_hour: 100 } } });
    const mine = add('b1', { by: 'ann', queued: 9 });
    add('b2', { by: 'bob', queued: 9 });
    const call = (batch: string, source: 'live' | 'recorded', tokens: number): void =>
      shares.followed(
        batch,
        event(5, 'model.end', {
          ...{ status: 'ok', usage: { input_tokens: tokens - 1, output_tokens: 1 }, trainable: false, source },
        }),
      );
    call('b1', 'live', 99);
    call('b1', 'recorded', 1_000);
    call('b2', 'live', 5_000);
    assert.deepEqual([shares.room(mine), shares.shareOf('b1').blocked], [Infinity, false]);
    call('b1', 'live', 1);
    assert.deepEqual([shares.room(mine), shares.shareOf('b1').blocked, shares.shareOf('b2').blocked], [0, true, false]);
    await usage.flush();
    assert.ok(state.changed > 0, 'permits are divided again');
    assert.equal(
      usage.minute(({ user }) => user === 'bob'),
      5_000,
    );
    state.now = 61_000;
    assert.equal(
      usage.minute(() => true),
      0,
    );
    // Another server, or this one after a restart, reads what was written.
    assert.equal(
      usage.hour(({ user }) => user === 'ann'),
      100,
    );
    state.tokens = state.tokens.filter(({ user }) => user !== 'ann');
    await usage.flush();
    assert.equal(shares.room(mine), Infinity);
  });
});

describe('waiting', () => {
  test('is by priority, then age, with a reason', () => {
    const { add, state, sources } = kit({ default: { rollouts: 4 } });
    state.endpoint = 'share';
    add('old', { by: 'ann', queued: 3, running: 1, at: 1 });
    add('new', { by: 'bob', queued: 3, running: 4, at: 2 });
    add('urgent', { by: 'eve', queued: 3, at: 3, priority: 1 });
    add('paused', { by: 'dan', queued: 1, paused: true, at: 0 });
    add('done', { by: 'dan' });
    const found = waitingBatches(sources).map(({ waiting }) => waiting);
    assert.deepEqual(
      found.map(({ batch, why, position, of }) => [batch, why, position, of]),
      [
        ['urgent', 'share', 1, 4],
        ['paused', 'paused', 2, 4],
        ['old', 'share', 3, 4],
        ['new', 'rollouts', 4, 4],
      ],
    );
    assert.equal(found[3]?.text, 'bob may run 4 rollouts at once. 3 of its rollouts wait until others end.');
    assert.equal(
      found[2]?.text,
      'Others use their shares of the model endpoint. 3 of its rollouts wait until there is room.',
    );
  });

  test('is not what a batch does whose workers have all that they can run', () => {
    const { add, state, sources } = kit({});
    state.endpoint = 'endpoint';
    add('b1', { queued: 50, running: 8 });
    state.requested.set('b1', 0);
    assert.deepEqual(waitingBatches(sources), []);
  });

  test('is recorded once it lasts, and the same reason not again for a while', async () => {
    const { add, state, sources, store } = kit({ default: { rollouts: 1 } });
    const reports = new WaitReports({ sources, store, log: (text) => assert.fail(text) });
    try {
      add('b1', { by: 'ann', queued: 5, running: 1 });
      for (const at of [0, 2_000, 4_000]) await reports.look(at);
      assert.deepEqual(state.events, []);
      for (const at of [7_000, 9_000, 60_000]) await reports.look(at);
      assert.deepEqual(state.events, [
        'b1 infra ann may run 1 rollout at once. 5 of its rollouts wait until others end.',
      ]);
      await reports.look(60 * 60_000);
      assert.equal(state.events.length, 2);
    } finally {
      reports.close();
    }
  });
});

describe('the reply', () => {
  test('says when tokens are free again', async () => {
    const { sources, store, state, usage } = kit({ users: { ann: { tokens_per_hour: 100 } } });
    state.now = 7_230_000;
    // 60 tokens 40 minutes ago, and 60 now.
    store.usage.tokensSince = (at) =>
      Promise.resolve([{ queue: '', user: 'ann', tokens: at <= 7_230_000 - 40 * 60_000 ? 120 : 60 }]);
    await usage.flush();
    const { rows } = await sharesReply({ ...sources, store, hasPods: false }, { user: 'ann', all: false });
    assert.deepEqual(rows.find(({ name }) => name === 'ann')?.tokens, {
      hour: 120,
      limit: 100,
      free_ms: 19.5 * 60_000,
    });
  });

  test('has queues and users, what they are entitled to, and only batches that the caller may read', async () => {
    const { add, state, sources, store, usage } = kit({
      users: { ann: { weight: 3, rollouts: 1 }, zoe: {} },
      queues: { research: { weight: 2, pods: 4 } },
    });
    state.pods = [{ queue: 'research', user: 'ann', model: 'm', cpuSeconds: 1_800, gpuSeconds: 7_200 }];
    usage.add({ queue: 'research', user: 'ann' }, 300);
    usage.add({ queue: 'default', user: 'bob' }, 100);
    add('b1', { by: 'ann', queue: 'research', queued: 3, running: 1 });
    add('b2', { by: 'bob', queue: 'research', queued: 3, held: 1 });
    add('b3', { by: 'bob', running: 2 });
    const caller = { user: 'bob', all: false };
    const reply = replySchema.parse(await sharesReply({ ...sources, store, hasPods: true }, caller));
    const rows = new Map(reply.rows.map((row) => [`${row.kind} ${row.name}`, row]));
    assert.deepEqual([...rows.keys()], ['queue default', 'queue research', 'user ann', 'user bob', 'user zoe']);
    const round = (value: number | undefined): number => Math.round((value ?? 0) * 1_000) / 1_000;
    assert.deepEqual(
      ['queue default', 'queue research', 'user ann', 'user bob', 'user zoe'].map((key) =>
        round(rows.get(key)?.entitled),
      ),
      [0.333, 0.667, 0.5, 0.5, 0],
    );
    assert.deepEqual([rows.get('user ann')?.used, rows.get('queue default')?.used], [0.75, 0.25]);
    assert.deepEqual(rows.get('user bob')?.rollouts, { running: 2, held: 1, queued: 3 });
    assert.deepEqual(rows.get('user ann')?.rollouts, { running: 1, held: 0, queued: 3, limit: 1 });
    assert.deepEqual([rows.get('user ann')?.gpu_hours, rows.get('queue research')?.cpu_hours], [2, 0.5]);
    assert.deepEqual(rows.get('queue research')?.pods, { running: 0, limit: 4 });
    assert.deepEqual([reply.own, reply.queues], [{ kind: 'user', name: 'bob' }, ['default', 'research']]);
    assert.deepEqual(reply.waiting, [], 'the batch of ann is private');
    assert.deepEqual(reply.ahead, [{ priority: 0, batches: 1 }], 'but it is before others');
    const all = await sharesReply({ ...sources, store, hasPods: true }, { user: undefined, all: true });
    assert.deepEqual(
      all.waiting.map(({ batch, why }) => [batch, why]),
      [['b1', 'rollouts']],
    );
    assert.equal(all.rows.at(2)?.name, '', 'whoever has a client token');
  });
});
