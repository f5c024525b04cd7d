/** State that the tools share: the server connection, the workspace folder, and cached trajectories. */

import type { LoadModules } from '../client/commands/checkDisk.ts';
import type { Connection } from '../client/connect.ts';
import { nodeTransport } from '../client/nodeTransport.ts';
import { StudioError } from '../common/errors.ts';
import { Api } from '../protocol/api.ts';
import { Trajectories } from './reading/trajectories.ts';

export interface SessionOptions {
  /** Attaches to the store's server, or starts it. */
  readonly connect: () => Promise<Connection>;
  /** The value of --target. */
  readonly target?: string | undefined;
  /** The workspace folder, which files must be in. */
  readonly folder: string;
  /** Values for `${env:…}`. */
  readonly env: NodeJS.ProcessEnv;
  /** Loads modules for `check_files`. */
  readonly loadModules: LoadModules;
  /** Allows no changes: uses only the read-only token. */
  readonly readOnly: boolean;
  /** Number of attempts that the agent may launch without asking a person. */
  readonly maxAttempts: number;
}

export class Session {
  readonly target: string | undefined;
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly readOnly: boolean;
  readonly loadModules: LoadModules;
  readonly maxAttempts: number;
  readonly trajectories = new Trajectories();
  /** Batches that the agent launched, which it may stop and resume without asking. */
  readonly ownBatches = new Set<string>();
  /** Number of attempts that the agent launched or is launching. */
  launched = 0;
  readonly #connect: () => Promise<Connection>;
  #connection: Promise<Connection> | undefined;

  constructor(options: SessionOptions) {
    this.target = options.target;
    this.folder = options.folder;
    this.env = options.env;
    this.readOnly = options.readOnly;
    this.maxAttempts = options.maxAttempts;
    this.loadModules = options.loadModules;
    this.#connect = options.connect;
  }

  /** Returns the connection. Connects on first use, and reconnects if the server stopped. */
  async connection(signal?: AbortSignal): Promise<Connection> {
    this.#connection ??= this.#open();
    const connection = await this.#connection;
    try {
      await connection.api.server(signal);
    } catch (error) {
      if (!StudioError.is(error, 'unavailable') && !StudioError.is(error, 'unauthorized')) throw error;
      await connection.reconnect(signal);
    }
    return connection;
  }

  async #open(): Promise<Connection> {
    try {
      const connection = await this.#connect();
      return this.readOnly ? readingOnly(connection) : connection;
    } catch (error) {
      this.#connection = undefined; // the next call retries
      throw error;
    }
  }
}

function readingOnly(connection: Connection): Connection {
  const address: Connection['address'] = () => connection.readAddress();
  return { ...connection, api: new Api(nodeTransport(address)), address };
}
