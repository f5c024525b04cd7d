/** Finds routes of a simulated world that name none of its tools: no attempt could start. */
import { isJsonObject } from '../../common/json.ts';
import type { ParsedFile } from '../source/parse.ts';
import type { Problem } from '../source/problem.ts';
import { closest } from '../source/suggest.ts';
import type { ReadText } from './toolModules.ts';
import { matchesTool } from './toolPattern.ts';
import { toolsOfSources, worldToolSources } from './worldTools.ts';

interface RoutableTools {
  readonly names: readonly string[];
  /** Whether there are no others: code may create more when it runs. */
  readonly certain: boolean;
}

/**
 * Returns the tools that `route` may name, from the texts of files alone; undefined if nobody knows all of them before
 * a server, a recording, or a published world is read.
 */
export async function routableTools(
  path: string,
  text: string,
  readText: ReadText,
): Promise<RoutableTools | undefined> {
  const { sources } = await worldToolSources(path, text, readText);
  const { tools, complete } = toolsOfSources(sources);
  const isHidden = sources.some((source) => source.fromCode && source.tools?.length === 0);
  return !complete || isHidden
    ? undefined
    : { names: tools.map(({ name }) => name).sort(), certain: sources.every(({ fromCode }) => !fromCode) };
}

/** Returns a problem for each pattern in `routes` that matches none of the tools. */
export function unknownRoutes(parsed: ParsedFile, routes: unknown, { names, certain }: RoutableTools): Problem[] {
  if (!Array.isArray(routes)) return [];
  return routes.flatMap((route: unknown, index) => {
    const patterns: readonly unknown[] = isJsonObject(route) && Array.isArray(route['tools']) ? route['tools'] : [];
    return patterns.flatMap((pattern, position) => {
      if (typeof pattern !== 'string' || names.some((name) => matchesTool(pattern, name))) return [];
      const suggestion = closest(pattern, names);
      return [
        parsed.problem(['route', index, 'tools', position], {
          code: 'unknown_tool',
          ...(certain ? {} : { severity: 'warning' as const }),
          message: `\`${pattern}\` names none of the tools of this world: no attempt could start`,
          hint: suggestion === undefined ? `Available tools: ${names.join(', ')}.` : `Did you mean \`${suggestion}\`?`,
          ...(suggestion === undefined ? {} : { fixes: [{ do: 'replace', text: suggestion }] }),
        }),
      ];
    });
  });
}
