/**
 * Finds the file that a batch was launched from, from this window's memory or the batch's submission. Does not depend
 * on VS Code.
 */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { LaunchMemory } from '../launch/memory.ts';
import type { ServerLink } from '../services.ts';

const submittedFile = z.object({ file: z.string() });
/** Number of newest batches to search. */
const MAX_BATCHES = 50;

export class BatchOrigins {
  readonly #memory: Pick<LaunchMemory, 'batch'>;
  readonly #server: Pick<ServerLink, 'connection'>;
  /** Cached file paths by submission SHA. */
  readonly #submittedFile = new Map<string, Promise<string | undefined>>();

  constructor(memory: Pick<LaunchMemory, 'batch'>, server: Pick<ServerLink, 'connection'>) {
    this.#memory = memory;
    this.#server = server;
  }

  /**
   * Returns the newest batch that was launched from a file. Forks and imports have no file, and a batch that scores
   * others again runs no agent. `path` is absolute and uses `/`.
   */
  async newestOf(rows: readonly BatchRow[], path: string): Promise<BatchRow | undefined> {
    const launched = rows
      .filter((row) => !row.imported && row.parent === undefined && row.rescores === undefined && row.debug !== true)
      .sort((a, b) => b.created_at - a.created_at)
      .slice(0, MAX_BATCHES);
    for (const row of launched) if (await this.#wasLaunchedFrom(row, path)) return row;
    return undefined;
  }

  async #wasLaunchedFrom(row: BatchRow, path: string): Promise<boolean> {
    const stored = this.#memory.batch(row.batch)?.file;
    if (stored !== undefined) return stored.replaceAll('\\', '/') === path;
    // The path in a submission is relative to the root of its workspace.
    const file = await this.#fileOf(row.submission);
    return file === undefined ? row.name === nameOf(path) : path === file || path.endsWith(`/${file}`);
  }

  #fileOf(submission: string): Promise<string | undefined> {
    let file = this.#submittedFile.get(submission);
    if (file === undefined) {
      file = this.#read(submission);
      this.#submittedFile.set(submission, file);
    }
    return file;
  }

  async #read(submission: string): Promise<string | undefined> {
    try {
      const { api } = await this.#server.connection({ start: false });
      return submittedFile.safeParse(JSON.parse(new TextDecoder().decode(await api.getBlob(submission)))).data?.file;
    } catch (error) {
      this.#submittedFile.delete(submission); // retry when the server is available
      if (StudioError.is(error)) return undefined;
      throw error;
    }
  }
}

/** Returns the default name of a batch. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(/\.batch\.\w+$/i, '');
}
