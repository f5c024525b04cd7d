/**
 * Entry of a rollout worker: `node worker.mjs [CONFIG]`; without a file the configuration comes on stdin.
 * Exit codes: 0 nothing left to do or told to stop, 2 wrong configuration, 3 the server is gone.
 */
import { setFlagsFromString } from 'node:v8';
import { HEAP_GROWTH } from '../common/entries.ts';
import { errorText, StudioError } from '../common/errors.ts';
import { Rollout } from '../rollout/rollout.ts';
import { readWorkerConfig } from './config.ts';
import type { WorkerEnd } from './worker.ts';
import { startWorker } from './worker.ts';

/** A worker that was told to stop is gone by then, whatever its tools do. */
const STOP_MS = 1_900;

setFlagsFromString(HEAP_GROWTH);

async function main(): Promise<void> {
  const config = await readWorkerConfig(process.argv[2], process.stdin);
  const log = (text: string): void => void process.stderr.write(`${new Date().toISOString()} ${config.worker}: ${text}\n`);
  const worker = await startWorker(config, { createRollout: (job, ports) => new Rollout(job, ports), log });
  const stopped = new Promise<WorkerEnd>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => resolve({ why: 'stopped' }));
  });
  const end = await Promise.race([worker.ended, stopped]);
  const code = end.why === 'gone' ? 3 : 0;
  if (end.why === 'gone') log(errorText(end.error));
  setTimeout(() => leave(code, false), STOP_MS);
  leave(code, await worker.close(end));
}

/** `letGo`: every thread has ended. An exit waits for them all, so with one that is blocked for ever it never comes. */
function leave(code: number, letGo: boolean): void {
  if (letGo) process.exit(code);
  else process.kill(process.pid, 'SIGKILL');
}

// The server that read them may be gone.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

// What a rollout did not catch leaves the worker in a state nobody knows: its rollouts go on elsewhere.
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
