/** A VS Code server of the test: its data, its extensions, its sockets, and the rollout store of its user. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { defaultStore } from '../../../src/client/folders.ts';
import { readServerFile } from '../../../src/client/serverFile.ts';
import type { ServerFile } from '../../../src/protocol/serverFile.ts';
import { end } from '../../support/cli.ts';
import { installCodeServer } from './server/install.ts';
import { QUIET_SETTINGS } from './server/settings.ts';
import { linkExtension } from './server/sharedExtension.ts';

const START_MS = 60_000;
/** These would change how a server starts: its options, its role, its parent process. */
const NOT_INHERITED = ['NODE_OPTIONS', 'CODE_SERVER_PARENT_PID', 'NODE_TEST_CONTEXT'];

export interface CodeServerOptions {
  /** Extension files to install first. */
  readonly extensions: readonly string[];
  /** An extension file that was installed once for all servers. */
  readonly shared?: string;
  /** Whether every folder is trusted without a prompt. */
  readonly trusted: boolean;
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

export class CodeServer {
  /** Holds everything of this server and is removed with it. */
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly #main: string;
  readonly #directories: readonly string[];
  #child: ChildProcess | undefined;
  #port = 0;
  #log = '';

  private constructor(folder: string, server: string, options: CodeServerOptions) {
    this.folder = folder;
    this.#main = path.join(server, 'out', 'server-main.js');
    const [user, extensions, run, home] = ['user', 'extensions', 'run', 'home'].map((name) =>
      path.join(folder, name),
    ) as [string, string, string, string];
    for (const place of [path.join(user, 'User'), extensions, home]) mkdirSync(place, { recursive: true });
    mkdirSync(run, { mode: 0o700 });
    writeFileSync(
      path.join(user, 'User', 'settings.json'),
      JSON.stringify({ ...QUIET_SETTINGS, ...options.settings }, null, 2),
    );
    this.#directories = ['--server-data-dir', folder, '--user-data-dir', user, '--extensions-dir', extensions];
    this.env = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !NOT_INHERITED.includes(name))),
      EXTENSIONS_GALLERY: '{}', // code-server's switch: no gallery, so no look-ups
      TMPDIR: run,
      XDG_RUNTIME_DIR: run, // sockets are left there
      HOME: home,
      XDG_DATA_HOME: home, // the rollout store of this user
      ...options.env,
    };
  }

  static async start(options: CodeServerOptions): Promise<CodeServer> {
    const server = await installCodeServer();
    // Short: the path of a socket below it has at most 107 bytes.
    const made = new CodeServer(mkdtempSync(path.join(os.tmpdir(), 'rvs-')), server, options);
    try {
      if (options.shared !== undefined)
        await linkExtension(made.#main, options.shared, path.join(made.folder, 'extensions'));
      await made.#listen(options);
      return made;
    } catch (error) {
      await made.close();
      throw error;
    }
  }

  /** The store that the extension uses by default. */
  get store(): string {
    // The variables that dataFolder reads, where the server runs.
    return process.platform === 'darwin'
      ? path.join(this.folder, 'home', 'Library', 'Application Support', 'rollout-studio', 'store')
      : defaultStore(this.env);
  }

  /** The `server.json` that the store's rollout server wrote for its clients; undefined when none was ever started. */
  get rolloutServer(): ServerFile | undefined {
    return readServerFile(this.store);
  }

  /** The VS Code server's output. */
  get log(): string {
    return this.#log;
  }

  /** The URL of a page with this folder. */
  url(folder: string, file?: string): string {
    const authority = `127.0.0.1:${this.#port}`;
    const url = new URL(`http://${authority}/`);
    url.searchParams.set('folder', folder);
    const payload = [
      ['skipWelcome', 'true'],
      ['skipReleaseNotes', 'true'],
      ...(file === undefined ? [] : [['openFile', `vscode-remote://${authority}${file}`]]),
    ];
    url.searchParams.set('payload', JSON.stringify(payload));
    return url.href;
  }

  /** The folder of the installed extension. */
  extensionFolder(name: string): string {
    const extensions = path.join(this.folder, 'extensions');
    const found = readdirSync(extensions).find((entry) => entry.startsWith(`${name}-`));
    if (found === undefined)
      throw new Error(`${name} is not installed: there is ${readdirSync(extensions).join(', ')}`);
    return path.join(extensions, found);
  }

  /** The logs of the extension hosts and of the extension itself. */
  hostLogs(): string {
    const logs = globSync('user/logs/**/*.log', { cwd: this.folder }).filter((file) =>
      /remoteexthost\.log$|rollout-studio/.test(file),
    );
    return logs
      .map((file) => `── ${path.basename(file)}\n${readFileSync(path.join(this.folder, file), 'utf8')}`)
      .join('\n');
  }

  /** Ends the server and everything it started, including the rollout server, and removes its folder. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      process.kill(-child.pid, 'SIGKILL');
      await exited;
    }
    const rollouts = this.rolloutServer;
    if (rollouts !== undefined) await end(rollouts.pid);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
  }

  /** Resolves once the server listens and has installed the extensions: a page that opens earlier lacks them. */
  async #listen({ extensions, trusted }: CodeServerOptions): Promise<void> {
    const args = [
      this.#main,
      '--host',
      '127.0.0.1',
      '--port',
      '0',
      '--without-connection-token',
      '--accept-server-license-terms',
      '--disable-telemetry',
      '--disable-update-check',
      '--disable-getting-started-override',
      '--reconnection-grace-time',
      '10',
      ...(trusted ? ['--disable-workspace-trust'] : []),
      '--start-server', // does not end after the installation
      ...extensions.flatMap((extension) => ['--install-extension', extension]),
      '--force',
      ...this.#directories,
    ];
    // In its own process group: its hosts end with it.
    const child = spawn(process.execPath, args, { env: this.env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    this.#child = child;
    this.#port = await new Promise<number>((resolve, reject) => {
      const fail = (what: string): void => {
        clearTimeout(timer);
        reject(new Error(`${what}\n${this.#log}`));
      };
      const timer = setTimeout(() => fail(`no VS Code server after ${START_MS} ms`), START_MS);
      const hear = (chunk: Buffer): void => {
        this.#log += chunk.toString();
        if (this.#log.includes('Failed Installing Extensions')) fail('an extension was not installed');
        const port = /Extension host agent listening on (\d+)/.exec(this.#log)?.[1];
        const installed = this.#log.match(/' was successfully installed/g)?.length ?? 0;
        if (port === undefined || installed < extensions.length) return;
        clearTimeout(timer);
        resolve(Number(port));
      };
      child.stdout.on('data', hear);
      child.stderr.on('data', hear);
      child.once('error', reject);
      child.once('exit', (code) => fail(`the VS Code server ended with ${String(code)}`));
    });
  }
}
