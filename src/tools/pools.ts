import path from 'node:path';
import type { Closing, ToolPools } from './environment.ts';
import type { McpConnections } from './mcp/connections.ts';
import { ModulePools } from './modules/pools.ts';
import type { ProcessGroups, ToolServer } from './processes/processGroups.ts';
import { Networks } from './sandbox/network/networks.ts';

/** Where processes of tools run. */
interface Place {
  /** Folder for bundles and shared servers; created when needed. */
  readonly directory: string;
  /** Environment of tools (see `allowedEnvironment`). */
  readonly env: Readonly<Record<string, string>>;
  readonly processGroups: ProcessGroups;
}

/** A container other than that of the worker. */
export interface ToolContainer {
  readonly server: ToolServer;
  /** Folder for bundles and shared servers, at the same path in both containers. */
  readonly directory: string;
}

export interface ToolPoolsOptions extends Place {
  /** Folder that contains the working directories of its rollouts. */
  readonly work: string;
  /** The container in which programs and modules run, other than scorers. Default: they run here. */
  readonly container?: ToolContainer | undefined;
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
  const { directory, env, processGroups } = placeOf(options);
  const modulePools = (place: Place, name: string): ModulePools =>
    new ModulePools({
      ...place,
      directory: path.join(place.directory, name),
      work: options.work,
      scratch,
      threads: options.threads ?? THREADS,
      memoryMb: options.memoryMb ?? MEMORY_MB,
      onStuck: (text) => {
        options.onStuck?.(text);
      },
    });
  const modules = modulePools({ directory, env, processGroups }, 'tools');
  const scorers = modulePools(options, 'scorers');
  const networks = new Networks(options.processGroups);
  let connections: Promise<McpConnections> | undefined;
  const openConnections = async (): Promise<McpConnections> => {
    const { McpConnections: Connections } = await import('./mcp/connections.ts');
    return new Connections({ env, processGroups, cwd: path.join(directory, 'servers'), scratch });
  };
  const others = new Map<unknown, Closing>();
  const pools: ToolPools = {
    env,
    processGroups,
    directory,
    scratch,
    modules,
    scorers,
    networks,
    only: <T extends Closing>(create: new (pools: ToolPools) => T): T => {
      const known = others.get(create);
      if (known instanceof create) return known;
      const created = new create(pools);
      others.set(create, created);
      return created;
    },
    connections: () => (connections ??= openConnections()),
    endRollout: async (cwd) => {
      await Promise.all([modules.endRollout(cwd), scorers.endRollout(cwd)]);
      await processGroups.toolServer?.clear(cwd);
    },
    close: async () => {
      await Promise.all([
        modules.close(),
        scorers.close(),
        networks.close(),
        ...Array.from(others.values(), (other) => other.close()),
        connections?.then((opened) => opened.close()),
      ]);
    },
  };
  return pools;
}

/** Returns where programs and modules of tools run. */
function placeOf({ directory, env, processGroups, container }: ToolPoolsOptions): Place {
  if (container === undefined) return { directory, env, processGroups };
  const { HOME: _home, TMPDIR: _temporary, ...shared } = env; // the other container has its own
  return {
    directory: container.directory,
    env: shared,
    processGroups: {
      owner: processGroups.owner,
      toolServer: container.server,
      add: (pid) => processGroups.add(pid),
      remove: (pid) => processGroups.remove(pid),
    },
  };
}
