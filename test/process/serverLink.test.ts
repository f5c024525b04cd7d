/** The extension's connection to a server, against real servers that are started, killed, and restarted. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { connect } from '../../src/client/connect.ts';
import { StudioError } from '../../src/common/errors.ts';
import { type LinkPorts, redactStore, WindowServerLink } from '../../src/host/server/serverLink.ts';
import { Bench, hasEnded } from '../support/cli.ts';

interface Link {
  readonly link: WindowServerLink;
  readonly bench: Bench;
  readonly messages: string[];
  /** Every state it was in. */
  readonly states: string[];
  readonly starts: (boolean | undefined)[];
  pid(): number;
  /** Resolves once the link is in that state. */
  reached(state: string): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

function open(ports: Partial<LinkPorts> = {}): Link {
  const bench = new Bench();
  const messages: string[] = [];
  const states: string[] = [];
  const starts: (boolean | undefined)[] = [];
  const link = new WindowServerLink({
    store: () => bench.store,
    target: () => 'local',
    trusted: () => true,
    log: () => undefined,
    notice: () => undefined,
    stopped: (text) => messages.push(text),
    connect: (_target, options) => {
      starts.push(options.start);
      return connect(options);
    },
    ...ports,
  });
  link.state.changed(({ state }) => states.push(state));
  return {
    link,
    bench,
    messages,
    states,
    starts,
    pid: () => bench.serverFile()?.pid ?? assert.fail('no server.json'),
    reached: (state) =>
      new Promise((resolve) => {
        if (link.state.value.state === state) {
          resolve();
          return;
        }
        const listener = link.state.changed((now) => {
          if (now.state !== state) return;
          listener.dispose();
          resolve();
        });
      }),
    [Symbol.asyncDispose]: async () => {
      link.dispose();
      await bench.close();
    },
  };
}

async function kill(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL');
  assert.ok(await hasEnded(pid, 30_000));
}

test('nothing is started before the first use, nor by looking', async () => {
  await using at = open();
  assert.equal(at.link.state.value.state, 'ok');
  await assert.rejects(at.link.connection({ start: false }), (error) => StudioError.is(error, 'unavailable'));
  assert.ok(!existsSync(path.join(at.bench.store, 'server.json')));
  assert.equal(at.link.state.value.state, 'ok', 'looking without finding is no fault');
  const [one, two] = await Promise.all([at.link.connection(), at.link.connection()]);
  assert.equal(one, two);
  assert.deepEqual(at.starts, [false, true], 'two at once share one attempt');
  assert.equal((await one.api.server()).pid, at.pid());
});

test('a request to start waits for a running look-up, then starts', async () => {
  await using at = open();
  const looking = at.link.connection({ start: false });
  const starting = at.link.connection();
  await assert.rejects(looking, (error) => StudioError.is(error, 'unavailable'));
  assert.equal((await (await starting).api.server()).pid, at.pid());
});

test('a killed server is reported once, not restarted automatically, and works after Start Again', async () => {
  await using at = open();
  const connection = await at.link.connection();
  const first = at.pid();
  let connected = 0;
  at.link.connected(() => connected++);
  await kill(first);
  await at.reached('stopped');
  assert.deepEqual(at.states, ['lost', 'stopped']);
  assert.equal(at.messages.length, 1);
  // Views and pages keep requesting it: nothing starts, and nothing is reported again.
  for (let i = 0; i < 3; i++)
    await assert.rejects(at.link.connection(), (error) => StudioError.is(error, 'unavailable'));
  await assert.rejects(connection.reconnect(), (error) => StudioError.is(error, 'unavailable'));
  assert.equal(at.starts.filter((start) => start === true).length, 1);
  assert.equal(at.messages.length, 1);

  assert.equal(await at.link.connection({ start: true }), connection, 'what others hold goes on');
  assert.equal(connected, 1);
  assert.equal(at.link.state.value.state, 'ok');
  const second = (await connection.api.server()).pid;
  assert.notEqual(second, first);
  // The next loss is reported again.
  await kill(second);
  await at.reached('stopped');
  assert.equal(at.messages.length, 2);
});

