// What a tool cannot reach on one machine, and what ends with its rollout: terminal, code, MCP servers, and modules
// alike.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Json } from '../../src/common/json.ts';
import type { SubmittedTools } from '../../src/config/submission.ts';
import type { ToolHost } from '../../src/rollout/ports.ts';
import { bundleModule } from '../../src/tools/bundle.ts';
import { openTools } from '../../src/tools/hosts.ts';
import { ignoredLimitsText } from '../../src/tools/processes/processLimits.ts';
import { ClassedError } from '../../src/trace/classedError.ts';
import { alive, hasEnded } from '../support/cli.ts';
import { NO_SANDBOX, submission, task } from '../support/directed.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { callContext, callTool, type ToolBench, toolBench } from '../support/tools.ts';
import { TestWorker } from '../support/workerProcess.ts';

const posix = process.platform === 'win32' ? 'needs process groups' : false;
const linux = process.platform === 'linux' ? false : 'only Linux keeps it';

/** Starts a process that keeps running and writes its ID, and its grandchild's too. */
const LEAVES = `const { spawn } = require('node:child_process');
const child = spawn(process.execPath, ['-e', "require('node:child_process').spawn(process.execPath, ['-e', \
'setInterval(() => {}, 1e6)'], { stdio: 'ignore' }); require('node:fs').writeFileSync('started', ''); setInterval(() \
=> {}, 1e6)"], { stdio: 'ignore', cwd: process.env.AT ?? process.cwd() });
child.unref();`;

/** Leaves its group twice, as daemons do, and writes its ID. */
const SETSID = (file: string): string =>
  `setsid sh -c '(sh -c "echo \\$\\$ > ${file}.new; mv ${file}.new ${file}; exec sleep 1000000" &)' </dev/null ` +
  `>/dev/null 2>&1; while ! test -e ${file}; do sleep 0.01; done`;

/** A process that starts another one; both keep running. */
const FAMILY = [
  "require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' })",
  "require('node:fs').writeFileSync('started', '')",
  'setInterval(() => {}, 1e6)',
].join('; ');

const MODULE = `import { tool } from 'rollout-studio';
import { z } from 'zod';
import { spawn } from 'node:child_process';
export const module_look = tool({ description: 'Looks.', input: z.object({}), run: (_args, { cwd, env }) => ({ cwd, \
secret: env['ISOLATED_SECRET'] ?? process.env['ISOLATED_SECRET'] ?? null, path: env['PATH'] !== undefined }) });
export const module_leave = tool({ description: 'Leaves.', input: z.object({}), run: (_args, { cwd }) => {
  const child = spawn(process.execPath, ['-e', ${JSON.stringify(FAMILY)}], { stdio: 'ignore', cwd });
  child.unref();
  return child.pid;
} });
export const module_stray = tool({ description: 'Strays.', input: z.object({}), run: (_args, { cwd }) => new \
Promise((resolve) => {
  spawn('sh', ['-c', ${JSON.stringify(SETSID('stray'))}], { stdio: 'ignore', cwd }).on('exit', resolve);
}) });
`;
/** A server on stdio that answers the same two calls. */
const SERVER = `import { createInterface } from 'node:readline';
import { execFileSync, spawn } from 'node:child_process';
const tools = ['mcp_look', 'mcp_leave', 'mcp_stray'].map((name) => ({ name, inputSchema: { type: 'object' } }));
const look = () => ({ cwd: process.cwd(), secret: process.env.ISOLATED_SECRET ?? null, path: process.env.PATH !== \
undefined });
const leave = () => { ${LEAVES.replace("const { spawn } = require('node:child_process');\n", '').replaceAll(
  '\n',
  ' ',
)} return { pid: child.pid }; };
const stray = () => { execFileSync('sh', ['-c', ${JSON.stringify(SETSID('stray'))}]); return {}; };
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = method === 'initialize' ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, \
serverInfo: { name: 's', version: '1' } }
    : method === 'tools/list' ? { tools } : method === 'tools/call' ? { content: [], structuredContent: { mcp_look: \
look, mcp_leave: leave, mcp_stray: stray }[params.name]() } : undefined;
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error: { code: -32601, message: 'no' \
} } : { result }) }));
}
`;

