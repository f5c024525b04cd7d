import { mkdir } from 'node:fs/promises';
import { hashOf } from '../../common/hash.ts';
import type { SubmittedSandbox } from '../../config/submission.ts';
import type { OnLog } from '../../rollout/ports.ts';
import type { ToolEnvironment } from '../environment.ts';
import type { ProcessGroups } from '../processes/processGroups.ts';
import type { McpEntry } from './connection.ts';
import { ConnectionLost, McpConnection } from './connection.ts';

interface McpConnectionsOptions {
  /** Folder for the scratch folders of sandboxes. */
  readonly scratch: string;
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
  /** Default working directory of shared stdio servers. */
  readonly cwd: string;
}

/** How long an unused shared connection is kept for the next rollout. */
const IDLE_MS = 30_000;
const ATTEMPTS = 2;

/** A server with one connection for all rollouts of a worker; reconnects if the connection is lost. */
class SharedServer {
  readonly #entry: McpEntry;
  readonly #options: McpConnectionsOptions;
  readonly #sandbox: SubmittedSandbox;
  #connection: Promise<McpConnection> | undefined;
  #users = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(entry: McpEntry, options: McpConnectionsOptions, sandbox: SubmittedSandbox) {
    this.#entry = entry;
    this.#options = options;
    this.#sandbox = sandbox;
  }

  /** Returns the connection; reconnects if it is lost. Throws as `McpConnection.open`, or ConnectionLost. */
  async connection(): Promise<McpConnection> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      // The first caller connects; the others share its promise.
      const promise = (this.#connection ??= this.#open());
      const connection = await promise.catch((error: unknown) => {
        this.#forget(promise);
        throw error;
      });
      if (connection.lossReason === undefined) return connection;
      this.#forget(promise);
      void connection.close();
    }
    throw new ConnectionLost('it exits as soon as a client connects', true);
  }

  use(): void {
    this.#users += 1;
    clearTimeout(this.#idle);
  }

  release(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#idle = setTimeout(() => {
      void this.close();
    }, IDLE_MS).unref();
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    const connection = await this.#connection?.catch(() => undefined);
    this.#connection = undefined;
    await connection?.close();
  }

  #forget(promise: Promise<McpConnection>): void {
    if (this.#connection === promise) this.#connection = undefined;
  }

  async #open(): Promise<McpConnection> {
    await mkdir(this.#options.cwd, { recursive: true });
    return McpConnection.open({
      entry: this.#entry,
      cwd: this.#options.cwd,
      env: this.#options.env,
      processGroups: this.#options.processGroups,
      scratch: this.#options.scratch,
      sandbox: this.#sandbox,
      // Output of a shared server cannot be assigned to a rollout.
      onLog: () => undefined,
    });
  }
}

/** The MCP connections of one worker. */
export class McpConnections {
  readonly #options: McpConnectionsOptions;
  readonly #shared = new Map<string, SharedServer>();
  /** Connections of single rollouts. */
  readonly #unshared = new Set<McpConnection>();

  constructor(options: McpConnectionsOptions) {
    this.#options = options;
  }

  /** Returns the shared server of an entry. The caller must call `use` and `release`. */
  shared(entry: McpEntry, sandbox: SubmittedSandbox): SharedServer {
    const key = hashOf({ server: entry.server, name: entry.name, limits: entry.limits, sandbox });
    let server = this.#shared.get(key);
    if (server === undefined) {
      server = new SharedServer(entry, this.#options, sandbox);
      this.#shared.set(key, server);
    }
    return server;
  }

  /** Opens a connection for one rollout; closed when the worker exits at the latest. */
  async open(
    entry: McpEntry,
    { cwd, sandbox, pools: { processGroups } }: Pick<ToolEnvironment, 'cwd' | 'sandbox' | 'pools'>,
    onLog: OnLog,
  ): Promise<McpConnection> {
    const connection = await McpConnection.open({
      ...{ entry, cwd, processGroups, sandbox, onLog },
      env: this.#options.env,
      scratch: this.#options.scratch,
    });
    this.#unshared.add(connection);
    return connection;
  }

  async end(connection: McpConnection): Promise<void> {
    this.#unshared.delete(connection);
    await connection.close();
  }

  async close(): Promise<void> {
    await Promise.all([
      ...[...this.#shared.values()].map((server) => server.close()),
      ...[...this.#unshared].map((connection) => this.end(connection)),
    ]);
  }
}
