// Real MCP servers, over stdio and streamable HTTP: their answers, their deaths, and their cleanup.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import { CHROMIUM_PATH, CHROMIUM_SANDBOX } from '../../src/config/tools/mcp/catalogue.ts';
import { openTools } from '../../src/tools/hosts.ts';
import type { McpEntry } from '../../src/tools/mcp/connection.ts';
import { alive, hasEnded } from '../support/cli.ts';
import { isClass } from '../support/stubServer.ts';
import type { ToolBench } from '../support/tools.ts';
import { callContext, callTool, FIXTURES, toolBench } from '../support/tools.ts';

const server = (name: string): string =>
  path.resolve(import.meta.dirname, `../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
const stdio = (name: string, args: string[], more: Partial<McpEntry> = {}): McpEntry => ({
  kind: 'mcp',
  name,
  shared: false,
  server: { command: process.execPath, args: [server(name), ...args], env: {} },
  ...more,
});
/** Sets or removes variables of this process while `what` runs. */
async function withVariables(
  variables: Readonly<Record<string, string | undefined>>,
  what: () => Promise<unknown>,
): Promise<void> {
  const before = process.env;
  process.env = { ...before, ...variables };
  try {
    await what();
  } finally {
    process.env = before;
  }
}
const LONG = 'trigger-long-running-operation';

let bench: ToolBench;
before(async () => {
  bench = await toolBench();
});
after(() => bench.close());

describe('a server on stdio', () => {
  it('lists its tools, answers in text, structure, and images, reports progress, accepts a cancellation', async () => {
    const tools = await openTools([stdio('everything', ['stdio'])], bench.environment);
    const spec = (name: string) => tools.specs.find((candidate) => candidate.name === name);
    assert.deepEqual([spec('echo')?.effect, spec('echo')?.sessionBound], ['pure', false]);
    assert.deepEqual(
      [spec('gzip-file-as-resource')?.effect, spec('gzip-file-as-resource')?.sessionBound],
      ['irreversible', true],
    );
    assert.deepEqual((spec('echo')?.parameters as { properties: unknown }).properties, {
      message: { type: 'string', description: 'Message to echo' },
    });
    assert.equal((await callTool(tools, 'echo', { message: 'hi' })).response, 'Echo: hi');
    assert.deepEqual((await callTool(tools, 'get-structured-content', { location: 'Chicago' })).response, {
      temperature: 36,
      conditions: 'Light rain / drizzle',
      humidity: 82,
    });
    const image = await callTool(tools, 'get-tiny-image');
    assert.deepEqual(
      image.parts?.map((part) => [part.type, 'mime_type' in part ? part.mime_type : '']),
      [['blob', 'image/png']],
    );
    const links = await callTool(tools, 'get-resource-links', { count: 2 });
    assert.equal(links.parts?.length, 2);
    const context = callContext();
    await callTool(tools, LONG, { duration: 0.4, steps: 4 }, context);
    assert.ok(context.progress >= 2);
    await assert.rejects(
      callTool(tools, LONG, { duration: 10, steps: 2 }, callContext(AbortSignal.timeout(100))),
      isClass('timeout', /time limit/),
    );
    await assert.rejects(callTool(tools, 'get-sum', { a: 'x' }), isClass('tool_error', /expected number/));
    await tools.close();
    assert.equal(bench.groups.size, 0);
  });

  it('killed during a call is an error of that call, with its last output, and of later ones', async () => {
    const tools = await openTools([stdio('everything', ['stdio'])], bench.environment);
    const [pid] = [...bench.groups];
    const context = callContext();
    const call = callTool(tools, LONG, { duration: 60, steps: 120 }, context);
    while (context.progress === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    process.kill(pid!, 'SIGKILL');
    await assert.rejects(
      call,
      isClass(
        'tool_error',
        new RegExp(
          '^The connection to the MCP server "everything" was lost: the server was killed by SIGKILL. Last ' +
            String.raw`output:\nStarting default`,
        ),
      ),
    );
    await assert.rejects(callTool(tools, 'echo', { message: 'hi' }), isClass('tool_error', /was lost/));
    assert.equal(bench.groups.size, 0);
    await tools.close();
  });

  it('is ended at close with everything it started', async () => {
    const script = `
      const { spawn } = require('node:child_process');
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
      process.stderr.write('child ' + child.pid + '\\n');
      process.argv[2] = 'stdio';
      import(${JSON.stringify(`file://${server('everything')}`)});
    `;
    const tools = await openTools(
      [
        {
          kind: 'mcp',
          name: 'parent',
          shared: false,
          server: { command: process.execPath, args: ['-e', script, 'stdio'], env: {} },
        },
      ],
      bench.environment,
    );
    const child = Number(/child (\d+)/.exec(bench.late.join(''))?.[1]);
    assert.ok(alive(child));
    await tools.close();
    assert.ok(await hasEnded(child, 30_000));
    assert.equal(bench.groups.size, 0);
  });

  it('sees only the allowed environment and its own variables', async () => {
    process.env['NOT_FOR_TOOLS'] = 'secret';
    const entry = stdio('everything', ['stdio'], {
      server: { command: process.execPath, args: [server('everything'), 'stdio'], env: { TOKEN: 'own' } },
    });
    const tools = await openTools([entry], bench.environment);
    const seen = JSON.parse((await callTool(tools, 'get-env')).response as string) as Record<string, string>;
    assert.equal(seen['TOKEN'], 'own');
    assert.equal(seen['NOT_FOR_TOOLS'], undefined);
    await tools.close();
  });

  it("receives the path of the machine's browser, in one argument whatever the path", async () => {
    const browser = path.join(bench.cwd, 'my browsers (new)', 'chrome & co');
    await mkdir(path.dirname(browser));
    await writeFile(browser, '');
    const script =
      `process.stderr.write(JSON.stringify(process.argv.slice(2)) + '\\n'); process.argv[2] = 'stdio'; ` +
      `import(${JSON.stringify(`file://${server('everything')}`)});`;
    const entry = stdio('everything', [], {
      server: {
        command: process.execPath,
        args: ['-e', script, 'x', '--at', CHROMIUM_PATH, CHROMIUM_SANDBOX],
        env: {},
      },
    });
    await withVariables({ CHROME_PATH: browser }, async () => (await openTools([entry], bench.environment)).close());
    const args = JSON.stringify(['--at', browser, process.getuid?.() === 0 ? '--no-sandbox' : '--sandbox']);
    assert.ok(bench.late.join('').includes(`${args}\n`), bench.late.join(''));
  });

  it('works like server-filesystem and server-memory', async () => {
    const folder = path.join(bench.cwd, 'data');
    await mkdir(folder);
    await writeFile(path.join(folder, 'note.txt'), 'remember');
    const tools = await openTools(
      [
        stdio('filesystem', [folder], { tools: ['read_text_file', 'write_file'] }),
        stdio('memory', [], {
          server: {
            command: process.execPath,
            args: [server('memory')],
            env: { MEMORY_FILE_PATH: path.join(bench.cwd, 'memory.json') },
          },
        }),
      ],
      bench.environment,
    );
    assert.deepEqual(
      tools.specs.filter((spec) => spec.from.name === 'filesystem').map((spec) => spec.name),
      ['read_text_file', 'write_file'],
    );
    assert.deepEqual(
      (await callTool(tools, 'read_text_file', { path: path.join(folder, 'note.txt') })).response,
      'remember',
    );
    await callTool(tools, 'write_file', { path: path.join(folder, 'new.txt'), content: 'written' });
    assert.equal(await readFile(path.join(folder, 'new.txt'), 'utf8'), 'written');
    await assert.rejects(
      callTool(tools, 'read_text_file', { path: path.resolve(bench.cwd, '..') }),
      isClass('tool_error', /Access denied/),
    );
    await callTool(tools, 'create_entities', {
      entities: [{ name: 'Ada', entityType: 'member', observations: ['reads'] }],
    });
    const graph = await callTool(tools, 'read_graph');
    assert.match(JSON.stringify(graph.response), /Ada/);
    await tools.close();
  });
});

describe('a server that is slow to say that it only speaks the current revision', () => {
  for (const order of ['answer-first', 'reject-first', 'reject-late'])
    it(`is used (${order})`, async () => {
      const server = { command: process.execPath, args: [path.join(FIXTURES, 'slowModernServer.mjs'), order], env: {} };
      const tools = await openTools([{ kind: 'mcp', name: 'slow', shared: false, server }], bench.environment);
      assert.equal((await callTool(tools, 'echo', { text: 'hi' })).response, 'echo hi');
      await tools.close();
      assert.equal(bench.groups.size, 0);
    });
});

describe('a misbehaving server', () => {
  const entry: McpEntry = {
    kind: 'mcp',
    name: 'changing',
    shared: false,
    server: { command: process.execPath, args: [path.join(FIXTURES, 'changingServer.mjs')], env: {} },
  };

  it('has its list read in pages, and followed when it changes', async () => {
    const tools = await openTools([entry], bench.environment);
    assert.deepEqual(
      tools.specs.map((spec) => spec.name),
      ['grow', 'fail', 'crash', 'refuse', 'slow'],
    );
    await assert.rejects(callTool(tools, 'grown'), isClass('unknown_tool', /grown/));
    assert.equal((await callTool(tools, 'grow')).response, 'grew');
    while (tools.specs.length === 5) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(tools.specs.at(-1)?.effect, 'pure');
    assert.equal((await callTool(tools, 'grown')).response, 'new tool');
    await tools.close();
  });

  it('fails calls with its own messages, and receives cancellations', async () => {
    const tools = await openTools([entry], bench.environment);
    await assert.rejects(callTool(tools, 'fail'), isClass('tool_error', /^it failed$/));
    await assert.rejects(callTool(tools, 'refuse'), isClass('tool_error', /refused/));
    const from = bench.late.length;
    await assert.rejects(
      callTool(tools, 'slow', {}, callContext(AbortSignal.timeout(50))),
      isClass('timeout', /time limit/),
    );
    while (!bench.late.slice(from).join('').includes('cancelled '))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await tools.close();
  });

  it('crashes during a call', async () => {
    const tools = await openTools([entry], bench.environment);
    await assert.rejects(
      callTool(tools, 'crash'),
      isClass(
        'tool_error',
        new RegExp(
          '^The connection to the MCP server "changing" was lost: the server exited with code 7. Last ' +
            String.raw`output:\nready\nabout to crash$`,
        ),
      ),
    );
    await tools.close();
    assert.equal(bench.groups.size, 0);
  });
});

describe('an unusable server is reported at open', () => {
  const refused = async (entry: McpEntry, code: 'config' | 'unavailable', pattern: RegExp): Promise<void> => {
    await assert.rejects(openTools([entry], bench.environment), (error) => {
      assert.ok(StudioError.is(error, code), String(error));
      assert.match(error.message, pattern);
      return true;
    });
    assert.equal(bench.groups.size, 0);
  };
  const command = (file: string, args: string[]): McpEntry => ({
    kind: 'mcp',
    name: 'it',
    shared: false,
    position: { file: 'a.agent.yaml', line: 7, column: 5 },
    server: { command: file, args, env: {} },
  });
  it('no such program', () =>
    refused(
      command('no-such-program', []),
      'config',
      /^a\.agent\.yaml:7:5: the MCP server "it" could not be started: program not found\.$/,
    ));
  it('no such folder', () =>
    refused(
      { ...command(process.execPath, []), server: { command: process.execPath, args: [], env: {}, cwd: 'not-there' } },
      'config',
      /could not be started: folder .*not-there not found\.$/,
    ));
  it("a shared one on stdio runs in the worker's folder", async () => {
    const tools = await openTools([stdio('everything', ['stdio'], { shared: true })], bench.environment);
    assert.equal((await callTool(tools, 'echo', { message: 'hi' })).response, 'Echo: hi');
    await tools.close();
    await (await bench.environment.pools.connections()).close();
    assert.equal(bench.groups.size, 0);
  });
  it(
    'no browser on the machine, which it requires',
    { skip: process.platform === 'linux' ? false : 'browsers are also looked for where installers put them' },
    () =>
      withVariables({ CHROME_PATH: undefined, PATH: '/nowhere', PLAYWRIGHT_BROWSERS_PATH: '/nowhere' }, () =>
        refused(
          command(process.execPath, [CHROMIUM_PATH]),
          'config',
          new RegExp(
            String.raw`^a\.agent\.yaml:7:5: the MCP server "it" needs chromium, which is not installed on the ` +
              String.raw`machine of this rollout\.$`,
          ),
        ),
      ),
  );
  it("no folder of the rollout, which is the worker's fault", async () => {
    const entry = command(process.execPath, ['-e', '']);
    const gone = { ...bench.environment, cwd: path.join(bench.environment.cwd, 'gone') };
    await assert.rejects(openTools([entry], { ...gone, sandbox: { ...gone.sandbox, mode: 'off' } }), (error) => {
      assert.ok(StudioError.is(error, 'unavailable'), String(error));
      assert.match(error.message, /could not be started: folder .*gone not found\.$/);
      return true;
    });
  });
  it('it exits immediately', () =>
    refused(
      command(process.execPath, ['-e', 'console.error("no key"); process.exit(4)']),
      'unavailable',
      /exited with code 4. Last output:\nno key$/,
    ));
  it('it rejects the handshake of the client that lost patience', () =>
    refused(
      command(process.execPath, [path.join(FIXTURES, 'slowModernServer.mjs'), 'never']),
      'unavailable',
      /failed to start: .*initialize is not supported\. Last output:\nloading$/,
    ));
  it('it is silent', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const waiting = refused(
      command(process.execPath, ['-e', 'setInterval(() => {}, 1000)']),
      'unavailable',
      /^a\.agent\.yaml:7:5: the MCP server "it" did not respond within 60 s\.$/,
    );
    const over = new AbortController();
    void waiting.finally(() => over.abort()).catch(() => undefined);
    while (!over.signal.aborted) {
      await new Promise((resolve) => setImmediate(resolve));
      context.mock.timers.tick(1000);
    }
    await waiting;
  });
  it('nothing listens', () =>
    refused(
      { kind: 'mcp', name: 'it', shared: false, server: { url: 'http://127.0.0.1:1/mcp', headers: {} } },
      'unavailable',
      /failed to start/,
    ));
  it('a missing tool', () =>
    refused(stdio('everything', ['stdio'], { tools: ['echo', 'fly'] }), 'config', /has no tool "fly"/));
  it('two servers with a tool of one name', async () => {
    await assert.rejects(
      openTools([stdio('everything', ['stdio']), stdio('everything', ['stdio'], { name: 'again' })], bench.environment),
      (error) =>
        StudioError.is(error, 'config') &&
        error.message.startsWith(
          'Two tools are named "echo": one from the MCP server "everything", one from the MCP server "again"',
        ),
    );
    assert.equal(bench.groups.size, 0);
  });
});

describe('a server over streamable HTTP', () => {
  let port: number;
  let running: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    const child = spawn(process.execPath, [server('everything'), 'streamableHttp'], {
      env: { PATH: process.env['PATH'], PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    running = child;
    await new Promise<void>((resolve) => {
      child.stderr.on('data', (chunk: Buffer) => {
        if (chunk.includes('listening')) resolve();
      });
    });
  };
  const kill = async (): Promise<void> => {
    const exited = new Promise((resolve) => running?.once('exit', resolve));
    running?.kill('SIGKILL');
    await exited;
  };
  const entry = (shared: boolean): McpEntry => ({
    kind: 'mcp',
    name: 'http',
    shared,
    server: { url: `http://127.0.0.1:${port}/mcp`, headers: {} },
  });

  before(async () => {
    // The server takes a port number only, so a free one is found first.
    const probe = createServer();
    await new Promise<void>((resolve) => {
      probe.listen(0, '127.0.0.1', resolve);
    });
    const address = probe.address();
    port = typeof address === 'object' && address !== null ? address.port : 0;
    await new Promise((resolve) => probe.close(resolve));
    await start();
  });
  after(kill);

  it('answers, reports progress, accepts a cancellation', async () => {
    const tools = await openTools([entry(false)], bench.environment);
    assert.equal((await callTool(tools, 'echo', { message: 'hi' })).response, 'Echo: hi');
    const context = callContext();
    await callTool(tools, LONG, { duration: 0.4, steps: 4 }, context);
    assert.ok(context.progress >= 2);
    await assert.rejects(
      callTool(tools, LONG, { duration: 10, steps: 2 }, callContext(AbortSignal.timeout(100))),
      isClass('timeout', /time limit/),
    );
    await tools.close();
  });

  it('shared: one connection for all, reopened after a restart; of one rollout: lost', {
    timeout: 30_000,
  }, async () => {
    const [own, one, two] = await Promise.all([
      openTools([entry(false)], bench.environment),
      openTools([entry(true)], bench.environment),
      openTools([entry(true)], bench.environment),
    ]);
    assert.equal(one.specs.find((spec) => spec.name === 'toggle-simulated-logging')?.sessionBound, false);
    const context = callContext();
    const ownCall = callTool(own, LONG, { duration: 60, steps: 240 }, context);
    const sharedCall = callTool(one, LONG, { duration: 60, steps: 240 }, callContext());
    const lost = Promise.all([
      assert.rejects(ownCall, isClass('tool_error', /was lost/)),
      assert.rejects(sharedCall, isClass('infrastructure', /was lost|failed to start/)),
    ]);
    while (context.progress === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await kill();
    await lost;
    await assert.rejects(callTool(two, 'echo', { message: 'hi' }), isClass('infrastructure', /./));
    await start();
    assert.equal((await callTool(one, 'echo', { message: 'again' })).response, 'Echo: again');
    assert.equal((await callTool(two, 'echo', { message: 'again' })).response, 'Echo: again');
    await assert.rejects(callTool(own, 'echo', { message: 'hi' }), isClass('tool_error', /was lost/));
    await Promise.all([own.close(), one.close(), two.close()]);
  });

  it('shared: a session that the server forgot is reopened, and the call repeated', async () => {
    const tools = await openTools([entry(true)], bench.environment);
    assert.equal((await callTool(tools, 'echo', { message: 'one' })).response, 'Echo: one');
    await kill();
    await start();
    // The server is another one that does not know the session; it has not run the call.
    assert.equal((await callTool(tools, 'echo', { message: 'two' })).response, 'Echo: two');
    await tools.close();
  });
});
