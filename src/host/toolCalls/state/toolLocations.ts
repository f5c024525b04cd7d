/**
 * Finds the tools in a document by its text: exported tools in code, entries in agent files, and the module in world
 * files.
 */
import { fileKind } from '../../../common/fileKinds.ts';
import { agentToolEntries, type ToolEntryInFile, worldToolEntries } from '../../../config/tools/toolEntries.ts';
import type { ReadText } from '../../../config/tools/toolModules.ts';
import { toolsIn } from '../../../config/tools/toolSource.ts';

export type ToolFileKind = 'code' | 'agent' | 'world';

export interface ToolLocation {
  /**
   * The tools: one in code, or those of an entry. undefined for a server, which determines its own tools.
   */
  readonly names: readonly string[] | undefined;
  /** Displayed label: a tool's name, or e.g. `3 tools`. */
  readonly line: number;
  readonly column: number;
  readonly endColumn: number;
  /** In code: the position after the parameters of `run`, 1-based. */
  readonly parameters?: { readonly line: number; readonly column: number };
}

/** Code files without this import define no tools. */
const SDK = 'rollout-studio';

export function toolFileKind(path: string): ToolFileKind | undefined {
  if (/\.[cm]?[jt]s$/.test(path) && !path.endsWith('.d.ts')) return 'code';
  const kind = fileKind(path);
  return kind === 'batch' ? undefined : kind;
}

export async function toolLocations(
  kind: ToolFileKind,
  path: string,
  text: string,
  readText: ReadText,
): Promise<readonly ToolLocation[]> {
  switch (kind) {
    case 'code':
      return text.includes(SDK) ? codeLocations(text) : [];
    case 'agent':
      return (await agentToolEntries(path, text, readText)).map(entryLocation);
    case 'world':
      return (await worldToolEntries(path, text, readText)).map(entryLocation);
  }
}

function entryLocation({ line, column, endColumn, names }: ToolEntryInFile): ToolLocation {
  return { names, line, column, endColumn };
}

function codeLocations(text: string): ToolLocation[] {
  const lines = text.split('\n');
  const tools = toolsIn(text);
  return tools.map(({ name, line, column }, index) => {
    const last = tools[index + 1]?.line ?? lines.length + 1;
    const parameters = parametersEnd(lines, line, last);
    return {
      names: [name],
      line,
      column,
      endColumn: column + name.length,
      ...(parameters === undefined ? {} : { parameters }),
    };
  });
}

const RUN = /^\s*(?:async\s+)?run\s*(?::\s*(?:async\s*)?)?\(/;

/** Finds the end of `run`'s parameters between two lines (end exclusive). Returns undefined for other syntax. */
function parametersEnd(
  lines: readonly string[],
  first: number,
  last: number,
): { line: number; column: number } | undefined {
  for (let line = first; line < last; line++) {
    const text = lines[line - 1] ?? '';
    const match = RUN.exec(text);
    if (match === null) continue;
    let depth = 0;
    for (let column = match[0].length - 1; column < text.length; column++) {
      const char = text[column];
      if (char === '(') depth++;
      else if (char === ')' && --depth === 0) return { line, column: column + 2 };
    }
  }
  return undefined;
}
