/**
 * Where a tool is tried: threads, processes and a working directory as a worker's, gone afterwards, and the one call
 * that is made there.
 */
import { StudioError } from '../common/errors.ts';
import type { Json } from '../common/json.ts';
import type { ToolHost, ToolSpec } from '../rollout/ports.ts';
import type { ToolEnvironment } from '../tools/environment.ts';
import type { Change, TraceError } from '../trace/schema.ts';
import type { TaskRecord } from '../trace/task.ts';
import { makeWorkDirectory } from '../worker/run/workDirectory.ts';
import { type CallOutcome, callOnce } from './callTool.ts';
import { withTemporaryEnvironment } from './temporaryEnvironment.ts';

export interface TriedCall {
  readonly tool: string;
  readonly arguments: Json;
  readonly status: 'ok' | 'error';
  readonly result?: Json;
  readonly error?: TraceError;
  readonly ms: number;
  readonly retries?: CallOutcome['retries'];
  /** What it changed in its world. */
  readonly changes?: readonly Change[];
  /** What came beside the result. */
  readonly files?: readonly { readonly mime_type: string; readonly content: string }[];
  /** What it printed. */
  readonly log: string;
  /** The world it was called in, as it was opened. */
  readonly world?: { readonly name: string; readonly task: string; readonly seed: number };
  /** Whether it failed because it uses the `state` of a world, but was called without one. */
  readonly needs_world?: true;
}

export interface GivenCall {
  readonly tool: string;
  readonly arguments: Json;
}

interface TryRoomOptions {
  /** By sha: bundles, and the attachments of the task. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  readonly task: TaskRecord;
  readonly print?: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Longer logs are cut. */
const MAX_LOG = 20_000;

/**
 * Throws StudioError `cancelled` as soon as the signal says so: a server that is slow to come up keeps nobody who
 * cancelled, the room ends it.
 */
export function withinTryRoom<T>(
  { blobs, task, print, signal }: TryRoomOptions,
  run: (environment: ToolEnvironment) => Promise<T>,
): Promise<T> {
  const readBlob = (sha: string): Promise<Uint8Array> => {
    const bytes = blobs.get(sha);
    return bytes === undefined
      ? Promise.reject(new StudioError('internal', `Blob ${sha} not found.`))
      : Promise.resolve(bytes);
  };
  return withTemporaryEnvironment(readBlob, async (environment, work) => {
    const directory = await makeWorkDirectory(work, 'call', task, readBlob);
    const stopped = new Promise<never>((_resolve, reject) => {
      const stop = (): void => reject(new StudioError('cancelled', 'Cancelled.'));
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
    return Promise.race([run(environment(directory, print)), stopped]);
  });
}

/** Collects output and forwards it immediately. */
export class TryLog {
  text = '';
  readonly #onOutput: (text: string) => void;

  constructor(onOutput: (text: string) => void) {
    this.#onOutput = onOutput;
  }

  readonly print = (text: string): void => {
    this.#onOutput(text);
    if (this.text.length < MAX_LOG) this.text += text.slice(0, MAX_LOG - this.text.length);
  };
}

/** Makes the call and closes the host. `seconds`: where the tool sets no time limit itself. */
export async function callAndClose(
  host: ToolHost,
  spec: ToolSpec,
  call: { readonly arguments: Json; readonly seed: number },
  seconds: number,
  log: TryLog,
  signal: AbortSignal,
): Promise<TriedCall> {
  const began = performance.now();
  const { parts, ...outcome } = await callOnce(host, spec, { id: 'try', ...call }, seconds, log.print, signal);
  const ms = performance.now() - began;
  await host.close(); // includes output on close
  const files = (parts ?? []).flatMap((part) =>
    part.type === 'blob' && typeof part.content === 'string'
      ? [{ mime_type: part.mime_type, content: part.content }]
      : [],
  );
  return {
    tool: spec.name,
    arguments: call.arguments,
    ...outcome,
    ms,
    ...(files.length === 0 ? {} : { files }),
    log: log.text,
  };
}
