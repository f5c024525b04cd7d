import path from 'node:path';
import type { ToolPools } from './environment.ts';
import type { McpConnections } from './mcp/connections.ts';
import { ModulePools } from './modules/pools.ts';
import type { ProcessGroups } from './processes/processGroups.ts';
import { Networks } from './sandbox/network/networks.ts';

export interface ToolPoolsOptions {
  /** Folder of the worker for bundles and shared servers; created when needed. */
  readonly directory: string;
  /** Folder that contains the working directories of its rollouts. */
  readonly work: string;
  /** Environment of tools (see `allowedEnvironment`). */
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
  /** Maximum number of threads per module for calls without a session. */
  readonly threads?: number;
  /** Memory limit of a thread (heap and buffers), in MB. */
  readonly memoryMb?: number;
  /**
   * Called if a thread cannot be terminated (V8 does not check for termination in some tight loops). It keeps a core
   * busy until the other threads of its process have ended.
   */
  readonly onStuck?: (text: string) => void;
}

const THREADS = 8;
const MEMORY_MB = 512;

/** Creates the resources that all rollouts of a worker share. Everything is started on first use. */
export function createToolPools(options: ToolPoolsOptions): ToolPools {
  const scratch = path.join(options.directory, 'sandboxes');
  const modulePools = (name: string): ModulePools =>
    new ModulePools({
      directory: path.join(options.directory, name),
      work: options.work,
      scratch,
      env: options.env,
      processGroups: options.processGroups,
      threads: options.threads ?? THREADS,
      memoryMb: options.memoryMb ?? MEMORY_MB,
      onStuck: (text) => {
        options.onStuck?.(text);
      },
    });
  const modules = modulePools('tools');
  const scorers = modulePools('scorers');
  const networks = new Networks(options.processGroups);
  let connections: Promise<McpConnections> | undefined;
  const openConnections = async (): Promise<McpConnections> => {
    const { McpConnections: Connections } = await import('./mcp/connections.ts');
    return new Connections({
      env: options.env,
      processGroups: options.processGroups,
      cwd: path.join(options.directory, 'servers'),
      scratch,
    });
  };
  return {
    env: options.env,
    processGroups: options.processGroups,
    scratch,
    modules,
    scorers,
    networks,
    connections: () => (connections ??= openConnections()),
    endRollout: async (cwd) => {
      await Promise.all([modules.endRollout(cwd), scorers.endRollout(cwd)]);
    },
    close: async () => {
      await Promise.all([
        modules.close(),
        scorers.close(),
        networks.close(),
        connections?.then((opened) => opened.close()),
      ]);
    },
  };
}
