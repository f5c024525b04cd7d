// A worker whose programs run in another container: here, the tool server is another process of this machine.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { entryUrl } from '../../src/common/entries.ts';
import { StudioError } from '../../src/common/errors.ts';
import { DEFAULT_SANDBOX } from '../../src/config/submission.ts';
import type { ToolHost } from '../../src/rollout/ports.ts';
import { startChromium } from '../../src/tools/builtins/browser/chromium.ts';
import { browserAccess } from '../../src/tools/builtins/browser/network.ts';
import { findChromium } from '../../src/tools/chromium.ts';
import { openTools } from '../../src/tools/hosts.ts';
import { runExport } from '../../src/tools/modules/exports.ts';
import { sandboxSupport } from '../../src/tools/sandbox/open.ts';
import { ToolClient } from '../../src/tools/toolServer/client.ts';
import { RemoteTools } from '../../src/tools/toolServer/remoteSandbox.ts';
import { openWorld } from '../../src/worlds/open.ts';
import { alive, hasEnded } from '../support/cli.ts';
import { additionTask, NO_SANDBOX, submission, task } from '../support/directed.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { callTool, type ToolBench, toolBench } from '../support/tools.ts';
import { TestWorker } from '../support/workerProcess.ts';

const EVERYTHING = path.resolve(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
);
const NO_BROWSER =
  process.platform !== 'linux' || findChromium() === undefined ? 'There is no browser in pods like this.' : false;
const MARK = 'of-the-tool-server';

class Server {
  readonly socket: string;
  readonly process: ChildProcess;

  constructor(folder: string) {
    this.socket = path.join(folder, 'tools.sock');
    this.process = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main(), this.socket], {
      env: { PATH: process.env['PATH'], HOME: path.join(folder, MARK), TMPDIR: folder },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  }

  async end(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill('SIGKILL');
    await once(this.process, 'exit');
  }
}

function main(): string {
  return fileURLToPath(entryUrl('toolServer'));
}

