import { createHash, randomUUID } from 'node:crypto';
import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { StudioError } from '../../common/errors.ts';
import type { SubmittedModule } from '../../config/submission.ts';
import type { ToolEnvironment } from '../environment.ts';
import type { ProcessGroups } from '../processes/processGroups.ts';
import { marked } from '../processes/strays.ts';
import { ModulePool } from './modulePool.ts';
import { ModuleProcesses } from './process/moduleProcesses.ts';
import { Starts } from './starts.ts';
import { StackMapper } from './userStack.ts';

interface ModulePoolsOptions {
  /** Folder where bundles are written for threads to load. */
  readonly directory: string;
  /** Folder that contains the working directories of rollouts. */
  readonly work: string;
  readonly scratch: string;
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
  /** Maximum number of threads per module for calls without a session. */
  readonly threads: number;
  /** Memory limit of a thread (heap and buffers). */
  readonly memoryMb: number;
  /** Called if a thread cannot be terminated. */
  onStuck(text: string): void;
}

/** What modules need to know about the rollout that uses them. */
export type ModuleEnvironment = Pick<ToolEnvironment, 'cwd' | 'sandbox' | 'readBlob'>;

/** The modules of one worker, each loaded on first use. */
export class ModulePools {
  readonly #options: ModulePoolsOptions;
  /** Uses only half of the cores for starts: short sessions soon return threads for reuse. */
  readonly #starts = new Starts(Math.max(1, Math.floor(availableParallelism() / 2)));
  readonly #pools = new Map<string, { readonly pool: Promise<ModulePool>; readonly scope: string }>();
  readonly #processes: ModuleProcesses;

  constructor(options: ModulePoolsOptions) {
    this.#options = options;
    this.#processes = new ModuleProcesses(options);
  }

  /** Returns the pool of a module. `readBlob` is called once per module. */
  get(module: SubmittedModule, environment: ModuleEnvironment): Promise<ModulePool> {
    const scope = scopeOf(environment);
    const key = JSON.stringify([module.file, module.bundle, environment.sandbox, scope]);
    const opened = this.#pools.get(key);
    if (opened !== undefined) return opened.pool;
    const pool = this.#open(module, environment);
    this.#pools.set(key, { pool, scope });
    // The next rollout may succeed: a blob that could not be read is not the module's fault.
    pool.catch(() => this.#pools.delete(key));
    return pool;
  }

  /** Ends the processes that only the rollout with this working directory has. */
  async endRollout(cwd: string): Promise<void> {
    for (const [key, { scope }] of this.#pools) if (scope === cwd) this.#pools.delete(key);
    await this.#processes.endRollout(cwd);
  }

  /** Ends all threads and processes. */
  async close(): Promise<void> {
    const opened = await Promise.allSettled([...this.#pools.values()].map(({ pool }) => pool));
    const pools = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    await Promise.all([...pools.map((pool) => pool.close()), this.#processes.close()]);
  }

  async #open(module: SubmittedModule, { readBlob, ...environment }: ModuleEnvironment): Promise<ModulePool> {
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
      env: marked(this.#options.env, this.#options.processGroups.owner),
      threads: this.#options.threads,
      memoryMb: this.#options.memoryMb,
      sandbox: environment.sandbox,
      isSandboxed: () => this.#processes.sandboxed,
      process: () => this.#processes.get(environment.sandbox, scopeOf(environment)),
      endProcesses: (owner) => this.#processes.endProcesses(owner),
      starts: this.#starts,
      writeMap: async () => {
        await this.#write(`${module.bundle}.mjs.map`, Buffer.from(mapForDebugger(map, module)));
      },
      onStuck: (text) => {
        this.#options.onStuck(text);
      },
    });
  }

  /** Writes a file of a module, named by the hash of its bundle. Several workers may do this concurrently. */
  async #write(name: string, bytes: Uint8Array): Promise<string> {
    const file = path.join(this.#options.directory, name);
    const existing = await stat(file).catch(() => undefined);
    if (existing?.size === bytes.length) return file;
    await mkdir(this.#options.directory, { recursive: true, mode: 0o750 });
    const temporary = `${file}.${randomUUID()}`;
    await writeFile(temporary, bytes, { mode: 0o640 });
    await rename(temporary, file);
    return file;
  }
}

/** Returns the working directory whose rollout has processes of its own; '' if all rollouts share them. */
function scopeOf({ cwd, sandbox }: Pick<ModuleEnvironment, 'cwd' | 'sandbox'>): string {
  return sandbox.modules === 'separate' ? cwd : '';
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
