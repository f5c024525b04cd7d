/** Sessions of users of a cluster: their tokens, and what they may do over time. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import type { WebSocket } from 'ws';
import { StudioError } from '../../../src/common/errors.ts';
import { FRAME_RIGHTS, type Right } from '../../../src/protocol/access.ts';
import { clientFrame } from '../../../src/protocol/client.ts';
import { PROTOCOL } from '../../../src/protocol/version.ts';
import { Logins, type Reviewer } from '../../../src/server/access/logins.ts';
import { missingRight, requireRight } from '../../../src/server/access/rights.ts';
import { Tokens } from '../../../src/server/access/tokens.ts';
import { packSession, type UserSession, unpackSession } from '../../../src/server/access/userSession.ts';
import { ClientConnection } from '../../../src/server/clients/connection.ts';

const SESSION: UserSession = {
  user: 'ann',
  groups: ['team'],
  namespace: 'ns',
  rights: ['read'],
  until: 1_000_000,
};
const NEVER = new AbortController().signal;

class FakeReviewer implements Reviewer {
  readonly namespace = 'ns';
  granted: readonly Right[] = ['read', 'launch'];
  asked = 0;
  fails: StudioError | undefined;
  authenticate(token: string): Promise<{ user: string; groups: string[] } | undefined> {
    if (this.fails !== undefined) return Promise.reject(this.fails);
    return Promise.resolve(token === 'good' ? { user: 'ann', groups: ['team'] } : undefined);
  }
  rights(): Promise<readonly Right[]> {
    this.asked += 1;
    return this.fails === undefined ? Promise.resolve(this.granted) : Promise.reject(this.fails);
  }
  clientAuthority(): undefined {
    return undefined;
  }
  watchClientAuthority(): () => void {
    return () => undefined;
  }
  close(): void {
    // It holds nothing.
  }
}

function logins(reviewer: FakeReviewer | undefined) {
  let now = 0;
  const tokens = new Tokens('key');
  return {
    tokens,
    all: new Logins({ tokens, reviewer, log: () => undefined, now: () => now }),
    at: (ms: number) => (now = ms),
  };
}

describe('tokens of users', () => {
  it('are valid at every server of the store until their end, and cannot be changed', () => {
    const token = new Tokens('key').user(SESSION);
    const tokens = new Tokens('key');
    assert.deepEqual(tokens.identify(token, 999_999), { kind: 'user', session: SESSION });
    assert.equal(tokens.identify(token, 1_000_000), undefined);
    assert.equal(new Tokens('other').identify(token, 0), undefined);
    const [, packed = '', signature = ''] = token.split('.');
    const more = packSession({ ...SESSION, rights: ['administer'] });
    for (const forged of [
      `u.${more}.${signature}`,
      `u.${packed}.${signature.replace(/./, 'g')}`,
      `w.${packed}.${signature}`,
    ])
      assert.equal(tokens.identify(forged, 0), undefined);
  });

  it('have room for the groups of large companies within a header', () => {
    const groups = Array.from({ length: 400 }, (_, n) => `CN=team-${n},OU=Groups,DC=example,DC=org`);
    const packed = packSession({ ...SESSION, groups });
    assert.ok(packed.length < 8_000, String(packed.length));
    assert.deepEqual(unpackSession(packed).groups, groups);
  });
});

describe('logins', () => {
  it('give a session, and one that only reads', async () => {
    const { all, tokens } = logins(new FakeReviewer());
    const reply = await all.login({ token: 'good' }, NEVER);
    assert.deepEqual([reply.user, reply.rights, reply.expires_in_ms], ['ann', ['read', 'launch'], 3_600_000]);
    for (const [token, rights] of [
      [reply.token, ['read', 'launch']],
      [reply.read_token, ['read']],
    ] as const) {
      const holder = tokens.identify(token, 0);
      assert.ok(holder?.kind === 'user');
      assert.deepEqual([...(await all.identity(holder.session)).rights], rights);
    }
    await assert.rejects(all.login({ token: 'bad' }, NEVER), { code: 'unauthorized' });
    await assert.rejects(logins(undefined).all.login({ token: 'good' }, NEVER), { code: 'unsupported' });
  });

  it('ask the cluster once for many requests, at most every minute, and take back what it takes back', async () => {
    const reviewer = new FakeReviewer();
    const { all, at } = logins(reviewer);
    const rights = async () => [...(await all.identity(SESSION)).rights];
    await Promise.all([rights(), rights(), rights()]);
    assert.equal(reviewer.asked, 1);
    reviewer.granted = [];
    at(59_000);
    assert.deepEqual(await rights(), ['read', 'launch']);
    at(61_000);
    assert.deepEqual(await rights(), []);
    assert.equal(reviewer.asked, 2);
  });

  it('keep what the cluster said last while it does not answer, and ask again soon', async () => {
    const reviewer = new FakeReviewer();
    const { all, at } = logins(reviewer);
    reviewer.fails = new StudioError('unavailable', 'No answer.');
    // A server that was started meanwhile knows what the token says.
    assert.deepEqual([...(await all.identity(SESSION)).rights], ['read']);
    await all.identity(SESSION);
    assert.equal(reviewer.asked, 1);
    await assert.rejects(all.login({ token: 'good' }, NEVER), { code: 'unavailable' });
    reviewer.fails = undefined;
    at(6_000);
    assert.deepEqual([...(await all.identity(SESSION)).rights], ['read', 'launch']);
  });

  it('say what an administrator has to apply if the server may not ask', async () => {
    const reviewer = new FakeReviewer();
    reviewer.fails = new StudioError('forbidden', 'The account may not create tokenreviews.');
    await assert.rejects(logins(reviewer).all.login({ token: 'good' }, NEVER), (error: StudioError) => {
      assert.equal(error.code, 'unsupported');
      return /ClusterRoleBinding/.test(error.hint ?? '');
    });
  });

  it('are few at a time', async () => {
    const reviewer = new FakeReviewer();
    let answer = (): void => undefined;
    const open = new Promise<void>((resolve) => (answer = resolve));
    reviewer.authenticate = () => open.then(() => undefined);
    const { all } = logins(reviewer);
    const waiting = Array.from({ length: 16 }, () => all.login({ token: 'x' }, NEVER).catch(() => undefined));
    await assert.rejects(all.login({ token: 'x' }, NEVER), { code: 'unavailable' });
    answer();
    await Promise.all(waiting);
    await assert.rejects(all.login({ token: 'x' }, NEVER), { code: 'unauthorized' });
  });
});

describe('rights', () => {
  it('that are missing are named, with the command that grants them', () => {
    const hint = (user: string, right: Right) => missingRight(user, right, 'ns').hint ?? '';
    assert.match(hint('ann@example.org', 'read'), /--bind user=ann@example.org:viewer \| kubectl apply -f -$/);
    assert.match(hint("o'hara; rm", 'launch'), /--bind 'user=o'\\''hara; rm':user/);
    assert.match(hint('system:serviceaccount:ci:bot', 'administer'), /--bind serviceaccount=ci\/bot:admin/);
    const reads = { kind: 'client', rights: new Set<Right>(['read']) } as const;
    assert.doesNotThrow(() => requireRight(reads, 'read'));
    assert.throws(() => requireRight(reads, 'launch'), { code: 'forbidden', message: /read-only/ });
  });

  it('are assigned to each frame of a client', () => {
    assert.deepEqual(Object.keys(FRAME_RIGHTS).sort(), clientFrame.options.map(({ shape }) => shape.type.value).sort());
  });

  it('that are taken away end open connections, and so does the end of the session', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: 0 });
    const open = (rights: readonly Right[][], until: number) => {
      const sent: string[] = [];
      let closed: number | undefined;
      const socket = Object.assign(new EventEmitter(), {
        OPEN: 1,
        readyState: 1,
        bufferedAmount: 0,
        send: (text: string) => sent.push(text),
        close: (code: number) => (closed = code),
      });
      const session = { ...SESSION, until };
      const next = [...rights];
      const connection = new ClientConnection(
        {
          store: { now: () => Promise.resolve(0) } as never,
          changes: undefined as never,
          deltas: undefined as never,
          debuggers: undefined as never,
          log: () => undefined,
          health: { trouble: undefined, watch: () => () => undefined } as never,
          identity: () => Promise.resolve({ kind: 'client', rights: new Set(next.shift()), session }),
        },
        socket as unknown as WebSocket,
        { kind: 'client', rights: new Set(['read']), session },
      );
      assert.equal(connection.idle, true);
      return { sent, socket, closed: () => closed };
    };
    const taken = open([['read'], ['read', 'control'], []], 1_000_000);
    const hello = { type: 'hello', protocol: PROTOCOL, rights: true };
    taken.socket.emit('message', Buffer.from(JSON.stringify(hello)));
    const settle = async () => {
      for (let n = 0; n < 10; n++) await Promise.resolve();
    };
    await settle();
    assert.match(
      taken.sent[0] ?? '',
      /"type":"welcome".*"you":\{"user":"ann","namespace":"ns","rights":\["read"\]\},"read_only":true/,
    );
    t.mock.timers.tick(15_000);
    await settle();
    assert.equal(taken.closed(), undefined);
    assert.equal(taken.sent.length, 1, 'nothing changed');
    t.mock.timers.tick(15_000);
    await settle();
    assert.match(taken.sent.at(-1) ?? '', /"type":"rights".*"rights":\["read","control"\]/);
    t.mock.timers.tick(15_000);
    await settle();
    assert.deepEqual(taken.closed(), 1008);
    assert.match(taken.sent.at(-1) ?? '', /"code":"forbidden"/);
    const over = open([], 40_000);
    t.mock.timers.tick(15_000);
    await settle();
    assert.equal(over.closed(), 1012, 'the client connects again with the next session');
  });
});
