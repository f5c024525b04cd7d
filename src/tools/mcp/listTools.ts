/** What an MCP server says of its tools, asked once, without a rollout. */
import type { Tool } from '@modelcontextprotocol/client';
import { type ProcessGroups, RolloutProcesses } from '../processes/processGroups.ts';
import { killTree } from '../processes/processTree.ts';
import { newOwner } from '../processes/strays.ts';
import { McpConnection, type McpEntry } from './connection.ts';

/** Without a worker's reaper: what is still there when this process ends is ended by itself. */
class OwnGroups implements ProcessGroups {
  readonly owner = newOwner();
  readonly #groups = new Set<number>();

  constructor() {
    process.once('exit', () => {
      for (const pid of this.#groups) killTree(pid);
    });
  }

  add(pid: number): void {
    this.#groups.add(pid);
  }

  remove(pid: number): void {
    this.#groups.delete(pid);
  }
}

let groups: OwnGroups | undefined;

/** `cwd`: where a server on stdio runs. Throws as `McpConnection.open`. */
export async function listMcpTools(
  server: McpEntry['server'],
  cwd: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly Tool[]> {
  const processes = new RolloutProcesses((groups ??= new OwnGroups()));
  try {
    const connection = await McpConnection.open(
      {
        entry: { kind: 'mcp', name: 'tools', server, shared: false, position: { file: '', line: 1, column: 1 } },
        cwd,
        env,
        processGroups: processes,
        onLog: () => undefined,
      },
      signal,
    );
    await connection.close();
    return connection.tools;
  } finally {
    await processes.end();
  }
}
