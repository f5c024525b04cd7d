/** A server as somebody types it. Knows nothing of VS Code. */

import type { FoundServer, McpServer } from '../../../config/tools/mcp/clientFile.ts';
import { ownName } from '../../../config/tools/mcp/newEntry.ts';

/** The server that a text names, or what is wrong with the text. */
export function serverOf(text: string): FoundServer | string {
  const trimmed = text.trim();
  if (trimmed === '') return 'Enter a command or a URL.';
  if (/^https?:/i.test(trimmed)) {
    if (!URL.canParse(trimmed.replaceAll(/\$\{[^}]*\}/g, 'x'))) return 'Enter a valid URL.';
    return named({ url: trimmed });
  }
  const [command = '', ...args] = wordsOf(trimmed);
  return named({ command, ...(args.length === 0 ? {} : { args }) });
}

function named(server: McpServer): FoundServer {
  return { name: ownName(server), server, notes: [] };
}

/** Words as a shell would part them; nothing else of a shell is meant. */
export function wordsOf(text: string): string[] {
  return [...text.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) =>
    word.replaceAll(
      /"([^"]*)"|'([^']*)'/g,
      (_, double: string | undefined, single: string | undefined) => double ?? single ?? '',
    ),
  );
}
