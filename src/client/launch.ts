/** Sends a submission to a server: blobs first, then the batch, then its tasks as a stream. */
import { createReadStream } from 'node:fs';
import { cancelled } from '../common/abort.ts';
import { newId } from '../common/ids.ts';
import { canonicalJson } from '../common/json.ts';
import { type Submission, submissionSha } from '../config/submission.ts';
import type { Api } from '../protocol/api.ts';
import type { Breakpoint } from '../protocol/commands.ts';
import type { TaskRecord } from '../trace/task.ts';

/** A blob of a submission: its bytes, or the file that has them. */
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
  /** Set before anything runs. */
  readonly breakpoints?: readonly Breakpoint[];
}

const TASKS_AT_ONCE = 500;
/**
 * A batch that is being made when all is cancelled may come to be: so long it is waited for, to be cancelled as well.
 */
const CREATE_MS = 10_000;

/** Gives the batch's id. `onProgress` hears the number of tasks sent so far. */
export async function launch(
  api: Api,
  what: Launch,
  options: { signal?: AbortSignal; onProgress?: (tasks: number) => void } = {},
): Promise<string> {
  const { signal } = options;
  const sha = await putSubmission(api, what, signal);

  const batch = newId('b');
  const state = { created: false, sent: 0 };
  let page: TaskRecord[] = [];
  const flush = async (last: boolean): Promise<void> => {
    if (state.created) {
      if (page.length > 0) await api.appendTasks(batch, state.sent, page, signal);
    } else {
      stopped(signal);
      // The first page travels with the batch: a small one starts at once.
      await api.createBatch(
        {
          batch,
          submission: sha,
          secrets: { ...what.secrets },
          open: !last,
          tasks: page,
          ...(what.debug === true ? { debug: true } : {}),
          ...(what.breakpoints === undefined ? {} : { breakpoints: [...what.breakpoints] }),
        },
        late(signal, CREATE_MS),
      );
      state.created = true;
      stopped(signal);
    }
    state.sent += page.length;
    page = [];
    options.onProgress?.(state.sent);
  };
  try {
    for await (const task of what.tasks) {
      page.push(task);
      if (page.length === TASKS_AT_ONCE) await flush(false);
    }
    const open = state.created;
    await flush(true);
    if (open) await api.commandBatch(batch, { command: newId('c'), verb: 'seal' }, signal);
    return batch;
  } catch (error) {
    // A record far down the dataset may be wrong: what began already is not left running.
    if (state.created)
      await api.commandBatch(batch, {
        command: newId('c'),
        verb: 'cancel',
        args: { reason: 'its tasks could not be sent' },
      });
    throw error;
  }
}

function stopped(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw cancelled(signal);
}

/** Aborts `ms` milliseconds after `signal`. */
function late(signal: AbortSignal | undefined, ms: number): AbortSignal {
  const end = new AbortController();
  signal?.addEventListener('abort', () => setTimeout(() => end.abort(signal.reason), ms).unref(), { once: true });
  return end.signal;
}

/** Brings a submission and what it names to the server. Gives its id. */
export async function putSubmission(
  api: Api,
  what: Pick<Launch, 'submission' | 'blobs'>,
  signal?: AbortSignal,
): Promise<string> {
  for await (const blob of what.blobs) {
    if (await api.hasBlob(blob.sha, signal)) continue;
    await api.putBlob(blob.sha, blob.bytes ?? (await readAll(blob.path ?? '')), signal);
  }
  const sha = submissionSha(what.submission);
  await api.putBlob(sha, new TextEncoder().encode(canonicalJson(what.submission)), signal);
  return sha;
}

async function readAll(file: string): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(file)) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
