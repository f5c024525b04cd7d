// What the programs of a rollout see and reach in its sandbox: terminal, code, and MCP servers on stdio.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { allowedEnvironment } from '../../src/common/environment.ts';
import { DEFAULT_SANDBOX, type SubmittedSandbox, type SubmittedTools } from '../../src/config/submission.ts';
import type { ToolHost } from '../../src/rollout/ports.ts';
import { openTools } from '../../src/tools/hosts.ts';
import { sandboxSupport } from '../../src/tools/sandbox/open.ts';
import { seatbeltProfile } from '../../src/tools/sandbox/seatbelt.ts';
import { submission, task } from '../support/directed.ts';
import { files, inSteps } from '../support/fsSteps.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { callTool, type ToolBench, toolBench } from '../support/tools.ts';
import { TestWorker } from '../support/workerProcess.ts';

const support = await sandboxSupport();
const position = { file: 'a.agent.yaml', line: 1, column: 1 };
const BUILTINS: readonly SubmittedTools[] = [
  { kind: 'builtin', name: 'terminal', position },
  { kind: 'builtin', name: 'code', position },
];
const ended = z.object({ exit_code: z.number(), output: z.string() });

describe('a sandbox', { skip: support.works ? false : support.reason, timeout: 480_000 }, () => {
  /** Stands for the user's project, with the store and the dataset in it. */
  let project = '';
  let bench: ToolBench;
  let tools: ToolHost;

  before(async () => {
    project = await mkdtemp(path.join(os.tmpdir(), 'sandbox-'));
    await mkdir(path.join(project, 'store'));
    await mkdir(path.join(project, 'manuals'));
    await writeFile(path.join(project, 'package.json'), '{}');
    await writeFile(path.join(project, 'store', 'server.json'), 'the token');
    await writeFile(path.join(project, 'tasks.jsonl'), 'the answer');
    await writeFile(path.join(project, 'manuals', 'desk.md'), 'the manual');
    bench = await toolBench({ sandbox: 'required' });
    tools = await openWith({ read: [path.join(project, 'manuals')] });
  });
  after(async () => {
    await tools.close();
    await bench.close();
    await rm(project, { recursive: true });
  });

  function openWith(sandbox: Partial<SubmittedSandbox>, entries = BUILTINS): Promise<ToolHost> {
    return openTools(entries, { ...bench.environment, sandbox: { ...DEFAULT_SANDBOX, mode: 'required', ...sandbox } });
  }
  async function run(command: string, host = tools): Promise<z.infer<typeof ended>> {
    return ended.parse((await callTool(host, 'execute_command', { command })).response);
  }
  async function runs(command: string, host = tools): Promise<string> {
    const { exit_code, output } = await run(command, host);
    assert.equal(exit_code, 0, output);
    return output.trim();
  }
  async function fails(command: string, reason: RegExp, host = tools): Promise<void> {
    const { exit_code, output } = await run(command, host);
    assert.notEqual(exit_code, 0, output);
    assert.match(output, reason);
  }

  it('lets programs work: files, interpreters, temporary files, the user', async () => {
    assert.equal(await runs('echo kept > note && cat note && pwd'), `kept\n${bench.cwd}`);
    assert.equal(await runs('cat note'), 'kept');
    assert.equal(existsSync(path.join(bench.cwd, 'note')), true);
    assert.equal(await runs('id -u'), String(process.getuid?.()));
    assert.equal(
      await runs('f=$(mktemp) && echo x > $f && cat $f && touch ~/own && ls ~/own'),
      `x\n${os.homedir()}/own`,
    );
    assert.match(await runs('node --version'), /^v\d/);
    const { response } = await callTool(tools, 'run_code', {
      code: "console.log(require('fs').readdirSync('.').join())",
    });
    assert.match(ended.parse(response).output, /note/);
    assert.equal(await runs(`cat ${path.join(project, 'manuals', 'desk.md')}`), 'the manual');
  });

  it('runs command lines as a shell outside of it does', async () => {
    const lines = [
      'foo',
      '&& foo',
      'echo "foo',
      'echo foo; cd /foo',
      'echo 1\nfoo\n| x',
      'echo $0 $# $LINENO',
      '# foo',
      'exit 3',
    ];
    for (const line of lines) {
      const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', line], { encoding: 'utf8' });
      assert.deepEqual(await run(line), { exit_code: status, output: stdout + stderr }, line);
    }
  });

  it('leaves programs the locale of the user', async () => {
    for (const locale of [undefined, "it's C.UTF-8"]) {
      const { LC_ALL: _, ...env } = allowedEnvironment(process.env);
      const own = await toolBench({
        sandbox: 'required',
        env: locale === undefined ? env : { ...env, LC_ALL: locale },
      });
      const host = await openTools(BUILTINS, own.environment);
      try {
        assert.equal(await runs('env | grep LC_ALL= || :', host), locale === undefined ? '' : `LC_ALL=${locale}`);
      } finally {
        await host.close();
        await own.close();
      }
    }
  });

  it('hides the store, the dataset, other working directories, and the home folder', async () => {
    for (const file of ['store/server.json', 'tasks.jsonl'])
      await fails(`cat ${path.join(project, file)}`, /No such file/);
    await fails(`cat ${path.relative(bench.cwd, path.join(project, 'store', 'server.json'))}`, /No such file/);
    const parent = path.dirname(bench.cwd);
    await writeFile(path.join(parent, 'other'), 'of another rollout');
    assert.deepEqual((await runs(`ls -A ${parent}`)).split('\n'), [path.basename(bench.cwd)]);
    // Only folders of the PATH are visible there.
    const onPath = new Set(
      (process.env['PATH'] ?? '')
        .split(path.delimiter)
        .map((folder) => path.relative(os.homedir(), folder).split('/')[0]),
    );
    const visible = (await runs('ls -A ~')).split('\n');
    assert.deepEqual(
      visible.filter((name) => !onPath.has(name) && name !== 'own'),
      [],
    );
    if (process.getuid?.() === 0) assert.equal(await runs('cat /etc/shadow'), '');
  });

  it('shows a hidden folder empty, but for what programs may change in it, also by names with spaces', async () => {
    const shown = path.join(project, 'a shown folder');
    const inside = path.join(shown, 'hidden', 'its work');
    await mkdir(inside, { recursive: true });
    await writeFile(path.join(shown, 'hidden', 'answer'), 'the answer');
    // What may be read and changed may be changed.
    const host = await openWith({ read: [shown, inside], write: [inside], hide: [path.join(shown, 'hidden')] });
    try {
      assert.equal(await runs(`cd '${inside}' && echo x > made && ls -A ..`, host), 'its work');
      assert.equal(await readFile(path.join(inside, 'made'), 'utf8'), 'x\n');
      for (const folder of [shown, path.join(shown, 'hidden'), '/', '/proc'])
        await fails(`touch '${folder}/here'`, /Read-only file system|Permission denied|No such file/, host);
    } finally {
      await host.close();
    }
  });

  it('does not let programs write to what is mounted in a folder that they may read', async (test) => {
    const mounted = path.join(project, 'mounted');
    const below = path.join(mounted, 'b c');
    await mkdir(mounted);
    const mount = (folder: string): number | null =>
      spawnSync('mount', ['-t', 'tmpfs', '-o', 'nosuid,nodev,noexec,size=64k', 'sandbox', folder]).status;
    if (mount(mounted) !== 0) {
      test.skip('only root can mount');
      return;
    }
    const hosts: ToolHost[] = [];
    try {
      await mkdir(below);
      assert.equal(mount(below), 0);
      const reads = await openWith({ read: [mounted] });
      hosts.push(reads);
      for (const folder of [mounted, below]) await fails(`touch '${folder}/here'`, /Read-only file system/, reads);
      const changes = await openWith({ write: [mounted] });
      hosts.push(changes);
      for (const folder of [mounted, below]) await runs(`touch '${folder}/here'`, changes);
    } finally {
      for (const host of hosts) await host.close();
      spawnSync('umount', ['-R', mounted]);
    }
  });

  it('hides other processes, with their environment and memory', async () => {
    const pids = (await runs('ls /proc | grep -E "^[0-9]+$"')).split('\n').map(Number);
    assert.ok(pids.length < 10 && !pids.includes(process.pid), pids.join());
    await fails('cat /proc/1/environ', /Permission denied/);
    await fails('ls /proc/1/root/', /Permission denied/);
    await fails(`kill -0 ${process.pid}`, /No such process/);
  });

  it('does not let programs change the system, or leave', async () => {
    await fails('touch /usr/here', /Read-only file system/);
    await fails('touch /here', /Read-only file system/);
    await fails(`touch ${path.join(project, 'manuals', 'here')}`, /Read-only file system/);
    for (const escape of [
      'mount -o remount,bind,rw /usr && touch /usr/here',
      'unshare --user --map-root-user --mount sh -c "mount -o remount,bind,rw /usr && touch /usr/here"',
      'umount /etc && false',
      'nsenter --target 1 --mount true',
      'mkdir root && unshare --user --map-root-user --mount sh -c "mount --bind / root && chroot root umount /etc"',
    ])
      await fails(escape, /denied|not permitted|not mounted|must be superuser|Invalid argument|failed/i);
    assert.equal(existsSync('/usr/here'), false);
  });

  it('lets programs only read what the batch names to read, however it is written', async () => {
    const spaced = path.join(project, 'my manuals');
    await mkdir(spaced);
    const host = await openWith({ read: [`${project}/manuals/`, spaced] });
    for (const folder of [path.join(project, 'manuals'), spaced])
      await fails(`touch "${folder}/here"`, /Read-only file system/, host);
    await host.close();
  });

  it('does not let programs of root change the settings of the kernel', {
    skip: process.getuid?.() === 0 ? false : 'only root can change them outside, too',
  }, async () => {
    const setting = '/proc/sys/vm/swappiness';
    await fails(`cat ${setting} > ${setting}`, /Read-only file system/);
    await fails('echo h > /proc/sysrq-trigger', /Read-only file system|nonexistent/);
    const fresh = 'mount -t proc proc fresh && cat fresh/sys/vm/swappiness > fresh/sys/vm/swappiness';
    await fails(
      `mkdir fresh && unshare --user --map-root-user --mount --pid --fork sh -c '${fresh}'`,
      /denied|not permitted/,
    );
  });

  it('ends what programs left running, and removes what they wrote outside of the working directory', async () => {
    const host = await openWith({});
    const marker = path.join(bench.cwd, 'alive');
    await runs(`setsid sh -c 'while :; do date > ${marker}; sleep 0.05; done' > /dev/null 2>&1 < /dev/null &`, host);
    const before = bench.groups.size;
    await host.close();
    assert.ok(bench.groups.size < before);
    await rm(marker, { force: true });
    assert.equal((await readdir(bench.environment.pools.scratch)).length, 1, 'only that of the other tools is left');
    // A process that still ran would write the file again before a new sandbox has opened and run a program.
    const next = await openWith({});
    await runs('sleep 0.2', next);
    await next.close();
    assert.equal(existsSync(marker), false);
  });

  it('ends with its worker, however that ends', async () => {
    await using store = new TestStore();
    const server = await store.start();
    const kept = path.join(project, 'kept');
    await mkdir(kept);
    const marker = path.join(kept, 'alive');
    const list = `(cd ${store.folder} && find . -type f) > ${kept}/store`;
    const command = `${list}; setsid sh -c 'while :; do date > ${marker}; sleep 0.05; done' & sleep 1000000`;
    // Names the folder of the store, too, of which it still sees nothing but its own working directory.
    const sandbox: SubmittedSandbox = { ...DEFAULT_SANDBOX, mode: 'required', write: [kept, store.folder] };
    const batch = await server.submit(submission({ attempts: 1, sandbox }), [
      task('a', `call execute_command ${JSON.stringify({ command })}`, 'x'),
    ]);
    await using worker = await TestWorker.start(store, server, batch);
    await waitFor(() => existsSync(marker));
    assert.equal(await readFile(path.join(kept, 'store'), 'utf8'), '');
    await worker.kill('SIGKILL');
    // The reaper removes the folder last.
    await waitFor(() => !existsSync(worker.folder));
    await rm(marker, { force: true });
    const next = await openWith({});
    await runs('sleep 0.2', next);
    await next.close();
    assert.equal(existsSync(marker), false);
  });

  it('without `network`, reaches neither this machine nor others', async () => {
    const listener = createServer((socket) => socket.end('here'));
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const { port } = z.object({ port: z.number() }).parse(listener.address());
    const code = `require('net').connect(${port}, '127.0.0.1')
      .on('data', (data) => console.log(String(data))).on('error', (error) => console.log(error.code))`;
    const [online, offline] = [await openWith({ network: true }), await openWith({ network: false })];
    try {
      const reach = async (host: ToolHost): Promise<string> =>
        ended.parse((await callTool(host, 'run_code', { code })).response).output.trim();
      assert.equal(await reach(online), 'here');
      assert.match(await reach(offline), /ENETUNREACH|ECONNREFUSED|EADDRNOTAVAIL/);
    } finally {
      await Promise.all([online.close(), offline.close()]);
      listener.close();
    }
  });

  it('does not open if a module has replaced the working directory with a link, at whatever moment', {
    skip: process.platform === 'linux' ? false : 'looks at mounts',
  }, async () => {
    const other = `${bench.cwd}.other`;
    const isLink = (): boolean => files.lstatSync(bench.cwd).isSymbolicLink();
    const swapBack = (): void => {
      files.unlinkSync(bench.cwd);
      files.renameSync(other, bench.cwd);
    };
    for (const inTime of [true, false]) {
      const own = await openWith({});
      files.renameSync(bench.cwd, other);
      files.symlinkSync(project, bench.cwd);
      const command = `cat ${path.join(bench.cwd, 'tasks.jsonl')}; echo pwned > ${path.join(bench.cwd, 'made')}`;
      const opening = (): Promise<void> =>
        assert.rejects(callTool(own, 'execute_command', { command }), /Cannot open a sandbox: .* was replaced/);
      try {
        await inSteps(opening, (_, file) => {
          // Everything is mounted, and the sandbox looks at it.
          if (inTime && isLink() && /^\/proc\/\d+\/(mountinfo|root\/)/.test(String(file))) swapBack();
        });
      } finally {
        if (isLink()) swapBack();
        await own.close();
      }
    }
    assert.ok(!existsSync(path.join(project, 'made')));
  });

  it('shows an MCP server what its command names, without the store and the dataset', async () => {
    const server = path.join(project, 'server.mjs');
    await writeFile(
      server,
      `import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const attempt = (act) => { try { return act() ?? 'done'; } catch (error) { return error.code; } };
const use = ({ file, text }) =>
  attempt(() => text === undefined ? readFileSync(file, 'utf8') : writeFileSync(file, text));
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = method === 'initialize'
    ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
    : method === 'tools/list' ? { tools: [{ name: 'read', inputSchema: { type: 'object' } }] }
    : method === 'tools/call' ? { content: [{ type: 'text', text: use(params.arguments) }] } : undefined;
  const error = { code: -32601, message: 'no' };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) }));
}
`,
    );
    const entry: SubmittedTools = {
      kind: 'mcp',
      name: 'reader',
      position,
      shared: false,
      // What is in the working directory may be a link of another program.
      server: { command: process.execPath, args: [server, 'link/'], env: {} },
    };
    await symlink(path.relative(bench.cwd, path.join(project, 'manuals')), path.join(bench.cwd, 'link'));
    const host = await openWith({ hide: [path.join(project, 'store'), path.join(project, 'tasks.jsonl')] }, [entry]);
    try {
      const read = async (file: string): Promise<unknown> =>
        (await callTool(host, 'read', { file: path.join(project, file) })).response;
      assert.equal(await read('package.json'), '{}');
      assert.equal(await read('manuals/desk.md'), 'the manual');
      const change = { file: path.join(project, 'manuals', 'desk.md'), text: 'changed' };
      assert.equal((await callTool(host, 'read', change)).response, 'EROFS');
      assert.equal(await read('tasks.jsonl'), '');
      assert.equal(await read('store/server.json'), 'ENOENT');
      assert.equal(await read(`../../proc/${process.pid}/environ`), 'ENOENT');
    } finally {
      await host.close();
    }
  });
});

/** Waits for a file of another process to appear or to go; the test's time limit ends the wait. */
async function waitFor(reached: () => boolean): Promise<void> {
  while (!reached()) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('the profile for macOS', () => {
  it('denies what it hides after what it allows, and escapes quotes', () => {
    const profile = seatbeltProfile({
      read: ['/Users/a/manuals'],
      write: ['/Users/a/say "hi"'],
      hide: ['/Users/a/store'],
      network: false,
    }).split('\n');
    const at = (text: string): number => profile.findIndex((line) => line.includes(text));
    assert.ok(at('deny file-read* (subpath "/Users")') < at('/Users/a/manuals'));
    assert.ok(at('/Users/a/manuals') < at('deny file-read* file-write* (subpath "/Users/a/store")'));
    assert.ok(at('"/Users/a/say \\"hi\\""') > 0);
    assert.ok(profile.includes('(deny network*)'));
    const filtered = seatbeltProfile({ read: [], write: [], hide: [], network: [4000] }).split('\n');
    const rules = filtered.slice(filtered.indexOf('(deny network*)') + 1);
    assert.ok(rules.includes('(allow network-outbound (remote ip "localhost:4000"))'), rules.join('\n'));
  });
});
