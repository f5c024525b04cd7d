import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Connection } from '../../../src/client/connect.ts';
import { Emitter, Observable } from '../../../src/common/emitter.ts';
import { type PageLink, ServerConnections, type ServerId } from '../../../src/host/server/connections.ts';
import type { ServerState } from '../../../src/protocol/page.ts';

/** A link without a connection; `go` chooses another target. */
class FakeLink implements PageLink {
  readonly you = new Observable<PageLink['you']['value']>(undefined);
  readonly state = new Observable<ServerState>({ state: 'ok' });
  readonly #connected = new Emitter<Connection>();
  readonly #serverChanged = new Emitter<undefined>();
  readonly connected = this.#connected.event;
  readonly serverChanged = this.#serverChanged.event;
  /** Only compared. */
  readonly own = {} as Connection;
  disposed = false;
  target: string;
  store: string;

  constructor({ target, store }: ServerId) {
    this.target = target;
    this.store = store;
  }

  connection(): Promise<Connection> {
    this.#connected.fire(this.own);
    return Promise.resolve(this.own);
  }

  go(where: Partial<ServerId>): void {
    Object.assign(this, where);
    this.#serverChanged.fire(undefined);
  }

  dispose(): void {
    this.disposed = true;
  }
}

function setUp(): { window: FakeLink; links: FakeLink[]; ways: ServerConnections } {
  const window = new FakeLink({ target: 'local', store: '/s' });
  const links: FakeLink[] = [];
  const ways = new ServerConnections(window, (where) => {
    const link = new FakeLink(where);
    links.push(link);
    return link;
  });
  return { window, links, ways };
}

describe('the connection of a page', () => {
  it('is the window’s until the window changes its target, and again once it is back', async () => {
    const { window, links, ways } = setUp();
    const [one, two] = [ways.open(ways.current), ways.open(ways.current)];
    assert.equal(await one.connection(), window.own);
    window.go({ target: 'lab' });
    assert.equal(links.length, 1, 'pages of one server share a link');
    assert.deepEqual([links[0]?.target, one.elsewhere], ['local', true]);
    assert.deepEqual(one.state.value, {
      state: 'ok',
      elsewhere: { text: 'This page shows the target local, but the window uses lab.', target: 'local' },
    });
    const heard: Connection[] = [];
    one.connected((connection) => heard.push(connection));
    assert.equal(await one.connection(), links[0]?.own);
    window.state.set({ state: 'lost' });
    await window.connection();
    assert.deepEqual(
      [one.state.value.state, heard],
      ['ok', [links[0]?.own]],
      'what becomes of the window’s server is nothing to it',
    );
    links[0]?.state.set({ state: 'stopped', text: 'gone' });
    assert.deepEqual([one.state.value.state, one.state.value.text], ['stopped', 'gone']);

    const there = ways.open(ways.current);
    assert.deepEqual([there.elsewhere, links.length], [false, 1]);
    window.go({ target: 'cloud' });
    assert.deepEqual([links.map(({ target }) => target), links[0]?.disposed], [['local', 'lab'], false]);
    window.go({ target: 'local' });
    assert.deepEqual([one.state.value, two.elsewhere, there.elsewhere], [{ state: 'lost' }, false, true]);
    assert.deepEqual(
      links.map(({ disposed }) => disposed),
      [true, false],
    );
    assert.equal(await two.connection(), window.own);
    there.dispose();
    assert.equal(links[1]?.disposed, true, 'the last page takes the link along');
  });

  it('reports that there is nothing to choose when another store is in use', () => {
    const { window, ways } = setUp();
    const page = ways.open(ways.current);
    window.go({ store: 'postgres://me:secret@host/db' });
    assert.deepEqual(page.state.value.elsewhere, {
      text: 'This page shows the store /s, but the window uses another one.',
    });
    window.go({ target: 'lab' });
    assert.deepEqual(
      page.state.value.elsewhere,
      { text: 'This page shows the target local, but the window uses lab.' },
      '“local” would now be the other store',
    );
    const remote = ways.open(ways.current);
    window.go({ store: '/other' });
    assert.equal(remote.elsewhere, false, 'a target has a store of its own');
  });
});