describe('a tool server', { skip: process.platform === 'win32' ? 'Pods run Linux.' : false, timeout: 480_000 }, () => {
  let folder = '';
  let server: Server;
  let client: ToolClient;
  let bench: ToolBench;
  let tools: ToolHost;

  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'tool-server-'));
    server = new Server(folder);
    client = await ToolClient.connect(server.socket);
    bench = await toolBench({
      directory: path.join(folder, 'worker'),
      container: { server: new RemoteTools(client, server.socket), directory: path.join(folder, 'bundles') },
    });
    process.env['WORKER_SECRET'] = 'a secret of the worker';
    tools = await openTools(
      [
        { kind: 'builtin', name: 'terminal' },
        { kind: 'builtin', name: 'code' },
        { kind: 'module', module: await bench.module('look.ts') },
      ],
      bench.environment,
    );
  });
  after(async () => {
    delete process.env['WORKER_SECRET'];
    await tools.close();
    await bench.close();
    client.close();
    await server.end();
    await rm(folder, { recursive: true });
  });

  const run = async (command: string, host = tools): Promise<string> =>
    JSON.stringify((await callTool(host, 'execute_command', { command })).response);

  it('says whether its container has a sandbox', async () => {
    const support = await sandboxSupport();
    assert.equal(await client.noSandbox(), support.works ? undefined : support.reason);
  });

  it('runs programs, with its own places and nothing of the worker', async () => {
    const found = await run('echo $PPID > parent; env; pwd');
    assert.match(found, new RegExp(`HOME=.*${MARK}`));
    assert.match(found, new RegExp(bench.cwd));
    assert.doesNotMatch(found, /WORKER_SECRET/);
    assert.equal(await ancestor(Number(await readFile(path.join(bench.cwd, 'parent'), 'utf8'))), server.process.pid);
    assert.match(await run('cat > note; exit 3'), /3/);
    assert.match(JSON.stringify(await callTool(tools, 'run_code', { code: 'console.log(6 * 7)' })), /42/);
    assert.equal(bench.groups.size, 0, 'no process ID of another container is registered here');
  });

  it('passes on much output and much input', async () => {
    assert.match(await run('head -c 3000000 /dev/zero | tr "\\\\0" x'), /bytes were cut/);
    const code = `console.log(${JSON.stringify('x'.repeat(2_000_000))}.length)`;
    assert.match(JSON.stringify(await callTool(tools, 'run_code', { code })), /2000000/);
  });

  it('reports a program that is missing, and kills one that takes too long with its children', async () => {
    assert.match(await run('/no/such/program'), /not found/);
    const file = path.join(bench.cwd, 'pid');
    const outcome = await callTool(tools, 'execute_command', {
      command: `sleep 600 & echo $! > ${file}; wait`,
      timeout: 0.5,
    });
    assert.match(JSON.stringify(outcome), /0\.5|time/i);
    assert.ok(await hasEnded(Number(await readFile(file, 'utf8')), 10_000));
  });

  it('removes what its programs left, also in folders that they closed', async () => {
    const directory = await mkdtemp(path.join(folder, 'left-'));
    const left = `mkdir -p ${directory}/a/b && touch ${directory}/a/b/file && ln -s ${folder} ${directory}/link`;
    await run(`${left} && chmod 0 ${directory}/a/b ${directory}/a`);
    await new RemoteTools(client, server.socket).clear(directory);
    assert.deepEqual(await readdir(directory), []);
    assert.ok((await readdir(folder)).length > 1, 'links are not followed');
  });

  it('ends what has left its group with the rollout', { skip: process.platform !== 'linux' }, async () => {
    const host = await openTools([{ kind: 'builtin', name: 'terminal' }], bench.environment);
    const file = path.join(bench.cwd, 'stray');
    await run(
      `setsid sh -c 'echo $$ > ${file}; exec sleep 600' > /dev/null 2>&1 & while ! [ -s ${file} ]; do :; done`,
      host,
    );
    const stray = Number(await readFile(file, 'utf8'));
    assert.ok(alive(stray));
    await host.close();
    assert.ok(await hasEnded(stray, 10_000));
  });

  it('runs modules, worlds, and MCP servers, but no scorers', async () => {
    const { response } = await callTool(tools, 'read', { file: '/proc/self/environ' });
    const module = await bench.module('look.ts');
    if (process.platform === 'linux') assert.match(JSON.stringify(response), new RegExp(MARK));
    assert.doesNotMatch(JSON.stringify(response), /WORKER_SECRET/);
    const score = await runExport(
      module,
      'score',
      [{ answer: 'x', expected: 'y' }],
      bench.environment,
      new AbortController().signal,
    );
    assert.match(JSON.stringify(score), /pid:/);
    assert.ok((await readdir(path.join(folder, 'worker', 'scorers'))).includes(`${module.bundle}.mjs`));
    const world = openWorld(
      { name: 'look', file: 'look.world.yaml', kind: 'module', module, perturb: [] },
      {
        ...bench.environment,
        sandbox: { ...DEFAULT_SANDBOX, mode: 'off' },
      },
    );
    const session = await world.open(
      { task: { id: 't', question: 'q', meta: {} }, seed: 1 },
      new AbortController().signal,
    );
    const peeked = await callTool(session, 'peek', { file: '/proc/self/environ' });
    if (process.platform === 'linux') assert.match(JSON.stringify(peeked.response), new RegExp(MARK));
    await session.close();
    const host = await openTools(
      [
        {
          kind: 'mcp',
          name: 'it',
          shared: false,
          server: { command: process.execPath, args: [EVERYTHING], env: {} },
        },
      ],
      bench.environment,
    );
    assert.ok(host.specs.length > 0);
    await host.close();
  });

  it('runs the browser', { skip: NO_BROWSER }, async () => {
    const page = createHttpServer((_, answer) => answer.end('<h1>of the tools</h1>')).listen(0, '127.0.0.1');
    await once(page, 'listening');
    const address = page.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const settings = { browser: { private_addresses: true } };
    const host = await openTools([{ kind: 'builtin', name: 'browser', settings }], bench.environment);
    const before = await childrenOf(server.process.pid);
    let browsers: number[] = [];
    try {
      const { response } = await callTool(host, 'browser_navigate', { url: `http://127.0.0.1:${port}/` });
      assert.match(JSON.stringify(response), /of the tools/);
      browsers = (await childrenOf(server.process.pid)).filter((pid) => !before.includes(pid));
      assert.ok(browsers.length > 0);
    } finally {
      await host.close();
      page.close();
    }
    for (const pid of browsers) assert.ok(await hasEnded(pid, 10_000));
  });

  it('lets the browser reach no more than its batch allows', { skip: NO_BROWSER }, async () => {
    const page = createHttpServer((_, answer) => answer.end('<h1>of this machine</h1>')).listen(0, '127.0.0.1');
    await once(page, 'listening');
    const address = page.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : undefined}/`;
    // As content of pages does, without a check of the address before.
    for (const [sandbox, settings] of [
      [{ network: 'filtered' }, {}],
      [{ network: true }, {}],
      [{ network: false }, { private_addresses: true }],
    ] as const) {
      const access = browserAccess(settings, sandbox);
      const browser = await startChromium(bench.environment, access, new AbortController().signal);
      try {
        const tab = await browser.context.newPage();
        await tab.goto(url).catch(() => undefined); // there is a page of the proxy, or none
        assert.doesNotMatch(await tab.content(), /of this machine/, JSON.stringify(sandbox));
      } finally {
        await browser.end();
      }
    }
    page.close();
  });

  it('takes all programs with it: running calls fail as infrastructure, and others do not start', async () => {
    const own = await mkdtemp(path.join(os.tmpdir(), 'tool-server-'));
    const other = new Server(own);
    const link = await ToolClient.connect(other.socket);
    const dying = await toolBench({
      container: { server: new RemoteTools(link, other.socket), directory: path.join(own, 'bundles') },
    });
    const host = await openTools([{ kind: 'builtin', name: 'terminal' }], dying.environment);
    const file = path.join(dying.cwd, 'pid');
    const call = callTool(host, 'execute_command', { command: `echo $$ > ${file}; sleep 600` });
    const failed = assert.rejects(call, (error) => StudioError.is(error, 'unavailable'));
    while ((await readFile(file, 'utf8').catch(() => '')) === '') await new Promise(setImmediate);
    other.process.kill('SIGKILL');
    await failed;
    await assert.rejects(callTool(host, 'execute_command', { command: 'true' }), /tool server is gone/);
    process.kill(-Number(await readFile(file, 'utf8')), 'SIGKILL'); // a container would have ended with the server
    await host.close();
    await dying.close();
    await rm(own, { recursive: true });
  });

  it('cannot harm the worker with what it sends', async () => {
    const own = await mkdtemp(path.join(os.tmpdir(), 'tool-server-'));
    const frames = [
      Buffer.from([0xff, 0xff, 0xff, 0xff, 0]),
      Buffer.from([0, 0, 0, 3, 7, 1, 1]),
      Buffer.from([0, 0, 0, 3, 0, 0x7b, 0x7b]),
      Buffer.from([0, 0, 0, 2, 1, 1]),
    ];
    for (const [index, frame] of frames.entries()) {
      const at = path.join(own, String(index));
      const hostile = createServer((socket) => socket.on('error', () => undefined).write(frame)).listen(at);
      await once(hostile, 'listening');
      const link = await ToolClient.connect(at);
      assert.ok(StudioError.is(await link.lost, 'unavailable'));
      await assert.rejects(link.request({ type: 'endStrays', owner: 'x' }), /tool server is gone/);
      hostile.close();
    }
    await rm(own, { recursive: true });
  });

  /** A worker whose tool server ends while it runs a call. `leaves`: it has to stop, too, and waits for the call. */
  async function loseToolServer({ leaves }: { leaves: boolean }): Promise<void> {
    await using store = new TestStore();
    const host = await store.start();
    const batch = await host.submit(submission({ attempts: 1, sandbox: NO_SANDBOX }), [
      additionTask('a', 2),
      task('b', `call execute_command {"command": "echo $HOME > ${store.folder}/home; sleep 600"}\nanswer 2`, '2'),
    ]);
    const own = await mkdtemp(path.join(os.tmpdir(), 'tool-server-'));
    const dying = new Server(own);
    const config = {
      interrupted_exit: 3,
      handed_over_exit: 4,
      handover_seconds: 60,
      tools: { socket: dying.socket, work: path.join(own, 'shared') },
    };
    await using worker = await TestWorker.start(store, host, batch, config);
    while ((await readFile(`${store.folder}/home`, 'utf8').catch(() => '')) === '') await new Promise(setImmediate);
    assert.match(await readFile(`${store.folder}/home`, 'utf8'), new RegExp(MARK));
    const ended = async (): Promise<boolean> =>
      (await host.api.rollouts(batch)).rollouts.some(
        ({ task: named, progress }) => named === 'a' && progress.status === 'done',
      );
    while (!(await ended())) await new Promise(setImmediate);
    if (leaves) {
      worker.process.kill('SIGTERM');
      while (!worker.stderr.includes('handing over its rollouts')) await new Promise(setImmediate);
    }
    dying.process.kill('SIGTERM');
    assert.equal(await worker.exited, 3, worker.stderr);
    assert.match(worker.stderr, /tool server is gone.*continue in other workers/);
    const rows = (await host.api.rollouts(batch)).rollouts;
    assert.deepEqual(
      rows.map(({ task: named, progress }) => [named, progress.status]),
      [
        ['a', 'done'],
        ['b', undefined],
      ],
    );
    await rm(own, { recursive: true, force: true });
  }

  it('runs what a worker’s rollouts start, and its end lets them continue in another worker', () =>
    loseToolServer({ leaves: false }));

  it('ends before a worker that has to stop: then the worker has handed nothing over, and says so', () =>
    loseToolServer({ leaves: true }));
});

/** Returns the IDs of the children of a process. */
async function childrenOf(pid: number | undefined): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text
    .split(' ')
    .filter((part) => part !== '')
    .map(Number);
}

/** Returns the nearest ancestor of a process that is a child of this one. */
async function ancestor(pid: number): Promise<number> {
  for (let current = pid; ; ) {
    const stat = await readFile(`/proc/${current}/stat`, 'utf8').catch(() => '');
    const parent = Number(stat.split(') ').at(-1)?.split(' ')[1]);
    if (parent === process.pid || !(parent > 1)) return current;
    current = parent;
  }
}
