/** Checks of entries in `tools:` of an agent or a world. */
import { basename } from '../paths.ts';
import type { ToolEntry } from '../schema/toolEntry.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import { describeValue, pathText } from '../source/validate.ts';
import { checkModels } from './model.ts';
import type { Reading } from './reading.ts';

export const MODULE_ENDINGS = ['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.jsx'] as const;

/** Checks entries of the list at `list`: the modules that they name, their URLs, and that none is listed twice. */
export async function checkTools(
  reading: Reading,
  parsed: ParsedFile,
  list: Path,
  tools: readonly (ToolEntry | undefined)[],
): Promise<void> {
  const seen = new Map<string, number>();
  const checkUnique = (what: string, index: number, at: Path, hint: string): void => {
    const first = seen.get(what);
    if (first === undefined) seen.set(what, index);
    else
      reading.report(parsed, at, {
        code: 'conflict',
        message: `${what} is listed twice in \`${pathText(list)}\``,
        hint,
      });
  };
  for (const [index, entry] of tools.entries()) {
    if (entry === undefined) continue;
    const at: Path = [...list, index];
    if (entry.module !== undefined) {
      await reading.locate(parsed, [...at, 'module'], entry.module, MODULE_ENDINGS);
      checkModels(reading, parsed, [...at, 'models'], entry.models);
      checkUnique(`the module \`${entry.module}\``, index, [...at, 'module'], 'Remove one of them.');
    } else if (entry.mcp !== undefined) {
      const { url } = entry.mcp;
      if (url !== undefined && !url.includes('${env:') && !/^https?:\/\/[^\s/]+/.test(url)) {
        reading.report(parsed, [...at, 'mcp', 'url'], {
          code: 'value',
          message: `\`${pathText([...at, 'mcp', 'url'])}\` must be a URL, not ${describeValue(url)}`,
          hint: 'For example, write `http://localhost:3000/mcp`.',
        });
      }
      checkUnique(`an MCP server \`${mcpName(entry)}\``, index, at, 'Add a unique `name:` to each.');
    }
    entry.builtin?.forEach((name, position) =>
      checkUnique(`the built-in \`${name}\``, index, [...at, 'builtin', position], 'Remove one of them.'),
    );
  }
}

/** Programs that only start the program named by their first plain argument. */
const RUNNERS = /^(npx|bunx|pnpx|uvx|uv|pipx|node|deno|bun|python3?|docker)(\.exe|\.cmd)?$/i;

/** Returns the display name of an MCP server: its `name`, or one derived from its command or URL. */
export function mcpName(entry: ToolEntry): string {
  if (entry.name !== undefined) return entry.name;
  const { command, args = [], url, catalogued } = entry.mcp ?? {};
  if (catalogued !== undefined) return catalogued;
  if (url !== undefined) return /^https?:\/\/(?:[^@/]*@)?([^/?#]+)/.exec(url)?.[1] ?? 'mcp';
  const program = basename(command ?? '');
  const subject = RUNNERS.test(program)
    ? (args.find((arg) => !arg.startsWith('-') && arg !== 'run') ?? program)
    : program;
  const plain = basename(subject.replace(/(?<=.)@[\w.^~-]+$/, '')).replace(/\.(exe|cmd|[cm]?[jt]s|py)$/i, '');
  return plain === '' || plain.includes('${') ? 'mcp' : plain;
}
