import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Connection } from '../../../../src/client/connect.ts';
import { StudioError } from '../../../../src/common/errors.ts';
import { BatchOrigins } from '../../../../src/host/batches/origins.ts';
import type { LaunchedBatch } from '../../../../src/host/launch/memory.ts';
import { Api } from '../../../../src/protocol/api.ts';
import { batchRow } from '../rows.ts';

/** `files`: origins in submissions. */
function origins(
  files: Readonly<Record<string, string>>,
  remembered: readonly LaunchedBatch[] = [],
): { origins: BatchOrigins; reads: string[]; there: { server: boolean } } {
  const reads: string[] = [];
  const there = { server: true };
  const api = new Api({
    request: ({ path }) => {
      const sha = path.split('/').at(-1) ?? '';
      reads.push(sha);
      return Promise.resolve({
        status: 200,
        text: () => Promise.reject(new Error('not requested')),
        bytes: () => Promise.resolve(new TextEncoder().encode(JSON.stringify({ file: files[sha] }))),
      });
    },
  });
  const address = { url: 'http://server', token: 't' };
  const connection: Connection = {
    api,
    address: () => address,
    readAddress: () => address,
    reconnect: () => Promise.resolve(),
  };
  const link = {
    connection: () =>
      there.server ? Promise.resolve(connection) : Promise.reject(new StudioError('unavailable', 'none')),
  };
  const memory = { batch: (batch: string) => remembered.find((entry) => entry.batch === batch) };
  return { origins: new BatchOrigins(memory, link), reads, there };
}

describe('the batch of a file', () => {
  const here = '/work/batches/desk.batch.yaml';

  it('is the newest one launched from it, whatever its name, and never of another file with that name', async () => {
    const rows = [
      batchRow({ batch: 'b1', created_at: 1, submission: 'mine', name: 'a name of its own' }),
      batchRow({ batch: 'b3', created_at: 3, submission: 'other' }),
      batchRow({ batch: 'b2', created_at: 2, submission: 'mine' }),
      batchRow({ batch: 'b6', created_at: 6, submission: 'mine', rescores: 'b2' }),
      batchRow({ batch: 'b7', created_at: 7, submission: 'mine', debug: true }),
      batchRow({ batch: 'b8', created_at: 8, submission: 'mine', imported: true }),
      batchRow({ batch: 'b9', created_at: 9, submission: 'mine', parent: { rollout: 'r1', seq: 3 } }),
    ];
    const { origins: found, reads } = origins({ mine: 'batches/desk.batch.yaml', other: 'old/desk.batch.yaml' });
    assert.equal((await found.newestOf(rows, here))?.batch, 'b2');
    assert.equal((await found.newestOf(rows.slice(0, 1), here))?.batch, 'b1');
    assert.equal((await found.newestOf(rows, '/work/old/desk.batch.yaml'))?.batch, 'b3');
    assert.equal(await found.newestOf(rows, '/work/batches/hardesk.batch.yaml'), undefined);
    assert.deepEqual(reads, ['other', 'mine'], 'each submission is read once');
  });

  it('needs no server if it was launched from this window', async () => {
    const launched = (batch: string, file: string): LaunchedBatch => ({
      batch,
      file,
      answers: { tasks: { kind: 'all' } },
    });
    const rows = [
      batchRow({ batch: 'b1', created_at: 1, submission: 'same' }),
      batchRow({ batch: 'b2', created_at: 2, submission: 'same' }),
    ];
    const { origins: found, reads } = origins({}, [
      launched('b1', '\\work\\batches\\desk.batch.yaml'),
      launched('b2', '/elsewhere/batches/desk.batch.yaml'),
    ]);
    assert.equal((await found.newestOf(rows, here))?.batch, 'b1');
    assert.deepEqual(reads, []);
  });

  it('is found by name while no server is connected', async () => {
    const { origins: found, there } = origins({ s: 'old/desk.batch.yaml' });
    there.server = false;
    const rows = [batchRow({ submission: 's' })];
    assert.equal((await found.newestOf(rows, here))?.batch, 'b1');
    there.server = true;
    assert.equal(await found.newestOf(rows, here), undefined);
  });
});
