/**
 * Which file each batch was launched from: as this window remembers it, else as the batch itself says. Knows nothing of
 * VS Code.
 */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { LaunchMemory } from '../launch/memory.ts';
import type { ServerLink } from '../services.ts';

const told = z.object({ file: z.string() });
/** Batches that are looked at for one file: older ones are history. */
const MOST = 50;

export class BatchOrigins {
  readonly #memory: Pick<LaunchMemory, 'batch'>;
  readonly #server: Pick<ServerLink, 'connection'>;
  /** Paths in submissions, by the submission. */
  readonly #told = new Map<string, Promise<string | undefined>>();

  constructor(memory: Pick<LaunchMemory, 'batch'>, server: Pick<ServerLink, 'connection'>) {
    this.#memory = memory;
    this.#server = server;
  }

  /**
   * The newest of the batches that was launched from this file; forks and imports were from none. `path`: absolute,
   * with `/`.
   */
  async newestOf(rows: readonly BatchRow[], path: string): Promise<BatchRow | undefined> {
    const launched = rows
      .filter((row) => !row.imported && row.parent === undefined)
      .sort((a, b) => b.created_at - a.created_at)
      .slice(0, MOST);
    for (const row of launched) if (await this.#isFrom(row, path)) return row;
    return undefined;
  }

  async #isFrom(row: BatchRow, path: string): Promise<boolean> {
    const remembered = this.#memory.batch(row.batch)?.file;
    if (remembered !== undefined) return remembered.replaceAll('\\', '/') === path;
    // A batch tells its file from the root of its workspace, wherever that was.
    const file = await this.#toldBy(row.submission);
    return file === undefined ? row.name === nameOf(path) : path === file || path.endsWith(`/${file}`);
  }

  #toldBy(submission: string): Promise<string | undefined> {
    let found = this.#told.get(submission);
    if (found === undefined) {
      found = this.#read(submission);
      this.#told.set(submission, found);
    }
    return found;
  }

  async #read(submission: string): Promise<string | undefined> {
    try {
      const { api } = await this.#server.connection({ start: false });
      return told.safeParse(JSON.parse(new TextDecoder().decode(await api.getBlob(submission)))).data?.file;
    } catch (error) {
      this.#told.delete(submission); // asked again once the server is there
      if (StudioError.is(error)) return undefined;
      throw error;
    }
  }
}

/** As a batch is called unless its file says otherwise. */
function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(/\.batch\.\w+$/i, '');
}
