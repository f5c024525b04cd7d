/**
 * A port-forward that is cut again and again while a batch streams: no event is lost, commands take effect once, and
 * nobody is told but by one mark. `CUT_MS` and `CUT_FOR_MS` set how often and how long.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectionNotes } from '../../src/cli/connectionNotes.ts';
import { Drops } from '../../src/client/drops.ts';
import { nodeTransport } from '../../src/client/nodeTransport.ts';
import { subscribe } from '../../src/client/subscribe.ts';
import { connectTarget } from '../../src/client/targets/connectTarget.ts';
import { StudioError } from '../../src/common/errors.ts';
import { newId } from '../../src/common/ids.ts';
import { WindowServerLink } from '../../src/host/server/serverLink.ts';
import { Api } from '../../src/protocol/api.ts';
import { until } from '../e2e/support/poll.ts';
import { FakeCluster } from '../support/fakeCluster.ts';
import { blobOf } from '../support/rolloutServer.ts';

const CUT_MS = Number(process.env['CUT_MS'] ?? 700);
const CUT_FOR_MS = Number(process.env['CUT_FOR_MS'] ?? 9_000);

const PORTS = {
  store: () => '',
  target: () => 'k',
  trusted: () => true,
  log: () => undefined,
  stopped: () => undefined,
  notice: () => undefined,
};

describe('a port-forward that drops again and again', () => {
  it('loses no event, repeats no command, and shows one mark', async (t) => {
    await using cluster = await FakeCluster.start();
    const target = cluster.user({ name: 'ann', token: 'token-of-ann' }, ['get', 'create', 'update']);
    const direct = new Api(nodeTransport(() => ({ url: `http://127.0.0.1:${cluster.port}`, token: 'f'.repeat(40) })));
    const batch = newId('b');
    const source = blobOf('the file it came from');
    await direct.putBlob(source.sha, source.bytes);
    await direct.createBatch({
      batch,
      submission: source.sha,
      open: true,
      tasks: [],
      imported: { name: 'x', attempts: 1 },
    });
    const note = (api: Api, text: string): Promise<unknown> =>
      api.commandBatch(batch, { command: newId('c'), verb: 'note', args: { label: 'note', text } });

    // What a command sees, and what VS Code sees.
    const said: string[] = [];
    const popups: string[] = [];
    const connection = await connectTarget('k', target, { env: {}, onNotice: (text) => void said.push(text) });
    const states: string[] = [];
    const link = new WindowServerLink({
      ...PORTS,
      connect: (name, options) => connectTarget(name, target, { env: {}, ...options }),
      stopped: (text) => void popups.push(text),
      notice: (text) => void popups.push(text),
    });
    const end = new AbortController();
    t.after(() => {
      end.abort();
      link.dispose();
      connection.close();
    });
    const shared = await link.connection();
    link.state.changed(() => states.push(link.state.value.state));
    const marks: (string | undefined)[] = [];
    link.unstable.changed(() => marks.push(link.unstable.value));

    const seen: string[] = [];
    const seqs: number[] = [];
    const notes = connectionNotes((text) => void said.push(text));
    const following = subscribe(
      connection,
      { stream: batch },
      {
        events: (events) => {
          for (const event of events) {
            seqs.push(event.seq);
            if (event.kind === 'note') seen.push(event.data.text);
          }
        },
        lost: notes.lost,
      },
      end.signal,
    );

    const until_ = performance.now() + CUT_FOR_MS;
    const isOn = (): boolean => performance.now() < until_;
    const sent: string[] = [];
    let cuts = 0;
    const cut = async (): Promise<void> => {
      while (isOn()) {
        await sleep(CUT_MS);
        cluster.cut();
        cuts++;
      }
    };
    const write = async (api: Api, name: string, pause: number): Promise<void> => {
      for (let at = 0; isOn(); at++) {
        await note(api, `${name} ${at}`);
        sent.push(`${name} ${at}`);
        await sleep(pause);
      }
    };
    // Some arrive by the connection that drops, from a command and from the editor.
    await Promise.all([
      cut(),
      write(direct, 'direct', 20),
      write(connection.api, 'cli', 50),
      write(shared.api, 'code', 50),
    ]);
    await until(() => seen.length >= sent.length, 20_000, 'the last note');
    end.abort();
    await following;
    notes.end();

    assert.ok(cuts >= 5, `${cuts} cuts`);
    assert.deepEqual([...seen].sort(), [...sent].sort(), 'every event once');
    assert.deepEqual(
      seqs,
      seqs.map((_, index) => index + (seqs[0] ?? 0)),
      'in order, without gaps',
    );
    assert.deepEqual(popups, []);
    assert.deepEqual(
      states.filter((state) => state !== 'ok'),
      [],
      'no page says that the connection is lost',
    );
    assert.match(link.unstable.value ?? '', /^Unstable connection: \d+ drops in the last minute$/);
    assert.equal(said.length, 1, said.join('\n'));
    assert.match(said[0] ?? '', /^Unstable connection: 3 drops in the last minute\. Nothing is lost\.$/);
    t.diagnostic(`${cuts} cuts, ${seen.length} events, ${marks.at(-1) ?? ''}`);
  });

  it('lets commands wait while the editor opens another port-forward', async (t) => {
    await using cluster = await FakeCluster.start();
    const target = cluster.user({ name: 'ann', token: 'token-of-ann' }, ['get', 'create', 'update']);
    const log: string[] = [];
    const link = new WindowServerLink({
      ...PORTS,
      // The first is cut again while it reconnects.
      connect: async (name, options) => ({
        ...(await connectTarget(name, target, { env: {}, ...options })),
        reconnect: () => Promise.reject(new StudioError('unavailable', 'It was cut again.')),
      }),
      log: (text) => void log.push(text),
    });
    t.after(() => link.dispose());
    const connection = await link.connection();
    const before = connection.address().url;
    await until(() => link.you.value !== undefined, 10_000, 'the welcome');
    cluster.cut();
    await until(() => log.includes('The connection to the server was lost'), 10_000, 'the loss');
    assert.deepEqual((await connection.api.batches()).batches, []);
    assert.notEqual(connection.address().url, before);
  });

  it('is forgotten once it was stable for a minute', () => {
    let now = 0;
    const drops = new Drops(() => now);
    drops.add();
    drops.add();
    assert.equal(drops.text, undefined, 'twice is no pattern');
    now = 30_000;
    drops.add();
    assert.equal(drops.text, 'Unstable connection: 3 drops in the last minute');
    now = 60_001;
    assert.equal(drops.text, undefined);
    assert.equal(drops.count, 1);
  });
});
