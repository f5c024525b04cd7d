/** Keeps the folders with published scenarios open that the views and pages use. Each is read on first use. */
import { openPublished } from '../../client/published/open.ts';
import type { PublishedWorlds } from '../../client/published/worlds.ts';

export class OpenWorlds {
  readonly #open = new Map<string, Promise<PublishedWorlds>>();
  #ending = new AbortController();

  /** Returns the scenarios of a folder, or of one of its files. Throws StudioError `config` if there are none. */
  get(path: string): Promise<PublishedWorlds> {
    let opening = this.#open.get(path);
    if (opening === undefined) {
      opening = openPublished(path, this.#ending.signal);
      this.#open.set(path, opening);
      opening.catch(() => this.#open.delete(path)); // the next call retries
    }
    return opening;
  }

  /** Aborts when the folders are closed. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** Closes all folders, so that the next use reads them from disk. */
  async clear(): Promise<void> {
    this.#ending.abort();
    this.#ending = new AbortController();
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const worlds of await Promise.allSettled(open)) if (worlds.status === 'fulfilled') await worlds.value.close();
  }
}
