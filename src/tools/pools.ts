import type { ToolPools } from './environment.ts';
import type { McpConnections } from './mcp/connections.ts';
import { ModulePools } from './modules/pools.ts';
import type { ProcessGroups } from './processes/processGroups.ts';
import { marked } from './processes/strays.ts';

export interface ToolPoolsOptions {
  /** A folder of the worker's own, made when needed: for bundles, and where shared servers run. */
  readonly directory: string;
  /** What tools see as their environment (`allowedEnvironment`). */
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
  /** Threads per module that calls without session share at most. */
  readonly threads?: number;
  /** Heap and buffers of one thread, in MB. */
  readonly memoryMb?: number;
  /**
   * Told when a thread cannot be ended (V8 leaves the check for it out of some tight loops): it burns a core until
   * its process ends, so the worker should give its rollouts back and exit.
   */
  readonly onStuck?: (text: string) => void;
}

const THREADS = 8;
const MEMORY_MB = 512;

/** What all rollouts of a worker share. Nothing is started before it is used. */
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
  let connections: Promise<McpConnections> | undefined;
  const openConnections = async (): Promise<McpConnections> => {
    const { McpConnections: Connections } = await import('./mcp/connections.ts');
    return new Connections({ env: options.env, processGroups: options.processGroups, cwd: options.directory });
  };
  return {
    env: options.env,
    processGroups: options.processGroups,
    modules,
    connections: () => (connections ??= openConnections()),
    close: async () => {
      await Promise.all([modules.close(), connections?.then((opened) => opened.close())]);
    },
  };
}
