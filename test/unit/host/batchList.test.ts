/** The list of batches against a scripted server. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Connection } from '../../../src/client/connect.ts';
import { Emitter, Observable } from '../../../src/common/emitter.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { HostBatchList } from '../../../src/host/batches/batchList.ts';
import { statusText } from '../../../src/host/batches/statusText.ts';
import { Api } from '../../../src/protocol/api.ts';
import type { BatchRow } from '../../../src/protocol/client.ts';
import type { ServerState } from '../../../src/protocol/page.ts';

const NO_COUNTS: BatchRow['counts'] = {
  passed: 0,
  failed: 0,
  unscored: 0,
  cancelled: 0,
  infrastructure: 0,
  running: 0,
  held: 0,
  queued: 0,
};

function batch(id: string, more: Partial<BatchRow> = {}): BatchRow {
  return {
    batch: id,
    name: id,
    created_at: 0,
    state: 'ended',
    submission: 's',
    tasks: 12,
    attempts: 8,
    counts: { ...NO_COUNTS, passed: 96 },
    truncated: 0,
    steps: 0,
    input_tokens: 0,
    output_tokens: 0,
    imported: false,
    rev: 1,
    last: 1,
    ...more,
  };
}

interface Desk {
  readonly list: HostBatchList;
  /** Newest first. */
  batches: BatchRow[];
  readonly requests: string[];
  readonly starts: (boolean | undefined)[];
  readonly connected: Emitter<Connection>;
  readonly moved: Emitter<undefined>;
  there: boolean;
  /** Resolves at the next change of the rows. */
  changed(): Promise<readonly BatchRow[]>;
}

