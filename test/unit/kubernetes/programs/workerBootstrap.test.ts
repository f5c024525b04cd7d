import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pack } from '../../../../src/kubernetes/programs/archive.ts';
import { WORKER_BOOTSTRAP } from '../../../../src/kubernetes/programs/workerBootstrap.ts';

/** A worker that prints how it was started. */
const WORKER = `import { readFileSync } from 'node:fs';
import { text } from './chunks/part.mjs';
const config = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const options = process.execArgv;
console.log(JSON.stringify({ text, args: process.argv.length, config, home: process.env.HOME, options }));
`;
const ARCHIVE = await pack([
  { path: 'dist/worker.mjs', bytes: Buffer.from(WORKER) },
  { path: 'dist/chunks/part.mjs', bytes: Buffer.from('export const text = "hello";\n') },
]);

/** A worker whose program leaves processes; it waits until they are gone, and is stopped by a signal to process 1. */
const LEAVING = `import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
spawnSync('/bin/sh', ['-c', 'for n in 1 2 3; do (sleep 0.05 &); done']);
const left = () => readdirSync('/proc').filter((pid) => {
  try {
    return /^[0-9]+$/.test(pid) && readFileSync('/proc/' + pid + '/stat', 'utf8').includes('(sleep)');
  } catch {
    return false;
  }
}).length;
process.on('SIGTERM', () => process.exit(5));
const end = Date.now() + 5_000;
const timer = setInterval(() => {
  if (left() > 0 && Date.now() < end) return;
  clearInterval(timer);
  console.log(JSON.stringify({ first: process.pid === 1, left: left() }));
  process.kill(1, 'SIGTERM');
  setTimeout(() => process.exit(6), 5_000);
}, 20);
`;
const LEAVING_ARCHIVE = await pack([{ path: 'dist/worker.mjs', bytes: Buffer.from(LEAVING) }]);
const POD = { POD_NAME: 'pod-1', POD_UID: 'uid-1' };
/** Runs a command as process 1, like in a container. */
const AS_FIRST = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child', '--mount-proc'];
const canBeFirst = process.platform === 'linux' && spawnSync('unshare', [...AS_FIRST.slice(1), 'true']).status === 0;

interface BootstrapResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  readonly requests: readonly string[];
  readonly work: string;
}

/**
 * Runs the bootstrap against a server that sends these responses in order, the last one repeatedly. `first`: another
 * address, which it tries first.
 */
async function run(
  context: TestContext,
  answers: ((response: ServerResponse) => void)[],
  options: {
    config?: object;
    first?: string;
    secrets?: string;
    onRequest?: (kill: () => void) => void;
    /** Command that runs it. */
    within?: readonly string[];
    /** Passes it as a text, as pods do that have no code in ConfigMaps. */
    evaluated?: boolean;
  } = {},
): Promise<BootstrapResult> {
  const folder = await mkdtemp(path.join(tmpdir(), 'bootstrap-'));
  context.after(() => rm(folder, { recursive: true, force: true }));
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.url ?? ''} ${request.headers.authorization ?? ''}`);
    options.onRequest?.(() => child.kill('SIGTERM'));
    answers[Math.min(requests.length, answers.length) - 1]?.(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const own = `http://127.0.0.1:${port}`;
  const work = path.join(folder, 'work');
  await writeFile(path.join(folder, 'bootstrap.mjs'), WORKER_BOOTSTRAP);
  await writeFile(
    path.join(folder, 'worker.json'),
    JSON.stringify({
      ...(options.first === undefined ? { server: own } : { server: options.first, others: [own] }),
      token: 'secret',
      batch: 'b1',
      slots: 3,
      reconnect_seconds: 60,
      programs: ARCHIVE.sha,
      ...options.config,
    }),
  );
  if (options.secrets !== undefined) await writeFile(path.join(folder, 'secrets.json'), options.secrets);
  const script =
    options.evaluated === true
      ? ['--input-type=module', '--eval', WORKER_BOOTSTRAP]
      : [path.join(folder, 'bootstrap.mjs')];
  const command = [process.execPath, '--max-semi-space-size=16', ...script, folder, work];
  const [program = '', ...args] = [...(options.within ?? []), ...command];
  const child = spawn(program, args, {
    env: { ...process.env, ...POD, HOME: path.join(work, 'home'), TMPDIR: path.join(work, 'tmp') },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, err, requests, work };
}

