/**
 * Entry point of a rollout worker: `node worker.mjs [CONFIG]`; without a file, the configuration comes on stdin. Exit
 * codes: 0 nothing left to do, or asked to stop (after a signal: as configured), 2 invalid configuration, 3 the server
 * is gone.
 */
import { setFlagsFromString } from 'node:v8';
import { HEAP_GROWTH } from '../common/entries.ts';
import { errorText, StudioError } from '../common/errors.ts';
import { harmlessEntry } from '../common/harmless.ts';
import { Rollout } from '../rollout/rollout.ts';
import type { WorkerConfig } from './config.ts';
import { readSecrets, readWorkerConfig } from './config.ts';
import { Outlet } from './outlet.ts';
import type { WorkerEnd } from './worker.ts';
import { startWorker, stopMs } from './worker.ts';

setFlagsFromString(HEAP_GROWTH.worker);
// Other users of the machine cannot read what this process, or a tool, writes.
process.umask(0o077);

let outlet = new Outlet({});

/** Writes a line to the log of the worker. */
function print(text: string): void {
  process.stderr.write(`${harmlessEntry(outlet.line(text))}\n`);
}

async function main(): Promise<void> {
  const config = await readWorkerConfig(process.argv[2], process.stdin);
  // Programs in another container, which have the same group, use the same files.
  if (config.tools !== undefined) process.umask(0o007);
  const secrets = await readSecrets(config.secrets);
  outlet = new Outlet(secrets);
  const log = (text: string): void => print(`${new Date().toISOString()} ${config.worker}: ${text}`);
  const worker = await startWorker(config, {
    createRollout: (job, ports) => new Rollout(job, ports),
    log,
    secrets,
    outlet,
  });
  const stopped = new Promise<WorkerEnd>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
      process.on(signal, () => resolve({ why: 'stopped', interrupted: true, orderly: true }));
  });
  let end = await Promise.race([worker.ended, stopped]);
  if (end.why === 'stopped' && end.orderly === true) {
    // Without its server, or without its tools, it can hand nothing over, and ends as one that did not.
    const other = await Promise.race([worker.leave().then(() => undefined), worker.ended]);
    if (other !== undefined && other.why !== 'drained') end = other;
  }
  const code = exitCode(end, config);
  if (end.why === 'gone') log(errorText(end.error));
  setTimeout(() => leave(code, false), stopMs(config));
  leave(code, await worker.close(end));
}

function exitCode(end: WorkerEnd, config: WorkerConfig): number {
  if (end.why === 'gone') return 3;
  if (end.why !== 'stopped' || end.interrupted !== true) return 0;
  const { interrupted_exit: interrupted = 0, handed_over_exit: handedOver = interrupted } = config;
  return end.orderly === true ? handedOver : interrupted;
}

/** `letGo`: every thread has ended. A regular exit waits for all threads, so a blocked one would prevent it. */
function leave(code: number, letGo: boolean): void {
  if (letGo) process.exit(code);
  else process.kill(process.pid, 'SIGKILL');
}

// The server, which reads them, may be gone.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

// After an uncaught error, the worker is in an unknown state: its rollouts continue elsewhere.
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    print(`${event}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    process.exit(3);
  });
}

main().catch((error: unknown) => {
  print(errorText(error));
  process.exit(StudioError.is(error, 'usage') ? 2 : 3);
});
