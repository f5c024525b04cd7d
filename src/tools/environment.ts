import type { ProcessLimits } from '../config/schema/processLimits.ts';
import type { SubmittedSandbox } from '../config/submission.ts';
import type { McpConnections } from './mcp/connections.ts';
import type { ModulePools } from './modules/pools.ts';
import type { ProcessGroups } from './processes/processGroups.ts';
import type { Networks } from './sandbox/network/networks.ts';

/** The environment of the tools of one rollout. */
export interface ToolEnvironment {
  /** Absolute path of the working directory, which exists and belongs only to this rollout. */
  readonly cwd: string;
  /** Reads a blob of the submission (a bundle or its source map). */
  readBlob(sha: string, signal?: AbortSignal): Promise<Uint8Array>;
  /** Shared by all rollouts of the worker. */
  readonly pools: ToolPools;
  /** Limits of each process that the tools of an entry start. */
  readonly limits?: ProcessLimits | undefined;
  /** Where programs run. */
  readonly sandbox: SubmittedSandbox;
  /**
   * Receives output outside of any call: while a module loads, or a world opens or is verified. Default: added to the
   * log of the next call.
   */
  onLog?(stream: 'out' | 'err', text: string): void;
}

/** Resources that all rollouts of a worker share; closed when the worker exits. */
export interface ToolPools {
  /** Environment variables of tools, their threads, and their processes; nothing else is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
  /** Folder for files that programs of several rollouts read, at the same path where they run. */
  readonly directory: string;
  /** Folder for the scratch folders of sandboxes, which no sandbox shows. */
  readonly scratch: string;
  readonly modules: ModulePools;
  /** Filtered networks of programs. */
  readonly networks: Pick<Networks, 'open'>;
  /** Modules whose functions score. They have processes of their own, which tools cannot reach. */
  readonly scorers: ModulePools;
  /** Returns the only resource of its kind, which is created on first use, and closes with the pools. */
  only<T extends Closing>(create: new (pools: ToolPools) => T): T;
  /** Loads the code of MCP connections on first use. */
  connections(): Promise<McpConnections>;
  /** Ends what belongs only to the rollout with this working directory. */
  endRollout(cwd: string): Promise<void>;
  /** Ends every thread, connection and process. */
  close(): Promise<void>;
}

/** A resource that ends with the pools. */
export interface Closing {
  close(): Promise<void>;
}
