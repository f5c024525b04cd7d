/** Lists the tools of an MCP server without a rollout. */
import type { Tool } from '@modelcontextprotocol/client';
import { DEFAULT_SANDBOX } from '../../config/submission.ts';
import { ownGroups } from '../processes/ownGroups.ts';
import { RolloutProcesses } from '../processes/processGroups.ts';
import { McpConnection, type McpEntry } from './connection.ts';

/** Lists the tools of a server. `cwd`: working directory of a stdio server. Throws as `McpConnection.open`. */
export async function listMcpTools(
  server: McpEntry['server'],
  cwd: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<readonly Tool[]> {
  const processes = new RolloutProcesses(ownGroups());
  try {
    const connection = await McpConnection.open(
      {
        entry: { kind: 'mcp', name: 'tools', server, shared: false, position: { file: '', line: 1, column: 1 } },
        cwd,
        env,
        processGroups: processes,
        scratch: cwd, // unused without a sandbox
        // No model calls them, and the server may install itself, which a sandbox would forget.
        sandbox: { ...DEFAULT_SANDBOX, mode: 'off' },
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
