import { mcpName } from '../../load/tools.ts';
import type { NewEntry } from './addEntry.ts';
import type { McpServer } from './clientFile.ts';

/** Returns the default display name of a server. */
export function ownName(server: McpServer): string {
  return mcpName({
    mcp: 'url' in server ? { url: server.url } : { command: server.command, args: [...(server.args ?? [])] },
  });
}

/** Returns the entry for a server with this name. `tools`: the tools to use. */
export function newEntry(name: string | undefined, server: McpServer, tools?: readonly string[]): NewEntry {
  // The name is omitted if it is the default.
  return {
    mcp: server,
    ...(name === undefined || name === ownName(server) ? {} : { name }),
    ...(tools === undefined ? {} : { tools }),
  };
}
