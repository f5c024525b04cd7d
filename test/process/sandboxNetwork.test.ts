// What the programs of a rollout reach with a filtered network, which they have by default.
import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { DEFAULT_SANDBOX, type SubmittedSandbox, type SubmittedTools } from '../../src/config/submission.ts';
import type { ToolHost } from '../../src/rollout/ports.ts';
import { openTools } from '../../src/tools/hosts.ts';
import { filterProblem, sandboxSupport } from '../../src/tools/sandbox/open.ts';
import { callTool, type ToolBench, toolBench } from '../support/tools.ts';

const support = await sandboxSupport();
const skip = support.works ? ((await filterProblem()) ?? false) : support.reason;
const BUILTINS: readonly SubmittedTools[] = [
  { kind: 'builtin', name: 'terminal' },
  { kind: 'builtin', name: 'code' },
];
const ended = z.object({ output: z.string() });

/** Ways to reach `host:port`, as programs use them. Each prints what it got, or why it got nothing. */
const WAYS = {
  direct: `send(port, host, 'GET / HTTP/1.0\\r\\n\\r\\n')`,
  http: `send(proxy, '127.0.0.1', 'GET http://' + host + ':' + port + '/ HTTP/1.0\\r\\n\\r\\n')`,
  connect: `send(proxy, '127.0.0.1',
    'CONNECT ' + host + ':' + port + ' HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.0\\r\\n\\r\\n')`,
  socks: `send(proxy, '127.0.0.1', Buffer.concat([
    Buffer.from([5, 1, 0, 5, 1, 0, 3, host.length]), Buffer.from(host), Buffer.from([port >> 8, port & 255]),
    Buffer.from('GET / HTTP/1.0\\r\\n\\r\\n')]))`,
} as const;
type Way = keyof typeof WAYS;
const PROXIED: readonly Way[] = ['http', 'connect', 'socks'];

const REFUSED: Readonly<Record<Way, RegExp>> = {
  direct: /ECONNREFUSED/,
  http: / 403 Forbidden[^]*`sandbox: \{ allow: \[…\] \}`/,
  connect: / 403 Forbidden/,
  socks: /^"\\u0005\\u0000\\u0005\\u0002/,
};

describe('a filtered network', { skip, timeout: 480_000 }, () => {
  let bench: ToolBench;
  let listener: Server;
  let port = 0;
  const opened: ToolHost[] = [];

  before(async () => {
    bench = await toolBench({ sandbox: 'required' });
    listener = createServer((socket) => socket.on('data', () => socket.end('HTTP/1.0 200 OK\r\n\r\nof this machine')));
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    ({ port } = listener.address() as AddressInfo);
  });
  after(async () => {
    listener.close();
    await Promise.all(opened.map((host) => host.close()));
    await bench.close();
    assert.equal(bench.groups.size, 0, 'nothing is left running');
  });

  async function openWith(sandbox: Partial<SubmittedSandbox> = {}): Promise<ToolHost> {
    const environment = {
      ...bench.environment,
      sandbox: { ...DEFAULT_SANDBOX, mode: 'required', ...sandbox },
    } as const;
    const host = await openTools(BUILTINS, environment);
    opened.push(host);
    return host;
  }
  async function runs(host: ToolHost, code: string): Promise<string> {
    return ended.parse((await callTool(host, 'run_code', { code })).response).output.trim();
  }
  function reach(host: ToolHost, way: Way, to = '127.0.0.1', at = port): Promise<string> {
    return runs(
      host,
      `const [host, port, proxy] = [${JSON.stringify(to)}, ${at}, Number(new URL(process.env.HTTP_PROXY).port)];
       function send(port, host, text) {
         let got = '';
         require('net').connect(port, host, function () { this.write(text); })
           .on('data', (data) => { got += data; }).on('error', ({ code }) => { got += code; })
           .on('close', () => console.log(JSON.stringify(got)));
       }
       ${WAYS[way]}`,
    );
  }

  it('reaches neither services of this machine, nor special addresses, in no way', async () => {
    const host = await openWith();
    for (const way of ['direct', ...PROXIED] as const) assert.match(await reach(host, way), REFUSED[way], way);
    // The worker resolves names, so that they cannot lead to another address later.
    for (const way of PROXIED) assert.match(await reach(host, way, 'localhost'), REFUSED[way], way);
    for (const address of ['169.254.169.254', '10.0.0.1', '0.0.0.0'])
      for (const way of PROXIED) assert.match(await reach(host, way, address, 80), REFUSED[way], `${way} ${address}`);
    assert.match(await reach(host, 'direct', '169.254.169.254', 80), /ENETUNREACH/);
    assert.match(await reach(host, 'http', '::1'), / 40[03] /);
  });

  it('has a loopback of its own, and variables that lead programs to the proxy', async () => {
    const host = await openWith();
    const own = `const server = require('http').createServer((_, response) => response.end('its own'));
    server.listen(0, '127.0.0.1', async function () {
      console.log(await (await fetch('http://127.0.0.1:' + this.address().port)).text());
      process.exit();
    })`;
    assert.equal(await runs(host, own), 'its own');
    const fetched = await runs(host, `fetch('http://169.254.169.254/').catch(() => console.log('refused'))`);
    assert.equal(fetched, 'refused');
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
    const values = await runs(
      host,
      `console.log(new Set(${JSON.stringify(names)}.map((name) => process.env[name])).size)`,
    );
    assert.equal(values, '1');
  });

  it('reaches what the batch allows: ports of this machine directly, networks through the proxy', async () => {
    const ports = await openWith({ allow: [`localhost:${port}`] });
    assert.match(await reach(ports, 'direct'), /of this machine/);
    assert.match(await reach(ports, 'http', 'localhost'), /of this machine/);
    assert.match(await reach(ports, 'http', 'localhost', port + 1), REFUSED.http);
    const networks = await openWith({ allow: ['127.0.0.0/8'] });
    for (const way of PROXIED)
      for (const to of ['127.0.0.1', 'localhost'])
        assert.match(await reach(networks, way, to), /of this machine/, `${way} ${to}`);
    assert.match(await reach(networks, 'direct'), REFUSED.direct);
    assert.match(await reach(networks, 'http', '10.0.0.1', 80), REFUSED.http);
  });

  it('is opened again if something ends it', {
    skip: process.platform === 'linux' ? false : 'macOS needs no process for it',
  }, async () => {
    const { networks } = bench.environment.pools;
    const { pid } = await networks.open([]);
    assert.equal((await networks.open([])).pid, pid, 'rollouts share it');
    process.kill(pid ?? 0, 'SIGKILL');
    while ((await networks.open([]).catch(() => undefined))?.pid === pid) await new Promise(setImmediate);
    assert.match(await reach(await openWith(), 'http'), REFUSED.http);
  });
});
