/**
 * A hostile agent: attempts to get keys, answers, and tokens, to reach others, to forge scores, and to stay,
 * through each tool that runs programs or code, in real batches with honest rollouts next to it. An attempt succeeds if
 * it gets a value that was planted here, or has an effect that is seen from outside.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import * as inspector from 'node:inspector';
import { type AddressInfo, createServer, type Server } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import type { JsonObject } from '../../src/common/json.ts';
import { PROTOCOL } from '../../src/protocol/version.ts';
import { filterProblem, sandboxSupport } from '../../src/tools/sandbox/open.ts';
import { alive, Bench, root } from '../support/cli.ts';
import { AttemptTable, canary, HOSTILE, readAttempts } from '../support/hostile.ts';
import { endOf, ofKind, Workspace } from '../support/testWorkspace.ts';

const support = await sandboxSupport();
const skip =
  process.platform !== 'linux'
    ? 'looks at processes in /proc'
    : support.works
      ? ((await filterProblem()) ?? false)
      : support.reason;

const TAG = randomBytes(4).toString('hex');
const SECONDS = 90;
/** How often files are read and written while a program replaces them. */
const SWAPS = 12;

const victimFile = z.object({ cwd: z.string(), port: z.number() });

interface Running {
  readonly name: string;
  readonly batch: string;
  readonly kit: string;
  readonly victim: { cwd: string; port: number; pid: number; rollout: string };
  readonly worker: string;
}

let workspace: Workspace;
let loot = '';
let shared = '';
const servers: Server[] = [];

before(() => {
  if (skip !== false) return;
  workspace = new Workspace(new Bench({ env: { HOSTILE_KEY: canary('key'), TMPDIR: '', XDG_CACHE_HOME: '' } }));
  loot = workspace.bench.path('loot');
  mkdirSync(loot);
  workspace.write('notes.txt', canary('file'));
  workspace.write(
    'scorer.ts',
    `const hidden = '${canary('scorer')}';\nexport const score = ({ answer, task }: { answer: string; task: ` +
      '{ answer: string } }) => ({ value: 1, passed: answer === task.answer, explanation: hidden.slice(0, 6) });\n',
  );
  // A folder that every user can use.
  shared = mkdtempSync(path.join(os.tmpdir(), 'hostile-'));
  chmodSync(shared, 0o777);
});
after(async () => {
  if (skip !== false) return;
  inspector.close();
  for (const server of servers) server.close();
  await workspace.close();
  rmSync(shared, { recursive: true, force: true });
});

/** A service of this machine that tells a canary to whoever connects. */
async function service(at: { port: 0; host: string } | { path: string }): Promise<number> {
  const told = canary('service');
  const server = createServer((socket) => {
    socket.on('error', () => undefined); // the other side may leave first
    socket.end(told);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(at, resolve));
  return 'port' in at ? (server.address() as AddressInfo).port : 0;
}

const call = (name: string, args: JsonObject): string => `call ${name} ${JSON.stringify(args)}`;

/** Starts a batch with an honest rollout that waits, one that ends, and the hostile ones, `ways`. */
async function launch(
  name: string,
  sandbox: JsonObject,
  tools: JsonObject[],
  ways: (kit: string) => Readonly<Record<string, string>>,
  more: JsonObject = {},
): Promise<Running> {
  const kit = workspace.path(name);
  cpSync(HOSTILE, kit, { recursive: true });
  workspace.write(`${name}/package.json`, '{}');
  const command = `${process.execPath} ${kit}/victim.mjs victim-${TAG} ${loot} ${name}`;
  const honest = `${call('execute_command', { command })}\nanswer held`;
  const batch = await workspace.launch(name, {
    endpoint: 'demo:',
    model: { headers: { 'x-key': '${env:HOSTILE_KEY}' } },
    agent: { tools },
    tasks: [
      { id: 'scored', question: 'answer done', answer: 'done' },
      { id: 'victim', question: honest, answer: 'held' },
      ...Object.entries(ways(kit)).map(([id, question]) => ({
        ...{ id, question: `${question}\nanswer forged`, answer: canary('answer') },
        // A world may use every column.
        ...(name === 'offline' ? {} : { note: canary('note') }),
      })),
    ],
    batch: {
      attempts: 1,
      scorer: { kind: 'module', module: 'scorer.ts' },
      sandbox: { read: [name], write: [loot], ...sandbox },
      ...(name === 'offline' ? { world: 'attacked.world.yaml' } : {}),
      ...more,
    },
  });
  const rows = await workspace.waitForRows(batch, (all) => {
    const state = (id: string): string | undefined => all.find(({ task }) => task === id)?.state;
    if (all.some(({ task, state: now }) => task === 'victim' && now === 'ended')) throw new Error('the victim ended');
    return state('scored') === 'ended' && state('victim') === 'running';
  });
  const told = path.join(loot, `${name}.victim`);
  while (!existsSync(told)) await new Promise((resolve) => setTimeout(resolve, 20));
  const { rollout, worker } = rows.find(({ task }) => task === 'victim') ?? assert.fail('no victim');
  const victim = victimFile.parse(JSON.parse(readFileSync(told, 'utf8')));
  const pid = processes().find(({ args }) => args[1] === `${kit}/victim.mjs`)?.pid ?? assert.fail('no process');
  return { name, batch, kit, victim: { ...victim, pid, rollout }, worker: worker ?? assert.fail('no worker') };
}

function processes(): { pid: number; args: string[] }[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      return /^\d+$/.test(name)
        ? [{ pid: Number(name), args: readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0') }]
        : [];
    } catch {
      return []; // it has ended
    }
  });
}

