import { mcpName } from '../../load/agent.ts';
import type { NewEntry } from './addEntry.ts';
import type { McpServer } from './clientFile.ts';

/** The name that a server is shown under when none is told. */
export function ownName(server: McpServer): string {
  return mcpName({
    mcp: 'url' in server ? { url: server.url } : { command: server.command, args: [...(server.args ?? [])] },
  });
}

/** The entry of a server under this name; `tools`: only these of its tools. */
export function newEntry(name: string | undefined, server: McpServer, tools?: readonly string[]): NewEntry {
  // Where its own command says the same, nothing needs to be said.
  return {
    mcp: server,
    ...(name === undefined || name === ownName(server) ? {} : { name }),
    ...(tools === undefined ? {} : { tools }),
  };
}
