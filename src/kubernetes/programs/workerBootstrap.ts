/**
 * The script that a worker's container starts: `node bootstrap.mjs CONFIG WORK [PROGRAMS SHARED SOCKET]`, or `node
 * --input-type=module --eval SCRIPT CONFIG …`. Fetches the worker's programs from the server by their hash, unpacks
 * them, and continues as the worker. `CONFIG` holds `worker.json` and, if the batch has secrets, `secrets.json`; it
 * reads `worker.json` again before each attempt, since an upgraded server has other programs. `PROGRAMS`, `SHARED`, and
 * `SOCKET`, which the container of the tools has, too: the folders of programs and of working directories, and the
 * socket of the tool server.
 *
 * Exit codes: 2 it will never work (Node is too old, the token is invalid), 3 another pod may succeed.
 */
import { UNPACK_SCRIPT } from './unpackScript.ts';

/** Files in the folder `CONFIG`. */
export const WORKER_FILE = 'worker.json';
export const SECRETS_FILE = 'secrets.json';
/** The authority by which Node.js knows the server, if it has one. */
export const AUTHORITY_FILE = 'ca.crt';
/** Further authorities, for programs of tools. */
export const BUNDLE_FILE = 'ca-bundle.crt';

/** Variable with the seconds that the pod has to end. Pods of older Jobs lack it. */
export const GRACE_VARIABLE = 'POD_GRACE_SECONDS';
/** Exit code of a worker that was told to stop and handed its rollouts over: no failure of its pod. */
export const HANDED_OVER_EXIT = 4;
/** Of these seconds, what a worker has to end once no call runs, and what is left for its container to end. */
const STOP_SECONDS = 5;
const MARGIN_SECONDS = 3;

/** Tells the container of the tools that the programs are complete. */
export const READY_FILE = 'ready';

/** Content of `worker.json`: a worker's configuration without what only the pod knows, and the programs to fetch. */
export interface PodWorker {
  readonly server: string;
  /** Further servers, tried in turn with it. */
  readonly others?: readonly string[];
  readonly token: string;
  readonly batch: string;
  readonly slots: number;
  readonly reconnect_seconds: number;
  readonly rollouts?: number;
  /** sha256 of the programs, see archive.ts. */
  readonly programs: string;
}

/** Runs a command as a child: passes signals on, reaps every process, and ends with the command's exit code. */
export const FIRST_PROCESS = [
  `trap 'stop=1; [ -z "$pid" ] || kill -TERM "$pid"' TERM INT`,
  '"$@" & pid=$!',
  '[ -z "$stop" ] || kill -TERM "$pid"',
  'while :; do wait "$pid"; code=$?; kill -0 "$pid" 2>/dev/null || exit "$code"; done',
].join('\n');

export const WORKER_BOOTSTRAP = `${UNPACK_SCRIPT}
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

// As a text of --eval, in clusters that allow no code in ConfigMaps, it has no file among its arguments.
const evaluated = process.execArgv.indexOf('--input-type=module');
const options = evaluated < 0 ? process.execArgv : process.execArgv.slice(0, evaluated);
const [folder, work, programsFolder, shared, socket] = process.argv.slice(evaluated < 0 ? 2 : 1);
const signals = ['SIGTERM', 'SIGINT'];
const stopped = () => end(3, 'Stopped before the worker ran.');
for (const signal of signals) process.on(signal, stopped);

function end(code, text) {
  process.stderr.write(text + '\\n');
  process.exit(code);
}

async function fetchPrograms({ server, token, programs }) {
  try {
    const answer = await fetch(server + '/v1/programs/' + programs, {
      headers: { authorization: 'Bearer ' + token },
      redirect: 'error',
      signal: AbortSignal.timeout(60_000),
    });
    if (answer.status === 401 || answer.status === 403)
      end(2, 'The server at ' + server + ' does not know this batch (' + answer.status + ').');
    if (!answer.ok) return 'it returned ' + answer.status;
    return Buffer.from(await answer.arrayBuffer());
  } catch (error) {
    return (error.cause ?? error).message || String(error.cause ?? error);
  }
}

// Process 1 inherits the processes that tools leave, and must reap them, which only a shell does. It also could not end
// itself when it hangs. An image without a shell has few programs that leave processes.
const SHELL = '/bin/sh';
const FIRST_PROCESS = ${JSON.stringify(FIRST_PROCESS)};

const startedAt = Date.now();
let config;
let packed;
for (let pause = 250, tried = 0; ; pause = Math.min(5_000, pause * 2)) {
  config = JSON.parse(readFileSync(path.join(folder, '${WORKER_FILE}'), 'utf8'));
  const servers = [config.server, ...(config.others ?? [])];
  packed = await fetchPrograms({ ...config, server: servers[tried++ % servers.length] });
  if (typeof packed !== 'string') break;
  if (Date.now() - startedAt > config.reconnect_seconds * 1000)
    end(3, 'Cannot get the programs from the server at ' + config.server + ': ' + packed + '.');
  if (pause === 1_000) process.stderr.write('Waiting for the server at ' + config.server + ': ' + packed + '\\n');
  await sleep(pause * (0.5 + Math.random() / 2));
}
const { programs, ...worker } = config;
const home = programsFolder ?? path.join(work, 'programs');
try {
  unpack(packed, programs, home);
} catch (error) {
  end(3, 'Cannot unpack the programs: ' + error.message);
}
writeFileSync(path.join(home, '${READY_FILE}'), '');
for (const name of ['HOME', 'TMPDIR']) if (process.env[name]) mkdirSync(process.env[name], { recursive: true });
const secrets = path.join(folder, '${SECRETS_FILE}');
const written = path.join(work, '${WORKER_FILE}');
writeFileSync(written, JSON.stringify({
  ...worker,
  worker: process.env.POD_NAME,
  pod: process.env.POD_UID,
  work: path.join(work, 'rollouts'),
  interrupted_exit: 3,
  handed_over_exit: ${HANDED_OVER_EXIT},
  handover_seconds: Math.max(0, Number(process.env.${GRACE_VARIABLE} ?? 15) - ${STOP_SECONDS + MARGIN_SECONDS}),
  stop_seconds: ${STOP_SECONDS},
  ...(existsSync(secrets) ? { secrets } : {}),
  ...(socket === undefined ? {} : { tools: { socket, work: shared } }),
}), { mode: 0o600 });
for (const signal of signals) process.off(signal, stopped);
const file = path.join(home, 'dist', 'worker.mjs');
if (process.pid === 1 && existsSync(SHELL)) {
  const command = [process.execPath, ...options, file, written];
  process.execve(SHELL, [SHELL, '-c', FIRST_PROCESS, SHELL, ...command], process.env);
}
// Processes that it starts would inherit --eval.
if (evaluated >= 0) process.execve(process.execPath, [process.execPath, ...options, file, written], process.env);
process.argv.splice(1, process.argv.length, file, written);
await import(pathToFileURL(file).href);
`;
