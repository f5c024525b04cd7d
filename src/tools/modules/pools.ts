import { createHash, randomUUID } from 'node:crypto';
import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { StudioError } from '../../common/errors.ts';
import type { SubmittedModule } from '../../config/submission.ts';
import { MemoryWatch } from './memoryWatch.ts';
import { ModulePool } from './modulePool.ts';
import { Starts } from './starts.ts';
import { StackMapper } from './userStack.ts';

export interface ModulePoolsOptions {
  /** Where bundles are laid for threads to load. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** Threads per module that calls without session share at most. */
  readonly threads: number;
  /** Heap and buffers of one thread. */
  readonly memoryMb: number;
  /** Told when a thread cannot be ended. */
  onStuck(text: string): void;
}

/** The modules of one worker, each loaded at its first use. */
export class ModulePools {
  readonly #options: ModulePoolsOptions;
  readonly #watch: MemoryWatch;
  /** Half of the cores go on with what runs: short sessions give threads back before many more are started. */
  readonly #starts = new Starts(Math.max(1, Math.floor(availableParallelism() / 2)));
  readonly #pools = new Map<string, Promise<ModulePool>>();
  /** Threads that have not ended, also those that no pool knows any more. */
  readonly #living = new Set<Promise<void>>();

  constructor(options: ModulePoolsOptions) {
    this.#options = options;
    this.#watch = new MemoryWatch(options.memoryMb * 1024 * 1024);
  }

  /** The pool of a module. `readBlob` is asked once per module. */
  get(module: SubmittedModule, readBlob: (sha: string) => Promise<Uint8Array>): Promise<ModulePool> {
    const key = `${module.file}\n${module.bundle}`;
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      pool = this.#open(module, readBlob);
      this.#pools.set(key, pool);
      // What failed may work for the next rollout: a blob that could not be read is no fault of the module.
      pool.catch(() => this.#pools.delete(key));
    }
    return pool;
  }

  /** Ends every thread; resolves when none is left. One that is blocked for ever never ends. */
  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#pools.values());
    const pools = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    await Promise.all(pools.map((pool) => pool.close()));
    await Promise.all(this.#living);
  }

  async #open(module: SubmittedModule, readBlob: (sha: string) => Promise<Uint8Array>): Promise<ModulePool> {
    const [code, map] = await Promise.all([readBlob(module.bundle), readBlob(module.map)]);
    if (createHash('sha256').update(code).digest('hex') !== module.bundle)
      throw new StudioError('storage', `The bundle ${module.bundle} is damaged: its bytes have another hash.`);
    const file = await this.#lay(
      `${module.bundle}.mjs`,
      Buffer.concat([code, Buffer.from(`\n//# sourceMappingURL=${module.bundle}.mjs.map\n`)]),
    );
    const url = pathToFileURL(file).href;
    return new ModulePool({
      file: module.file,
      url,
      cache: path.join(this.#options.directory, 'compiled'),
      startsProcesses: Buffer.from(code).includes('child_process'),
      mapper: new StackMapper(map, url),
      env: this.#options.env,
      threads: this.#options.threads,
      memoryMb: this.#options.memoryMb,
      watch: this.#watch,
      starts: this.#starts,
      layMap: async () => {
        await this.#lay(`${module.bundle}.mjs.map`, Buffer.from(mapForDebugger(map, module)));
      },
      onStuck: (text) => {
        this.#options.onStuck(text);
      },
      onStart: (gone) => {
        this.#living.add(gone);
        void gone.then(() => this.#living.delete(gone));
      },
    });
  }

  /** Lays a file of a module, named by the hash of its bundle. Several workers may do so at once. */
  async #lay(name: string, bytes: Uint8Array): Promise<string> {
    const file = path.join(this.#options.directory, name);
    const there = await stat(file).catch(() => undefined);
    if (there?.size === bytes.length) return file;
    await mkdir(this.#options.directory, { recursive: true });
    const temporary = `${file}.${randomUUID()}`;
    await writeFile(temporary, bytes);
    await rename(temporary, file);
    return file;
  }
}

/** The map with its sources where they were when the module was submitted. */
function mapForDebugger(map: Uint8Array, { file, path: from }: SubmittedModule): string {
  const parsed = JSON.parse(Buffer.from(map).toString()) as { readonly sources: readonly string[] }; // our bundler's
  const end = path.sep + file.split('/').join(path.sep);
  if (from?.endsWith(end) !== true) return JSON.stringify(parsed);
  const root = from.slice(0, -end.length);
  return JSON.stringify({
    ...parsed,
    sources: parsed.sources.map((source) => pathToFileURL(path.join(root, ...source.split('/'))).href),
  });
}