test('a server that another window starts is found silently', async () => {
  await using at = open({ reconnectMs: 60_000 });
  const connection = await at.link.connection();
  const first = at.pid();
  const lost = at.reached('lost');
  await kill(first);
  await lost;
  const waiting = at.link.connection(); // begins while the link is looking for it
  const other = await connect({ store: at.bench.store });
  await at.reached('ok');
  assert.equal((await (await waiting).api.server()).pid, (await other.api.server()).pid);
  assert.equal(connection.address().url, other.address().url);
  assert.deepEqual([at.states, at.messages], [['lost', 'ok'], []]);
});

test(
  'a lost target is looked for until it is back: requests fail with the reason until then, and open connections are ' +
    'closed @deep',
  async () => {
    const bench = new Bench();
    const targets: string[] = [];
    let held = 0;
    await using at = open({
      store: () => bench.store,
      target: () => 'lab',
      reconnectMs: 500,
      quietMs: 100,
      connect: async (target, { signal }) => {
        targets.push(target);
        const found = await connect({
          store: bench.store,
          start: targets.length === 1,
          ...(signal === undefined ? {} : { signal }),
        });
        held += 1;
        // Like that of a target, it starts no server.
        const reconnect = () => Promise.reject(new StudioError('unavailable', 'The target lab does not respond.'));
        return { ...found, reconnect, close: () => void (held -= 1) };
      },
    });
    try {
      const connection = await at.link.connection();
      const lost = at.reached('lost');
      await kill((await connection.api.server()).pid);
      await lost;
      await assert.rejects(
        at.link.connection(),
        (error) => StudioError.is(error, 'unavailable') && error.message.includes('lab'),
      );
      assert.equal(at.link.state.value.state, 'lost', 'it is not given up');
      const other = await connect({ store: bench.store });
      await at.reached('ok');
      assert.equal(connection.address().url, other.address().url);
      assert.deepEqual([at.states, at.messages, held], [['lost', 'ok'], [], 1]);
      let moved = 0;
      at.link.serverChanged(() => moved++);
      at.link.reset();
      assert.deepEqual([moved, held], [1, 0]);
      assert.ok(targets.every((name) => name === 'lab'));
    } finally {
      at.link.dispose();
      await bench.close();
    }
  },
);

test('in Restricted Mode there is no connection', async () => {
  await using at = open({ trusted: () => false });
  await assert.rejects(at.link.connection({ start: true }), (error) => StudioError.is(error, 'forbidden'));
  assert.deepEqual(at.starts, []);
  assert.ok(!existsSync(at.bench.store));
});

test('an unusable store is reported as stopped, with the reason; another choice starts over', async () => {
  const broken = { store: path.join(import.meta.filename, 'store') };
  const good = new Bench();
  await using at = open({ store: () => broken.store });
  await assert.rejects(at.link.connection(), (error) => StudioError.is(error, 'storage'));
  assert.equal(at.link.state.value.state, 'stopped');
  assert.match(at.link.state.value.text ?? '', /is a file/);
  try {
    broken.store = good.store;
    at.link.reset();
    assert.equal(at.link.state.value.state, 'ok');
    assert.equal((await (await at.link.connection()).api.server()).store, good.store);
  } finally {
    await good.close();
  }
});

test('a waiting use can be aborted, and a closed window starts nothing more', async () => {
  await using at = open({
    connect: (_target, { signal }) =>
      new Promise((_, reject) =>
        signal?.addEventListener('abort', () => reject(new StudioError('cancelled', 'aborted'))),
      ),
  });
  const stop = new AbortController();
  const waiting = at.link.connection({ signal: stop.signal });
  stop.abort();
  await assert.rejects(waiting, (error) => StudioError.is(error, 'cancelled'));
  const other = at.link.connection();
  at.link.dispose();
  await assert.rejects(other, (error) => StudioError.is(error, 'cancelled'));
  await assert.rejects(at.link.connection(), (error) => StudioError.is(error, 'cancelled'));
});

test('a store is shown without its password', () => {
  assert.equal(redactStore('postgres://me:secret@host/db'), 'postgres://me:***@host/db');
  assert.equal(redactStore('postgres://host/db?user=me&password=secret'), 'postgres://host/db?user=me&password=***');
  assert.equal(redactStore('/data/store'), '/data/store');
  assert.equal(redactStore('C:\\data\\store'), 'C:\\data\\store');
});
