/**
 * Entry point of a rollout worker: `node worker.mjs [CONFIG]`; without a file, the configuration comes on stdin. Exit
 * codes: 0 nothing left to do, or asked to stop (after a signal: as configured), 2 invalid configuration, 3 the server
 * is gone.
 */
import { setFlagsFromString } from 'node:v8';
import { HEAP_GROWTH } from '../common/entries.ts';
import { errorText, StudioError } from '../common/errors.ts';
import { Rollout } from '../rollout/rollout.ts';
import type { WorkerConfig } from './config.ts';
import { readWorkerConfig } from './config.ts';
import type { WorkerEnd } from './worker.ts';
import { startWorker, stopMs } from './worker.ts';

setFlagsFromString(HEAP_GROWTH);

async function main(): Promise<void> {
  const config = await readWorkerConfig(process.argv[2], process.stdin);
  const log = (text: string): void =>
    void process.stderr.write(`${new Date().toISOString()} ${config.worker}: ${text}\n`);
  const worker = await startWorker(config, { createRollout: (job, ports) => new Rollout(job, ports), log });
  const stopped = new Promise<WorkerEnd>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
      process.on(signal, () => resolve({ why: 'stopped', interrupted: true }));
  });
  const end = await Promise.race([worker.ended, stopped]);
  const code = exitCode(end, config);
  if (end.why === 'gone') log(errorText(end.error));
  setTimeout(() => leave(code, false), stopMs(config));
  leave(code, await worker.close(end));
}

function exitCode(end: WorkerEnd, config: WorkerConfig): number {
  if (end.why === 'gone') return 3;
  return end.why === 'stopped' && end.interrupted === true ? (config.interrupted_exit ?? 0) : 0;
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
    process.stderr.write(`${event}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exit(3);
  });
}

main().catch((error: unknown) => {
  process.stderr.write(`${errorText(error)}\n`);
  process.exit(StudioError.is(error, 'usage') ? 2 : 3);
});
