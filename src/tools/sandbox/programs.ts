/** The programs of one rollout's tools, in the rollout's sandbox if there is one. */
import type { ToolEnvironment } from '../environment.ts';
import { type ProcessRequest, type ProcessResult, runProcess } from '../processes/runProcess.ts';
import { interpreterFolders, scratchIn } from './folders.ts';
import { openSandbox } from './open.ts';
import type { Sandbox } from './sandbox.ts';

export class Programs {
  readonly #environment: ToolEnvironment;
  #sandbox: Promise<Sandbox | undefined> | undefined;

  /** The sandbox opens with the first program. */
  constructor(environment: ToolEnvironment) {
    this.#environment = environment;
  }

  /**
   * Runs a program in the working directory, with the environment of tools. Throws as `runProcess` and `openSandbox`.
   */
  async run(
    request: Omit<ProcessRequest, 'cwd' | 'env' | 'processGroups' | 'sandbox'> & Partial<Pick<ProcessRequest, 'env'>>,
  ): Promise<ProcessResult> {
    const { cwd, pools } = this.#environment;
    const { env, processGroups } = pools;
    this.#sandbox ??= this.#open();
    const sandbox = await this.#sandbox;
    return await runProcess({ ...request, cwd, env: { ...env, ...request.env }, processGroups, sandbox });
  }

  async end(): Promise<void> {
    const sandbox = await this.#sandbox?.catch(() => undefined);
    await sandbox?.end();
  }

  #open(): Promise<Sandbox | undefined> {
    const { cwd, sandbox, pools } = this.#environment;
    const { allow = [] } = sandbox;
    const view = {
      read: [...interpreterFolders(pools.env), ...sandbox.read],
      write: [cwd, ...sandbox.write],
      own: [cwd],
      hide: sandbox.hide,
      caches: [],
      scratch: scratchIn(pools.scratch),
      network: sandbox.network === 'filtered' ? { allow, open: () => pools.networks.open(allow) } : sandbox.network,
    };
    return openSandbox(sandbox, view, pools.processGroups);
  }
}
