import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { programsFolder } from '../../../common/entries.ts';
import type { SubmittedSandbox } from '../../../config/submission.ts';
import type { ProcessGroups } from '../../processes/processGroups.ts';
import { interpreterFolders, scratchIn } from '../../sandbox/folders.ts';
import { openSandbox } from '../../sandbox/open.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { ModuleProcess } from './moduleProcess.ts';

interface ModuleProcessesOptions {
  /** Folder of bundles; its subfolder `compiled` is the compile cache. */
  readonly directory: string;
  readonly work: string;
  readonly scratch: string;
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
}

/** The processes that run the modules of a worker: one for all rollouts with the same sandbox, or for each of them. */
export class ModuleProcesses {
  readonly #options: ModuleProcessesOptions;
  /** By sandbox and scope. */
  readonly #current = new Map<string, { readonly process: ModuleProcess; readonly scope: string }>();
  readonly #all = new Set<ModuleProcess>();

  constructor(options: ModuleProcessesOptions) {
    this.#options = options;
  }

  /**
   * Returns the process for a new thread. Starts it if there is none. `scope`: the working directory of the rollout
   * that it belongs to; '': all rollouts.
   */
  get(sandbox: SubmittedSandbox, scope: string): ModuleProcess {
    const key = JSON.stringify([sandbox, scope]);
    const current = this.#current.get(key);
    if (current?.process.retired === false) return current.process;
    const process = this.#start(sandbox, scope);
    this.#current.set(key, { process, scope });
    return process;
  }

  /** Whether any of them runs in a sandbox. */
  get sandboxed(): boolean {
    return [...this.#all].some((process) => process.sandboxed);
  }

  /** Ends the processes that belong to a rollout. */
  async endRollout(scope: string): Promise<void> {
    for (const [key, current] of this.#current) {
      if (current.scope !== scope) continue;
      this.#current.delete(key);
      await current.process.close();
    }
  }

  async endProcesses(owner: string): Promise<void> {
    await Promise.all([...this.#all].map((process) => process.endProcesses(owner)));
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((process) => process.close()));
  }

  #start(sandbox: SubmittedSandbox, scope: string): ModuleProcess {
    const { directory, env, processGroups } = this.#options;
    const process = new ModuleProcess({
      cwd: directory,
      env,
      processGroups,
      openSandbox: () => this.#openSandbox(sandbox, scope),
    });
    this.#all.add(process);
    void process.ended.then(() => this.#all.delete(process));
    return process;
  }

  async #openSandbox(sandbox: SubmittedSandbox, scope: string): Promise<Sandbox | undefined> {
    const { directory, work, scratch, env, processGroups } = this.#options;
    const compiled = path.join(directory, 'compiled');
    await mkdir(directory, { recursive: true, mode: 0o750 });
    await mkdir(compiled, { recursive: true, mode: processGroups.toolServer === undefined ? 0o700 : 0o770 });
    const view = {
      read: [...interpreterFolders(env), fileURLToPath(programsFolder()), directory, ...sandbox.read],
      write: [scope === '' ? work : scope, compiled, ...sandbox.write],
      own: scope === '' ? [] : [scope],
      hide: sandbox.hide,
      caches: [],
      scratch: scratchIn(scratch),
      network: sandbox.network !== false,
    };
    return openSandbox(sandbox, view, processGroups);
  }
}
