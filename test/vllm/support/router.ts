/** Real routers in front of an engine: the vLLM Router from PyPI, and the one of the Production Stack if it is here. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { errorText } from '../../../src/common/errors.ts';
import { freePort } from '../../support/freePort.ts';
import { until } from '../../support/until.ts';
import { SESSION_HEADER } from './door.ts';
import { kitCache, pythonOfKit } from './python.ts';

const VERSION = '0.1.17';
const INSTALL_MS = 300_000;
/** It imports much, and looks at its engines first. */
const START_MS = 120_000;

export interface RouterKind {
  /** As it is shown to people. */
  readonly name: string;
  /** Returns the program and its arguments, after installing it if necessary. */
  command(
    port: number,
    engines: readonly string[],
  ): Promise<{ program: string; args: string[]; env?: NodeJS.ProcessEnv }>;
}

/** https://github.com/vllm-project/router, which is `vllm-router` on PyPI. */
const VLLM_ROUTER: RouterKind = {
  name: 'vLLM Router',
  command: async (port, engines) => ({
    program: pythonOfKit(),
    args: [
      ...['-m', 'vllm_router.launch_router', '--host', '127.0.0.1', '--port', String(port)],
      ...['--worker-urls', ...engines, '--policy', 'consistent_hash', '--prometheus-port', String(await freePort())],
      ...['--worker-startup-check-interval', '1', '--health-check-interval-secs', '1'],
    ],
    env: { PYTHONPATH: await installed() },
  }),
};

/**
 * The router of the Production Stack is in no registry: `ROLLOUT_STACK_ROUTER` names the program, such as
 * `bin/vllm-router` of an environment into which its repository was installed.
 */
function stackRouters(): RouterKind[] {
  const program = process.env['ROLLOUT_STACK_ROUTER'];
  if (program === undefined) return [];
  const each = (value: string): string => `${value},${value}`;
  return [
    {
      name: 'router of the Production Stack',
      command: (port, engines) =>
        Promise.resolve({
          program,
          args: [
            ...['--host', '127.0.0.1', '--port', String(port), '--service-discovery', 'static'],
            ...['--static-backends', engines.join(','), '--static-models', each('desk')],
            ...['--routing-logic', 'session', '--session-key', SESSION_HEADER],
            ...['--static-backend-health-checks', '--static-model-types', each('chat')],
            ...['--max-instance-failover-reroute-attempts', '2'],
          ],
        }),
    },
  ];
}

export const ROUTERS: readonly RouterKind[] = [VLLM_ROUTER, ...stackRouters()];

/** Installs the router next to the kit's environment, once. Returns the folder of its packages. */
async function installed(): Promise<string> {
  const cache = kitCache();
  const folder = path.join(cache, `router-${VERSION}`);
  if (existsSync(folder)) return folder;
  const draft = mkdtempSync(path.join(cache, 'router-'));
  try {
    const packages = ['install', '--quiet', '--no-compile', '--target', draft, `vllm-router==${VERSION}`];
    await promisify(execFile)(pythonOfKit(), ['-m', 'pip', ...packages], { timeout: INSTALL_MS });
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // Another run was faster.
    if (existsSync(folder)) return folder;
    const lines = errorText(error).trim().split('\n');
    throw new MissingRouter(`vllm-router ${VERSION} cannot be installed: ${lines.at(-1) ?? ''}`);
  }
  return folder;
}

/** The router cannot be installed here. */
export class MissingRouter extends Error {}

export class RouterProcess {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #root: string;

  private constructor(child: ChildProcess, folder: string, root: string) {
    this.#child = child;
    this.#folder = folder;
    this.#root = root;
  }

  /** Starts a router in front of engines. */
  static async start(kind: RouterKind, engines: readonly string[]): Promise<RouterProcess> {
    const port = await freePort();
    const { program, args, env } = await kind.command(port, engines);
    const folder = mkdtempSync(path.join(kitCache(), 'run-router-'));
    const log = openSync(path.join(folder, 'log'), 'w');
    // It ends with the test, however that ends.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', program, ...args], {
      stdio: ['ignore', log, log],
      env: { ...process.env, ...env },
    });
    closeSync(log);
    const router = new RouterProcess(child, folder, `http://127.0.0.1:${port}`);
    try {
      await until('the router answers', () => router.#isReady(), START_MS);
    } catch (error) {
      const said = router.log();
      await router.stop();
      throw new Error(`${kind.name} did not start:\n${said.slice(-4_000)}`, { cause: error });
    }
    return router;
  }

  /** Base URL, including `/v1`. */
  get url(): string {
    return `${this.#root}/v1`;
  }

  log(): string {
    return readFileSync(path.join(this.#folder, 'log'), 'utf8');
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exit = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await exit;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #isReady(): Promise<boolean> {
    if (this.#child.exitCode !== null) throw new Error(`it exited with ${this.#child.exitCode}`);
    const response = await fetch(`${this.url}/models`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
    const text = await response?.text();
    return response?.ok === true && text?.includes('"desk"') === true;
  }
}
