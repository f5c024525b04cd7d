/**
 * A server by its address: a TLS proxy with a private authority in front of a real server, and tokens in the
 * environment or a secret storage.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { nodeTransport } from '../../src/client/nodeTransport.ts';
import { subscribe } from '../../src/client/subscribe.ts';
import { checkToken, reachAddress } from '../../src/client/targets/checkAddress.ts';
import { connectTarget } from '../../src/client/targets/connectTarget.ts';
import type { UrlTarget } from '../../src/client/targets/target.ts';
import { unreachableError } from '../../src/client/targets/unreachable.ts';
import { StudioError } from '../../src/common/errors.ts';
import { newId } from '../../src/common/ids.ts';
import { cliOf } from '../../src/host/server/runCli.ts';
import { WindowServerLink } from '../../src/host/server/serverLink.ts';
import { TargetTokens } from '../../src/host/targets/address/targetTokens.ts';
import { until } from '../e2e/support/poll.ts';
import { certificateFor, expiredCertificateFor } from '../support/certificate.ts';
import { Bench } from '../support/cli.ts';
import { importBatch } from '../support/finishedBatch.ts';
import { freePort } from '../support/freePort.ts';
import { ingress } from '../support/ingress.ts';
import { blobOf, type TestServer, TestStore } from '../support/rolloutServer.ts';
import { type TlsProxy, tlsProxy } from '../support/tlsProxy.ts';

const NAME = 'lab';
const of =
  (code: string, pattern: RegExp) =>
  (error: unknown): boolean =>
    StudioError.is(error) && error.code === code && pattern.test(`${error.message} ${error.hint ?? ''}`);
/** Without a name server, nobody can say that the machine does not exist. */
const NOBODY = /host name nobody\.invalid(?: was not found|: no DNS server responded)\. .*VPN/;
const never = new AbortController().signal;

