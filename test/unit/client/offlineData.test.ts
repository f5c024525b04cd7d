import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gatherOffline, type OfflineContents } from '../../../src/client/offline/offlineData.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { Api } from '../../../src/protocol/api.ts';
import { type OfflineData, offlineTransport } from '../../../src/protocol/offline.ts';
import type { PagePlace } from '../../../src/protocol/page.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { offlineExample } from '../../support/offlineExample.ts';
import { event, logLines, shaOf } from '../../support/trajectories.ts';

const BATCH: PagePlace = { page: 'batch', batch: 'b1' };
const signal = new AbortController().signal;

/** Saves from a fake server's responses. */
function gather(
  source: OfflineData,
  place: PagePlace,
  more: { trajectories?: boolean; limit?: number } = {},
): Promise<OfflineContents> {
  return gatherOffline(new Api(offlineTransport(source)), { place, trajectories: false, signal, ...more });
}

/** All rollouts have a trajectory of some events. */
function whole(events: (rollout: string) => TraceEvent[] = () => logLines(1, 3)): OfflineData {
  const data = offlineExample();
  for (const { rollout } of data.rollouts['b1'] ?? []) data.streams[rollout] = events(rollout);
  return data;
}

function result(seq: number, content: unknown): TraceEvent {
  return event(seq, 'message', {
    m: seq,
    role: 'tool',
    parts: [{ type: 'tool_call_response', id: 'c', response: content }],
  } as never); // as a store returns it
}

const blob = (bytes: Buffer): { sha: string; base64: string; ref: unknown } => {
  const sha = shaOf(bytes);
  return {
    sha,
    base64: bytes.toString('base64'),
    ref: { $blob: sha, bytes: bytes.length, media: 'text/plain', head: '' },
  };
};