const stays = (): string[] =>
  processes().flatMap(({ args }) => (args[0]?.startsWith(`outlive-${TAG}-`) === true ? [args[0]] : []));

const textOf = (file: string): string | undefined => (existsSync(file) ? readFileSync(file, 'utf8') : undefined);

test('a hostile agent gets, changes, and leaves nothing', { skip, timeout: SECONDS * 1000 }, async () => {
  const { bench } = workspace;
  const mcp = (kit: string): JsonObject => ({
    mcp: { command: process.execPath, args: [`${kit}/server.mjs`, kit] },
    name: 'hostile',
  });
  const terminal: JsonObject = { builtin: ['terminal'], limits: { file_mb: 16 } };
  workspace.write(
    'attacked.world.yaml',
    JSON.stringify({ version: 1, name: 'attacked', kind: 'module', module: 'offline/module.ts' }),
  );
  const inTerminal = (kit: string, way: string): string =>
    call('execute_command', { command: `${process.execPath} ${kit}/attempts.mjs ${way} ${kit}` });
  const inCode = (kit: string, way: string): string =>
    call('run_code', { code: `import('${kit}/attempts.mjs').then((it) => it.attack('${way}', '${kit}'))` });
  const outside = (name: string): string => path.join(workspace.path(), name);
  const files = [
    call('execute_command', { command: `ln -s ${workspace.path()} out; ln -s ${outside('notes.txt')} notes.txt` }),
    ...['notes.txt', 'out/notes.txt', outside('notes.txt')].flatMap((name) => [
      call('read_file', { path: name }),
      call('extract_document_content', { file_path: name }),
    ]),
    ...['out/written', outside('written'), '../written'].map((name) =>
      call('write_file', { path: name, content: 'pwned' }),
    ),
  ].join('\n');

  const swaps = (kit: string): string =>
    [
      call('write_file', { path: 'notes.txt', content: 'own' }),
      call('write_file', { path: 'offline/own.txt', content: 'own' }),
      call('swap_files', { kit, names: ['notes.txt', 'offline'] }),
      ...Array.from({ length: SWAPS }, () => [
        call('read_file', { path: 'notes.txt' }),
        call('write_file', { path: 'offline/written', content: 'pwned' }),
      ]).flat(),
    ].join('\n');

  // By default; without a network, and modules apart; with all of the network.
  const running = await Promise.all([
    launch('standard', {}, [terminal, { builtin: ['code', 'files', 'documents'] }], (kit) => ({
      terminal: inTerminal(kit, 'terminal'),
      code: inCode(kit, 'code'),
      files,
    })),
    launch(
      'offline',
      { network: false, modules: 'separate' },
      [terminal, { builtin: ['code', 'files'] }, { module: 'offline/module.ts' }, mcp(workspace.path('offline'))],
      (kit) => ({
        'terminal offline': inTerminal(kit, 'terminal-offline'),
        'code offline': inCode(kit, 'code-offline'),
        module: call('attack_module', { kit }),
        world: call('attack_world', { kit }),
        mcp: call('attack_mcp', {}),
        swaps: swaps(kit),
      }),
    ),
    launch('open', { network: true }, [terminal], (kit) => ({ 'terminal online': inTerminal(kit, 'terminal-online') })),
  ]);
  const ways = ['terminal', 'code', 'terminal-offline', 'code-offline', 'module', 'world', 'mcp', 'terminal-online'];

  inspector.open(0, '127.0.0.1');
  const listener = await service({ port: 0, host: '127.0.0.1' });
  const [socket, abstract, others] = [outside('socket'), `\0hostile-${TAG}`, path.join(shared, 'socket')];
  for (const at of [socket, abstract, others]) await service({ path: at });
  chmodSync(others, 0o777);
  const { pid: server, port } = bench.serverFile() ?? assert.fail('no server');
  const bundles = new Map<string, string>();
  for (const one of running) {
    const work = path.dirname(one.victim.cwd);
    const folder = path.resolve(work, '..', 'bundles');
    const scorers = path.join(folder, 'scorers');
    const own = readdirSync(scorers).filter((name) => name.endsWith('.mjs'));
    assert.equal(own.length, 1, 'the scorer of the batch was used');
    const scorerBundles = own.map((name) => path.join(scorers, name));
    for (const file of scorerBundles) bundles.set(file, readFileSync(file, 'utf8'));
    const otherVictim = running.find((other) => other !== one)?.victim;
    const targets = {
      ...{ tag: TAG, protocol: PROTOCOL, port, server, listener, socket, abstract, loot, otherVictim, work },
      ...{ batch: one.batch, victim: one.victim, workerName: one.worker, worker: Number(one.worker.split('-')[1]) },
      ...{ store: bench.store, project: workspace.path(), home: bench.folder, dataset: outside(`${one.name}.jsonl`) },
      ...{ scorer: outside('scorer.ts'), scorerBlob: own[0]?.replace('.mjs', ''), bundles: folder, scorerBundles },
      inspector: Number(new URL(inspector.url() ?? '').port),
      programs: [path.join(root, 'dist', 'cli.mjs'), process.execPath],
      addresses: Object.values(os.networkInterfaces()).flatMap((list) => list?.map(({ address }) => address) ?? []),
      sockets: [others, '/run/docker.sock', '/run/dbus/system_bus_socket', process.env['SSH_AUTH_SOCK'] ?? ''].filter(
        (at) => existsSync(at),
      ),
    };
    workspace.write(`${one.name}/targets.new`, JSON.stringify(targets));
    renameSync(path.join(one.kit, 'targets.new'), path.join(one.kit, 'targets.json')); // whole from the start
  }
  const notes = readFileSync(outside('notes.txt'), 'utf8');

  // The hostile rollouts end; the honest ones still wait.
  const rows = (
    await Promise.all(
      running.map(({ batch }) =>
        workspace.waitForRows(batch, (all) => all.every(({ task, state }) => task === 'victim' || state === 'ended')),
      ),
    )
  ).flat();
  const table = new AttemptTable();
  const report = table.add.bind(table);
  const reasons: string[] = [];
  for (const way of ways) {
    const text = textOf(path.join(loot, `${way}.json`)) ?? assert.fail(`${way} told nothing`);
    for (const one of readAttempts(text)) {
      const changed = one.wrote.filter((file) => ['pwned', ''].includes(textOf(file) ?? 'absent'));
      const got = [...one.canaries, ...one.effects, ...changed];
      report(one.name, way, got.length === 0 ? undefined : got.join(', ').slice(0, 300));
      // What stays must have started.
      if (one.name.startsWith('outlive')) assert.deepEqual(one.reasons, [], `${way}: ${one.name}`);
      reasons.push(`${way} | ${one.name} | ${one.reasons.join(', ')}`);
    }
  }

  // From outside.
  for (const { name, victim, worker } of running)
    for (const [what, pid] of [
      ['worker', Number(worker.split('-')[1])],
      ['server', server],
      ['rollout', victim.pid],
    ] as const)
      report(
        'stop, debug, and kill the worker, the server, and another rollout',
        name,
        alive(pid) && !/^State:\s+[TtZ]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8')) ? undefined : what,
      );
  report('delete the store', 'seen from outside', existsSync(path.join(bench.store, 'store.db')) ? undefined : 'gone');
  for (const [file, code] of bundles)
    report('change the bundle of the scorer', 'seen from outside', textOf(file) === code ? undefined : file);
  // Processes end right after their rollout; what would survive it would stay.
  for (const until = performance.now() + 10_000; stays().length > 0 && performance.now() < until; )
    await new Promise((resolve) => setTimeout(resolve, 20));
  const left = stays();
  report('outlive its rollout, seen from outside', 'all', left.length === 0 ? undefined : left.join());
  const written = [outside('written'), path.join(path.dirname(running[0].victim.cwd), 'written')];
  for (const [task, how, made] of [
    ['files', '', written],
    ['swaps', ', while a program replaces names with links', [outside('offline/written')]],
  ] as const) {
    const row = rows.find((each) => each.task === task) ?? assert.fail(task);
    const text = JSON.stringify(await workspace.events(row.rollout));
    report(`read outside with the tools for files${how}`, task, text.includes(notes) ? notes : undefined);
    report(
      `write outside with the tools for files${how}`,
      task,
      made.find((file) => existsSync(file)),
    );
    // The program ran.
    if (task === 'swaps') assert.match(text, /"begun"/);
  }
  workspace.write('../loot/release', '');
  for (const { batch } of running) {
    for (const { rollout, task } of await workspace.ended(batch)) {
      const events = await workspace.events(rollout);
      const honest = task === 'victim' || task === 'scored';
      const scores = ofKind(events, 'score').map(({ data }) => data.passed);
      const intact = scores.length === 1 && scores[0] === honest && endOf(events).passed === honest;
      report('forge a score, seen from outside', task, intact ? undefined : JSON.stringify(ofKind(events, 'score')));
      const leases = ofKind(events, 'rollout.lease').length;
      report('take over a rollout, seen from outside', task, leases === 1 ? undefined : `${leases} leases`);
    }
    const troubles = ofKind(await workspace.events(batch), 'infra').filter(({ data }) =>
      ['tampering', 'worker_lost'].includes(data.what),
    );
    report('disturb the batch, seen from outside', batch, troubles.length === 0 ? undefined : JSON.stringify(troubles));
  }

  const succeeded = table.print('one machine');
  if (process.env['HOSTILE_REASONS'] !== undefined) console.log(reasons.join('\n'));
  assert.deepEqual(succeeded, []);
  assert.ok(table.size >= 40);
});