describe('a server by its address', { timeout: 480_000 }, () => {
  const store = new TestStore();
  const bench = new Bench({ where: [] });
  const { ca, ...certificate } = certificateFor('127.0.0.1');
  const caFile = bench.path('ca.pem');
  let server: TestServer;
  let proxy: TlsProxy;
  let target: UrlTarget;
  before(async () => {
    writeFileSync(caFile, ca);
    server = await store.start();
    proxy = await tlsProxy(() => server.file.port, certificate);
    target = { url: proxy.url, token_env: 'LAB_TOKEN', read_token_env: 'LAB_READ', ca: caFile, kept: 'vscode' };
  });
  after(async () => {
    await proxy[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    await bench.close();
  });

  /** The editor's stored target. */
  function tokens(): TargetTokens {
    const secrets = new Map<string, string>();
    return new TargetTokens(
      {
        get: (name) => Promise.resolve(secrets.get(name)),
        store: (name, value) => Promise.resolve(void secrets.set(name, value)),
        delete: (name) => Promise.resolve(void secrets.delete(name)),
      },
      (name) => Promise.resolve(name === NAME ? target : undefined),
    );
  }

  it('is checked before it is saved: response, certificate subject, scope of its token', async () => {
    assert.equal(await reachAddress({ url: proxy.url }, never), 'untrusted');
    assert.equal(await reachAddress({ url: proxy.url, ca }, never), 'reached');
    assert.equal(
      await reachAddress({ url: proxy.url, ca: certificateFor('127.0.0.1').ca }, never),
      'untrusted',
      'another authority',
    );
    await assert.rejects(
      reachAddress({ url: proxy.url.replace('127.0.0.1', 'localhost'), ca }, never),
      of('unavailable', /for another name \(IP Address:127\.0\.0\.1\)\. .*name in the certificate/),
    );
    await assert.rejects(
      reachAddress({ url: server.url.replace('http:', 'https:') }, never),
      of('unavailable', /does not support TLS\. .*port/),
    );
    await assert.rejects(
      reachAddress({ url: `https://127.0.0.1:${await freePort()}` }, never),
      of('unavailable', /Connection to 127\.0\.0\.1:\d+ refused\. .*port is correct/),
    );
    await assert.rejects(reachAddress({ url: 'https://nobody.invalid' }, never), of('unavailable', NOBODY));
    const old = expiredCertificateFor('127.0.0.1');
    await using expired = await tlsProxy(() => server.file.port, old);
    await assert.rejects(reachAddress({ url: expired.url, ca: old.ca }, never), of('unavailable', /has expired/));

    const at = (token: string) => checkToken({ url: proxy.url, ca, token }, never);
    assert.equal((await at(server.file.token)).access, 'write');
    assert.equal((await at(server.file.read_token)).access, 'read');
    await assert.rejects(at('wrong'), of('unauthorized', /rejected the token\. .*server\.json/));
  });

  it('is read and followed through TLS, and found again after a cut', async () => {
    const kept = tokens();
    await kept.store(NAME, { url: proxy.url, token: server.file.token });
    const stopped: string[] = [];
    const link = new WindowServerLink({
      store: () => bench.store,
      target: () => NAME,
      trusted: () => true,
      log: () => undefined,
      notice: () => undefined,
      stopped: (text) => stopped.push(text),
      connect: async (name, options) => connectTarget(name, target, { env: await kept.env([name]), ...options }),
    });
    try {
      const connection = await link.connection();
      assert.equal((await connection.api.server()).pid, server.process.pid);
      assert.throws(() => connection.readAddress(), of('usage', /no read-only token\. .*Change Token of Target/));
      const states: string[] = [];
      link.state.changed(({ state }) => void states.push(state));
      // A moment later it is back: only a mark says that it drops again and again.
      const cutting = setInterval(() => proxy.cut(), 300);
      try {
        await until(() => link.unstable.value, 30_000, 'the mark');
      } finally {
        clearInterval(cutting);
      }
      assert.match(link.unstable.value ?? '', /^Unstable connection: \d+ drops in the last minute$/);
      assert.deepEqual([states, stopped], [[], []]);
      assert.equal((await connection.api.server()).pid, server.process.pid);
    } finally {
      link.dispose();
    }
  });

  it('gets its tokens from the editor, at that address and no other', async () => {
    const kept = tokens();
    await assert.rejects(
      connectTarget(NAME, target, { env: await kept.env([NAME]) }),
      of('usage', /VS Code stores the token of target lab, and LAB_TOKEN is not set here\. .*set LAB_TOKEN/),
    );
    await kept.store(NAME, { url: 'https://elsewhere.example.org', token: 'secret' });
    assert.deepEqual(await kept.env(['local', NAME, '--json']), {}, 'another server of the same name gets no token');
    await kept.store(NAME, { url: proxy.url, token: 'old', read: 'r' });
    assert.deepEqual(await kept.env(['status', NAME]), { LAB_TOKEN: 'old', LAB_READ: 'r' });
    await assert.rejects(
      connectTarget(NAME, target, { env: await kept.env([NAME]) }),
      of('unauthorized', /Change Token of Target/),
    );
    await kept.forget(NAME);
    assert.deepEqual(await kept.env([NAME]), {});
  });

  it('is a target of the command line, which takes the tokens from the editor', async () => {
    assert.match(
      (await bench.run(['target', 'add', NAME, '--url', proxy.url, '--token-env', 'LAB_TOKEN', '--ca', 'no.pem']))
        .stderr,
      /Cannot read the CA file .*no\.pem/,
    );
    await bench.json(['target', 'add', NAME, '--url', proxy.url, '--token-env', 'LAB_TOKEN', '--ca', 'ca.pem']);
    const kept = tokens();
    await kept.store(NAME, { url: proxy.url, token: server.file.token });
    const cli = cliOf({
      store: () => bench.store,
      target: () => 'local',
      trusted: () => true,
      log: () => undefined,
      tokens: (names) => kept.env(names),
    });
    const env = { XDG_DATA_HOME: bench.folder, LOCALAPPDATA: bench.folder, HOME: bench.folder };
    const status = await cli.json(['target', 'status', NAME], { cwd: bench.folder, env });
    assert.match(JSON.stringify(status), /"name":"server","state":"ok"/);
    assert.deepEqual(await cli.json(['batches', '--target', NAME], { cwd: bench.folder, env }), { batches: [] });
  });

  it('that does not respond is reported with the reason and its hint, by every command @deep', async () => {
    await bench.run(['init', 'desk']);
    const old = expiredCertificateFor('127.0.0.1');
    writeFileSync(bench.path('old.pem'), old.ca);
    await using expired = await tlsProxy(() => server.file.port, old);
    await using cutting = await listening((socket) => socket.destroy());
    await using speaking = await listening((socket) => socket.end('220 mail.example.org ready\r\n'));
    await using gateway = await listening((socket) =>
      socket.end('HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\ncontent-length: 13\r\n\r\n<html></html>'),
    );
    const cases: readonly (readonly [name: string, url: string, why: RegExp, hint: RegExp, ca?: string])[] = [
      [
        'refused',
        `https://127.0.0.1:${await freePort()}`,
        /Connection to 127\.0\.0\.1:\d+ refused\./,
        /server is running and the port is correct/,
      ],
      [
        'nobody',
        'https://nobody.invalid',
        /host name nobody\.invalid(?: was not found|: no DNS server responded)\./,
        /VPN/,
      ],
      [
        'untrusted',
        proxy.url,
        /certificate of 127\.0\.0\.1:\d+ is from a CA that is not trusted on this machine\./,
        /file of that CA \(--ca\)/,
      ],
      ['expired', expired.url, /certificate of 127\.0\.0\.1:\d+ has expired\./, /to renew it/, 'old.pem'],
      ['plain', server.url.replace('http:', 'https:'), /127\.0\.0\.1:\d+ does not support TLS\./, /Check the port/],
      ['cutting', cutting.url, /127\.0\.0\.1:\d+ closed the connection without responding\./, /does not need https/],
      ['speaking', speaking.url, /127\.0\.0\.1:\d+ is not an HTTP server\./, /Check the port/],
      ['gateway', gateway.url, /returned HTTP status 502: it cannot reach the rollout server\./, /server is running/],
    ];
    const env = { LAB_TOKEN: 'x' };
    for (const [name, url, why, hint, ca] of cases) {
      await bench.json([
        'target',
        'add',
        name,
        '--url',
        url,
        '--token-env',
        'LAB_TOKEN',
        ...(ca === undefined ? [] : ['--ca', ca]),
      ]);
      const [status, run] = await Promise.all([
        bench.run(['target', 'status', name], { env }),
        bench.run(['run', 'desk/batches/first.batch.yaml', '--target', name], { env }),
      ]);
      assert.equal(status.code, 1, `${name}: ${status.stderr}`);
      const [finding = '', advice = ''] = status.stdout.split('\n').slice(1);
      assert.match(finding, new RegExp(`✗ server +.*${why.source}`), name);
      assert.match(advice, hint, name);
      assert.equal(run.code, 3, `${name}: ${run.stderr}`);
      assert.match(run.stderr, new RegExp(`${why.source} .*${hint.source}`), name);
    }
  });

  it('works behind an Ingress, which changes headers, limits bodies, and closes idle connections', async () => {
    await using gateway = await ingress({ port: () => server.file.port, certificate, idleMs: 400 });
    const connection = await connectTarget(
      NAME,
      { url: gateway.url, token_env: 'LAB_TOKEN', ca: caFile },
      { env: { LAB_TOKEN: server.file.token } },
    );
    const { batch } = await importBatch(server, { tasks: 2, attempts: 1, steps: 2 });
    const seen: number[] = [];
    const texts: string[] = [];
    let lost = 0;
    const end = new AbortController();
    const following = subscribe(
      connection,
      { stream: batch },
      {
        events: (events) => {
          for (const event of events) {
            seen.push(event.seq);
            if (event.kind === 'note') texts.push(event.data.text);
          }
        },
        lost: (is) => void (lost += is ? 1 : 0),
      },
      end.signal,
    );
    // Longer pauses than the connection may be idle.
    for (let at = 0; at < 4; at++) {
      const args = { label: 'note', text: `note ${at}` };
      await connection.api.commandBatch(batch, { command: newId('c'), verb: 'note', args });
      await until(() => texts.includes(`note ${at}`));
      const before = lost;
      await until(() => lost > before);
    }
    end.abort();
    await following;
    assert.deepEqual(texts, ['note 0', 'note 1', 'note 2', 'note 3']);
    assert.deepEqual(
      seen,
      seen.map((_, index) => index + (seen[0] ?? 0)),
    );
    assert.match(gateway.seen.join(), /x-forwarded-proto: https/);
    const big = blobOf('x'.repeat(300_000));
    await connection.api.putBlob(big.sha, big.bytes);
    gateway.limit(100_000);
    const other = blobOf('y'.repeat(300_000));
    await assert.rejects(
      connection.api.putBlob(other.sha, other.bytes),
      of('too_large', /gateway in front of the server accepts no body of this size.*proxy-body-size/),
    );
    connection.close();
  });

  it('that accepts the connection and stays silent times out', async () => {
    await using silent = await listening(() => undefined);
    const limit = AbortSignal.timeout(50);
    const failure = await nodeTransport(() => ({ url: silent.url, token: '' }))
      .request({ method: 'GET', path: '/v1/server', signal: limit })
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    assert.ok(
      of(
        'unavailable',
        /127\.0\.0\.1:\d+ does not respond: the request timed out\. Check that the server is running\. .*firewall/,
      )(unreachableError({ url: silent.url }, failure)),
    );
  });

  it('that goes away is reported once with the reason to everything in progress', async () => {
    await using ways = new AsyncDisposableStack();
    const route = ways.use(await tlsProxy(() => server.file.port, certificate));
    const notices: string[] = [];
    const connection = await connectTarget(
      NAME,
      { url: route.url, token_env: 'LAB_TOKEN', ca: caFile },
      { env: { LAB_TOKEN: server.file.token }, onNotice: (text) => notices.push(text) },
    );
    await ways.disposeAsync();
    const gone = of('unavailable', /Connection to 127\.0\.0\.1:\d+ refused\. Check that the server is running/);
    await assert.rejects(connection.api.server(), gone);
    await assert.rejects(connection.reconnect(never), gone);
    await assert.rejects(connection.reconnect(never), gone);
    assert.equal(notices.length, 1);
    assert.match(notices[0] ?? '', /Connection to 127\.0\.0\.1:\d+ refused/);
    connection.close();
  });
});

/** Something on a port that is not our server. */
async function listening(meets: (socket: net.Socket) => void): Promise<AsyncDisposable & { readonly url: string }> {
  const sockets = new Set<net.Socket>();
  const server = net
    .createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('data', () => meets(socket)); // unread data would cause a reset
    })
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo; // a TCP server has a numeric port
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
