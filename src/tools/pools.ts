import type { ToolPools } from './environment.ts';
import type { McpConnections } from './mcp/connections.ts';
import { ModulePools } from './modules/pools.ts';
import type { ProcessGroups } from './processes/processGroups.ts';
import { marked } from './processes/strays.ts';
import { Networks } from './sandbox/network/networks.ts';

export interface ToolPoolsOptions {
  /** Folder of the worker for bundles and shared servers; created when needed. */
  readonly directory: string;
  /** Environment of tools (see `allowedEnvironment`). */
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
  /** Maximum number of threads per module for calls without a session. */
  readonly threads?: number;
  /** Memory limit of a thread (heap and buffers), in MB. */
  readonly memoryMb?: number;
  /**
   * Called if a thread cannot be terminated (V8 does not check for termination in some tight loops). It keeps a core
   * busy until its process exits, so the worker should return its rollouts and exit.
   */
  readonly onStuck?: (text: string) => void;
}

const THREADS = 8;
const MEMORY_MB = 512;

/** Creates the resources that all rollouts of a worker share. Everything is started on first use. */
export function createToolPools(options: ToolPoolsOptions): ToolPools {
  const modules = new ModulePools({
    directory: options.directory,
    env: marked(options.env, options.processGroups.owner),
    threads: options.threads ?? THREADS,
    memoryMb: options.memoryMb ?? MEMORY_MB,
    onStuck: (text) => {
      options.onStuck?.(text);
    },
  });
  const networks = new Networks(options.processGroups);
  let connections: Promise<McpConnections> | undefined;
  const openConnections = async (): Promise<McpConnections> => {
    const { McpConnections: Connections } = await import('./mcp/connections.ts');
    return new Connections({ env: options.env, processGroups: options.processGroups, cwd: options.directory });
  };
  return {
    env: options.env,
    processGroups: options.processGroups,
    modules,
    networks,
    connections: () => (connections ??= openConnections()),
    close: async () => {
      await Promise.all([modules.close(), networks.close(), connections?.then((opened) => opened.close())]);
    },
  };
}