describe('the data of a saved page', () => {
  it('of a batch: rows of all tries, tasks and its own stream, and trajectories on request', async () => {
    const source = whole();
    const { data, trajectories, leftOut } = await gather(source, BATCH);
    assert.deepEqual([trajectories, leftOut, Object.keys(data.streams)], [0, 0, ['b1']]);
    const all = await gather(source, BATCH, { trajectories: true });
    assert.deepEqual({ ...all.data, saved_at: 5, server: source.server, blobs: source.blobs }, source);
    assert.deepEqual([all.trajectories, all.leftOut], [9, 0]);
  });

  it('of a trajectory: its events, its task, and the rows of that task', async () => {
    const source = whole();
    const { data, trajectories } = await gather(source, { page: 'trajectory', rollout: 'r111', seq: 2 });
    assert.deepEqual(
      [trajectories, Object.keys(data.streams), data.place],
      [1, ['b1', 'r111'], { page: 'trajectory', rollout: 'r111', seq: 2 }],
    );
    assert.deepEqual(
      data.tasks['b1']?.map(({ id }) => id),
      ['t1'],
    );
    assert.deepEqual(
      data.rollouts['b1']?.map(({ rollout }) => rollout),
      ['r111', 'r112', 'r121'],
    );
    assert.deepEqual(data.lineages, source.lineages);
  });

  it('of a comparison: the events of every attempt at the task, or nothing when they are too large', async () => {
    const source = whole();
    const place: PagePlace = { page: 'compare', batch: 'b1', task: 't1' };
    const { data, trajectories } = await gather(source, place);
    assert.deepEqual([trajectories, Object.keys(data.streams), data.place], [3, ['b1', 'r111', 'r112', 'r121'], place]);
    assert.deepEqual(
      data.tasks['b1']?.map(({ id }) => id),
      ['t1'],
    );
    await assert.rejects(
      gather(source, place, { limit: JSON.stringify(source.streams['r111']).length * 2 }),
      (error: unknown) => StudioError.is(error, 'too_large'),
    );
    await assert.rejects(gather(source, { ...place, task: 'none' }), (error: unknown) =>
      StudioError.is(error, 'not_found'),
    );
  });

  it('of two batches side by side: rows, tasks and streams of both; of a task of both, every attempt', async () => {
    const source = whole();
    const [batch] = source.batches;
    assert.ok(batch !== undefined);
    const rename = (text: string): string => text.replace(/^r/, 's');
    source.batches = [batch, { ...batch, batch: 'b2', name: 'second' }];
    source.rollouts['b2'] = (source.rollouts['b1'] ?? []).map((row) => ({
      ...row,
      batch: 'b2',
      rollout: rename(row.rollout),
    }));
    source.tasks['b2'] = source.tasks['b1'] ?? [];
    source.lineages['b2'] = [];
    source.streams['b2'] = logLines(1, 2);
    for (const { rollout } of source.rollouts['b2']) source.streams[rollout] = logLines(1, 3);
    const place: PagePlace = { page: 'batches', batch: 'b1', with: 'b2' };
    const { data, trajectories } = await gather(source, place);
    assert.deepEqual(
      [trajectories, data.place, data.batches.map((row) => row.batch), Object.keys(data.streams)],
      [0, place, ['b1', 'b2'], ['b1', 'b2']],
    );
    const saved = new Api(offlineTransport(data));
    for (const id of ['b1', 'b2']) assert.equal((await Array.fromAsync(saved.allRollouts(id, { all: 1 }))).length, 9);
    const size = JSON.stringify(source.streams['r011']).length;
    const some = await gather(source, place, { trajectories: true, limit: size * 6.5 });
    assert.deepEqual(
      [
        some.trajectories,
        some.leftOut,
        Object.keys(some.data.streams)
          .filter((id) => !id.startsWith('b'))
          .sort(),
      ],
      [6, 12, ['r011', 'r012', 'r021', 's011', 's012', 's021']],
      'of the first task all',
    );
    const task = await gather(source, { page: 'compare', batch: 'b1', task: 't1', with: 'b2' });
    assert.deepEqual(
      [task.trajectories, Object.keys(task.data.streams).sort()],
      [6, ['b1', 'b2', 'r111', 'r112', 'r121', 's111', 's112', 's121']],
    );
    await assert.rejects(gather(source, { ...place, with: 'b3' }), (error: unknown) =>
      StudioError.is(error, 'not_found'),
    );
  });

  it('as many trajectories as fit, and how many did not', async () => {
    const source = whole(() => logLines(1, 10, 1000));
    const size = JSON.stringify(source.streams['r111']).length;
    const { data, trajectories, leftOut } = await gather(source, BATCH, { trajectories: true, limit: size * 2.5 });
    assert.deepEqual([trajectories, leftOut, Object.keys(data.streams)], [2, 7, ['b1', 'r011', 'r012']]);
    await assert.rejects(
      gather(source, { page: 'trajectory', rollout: 'r111' }, { limit: size / 2 }),
      (error: unknown) => StudioError.is(error, 'too_large'),
    );
  });

  it('the values it shows, except large ones, and no code', async () => {
    const [small, large, code] = [
      blob(Buffer.from('small')),
      blob(Buffer.alloc(6 * 1024 * 1024, 'x')),
      blob(Buffer.from('export default 1')),
    ];
    const start = event(1, 'rollout.start', { code: code.sha } as never); // the fields that matter here
    const source = whole((rollout) =>
      rollout === 'r111' ? [start, result(2, small.ref), result(3, large.ref), result(4, small.ref)] : [],
    );
    source.blobs = {
      [small.sha]: small.base64,
      [large.sha]: large.base64,
      [code.sha]: code.base64,
      ['a'.repeat(64)]: Buffer.from('{}').toString('base64'),
    };
    const { data, valuesLeftOut } = await gather(source, { page: 'trajectory', rollout: 'r111' });
    assert.deepEqual(Object.keys(data.blobs).sort(), ['a'.repeat(64), small.sha].sort());
    assert.equal(valuesLeftOut, 1);
  });

  it('without the recording that a batch was imported from', async () => {
    const source = whole();
    source.batches = source.batches.map((row) => ({ ...row, imported: true }));
    source.blobs = { ['a'.repeat(64)]: Buffer.from('the whole recording').toString('base64') };
    assert.deepEqual((await gather(source, BATCH)).data.blobs, {});
  });

  it('refuses what does not exist', async () => {
    await assert.rejects(gather(whole(), { page: 'batch', batch: 'b2' }), (error: unknown) =>
      StudioError.is(error, 'not_found'),
    );
    await assert.rejects(gather(whole(), { page: 'trajectory', rollout: 'r9' }), (error: unknown) =>
      StudioError.is(error, 'not_found'),
    );
  });
});