function desk(batches: BatchRow[]): Desk {
  const api = new Api({
    request: ({ path }) => {
      at.requests.push(path);
      const url = new URL(path, 'http://server');
      const before = url.searchParams.get('before');
      const limit = Number(url.searchParams.get('limit'));
      const rest = at.batches.filter((row) => before === null || row.batch < before);
      const one = /^\/v1\/batches\/(\w+)$/.exec(url.pathname)?.[1];
      const page = rest.slice(0, limit);
      const body =
        one !== undefined
          ? at.batches.find((row) => row.batch === one)
          : { batches: page, ...(rest.length > limit ? { next: page.at(-1)?.batch } : {}) };
      return Promise.resolve({
        status: 200,
        text: () => Promise.resolve(JSON.stringify(body)),
        bytes: () => Promise.reject(new Error('not requested')),
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
  const connected = new Emitter<Connection>();
  const moved = new Emitter<undefined>();
  const list = new HostBatchList({
    server: {
      state: new Observable<ServerState>({ state: 'ok' }),
      connected: connected.event,
      serverChanged: moved.event,
      connection: (options) => {
        at.starts.push(options?.start);
        return at.there ? Promise.resolve(connection) : Promise.reject(new StudioError('unavailable', 'none'));
      },
    },
    pageSize: () => 2,
    log: (text) => assert.fail(text),
  });
  const at: Desk = {
    list,
    batches,
    requests: [],
    starts: [],
    connected,
    moved,
    there: true,
    changed: () =>
      new Promise((resolve) => {
        const listener = list.rows.changed((rows) => {
          listener.dispose();
          resolve(rows);
        });
      }),
  };
  return at;
}

const ids = (rows: readonly BatchRow[]): string[] => rows.map((row) => row.batch);

describe('the list', () => {
  test('requests nothing while it is hidden', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const at = desk([batch('b1')]);
    at.list.refresh();
    assert.deepEqual(at.requests, []);
    const first = at.changed();
    const watching = at.list.watch();
    assert.deepEqual(ids(await first), ['b1']);
    watching.dispose();
    t.mock.timers.tick(60_000);
    await Promise.resolve();
    assert.equal(at.requests.length, 1);
    at.list.dispose();
  });

  test('forgets the batches of the previous server, including pending responses', async () => {
    const at = desk(['b3', 'b2', 'b1'].map((id) => batch(id)));
    const first = at.changed();
    at.list.watch();
    await first;
    await at.list.more();
    assert.deepEqual(ids(at.list.rows.value), ['b3', 'b2', 'b1']);
    at.list.refresh(); // a response of the old server is pending
    at.batches = [batch('c1')];
    at.moved.fire(undefined);
    assert.deepEqual(at.list.rows.value, []);
    assert.deepEqual(ids(await at.changed()), ['c1']);
    at.list.dispose();
  });

  test('pages to the oldest, keeps the pages it loaded, and shows new ones on top', async () => {
    const at = desk(['b5', 'b4', 'b3', 'b2', 'b1'].map((id) => batch(id)));
    const first = at.changed();
    at.list.watch();
    assert.deepEqual(ids(await first), ['b5', 'b4']);
    assert.equal(await at.list.more(), true);
    assert.equal(await at.list.more(), false);
    assert.deepEqual(ids(at.list.rows.value), ['b5', 'b4', 'b3', 'b2', 'b1']);
    at.batches = [batch('b6'), ...at.batches];
    const next = at.changed();
    at.list.refresh();
    assert.deepEqual(ids(await next), ['b6', 'b5', 'b4', 'b3', 'b2', 'b1']);
    at.list.dispose();
  });

  test('updates an older batch that still runs', async () => {
    const old = batch('b1', { state: 'running', counts: { ...NO_COUNTS, queued: 96 } });
    const at = desk([batch('b3'), batch('b2'), old]);
    const first = at.changed();
    at.list.watch();
    await first;
    await at.list.more();
    at.batches = [batch('b3'), batch('b2'), batch('b1')];
    const next = at.changed();
    at.list.refresh();
    assert.equal((await next).at(-1)?.state, 'ended');
    assert.deepEqual(
      at.requests.filter((path) => !path.includes('?')),
      ['/v1/batches/b1'],
    );
    at.list.dispose();
  });

  test('starts no server by being visible, and uses a connection that appears', async () => {
    const at = desk([batch('b1')]);
    at.there = false;
    at.list.watch({ start: false });
    assert.deepEqual(at.starts, [false]);
    at.there = true;
    const first = at.changed();
    at.connected.fire(undefined as never); // the list requests it again
    assert.deepEqual(ids(await first), ['b1']);
    at.list.watch();
    at.list.refresh();
    at.list.dispose();
  });

  test('does not change for equal rows', async () => {
    const at = desk([batch('b1')]);
    const first = at.changed();
    at.list.watch();
    const rows = await first;
    at.list.rows.changed(() => assert.fail('it changed'));
    at.list.refresh();
    await at.list.more();
    assert.equal(at.list.rows.value, rows);
    at.list.dispose();
  });
});

describe('the status bar', () => {
  const ok: ServerState = { state: 'ok' };
  const running = batch('b2', {
    state: 'running',
    counts: { ...NO_COUNTS, passed: 30, failed: 1, running: 5, queued: 60 },
  });

  test('shows what runs, and leads to it', () => {
    const status = statusText([running, batch('b1')], ok);
    assert.deepEqual([status?.text, status?.click], ['$(beaker) Rollout 1 running 31/96', { do: 'open', batch: 'b2' }]);
    const two = statusText([running, { ...running, batch: 'b1' }], ok);
    assert.equal(two?.text, '$(beaker) Rollout 2 running 62/192');
    assert.equal(two.label, 'Rollout: 2 batches running, 62 of 192 attempts settled');
  });

  test('counts what is held, and debug runs only when nothing else runs', () => {
    const held = { ...running, counts: { ...running.counts, running: 4, held: 1 } };
    assert.equal(statusText([held], ok)?.text, '$(beaker) Rollout 1 running 31/96, 1 held');
    const debugRun = batch('b3', { state: 'running', debug: true, counts: { ...NO_COUNTS, held: 1 } });
    assert.equal(statusText([debugRun, held], ok)?.text, '$(beaker) Rollout 1 running 31/96, 1 held');
    const alone = statusText([debugRun, batch('b1')], ok);
    assert.deepEqual(
      [alone?.text, alone?.click],
      ['$(debug-alt) Rollout 1 debug run, 1 held', { do: 'open', batch: 'b3' }],
    );
  });

  test('is hidden when nothing runs, and reports a stopped server', () => {
    assert.equal(statusText([], ok), undefined);
    assert.equal(statusText([], ok, true)?.text, '$(beaker) Rollout');
    assert.equal(statusText([batch('b1')], ok)?.text, '$(beaker) Rollout');
    assert.equal(statusText([{ ...running, state: 'paused' }], ok)?.text, '$(beaker) Rollout 1 paused');
    assert.deepEqual(statusText([running], { state: 'stopped', text: 'gone' })?.click, { do: 'start' });
    assert.equal(statusText([running], { state: 'lost' })?.warning, false);
  });
});
