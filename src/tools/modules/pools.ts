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

interface ModulePoolsOptions {
  /** Folder where bundles are written for threads to load. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** Maximum number of threads per module for calls without a session. */
  readonly threads: number;
  /** Memory limit of a thread (heap and buffers). */
  readonly memoryMb: number;
  /** Called if a thread cannot be terminated. */
  onStuck(text: string): void;
}

/** The modules of one worker, each loaded on first use. */
export class ModulePools {
  readonly #options: ModulePoolsOptions;
  readonly #watch: MemoryWatch;
  /** Uses only half of the cores for starts: short sessions soon return threads for reuse. */
  readonly #starts = new Starts(Math.max(1, Math.floor(availableParallelism() / 2)));
  readonly #pools = new Map<string, Promise<ModulePool>>();
  /** Threads that have not exited, including those that no longer belong to a pool. */
  readonly #living = new Set<Promise<void>>();

  constructor(options: ModulePoolsOptions) {
    this.#options = options;
    this.#watch = new MemoryWatch(options.memoryMb * 1024 * 1024);
  }

  /** Returns the pool of a module. `readBlob` is called once per module. */
  get(module: SubmittedModule, readBlob: (sha: string) => Promise<Uint8Array>): Promise<ModulePool> {
    const key = `${module.file}\n${module.bundle}`;
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      pool = this.#open(module, readBlob);
      this.#pools.set(key, pool);
      // The next rollout may succeed: a blob that could not be read is not the module's fault.
      pool.catch(() => this.#pools.delete(key));
    }
    return pool;
  }

  /** Ends all threads and waits for them. Never resolves if a thread is blocked forever. */
  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#pools.values());
    const pools = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    await Promise.all(pools.map((pool) => pool.close()));
    await Promise.all(this.#living);
  }

  async #open(module: SubmittedModule, readBlob: (sha: string) => Promise<Uint8Array>): Promise<ModulePool> {
    const [code, map] = await Promise.all([readBlob(module.bundle), readBlob(module.map)]);
    if (createHash('sha256').update(code).digest('hex') !== module.bundle)
      throw new StudioError('storage', `The bundle ${module.bundle} is corrupted: its hash does not match.`);
    const file = await this.#write(
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
      writeMap: async () => {
        await this.#write(`${module.bundle}.mjs.map`, Buffer.from(mapForDebugger(map, module)));
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

  /** Writes a file of a module, named by the hash of its bundle. Several workers may do this concurrently. */
  async #write(name: string, bytes: Uint8Array): Promise<string> {
    const file = path.join(this.#options.directory, name);
    const existing = await stat(file).catch(() => undefined);
    if (existing?.size === bytes.length) return file;
    await mkdir(this.#options.directory, { recursive: true });
    const temporary = `${file}.${randomUUID()}`;
    await writeFile(temporary, bytes);
    await rename(temporary, file);
    return file;
  }
}

/** Returns the source map with sources at their original locations on submission. */
function mapForDebugger(map: Uint8Array, { file, path: from }: SubmittedModule): string {
  const parsed = JSON.parse(Buffer.from(map).toString()) as { readonly sources: readonly string[] };
  const end = path.sep + file.split('/').join(path.sep);
  if (from?.endsWith(end) !== true) return JSON.stringify(parsed);
  const root = from.slice(0, -end.length);
  return JSON.stringify({
    ...parsed,
    sources: parsed.sources.map((source) => pathToFileURL(path.join(root, ...source.split('/'))).href),
  });
}
