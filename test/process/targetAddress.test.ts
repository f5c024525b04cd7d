/** A server by its address: TLS of an authority of its own before a real server, its tokens in the environment or a secret storage. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { checkToken, reachAddress } from '../../src/client/targets/checkAddress.ts';
import { connectTarget } from '../../src/client/targets/connectTarget.ts';
import type { UrlTarget } from '../../src/client/targets/target.ts';
import { StudioError } from '../../src/common/errors.ts';
import { cliOf } from '../../src/host/server/runCli.ts';
import { WindowServerLink } from '../../src/host/server/serverLink.ts';
import { TargetTokens } from '../../src/host/targets/address/targetTokens.ts';
import { until } from '../e2e/support/poll.ts';
import { selfSigned } from '../support/certificate.ts';
import { Bench } from '../support/cli.ts';
import { TestStore, type TestServer } from '../support/rolloutServer.ts';
import { tlsProxy, type TlsProxy } from '../support/tlsProxy.ts';

const NAME = 'lab';
const of = (code: string, pattern: RegExp) => (error: unknown): boolean => StudioError.is(error) && error.code === code && pattern.test(`${error.message} ${error.mend ?? ''}`);
const never = new AbortController().signal;

describe('a server by its address', { timeout: 120_000 }, () => {
  const store = new TestStore();
  const bench = new Bench({ where: [] });
  const { cert, key } = selfSigned({ host: '127.0.0.1' });
  const caFile = bench.path('ca.pem');
  let server: TestServer;
  let proxy: TlsProxy;
  let target: UrlTarget;
  before(async () => {
    writeFileSync(caFile, cert);
    server = await store.start();
    proxy = await tlsProxy(() => server.file.port, { cert, key });
    target = { url: proxy.url, token_env: 'LAB_TOKEN', read_token_env: 'LAB_READ', ca: caFile, kept: 'vscode' };
  });
  after(async () => {
    await proxy[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    await bench.close();
  });

  /** What the editor keeps. */
  function tokens(): TargetTokens {
    const secrets = new Map<string, string>();
    return new TargetTokens({
      get: (name) => Promise.resolve(secrets.get(name)),
      store: (name, value) => Promise.resolve(void secrets.set(name, value)),
      delete: (name) => Promise.resolve(void secrets.delete(name)),
    }, (name) => Promise.resolve(name === NAME ? target : undefined));
  }

  it('is tried before it is kept: whether it answers, whom its certificate is of, what its token may', async () => {
    assert.equal(await reachAddress({ url: proxy.url }, never), 'untrusted');
    assert.equal(await reachAddress({ url: proxy.url, ca: cert }, never), 'reached');
    assert.equal(await reachAddress({ url: proxy.url, ca: selfSigned({ host: '127.0.0.1' }).cert }, never), 'untrusted', 'another authority');
    await assert.rejects(reachAddress({ url: proxy.url.replace('127.0.0.1', 'localhost'), ca: cert }, never), of('unavailable', /for another name\. .*name that is in the certificate/));
    await assert.rejects(reachAddress({ url: server.url.replace('http:', 'https:') }, never), of('unavailable', /does not speak TLS\. .*port/));
    const free = net.createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as net.AddressInfo; // it listens on TCP
    free.close();
    await once(free, 'close');
    await assert.rejects(reachAddress({ url: `https://127.0.0.1:${port}` }, never), of('unavailable', /Nothing listens at 127\.0\.0\.1:\d+\. .*port is right/));
    await assert.rejects(reachAddress({ url: 'https://nobody.invalid' }, never), of('unavailable', /no machine called nobody\.invalid\. .*VPN/));
    const old = selfSigned({ host: '127.0.0.1', from: new Date('2020-01-01'), until: new Date('2020-02-01') });
    await using expired = await tlsProxy(() => server.file.port, old);
    await assert.rejects(reachAddress({ url: expired.url, ca: old.cert }, never), of('unavailable', /not valid any more/));

    const at = (token: string) => checkToken({ url: proxy.url, ca: cert, token }, never);
    assert.equal((await at(server.file.token)).may, 'write');
    assert.equal((await at(server.file.read_token)).may, 'read');
    await assert.rejects(at('wrong'), of('unauthorized', /does not take the token\. .*server\.json/));
  });

  it('is read and followed through TLS, and found again when the way was cut', async () => {
    const kept = tokens();
    await kept.keep(NAME, { url: proxy.url, token: server.file.token });
    const stopped: string[] = [];
    const link = new WindowServerLink({
      store: () => bench.store, target: () => NAME, trusted: () => true, log: () => undefined, notice: () => undefined, stopped: (text) => stopped.push(text),
      connect: async (name, options) => connectTarget(name, target, { env: await kept.env([name]), ...options }),
    });
    try {
      const connection = await link.connection();
      assert.equal((await connection.api.server()).pid, server.process.pid);
      assert.throws(() => connection.readAddress(), of('usage', /no token that may only read\. .*Change Token of Target/));
      const states: string[] = [];
      const again = new Promise<void>((resolve) => link.state.changed(({ state }) => {
        states.push(state);
        if (state === 'ok') resolve();
      }));
      // The socket that tells of a loss may still be on its way.
      await until(() => {
        proxy.cut();
        return states.includes('lost');
      }, 30_000, 'the loss');
      await again;
      assert.deepEqual([states, stopped], [['lost', 'ok'], []]);
      assert.equal((await connection.api.server()).pid, server.process.pid);
    } finally {
      link.dispose();
    }
  });

  it('gets its tokens from the editor, at that address and no other', async () => {
    const kept = tokens();
    await assert.rejects(connectTarget(NAME, target, { env: await kept.env([NAME]) }), of('usage', /token of the target lab is kept by VS Code, and LAB_TOKEN is not set here\. Set LAB_TOKEN/));
    await kept.keep(NAME, { url: 'https://elsewhere.example.org', token: 'secret' });
    assert.deepEqual(await kept.env(['local', NAME, '--json']), {}, 'another server of the same name gets no token');
    await kept.keep(NAME, { url: proxy.url, token: 'old', read: 'r' });
    assert.deepEqual(await kept.env(['status', NAME]), { LAB_TOKEN: 'old', LAB_READ: 'r' });
    await assert.rejects(connectTarget(NAME, target, { env: await kept.env([NAME]) }), of('unauthorized', /Change Token of Target/));
    await kept.forget(NAME);
    assert.deepEqual(await kept.env([NAME]), {});
  });

  it('is a target of the command line, which takes the tokens that the editor has', async () => {
    assert.match((await bench.run(['target', 'add', NAME, '--url', proxy.url, '--token-env', 'LAB_TOKEN', '--ca', 'no.pem'])).stderr, /no\.pem cannot be read/);
    await bench.json(['target', 'add', NAME, '--url', proxy.url, '--token-env', 'LAB_TOKEN', '--ca', 'ca.pem']);
    const kept = tokens();
    await kept.keep(NAME, { url: proxy.url, token: server.file.token });
    const cli = cliOf({ store: () => bench.store, target: () => 'local', trusted: () => true, log: () => undefined, tokens: (names) => kept.env(names) });
    const env = { XDG_DATA_HOME: bench.folder, LOCALAPPDATA: bench.folder, HOME: bench.folder };
    const status = await cli.json(['target', 'status', NAME], { cwd: bench.folder, env });
    assert.match(JSON.stringify(status), /"name":"server","state":"ok"/);
    assert.deepEqual(await cli.json(['batches', '--target', NAME], { cwd: bench.folder, env }), { batches: [] });
  });
});
