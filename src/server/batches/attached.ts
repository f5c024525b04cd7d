/** What the rollouts of a batch get on their disks, as far as the server knows its tasks. */
import { type Submission, scenariosOf } from '../../config/submission.ts';
import type { Attached } from '../../executor/executor.ts';
import type { BlobStore, Store } from '../../store/store.ts';
import type { TaskRecord } from '../../trace/task.ts';

const PAGE = 1_000;
/** Batches whose tasks are remembered. */
const KEPT = 100;

/** Returns the bytes of the files of the task that has the most. */
export function fileBytes(tasks: readonly Pick<TaskRecord, 'files'>[]): number {
  return Math.max(0, ...tasks.map(({ files = [] }) => files.reduce((sum, { bytes }) => sum + bytes, 0)));
}

/** Returns the bytes of the largest scenario of a code world. */
export async function stateBytes(blobs: Pick<BlobStore, 'get'>, submission: Submission): Promise<number> {
  let most = 0;
  for (const { code, template } of Object.values(scenariosOf(submission))) {
    // Only their sizes are read.
    const sizes = await Promise.all([code, template].map(async (sha) => (await blobs.get(sha))?.size ?? 0));
    most = Math.max(
      most,
      sizes.reduce((sum, size) => sum + size, 0),
    );
  }
  return most;
}

/** Reads each task of a batch once. */
export class Attachments {
  readonly #store: Pick<Store, 'tasks' | 'blobs'>;
  readonly #known = new Map<string, { last: number; files: number }>();

  constructor(store: Pick<Store, 'tasks' | 'blobs'>) {
    this.#store = store;
  }

  async of(batch: string, submission: Submission): Promise<Attached> {
    const seen = this.#known.get(batch) ?? { last: -1, files: 0 };
    this.#known.delete(batch);
    this.#known.set(batch, seen);
    for (const oldest of [...this.#known.keys()].slice(0, -KEPT)) this.#known.delete(oldest);
    for (;;) {
      const { tasks, next } = await this.#store.tasks(batch, { after: seen.last, limit: PAGE });
      seen.files = Math.max(seen.files, fileBytes(tasks));
      seen.last += tasks.length;
      if (next === undefined || tasks.length === 0) break;
    }
    return { files: seen.files, state: await stateBytes(this.#store.blobs, submission) };
  }
}