let bench: ToolBench;
let folder: string;
let entries: SubmittedTools[];
const blobs = new Map<string, Uint8Array>();
const open = (): Promise<ToolHost> =>
  openTools(entries, { ...bench.environment, readBlob: (sha) => Promise.resolve(blobs.get(sha) ?? new Uint8Array()) });

before(async () => {
  process.env['ISOLATED_SECRET'] = 'do not tell';
  bench = await toolBench();
  folder = await mkdtemp(path.join(os.tmpdir(), 'isolation-'));
  await writeFile(path.join(folder, 'tools.ts'), MODULE);
  await writeFile(path.join(folder, 'server.mjs'), SERVER);
  const bundle = await bundleModule(path.join(folder, 'tools.ts'), folder);
  blobs.set(bundle.bundleSha, bundle.code).set(bundle.mapSha, bundle.map);
  entries = [
    { kind: 'builtin', name: 'terminal' },
    { kind: 'builtin', name: 'code' },
    { kind: 'module', module: { file: bundle.file, bundle: bundle.bundleSha, map: bundle.mapSha } },
    {
      kind: 'mcp',
      name: 's',
      shared: false,
      server: { command: process.execPath, args: [path.join(folder, 'server.mjs')], env: {} },
    },
  ];
  await (await open()).close(); // starts the process of the modules
});
after(async () => {
  await bench.close();
  await rm(folder, { recursive: true, force: true });
});

const LOOK =
  'console.log(JSON.stringify({ cwd: process.cwd(), secret: process.env.ISOLATED_SECRET ?? null, path: ' +
  'process.env.PATH !== undefined }))';
const node = JSON.stringify(process.execPath);

/** The calls of each of the four, to look around and to leave something running. */
const KINDS: readonly {
  readonly name: string;
  readonly look: [string, Record<string, Json>];
  readonly leave: [string, Record<string, Json>];
}[] = [
  {
    name: 'terminal',
    look: ['execute_command', { command: `${node} -e '${LOOK}'` }],
    leave: ['execute_command', { command: `${node} -e "setInterval(() => {}, 1e6)" & echo $! > left; touch started` }],
  },
  {
    name: 'code',
    look: ['run_code', { code: LOOK }],
    leave: [
      'run_code',
      {
        code:
          `${LEAVES}\nconst { existsSync } = require('node:fs');\nconst wait = setInterval(() => { if ` +
          `(existsSync('started')) { clearInterval(wait); process.exit(0); } }, 5);`,
      },
    ],
  },
  { name: 'module', look: ['module_look', {}], leave: ['module_leave', {}] },
  { name: 'mcp', look: ['mcp_look', {}], leave: ['mcp_leave', {}] },
];

