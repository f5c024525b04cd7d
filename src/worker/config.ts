/** The configuration of a worker: one JSON document on stdin, or in a 0600 file named by its first argument. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { StudioError } from '../common/errors.ts';

const workerConfig = z.object({
  /** Origin of the rollout server, e.g. `http://127.0.0.1:4100`. */
  server: z.url(),
  /** Origins of other servers of the same store, tried in turn whenever the server is gone. */
  others: z.array(z.url()).optional(),
  /** The enrollment token of the batch or of its pods, with which the worker opens its session. */
  token: z.string().min(1),
  batch: z.string().min(1),
  /** Name for people and for `rollout.lease`, e.g. `local-1`. */
  worker: z.string().min(1),
  /** The UID of its pod. */
  pod: z.string().min(1).optional(),
  /** Number of rollouts that run at once. */
  slots: z.number().int().min(1),
  /**
   * Maximum number of rollouts, after which the worker ends, e.g. 1 if each rollout has its own pod. Default: no
   * maximum.
   */
  rollouts: z.number().int().min(1).optional(),
  /** Exit code after a signal. Default: 0. A pod uses another code so that it is replaced. */
  interrupted_exit: z.number().int().optional(),
  /** Exit code after a signal if it had time to hand its rollouts over. Default: `interrupted_exit`. */
  handed_over_exit: z.number().int().optional(),
  /**
   * How long a worker that has to stop may wait for calls that run, so that their answers are not lost; it ends as soon
   * as none do. Default: it drops them.
   */
  handover_seconds: z.number().min(0).optional(),
  /**
   * How long the worker may take to end, after that. Default: 2 s. A worker that takes longer is killed, and its exit
   * code is lost.
   */
  stop_seconds: z.number().positive().optional(),
  /** The worker's own folder, for working directories. It is created here and removed with the worker. */
  work: z.string().min(1),
  /** The container in which programs of tools run. Default: they run here. */
  tools: z
    .object({
      /** Socket of the tool server. */
      socket: z.string().min(1),
      /** Folder for working directories and modules, at the same path in both containers. */
      work: z.string().min(1),
    })
    .optional(),
  /** `server.json` of a local store, read again on reconnection, because a restarted server has another port. */
  discovery: z.string().optional(),
  /** 0600 file with the values of `${env:…}` as one JSON object. Default: no values. */
  secrets: z.string().optional(),
  /** How long a server may be gone before the worker stops waiting. Default: the lease reported by the server. */
  reconnect_seconds: z.number().positive().optional(),
  /** How long the server may be silent before no new effect starts. Default: 20 s, which is well within a lease. */
  fence_seconds: z.number().positive().optional(),
  /** Whether the worker leads its own process group: whatever its tools start in it ends with it. */
  own_group: z.boolean().optional(),
  /** Names of environment variables that tools may see in addition to the usual harmless ones. */
  pass_env: z.array(z.string()).optional(),
});
export type WorkerConfig = z.infer<typeof workerConfig>;

/** Reads the configuration. Throws StudioError `usage` if it is missing or invalid. */
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

/** Returns the values of `${env:…}`, from the file that the server wrote. */
export async function readSecrets(file: string | undefined): Promise<Record<string, string>> {
  if (file === undefined) return {};
  return z.record(z.string(), z.string()).parse(JSON.parse(await readFile(file, 'utf8')));
}
