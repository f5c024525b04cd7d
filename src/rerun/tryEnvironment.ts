/** Calls a tool once in a temporary environment like that of a worker. */
import { StudioError } from '../common/errors.ts';
import type { Json } from '../common/json.ts';
import { NO_SECRETS, type Redactor } from '../common/redaction/redactor.ts';
import { RedactedStream } from '../common/redaction/stream.ts';
import { DEFAULT_SANDBOX, type SubmittedSandbox } from '../config/submission.ts';
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
  /** Changes to the world. */
  readonly changes?: readonly Change[];
  /** Files returned in addition to the result, in base64. */
  readonly files?: readonly { readonly mime_type: string; readonly content: string }[];
  /** Output of the call. */
  readonly log: string;
  /** The world in which it was called. */
  readonly world?: { readonly name: string; readonly task: string; readonly seed: number };
  /** Whether it failed because it uses the `state` of a world, but was called without one. */
  readonly needs_world?: true;
}

/** A tool call to try. */
export interface ToolCall {
  readonly tool: string;
  readonly arguments: Json;
}

interface TryEnvironmentOptions {
  /** Bundles, and attachments of the task, by sha. */
  readonly blobs: ReadonlyMap<string, Uint8Array>;
  readonly task: TaskRecord;
  readonly sandbox: SubmittedSandbox;
  readonly print?: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Without a batch, nothing says what modules and programs may read: then it is the workspace. */
export function workspaceSandbox(root: string): SubmittedSandbox {
  return { ...DEFAULT_SANDBOX, read: [root] };
}

/** Longer logs are cut. */
const MAX_LOG = 20_000;

/**
 * Runs a function with a temporary environment. Throws StudioError `cancelled` as soon as the signal aborts, without
 * waiting for servers that are still starting: they end with the environment.
 */
export function withTryEnvironment<T>(
  { blobs, task, sandbox, print, signal }: TryEnvironmentOptions,
  run: (environment: ToolEnvironment) => Promise<T>,
): Promise<T> {
  const readBlob = (sha: string): Promise<Uint8Array> => {
    const bytes = blobs.get(sha);
    return bytes === undefined
      ? Promise.reject(new StudioError('internal', `Blob ${sha} not found.`))
      : Promise.resolve(bytes);
  };
  return withTemporaryEnvironment(readBlob, async (environment, work) => {
    const directory = await makeWorkDirectory(work, task, readBlob);
    const stopped = new Promise<never>((_resolve, reject) => {
      const stop = (): void => reject(new StudioError('cancelled', 'Cancelled.'));
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
    return Promise.race([
      run(environment(directory, { sandbox, ...(print === undefined ? {} : { onLog: print }) })),
      stopped,
    ]);
  });
}

/** Collects output and forwards it immediately. */
export class TryLog {
  text = '';
  readonly #onOutput: (text: string) => void;
  readonly #redacted: RedactedStream;

  constructor(onOutput: (text: string) => void, secrets: Redactor = NO_SECRETS) {
    this.#onOutput = onOutput;
    this.#redacted = new RedactedStream(secrets);
  }

  readonly print = (text: string): void => this.#add(this.#redacted.add(text));

  /** Adds what may have been the beginning of a secret. */
  end(): void {
    this.#add(this.#redacted.end());
  }

  #add(text: string): void {
    if (text === '') return;
    this.#onOutput(text);
    if (this.text.length < MAX_LOG) this.text += text.slice(0, MAX_LOG - this.text.length);
  }
}

/** Makes the call and closes the host. `seconds`: default time limit. */
export async function callAndClose(
  host: ToolHost,
  spec: ToolSpec,
  call: { readonly arguments: Json; readonly seed: number },
  seconds: number,
  log: TryLog,
  signal: AbortSignal,
): Promise<TriedCall> {
  const startedAt = performance.now();
  const { parts, ...outcome } = await callOnce(host, spec, { id: 'try', ...call }, seconds, log.print, signal);
  const ms = performance.now() - startedAt;
  await host.close(); // includes output on close
  log.end();
  return {
    tool: spec.name,
    arguments: call.arguments,
    ...outcome,
    ms,
    ...filesOf(parts),
    log: log.text,
  };
}

/** Returns the images and other files of a result. */
export function filesOf(parts: CallOutcome['parts'] = []): Pick<TriedCall, 'files'> {
  const files = parts.flatMap((part) =>
    part.type === 'blob' && typeof part.content === 'string'
      ? [{ mime_type: part.mime_type, content: part.content }]
      : [],
  );
  return files.length === 0 ? {} : { files };
}