describe('a tool of a rollout', { skip: posix }, () => {
  for (const { name, look, leave } of KINDS) {
    it(`${name}: works in the rollout's folder, with the allowed environment`, async () => {
      const tools = await open();
      const { response } = await callTool(tools, ...look);
      const seen = (
        typeof response === 'object' &&
        response !== null &&
        'output' in response &&
        typeof response['output'] === 'string'
          ? JSON.parse(response['output'])
          : response
      ) as { cwd: string; secret: unknown; path: boolean };
      assert.deepEqual(
        { ...seen, cwd: path.basename(seen.cwd) },
        { cwd: path.basename(bench.cwd), secret: null, path: true },
      );
      await tools.close();
    });

    it(`${name}: processes that it leaves running end with it, including grandchildren`, async () => {
      await rm(path.join(bench.cwd, 'started'), { force: true });
      const modules = new Set(bench.groups); // the process of the modules is the worker's
      const tools = await open();
      const earlier = new Set(bench.groups);
      await callTool(tools, ...leave);
      while (!existsSync(path.join(bench.cwd, 'started'))) await new Promise((resolve) => setTimeout(resolve, 5));
      const groups = [...bench.groups, ...earlier].filter((group) => !modules.has(group));
      await tools.close();
      assert.deepEqual([...bench.groups], [...modules], 'nothing is left to be ended');
      // A group is gone when it has no process left, not even a grandchild.
      for (const group of groups) assert.ok(await hasEnded(-group, 30_000));
      if (name === 'terminal') {
        const left = Number(await readFile(path.join(bench.cwd, 'left'), 'utf8'));
        assert.ok(await hasEnded(left, 30_000));
      }
      if (name === 'module') assert.ok(groups.length > earlier.size - modules.size, 'the module’s process was tracked');
    });
  }
});

const NODE_DAEMON = `const { spawn } = require('node:child_process');
spawn(process.execPath, ['-e', ${JSON.stringify(
  "const { spawn } = require('node:child_process'); const { pid } = " +
    "spawn('sleep', ['1000000'], { detached: true, stdio: 'ignore' }); " +
    "require('node:fs').writeFileSync('daemon.new', String(pid)); " +
    "require('node:fs').renameSync('daemon.new', 'daemon'); process.exit()",
)}], { detached: true, stdio: \
'ignore' });
const wait = setInterval(() => { if (require('node:fs').existsSync('daemon')) { clearInterval(wait); process.exit(0); \
} }, 5);`;
const PYTHON_DAEMON = `import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open('daemon.new', 'w') as file: file.write(str(os.getpid()))
        os.rename('daemon.new', 'daemon')
        for fd in range(3): os.close(fd)
        time.sleep(1000000)
    os._exit(0)
while not os.path.exists('daemon'): time.sleep(0.01)
`;

