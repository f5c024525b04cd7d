/** Launches a batch: sends its blobs, then the batch, then streams its tasks. */
import { cancelled } from '../common/abort.ts';
import { newId } from '../common/ids.ts';
import { canonicalJson } from '../common/json.ts';
import { type Submission, submissionSha } from '../config/submission.ts';
import type { Api } from '../protocol/api.ts';
import type { NewBatchBody } from '../protocol/client.ts';
import type { Breakpoint } from '../protocol/commands.ts';
import type { TaskRecord } from '../trace/task.ts';
import { diskFiles } from './disk.ts';

/** A blob of a submission: its bytes, or the file that contains them. */
export interface LaunchBlob {
  readonly sha: string;
  readonly bytes?: Uint8Array;
  readonly path?: string;
}

export interface Launch {
  readonly submission: Submission;
  readonly secrets: Readonly<Record<string, string>>;
  readonly blobs: Iterable<LaunchBlob> | AsyncIterable<LaunchBlob>;
  readonly tasks: AsyncIterable<TaskRecord> | Iterable<TaskRecord>;
  readonly debug?: boolean;
  /** What its page says about it. */
  readonly notes?: readonly string[];
  /** Breakpoints to set before the batch starts. */
  readonly breakpoints?: readonly Breakpoint[];
  /** By which batch its tasks were selected. */
  readonly curriculum?: NonNullable<NewBatchBody['curriculum']>;
  /** Pass rates of its tasks in that batch, if they are counted again later. */
  readonly rates?: NonNullable<NewBatchBody['rates']>;
  /** For a trainer, which requests groups of its tasks: nothing runs on its own, and the batch stays open. */
  readonly group?: NonNullable<NewBatchBody['group']>;
}

const TASKS_PER_REQUEST = 500;
/**
 * How long to wait for a pending create request after a cancel, because the batch may exist and need to be cancelled.
 */
const CREATE_TIMEOUT_MS = 10_000;

/** Launches a batch and returns its ID. `onProgress` receives the number of tasks sent so far. */
export async function launch(
  api: Api,
  request: Launch,
  options: {
    signal?: AbortSignal;
    onProgress?: (tasks: number) => void;
    /** Called with the first tasks before the batch is created. Throws if it cannot run. */
    check?: (tasks: readonly TaskRecord[]) => Promise<void>;
  } = {},
): Promise<string> {
  const { signal } = options;
  const sha = await putSubmission(api, request, signal);

  const batch = newId('b');
  const state = { created: false, sent: 0 };
  let page: TaskRecord[] = [];
  const flush = async (last: boolean): Promise<void> => {
    if (state.created) {
      if (page.length > 0) await api.appendTasks(batch, state.sent, page, signal, ratesOf(page, request.rates));
    } else {
      await options.check?.(page);
      throwIfCancelled(signal);
      // The first tasks are sent with the batch, so that a small batch starts at once.
      await api.createBatch(
        {
          batch,
          submission: sha,
          secrets: { ...request.secrets },
          open: !last || request.group !== undefined,
          tasks: page,
          ...(request.group === undefined ? {} : { group: request.group }),
          ...(request.curriculum === undefined ? {} : { curriculum: request.curriculum }),
          ...(request.rates === undefined ? {} : { rates: ratesOf(page, request.rates) }),
          ...(request.debug === true ? { debug: true } : {}),
          ...(request.notes === undefined ? {} : { notes: [...request.notes] }),
          ...(request.breakpoints === undefined ? {} : { breakpoints: [...request.breakpoints] }),
        },
        delayedSignal(signal, CREATE_TIMEOUT_MS),
      );
      state.created = true;
      throwIfCancelled(signal);
    }
    state.sent += page.length;
    page = [];
    options.onProgress?.(state.sent);
  };
  try {
    for await (const task of request.tasks) {
      page.push(task);
      if (page.length === TASKS_PER_REQUEST) await flush(false);
    }
    const open = state.created;
    await flush(true);
    if (open && request.group === undefined)
      await api.commandBatch(batch, { command: newId('c'), verb: 'seal' }, signal);
    return batch;
  } catch (error) {
    // A later dataset record may be invalid: do not leave the started batch running.
    if (state.created)
      await api.commandBatch(batch, {
        command: newId('c'),
        verb: 'cancel',
        args: { reason: 'The tasks could not be sent.' },
      });
    throw error;
  }
}

/** Returns the rates of some tasks. */
function ratesOf(tasks: readonly TaskRecord[], rates: Launch['rates']): Launch['rates'] {
  if (rates === undefined) return undefined;
  return Object.fromEntries(tasks.flatMap(({ id }) => (rates[id] === undefined ? [] : [[id, rates[id]]])));
}

function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw cancelled(signal);
}

/** Returns a signal that aborts `ms` milliseconds after `signal`. */
function delayedSignal(signal: AbortSignal | undefined, ms: number): AbortSignal {
  const end = new AbortController();
  signal?.addEventListener('abort', () => setTimeout(() => end.abort(signal.reason), ms).unref(), { once: true });
  return end.signal;
}

/** Uploads a submission and its blobs. Returns the ID of the submission. */
export async function putSubmission(
  api: Api,
  request: Pick<Launch, 'submission' | 'blobs'>,
  signal?: AbortSignal,
): Promise<string> {
  const files = diskFiles();
  for await (const blob of request.blobs) {
    if (await api.hasBlob(blob.sha, signal)) continue;
    await api.putBlob(blob.sha, blob.bytes ?? (() => files.bytes(blob.path ?? '')), signal);
  }
  const sha = submissionSha(request.submission);
  await api.putBlob(sha, new TextEncoder().encode(canonicalJson(request.submission)), signal);
  return sha;
}
