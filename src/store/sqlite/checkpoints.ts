import { Worker } from 'node:worker_threads';
import { entryUrl } from '../../common/entries.ts';

/** A busy store writes about 100 KB per commit: the log stays far below the size at which SQLite copies it itself. */
const COMMITS = 200;

/**
 * Copies the write-ahead log into the database in a thread, because SQLite would block the event loop for up to seconds
 * while it writes and syncs 64 MB. The thread does not hold up commits. It misses those that are made meanwhile: their
 * writer copies this small rest, after which SQLite starts the log again from the beginning.
 */
export class Checkpoints {
  readonly #file: string;
  #thread: Worker | undefined;
  #commits = 0;
  #copying: PromiseWithResolvers<void> | undefined;
  #isRestDue = false;
  #closed = false;

  constructor(file: string) {
    this.#file = file;
  }

  /** Records a commit. Returns whether the writer is to copy the rest now. */
  committed(): boolean {
    this.#commits += 1;
    if (this.#copying === undefined && this.#commits >= COMMITS && !this.#closed) this.#copy();
    const isDue = this.#isRestDue;
    this.#isRestDue = false;
    return isDue;
  }

  /** Resolves when nothing is being copied. */
  async idle(): Promise<void> {
    await this.#copying?.promise;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#thread?.ref();
    await this.idle();
    await this.#thread?.terminate();
  }

  #copy(): void {
    this.#commits = 0;
    this.#copying = Promise.withResolvers();
    this.#thread ??= this.#start();
    this.#thread.postMessage('copy');
  }

  #start(): Worker {
    const thread = new Worker(entryUrl('checkpointThread'), {
      workerData: this.#file,
      env: {},
      execArgv: ['--disable-warning=ExperimentalWarning'],
      // Its output is discarded unread: reading it would keep the process alive.
      stdout: true,
      stderr: true,
    });
    thread.on('message', () => {
      this.#isRestDue = true;
      this.#copied();
    });
    // SQLite then copies the log itself, when it is large, and reports what is wrong with the disk.
    thread.on('error', () => {
      this.#closed = true;
    });
    thread.on('exit', () => this.#copied());
    thread.unref();
    return thread;
  }

  #copied(): void {
    this.#copying?.resolve();
    this.#copying = undefined;
  }
}