describe('a process that leaves its group', { skip: linux }, () => {
  const python = spawnSync('python3', ['-V']).status === 0;
  const ways: readonly {
    readonly name: string;
    readonly call: [string, Record<string, Json>];
    readonly file: string;
  }[] = [
    { name: 'terminal', call: ['execute_command', { command: SETSID('setsid') }], file: 'setsid' },
    { name: 'code, in JavaScript', call: ['run_code', { code: NODE_DAEMON }], file: 'daemon' },
    ...(python
      ? [
          {
            name: 'code, in Python',
            call: ['run_code', { code: PYTHON_DAEMON, language: 'python' }] as [string, Record<string, Json>],
            file: 'daemon',
          },
        ]
      : []),
    { name: 'module', call: ['module_stray', {}], file: 'stray' },
    { name: 'mcp', call: ['mcp_stray', {}], file: 'stray' },
  ];

  /** Makes each kind of tool leave one, and returns their IDs. */
  const leave = async (tools: ToolHost): Promise<{ name: string; pid: number }[]> => {
    const left = [];
    for (const { name, call, file } of ways) {
      await callTool(tools, ...call);
      const pid = Number(await readFile(path.join(bench.cwd, file), 'utf8'));
      await rm(path.join(bench.cwd, file));
      assert.ok(pid > 1 && alive(pid), name);
      left.push({ name, pid });
    }
    return left;
  };

  it("ends with its rollout, and no other one's does", async () => {
    const [one, other] = await Promise.all([open(), open()]);
    const mine = await leave(one);
    const theirs = await leave(other);
    await one.close();
    for (const { name, pid } of mine) assert.ok(await hasEnded(pid, 30_000), name);
    for (const { name, pid } of theirs) assert.ok(alive(pid), name);
    await other.close();
    for (const { name, pid } of theirs) assert.ok(await hasEnded(pid, 30_000), name);
  });

  it('ends with its worker, when that is killed during a call', async () => {
    await using store = new TestStore();
    const server = await store.start();
    const file = path.join(folder, 'orphan');
    const batch = await server.submit(submission({ attempts: 1, sandbox: NO_SANDBOX }), [
      task(
        'a',
        `call execute_command ${JSON.stringify({ command: `${SETSID(file)}; touch ${file}.there; sleep 1000000` })}`,
        'x',
      ),
    ]);
    await using worker = await TestWorker.start(store, server, batch);
    while (!existsSync(`${file}.there`)) {
      assert.equal(worker.process.exitCode, null, worker.stderr);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const stray = Number(await readFile(file, 'utf8'));
    assert.ok(alive(stray));
    await worker.kill();
    assert.ok(await hasEnded(stray, 30_000));
  });
});

describe('limits of an entry', { skip: posix }, () => {
  const limited = (
    name: 'terminal' | 'code',
    limits: NonNullable<Extract<SubmittedTools, { kind: 'builtin' }>['limits']>,
  ): Promise<ToolHost> => openTools([{ kind: 'builtin', name, limits }], bench.environment);

  it('bound the size of files and the CPU time of processes', async () => {
    const tools = await limited('terminal', { file_mb: 1, cpu_seconds: 1 });
    await callTool(tools, 'execute_command', {
      command: `${node} -e 'require("fs").writeFileSync("big", Buffer.alloc(3 << 20))'`,
    }).catch(() => undefined);
    const { size } = await stat(path.join(bench.cwd, 'big'));
    assert.ok(size <= 2 << 20, `${size} bytes were written`); // macOS' shell counts in units twice as large
    const { response } = await callTool(tools, 'execute_command', { command: 'while :; do :; done' });
    assert.match((response as { signal?: string }).signal ?? '', /^SIG(XCPU|KILL)$/);
    await tools.close();
  });

  it('bound memory, of programs and of servers', { skip: linux }, async () => {
    const tools = await limited('code', { memory_mb: 64 });
    const { response } = await callTool(tools, 'run_code', {
      code: 'const all = []; for (let i = 0; i < 40; i++) all.push(Buffer.alloc(64 << 20, 1)); console.log("had it");',
    });
    const { exit_code: code, output } = response as { exit_code: number | null; output: string };
    assert.ok(code !== 0 && !output.includes('had it'), output);
    assert.deepEqual((await callTool(tools, 'run_code', { code: 'console.log(6 * 7)' })).response, {
      exit_code: 0,
      output: '42\n',
    });
    await tools.close();
    const server: SubmittedTools = {
      kind: 'mcp',
      name: 's',
      shared: false,
      limits: { memory_mb: 64 },
      server: { command: process.execPath, args: [path.join(folder, 'server.mjs')], env: {} },
    };
    await assert.rejects(openTools([server], bench.environment), /: The MCP server "s" /, 'Node.js itself needs more');
    await (await openTools([{ ...server, limits: { memory_mb: 2048 } }], bench.environment)).close();
  });

  it('are reported where the system does not enforce them', async () => {
    assert.match(
      ignoredLimitsText({ memory_mb: 1, cpu_seconds: 1 }, 'darwin') ?? '',
      /^limits\.memory_mb is not supported on macOS/,
    );
    assert.match(
      ignoredLimitsText({ memory_mb: 1, cpu_seconds: 1 }, 'win32') ?? '',
      /^limits\.memory_mb, limits\.cpu_seconds are not supported on Windows/,
    );
    assert.equal(ignoredLimitsText({ memory_mb: 1, file_mb: 2 }, 'linux'), undefined);
    const tools = await limited('terminal', { cpu_seconds: 5 });
    const context = callContext();
    await callTool(tools, 'execute_command', { command: 'true' }, context);
    assert.deepEqual(context.logs, []);
    await tools.close();
    await assert.rejects(
      callTool(tools, 'execute_command', { command: 'true' }),
      (error) => error instanceof ClassedError,
    );
  });
});