const gives = (response: ServerResponse): void => void response.end(ARCHIVE.packed);
const says =
  (status: number) =>
  (response: ServerResponse): void =>
    void response.writeHead(status).end();

describe('the bootstrap of a worker pod', () => {
  it('waits for the server, then continues as the worker', async (context) => {
    const { code, out, requests, work } = await run(context, [says(503), says(404), gives], { secrets: '{}' });
    const { text, args, config, home } = JSON.parse(out) as {
      text: string;
      args: number;
      config: Record<string, unknown>;
      home: string;
    };
    assert.deepEqual([code, text, args, requests.length], [0, 'hello', 3, 3]);
    assert.equal(requests[0], `/v1/programs/${ARCHIVE.sha} Bearer secret`);
    assert.equal(home, path.join(work, 'home'));
    const { server, secrets, ...rest } = config;
    assert.match(String(server), /^http:/);
    assert.equal(path.basename(String(secrets)), 'secrets.json');
    assert.deepEqual(rest, {
      token: 'secret',
      batch: 'b1',
      slots: 3,
      reconnect_seconds: 60,
      worker: 'pod-1',
      pod: 'uid-1',
      work: path.join(work, 'rollouts'),
      interrupted_exit: 3,
      handed_over_exit: 4,
      // The grace period of pods of older Jobs is 15 s.
      handover_seconds: 7,
      stop_seconds: 5,
    });
  });

  it('may be a text of the command, of which the worker inherits nothing', async (context) => {
    const { code, out } = await run(context, [gives], { evaluated: true });
    const { text, args, config, options } = JSON.parse(out) as {
      text: string;
      args: number;
      config: { worker: string };
      options: string[];
    };
    assert.deepEqual([code, text, args, config.worker], [0, 'hello', 3, 'pod-1']);
    assert.deepEqual(options, ['--max-semi-space-size=16']);
  });

  it('tries the next server if the first is down, and passes both on', async (context) => {
    const { code, out, requests } = await run(context, [gives], { first: 'http://127.0.0.1:1' });
    const { config } = JSON.parse(out) as { config: { server: string; others: string[] } };
    assert.deepEqual([code, requests.length, config.server, config.others.length], [0, 1, 'http://127.0.0.1:1', 1]);
  });

  it('ends with 3 if the server stays down, or the programs are different', async (context) => {
    const away = await run(context, [says(503)], { config: { reconnect_seconds: 1 } });
    assert.equal(away.code, 3);
    assert.match(away.err, /Cannot get the programs from the server at .*: it returned 503\.\n$/);
    const other = await run(context, [gives], { config: { programs: 'a'.repeat(64) } });
    assert.equal(other.code, 3);
    assert.match(other.err, /Cannot unpack the programs: The programs are not the expected ones/);
  });

  it('ends with 2 if its token is invalid', async (context) => {
    const { code, err } = await run(context, [says(401)]);
    assert.deepEqual([code, /does not know this batch \(401\)/.test(err)], [2, true]);
  });

  it('ends with 3 when it is stopped before the worker runs', {
    skip: process.platform === 'win32',
  }, async (context) => {
    const { code, err } = await run(context, [() => undefined], { onRequest: (kill) => kill() });
    assert.deepEqual([code, err], [3, 'Stopped before the worker ran.\n']);
  });

  it('reaps what tools leave and passes signals on as the first process of a container', {
    skip: canBeFirst ? false : 'the system lets no user make a process the first one of its namespace',
  }, async (context) => {
    const sends = (response: ServerResponse): void => void response.end(LEAVING_ARCHIVE.packed);
    const config = { programs: LEAVING_ARCHIVE.sha };
    const { code, out, err } = await run(context, [sends], { config, within: AS_FIRST });
    assert.deepEqual([code, JSON.parse(out)], [5, { first: false, left: 0 }], err);
  });
});
