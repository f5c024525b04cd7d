/** Parses an MCP server that the user enters. Does not depend on VS Code. */

import type { FoundServer, McpServer } from '../../../config/tools/mcp/clientFile.ts';
import { ownName } from '../../../config/tools/mcp/newEntry.ts';

/** Returns the server in a text, or an error message. */
export function parseServer(text: string): FoundServer | string {
  const trimmed = text.trim();
  if (trimmed === '') return 'Enter a command or a URL.';
  if (/^https?:/i.test(trimmed)) {
    if (!URL.canParse(trimmed.replaceAll(/\$\{[^}]*\}/g, 'x'))) return 'Enter a valid URL.';
    return nameServer({ url: trimmed });
  }
  const [command = '', ...args] = splitWords(trimmed);
  return nameServer({ command, ...(args.length === 0 ? {} : { args }) });
}

function nameServer(server: McpServer): FoundServer {
  return { name: ownName(server), server, notes: [] };
}

/** Splits words like a shell, without other shell features. */
export function splitWords(text: string): string[] {
  return [...text.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) =>
    word.replaceAll(
      /"([^"]*)"|'([^']*)'/g,
      (_, double: string | undefined, single: string | undefined) => double ?? single ?? '',
    ),
  );
}
