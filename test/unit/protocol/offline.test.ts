import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { StudioError } from '../../../src/common/errors.ts';
import { newId } from '../../../src/common/ids.ts';
import { Api } from '../../../src/protocol/api.ts';
import { type ServerToClient, serverToClient } from '../../../src/protocol/client.ts';
import { type FollowHandlers, follow } from '../../../src/protocol/follow.ts';
import { offlineSocket, offlineTransport, readOffline } from '../../../src/protocol/offline.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { offlineExample } from '../../support/offlineExample.ts';

describe('a saved file as a server', () => {
  const data = offlineExample();
  const [batch] = data.batches;
  const rows = data.rollouts['b1'] ?? [];
  const api = new Api(offlineTransport(data));

  it('returns batches, tasks, and rollouts, page by page', async () => {
    assert.deepEqual(await api.batch('b1'), batch);
    assert.deepEqual((await api.batches()).batches, [batch]);
    const first = await api.tasks('b1', { limit: 2 });
    assert.deepEqual([first.tasks.map(({ id }) => id), first.next], [['t0', 't1'], 1]);
    const second = await api.tasks('b1', { limit: 2, after: first.next ?? 0 });
    assert.deepEqual([second.tasks.map(({ id }) => id), second.next], [['t2'], undefined]);
    const excerpts = await api.tasks('b1', { limit: 1, excerpt: 1 });
    assert.deepEqual([excerpts.tasks[0]?.question.length, excerpts.next], [2, 0]);
    const page = await api.rollouts('b1', { limit: 4 });
    assert.deepEqual(
      page.rollouts.map(({ rollout }) => rollout),
      ['r012', 'r021', 'r112', 'r121'],
    );
    const rest = await api.rollouts('b1', { limit: 4, after: page.next ?? '' });
    assert.deepEqual([rest.rollouts.map(({ rollout }) => rollout), rest.next], [['r212', 'r221'], undefined]);
    assert.deepEqual(
      (await api.rollouts('b1', { task: 't1', attempt: 1, all: 1 })).rollouts.map(({ rollout }) => rollout),
      ['r111', 'r112'],
    );
  });

  it('returns a rollout with its task and its parent', async () => {
    const info = await api.rollout('r121');
    assert.deepEqual(
      [info.row.rollout, info.task.id, info.lineage, info.submission],
      ['r121', 't1', [{ rollout: 'r0', to: 4 }], batch?.submission],
    );
  });

  it('returns events between two cursors, and blobs', async () => {
    const page = await api.events('r011', { after: 10, until: 20, limit: 3 });
    assert.deepEqual([page.events.map(({ seq }) => seq), page.last], [[11, 12, 13], 2500]);
    const all = (await Array.fromAsync(api.allEvents('r011'))).flat();
    assert.deepEqual(all, data.streams['r011']);
    assert.equal(new TextDecoder().decode(await api.getBlob('c'.repeat(64))), 'größer');
    assert.equal(await api.hasBlob('d'.repeat(64)), false);
  });

  it('refuses unknown objects and changes in words', async () => {
    await assert.rejects(
      api.batch('b2'),
      (error: unknown) => StudioError.is(error, 'not_found') && /does not contain batch b2/.test(error.message),
    );
    await assert.rejects(api.rollout('r999'), (error: unknown) => StudioError.is(error, 'not_found'));
    await assert.rejects(
      api.events('r021'),
      (error: unknown) => StudioError.is(error, 'gone') && /trajector/.test(error.hint ?? ''),
    );
    await assert.rejects(
      api.getBlob('d'.repeat(64)),
      (error: unknown) => StudioError.is(error, 'not_found') && /too large/.test(error.message),
    );
    await assert.rejects(
      api.commandBatch('b1', { command: newId('c'), verb: 'cancel' }),
      (error: unknown) => StudioError.is(error, 'forbidden') && /saved page/.test(error.message),
    );
    await assert.rejects(api.events('constructor'), (error: unknown) => StudioError.is(error, 'gone'));
  });

  /** Follows until the head. */
  async function followed(
    stream: string,
    cursor: { after?: number; afterRev?: number; deltas?: boolean } = {},
  ): Promise<{ events: TraceEvent[]; rows: RolloutRow[]; head: [number, number | undefined]; opened: number }> {
    const end = new AbortController();
    const got = {
      events: [] as TraceEvent[],
      rows: [] as RolloutRow[],
      head: [0, undefined] as [number, number | undefined],
      opened: 0,
    };
    const handlers: FollowHandlers = {
      events: (events) => void got.events.push(...events),
      rows: (changed) => void got.rows.push(...changed),
      head: (seq, rev) => {
        got.head = [seq, rev];
        if (cursor.deltas !== true) end.abort();
      },
      open: () => {
        got.opened++;
        end.abort();
      },
    };
    await follow(
      offlineSocket(data),
      { stream, ...cursor },
      handlers,
      AbortSignal.any([end.signal, AbortSignal.timeout(30_000)]),
    );
    assert.ok(end.signal.aborted, 'it came to the head');
    return got;
  }

  it('follows a batch: its events, and its rows by revision', async () => {
    const all = await followed('b1');
    assert.deepEqual([all.events.length, all.rows.length, all.head], [2, rows.length, [2, 40]]);
    assert.deepEqual(
      all.rows.map(({ rev }) => rev),
      rows.map(({ rev }) => rev).sort((a, b) => a - b),
    );
    const rest = await followed('b1', { after: 2, afterRev: 22 });
    assert.deepEqual([rest.events.length, rest.rows.every(({ rev }) => rev > 22)], [0, true]);
    assert.deepEqual(
      rows.map(({ rollout }) => rollout),
      ['r011', 'r012', 'r021', 'r111', 'r112', 'r121', 'r211', 'r212', 'r221'],
      'the data is as it was',
    );
  });

  it('sends the next part of a trajectory once the page has handled the one before', async () => {
    const frames: ServerToClient[] = [];
    let arrived = (): void => undefined;
    const [opened, last] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const socket = offlineSocket(data)({
      open: () => opened.resolve(undefined),
      message: (text) => {
        frames.push(serverToClient.parse(JSON.parse(text)));
        if (frames.at(-1)?.type === 'head') last.resolve(undefined);
        arrived();
      },
      close: () => undefined,
    });
    const sizes = (): number[] => frames.flatMap((frame) => (frame.type === 'events' ? [frame.events.length] : []));
    const next = (): Promise<void> => new Promise((resolve) => (arrived = resolve));
    await opened.promise;
    let part = next();
    socket.send(JSON.stringify({ type: 'subscribe', sub: 's', stream: 'r011', after: 0 }));
    await part;
    await setImmediate();
    assert.deepEqual(sizes(), [1000], 'the page paints these first');
    part = next();
    socket.send(JSON.stringify({ type: 'seen', sub: 's', cursor: 1000 }));
    assert.deepEqual(sizes(), [1000], 'the next part comes in another task');
    await part;
    assert.deepEqual(sizes(), [1000, 1000]);
    socket.send(JSON.stringify({ type: 'seen', sub: 's', cursor: 2000 }));
    await last.promise;
    assert.deepEqual(sizes(), [1000, 1000, 500]);
    socket.close();
  });

  it('follows a trajectory from any cursor', async () => {
    const all = await followed('r011', { after: 100, deltas: true });
    assert.deepEqual([all.events.length, all.events[0]?.seq, all.head, all.opened], [2400, 101, [2500, undefined], 1]);
    await assert.rejects(followed('r021'), (error: unknown) => StudioError.is(error, 'gone'));
  });

  it('reads its data plain and compressed', async () => {
    assert.deepEqual(await readOffline(JSON.stringify(data), undefined), data);
    assert.deepEqual(await readOffline(gzipSync(JSON.stringify(data)).toString('base64'), 'gzip'), data);
    await assert.rejects(readOffline(JSON.stringify({ ...data, version: 2 }), undefined), (error: unknown) =>
      StudioError.is(error, 'version'),
    );
  });
});
