/** How a worker is told what to do: one JSON document on stdin, or in a 0600 file named by its first argument. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { StudioError } from '../common/errors.ts';

const workerConfig = z.object({
  /** Origin of the rollout server, e.g. `http://127.0.0.1:4100`. */
  server: z.url(),
  /** Further ones, of servers of the same store: tried in turn whenever the server is gone. */
  others: z.array(z.url()).optional(),
  /** A worker token: it names one batch. */
  token: z.string().min(1),
  batch: z.string().min(1),
  /** Name for people and for `rollout.lease`, e.g. `local-1`. */
  worker: z.string().min(1),
  /** Rollouts that run at once. */
  slots: z.number().int().min(1),
  /** Takes so many rollouts and then ends, e.g. one where each has a pod of its own. Absent: no end of them. */
  rollouts: z.number().int().min(1).optional(),
  /** Exit code after a signal. Absent: 0. A pod says with another one that its place is to be filled again. */
  interrupted_exit: z.number().int().optional(),
  /**
   * How long it may take to end once it has to. Absent: 2 s. One that needs longer is killed, and its exit code lost.
   */
  stop_seconds: z.number().positive().optional(),
  /** The worker's own folder, for working directories: it makes it, and it is removed with the worker. */
  work: z.string().min(1),
  /** `server.json` of a local store: read again on reconnection, for a restarted server has another port. */
  discovery: z.string().optional(),
  /** 0600 file with the values of `${env:…}` as one JSON object; absent = none. */
  secrets: z.string().optional(),
  /** How long a server may be gone before the worker gives up. Absent: the lease the server told. */
  reconnect_seconds: z.number().positive().optional(),
  /** How long the server may be silent before no new effect is started. Absent: 20 s, safely within a lease. */
  fence_seconds: z.number().positive().optional(),
  /** The worker leads a process group of its own: what its tools started in it ends with it. */
  own_group: z.boolean().optional(),
  /** Names of environment variables that tools may see beside the usual harmless ones. */
  pass_env: z.array(z.string()).optional(),
});
export type WorkerConfig = z.infer<typeof workerConfig>;

/** Reads the configuration. Throws StudioError `usage` when there is none or it is wrong. */
export async function readWorkerConfig(
  file: string | undefined,
  stdin: AsyncIterable<Uint8Array>,
): Promise<WorkerConfig> {
  const text = file === undefined ? await readAll(stdin) : await readFile(file, 'utf8');
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (cause) {
    throw new StudioError('usage', `The worker configuration is not JSON (${file ?? 'stdin'}).`, {
      cause,
      hint: 'Workers are started by the rollout server. Start the server instead.',
    });
  }
  const parsed = workerConfig.safeParse(raw);
  if (!parsed.success)
    throw new StudioError('usage', `The worker configuration is invalid: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

async function readAll(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Values of `${env:…}`, from the file the server wrote. */
export async function readSecrets(file: string | undefined): Promise<Record<string, string>> {
  if (file === undefined) return {};
  return z.record(z.string(), z.string()).parse(JSON.parse(await readFile(file, 'utf8')));
}
