/** If the target is a cluster, checks that its pods have the programs that tools and worlds need. */

import { DEFAULTS } from '../defaults.ts';
import { builtinNeed, commandNeed, hasProgram, type Need, unmetText } from '../needs.ts';
import type { BatchFile } from '../schema/batchFile.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import { CATALOGUE } from '../tools/mcp/catalogue.ts';
import { type AgentParts, withMembers } from './agent.ts';
import type { Reading } from './reading.ts';
import { mcpName } from './tools.ts';
import { partsIn, type WorldParts } from './world.ts';

export function checkNeeds(
  reading: Reading,
  batch: Partial<BatchFile>,
  agent: AgentParts | undefined,
  world: WorldParts | undefined,
): void {
  const { target = DEFAULTS.target, pods } = batch;
  if (target === DEFAULTS.target) return;
  const check = (
    parsed: ParsedFile,
    at: Path,
    of: string,
    name: string,
    more: Pick<Need, 'instead' | 'world'> = {},
  ): void => {
    const met = hasProgram(pods, name);
    if (met === 'no') reading.report(parsed, at, { code: 'unmet', ...unmetText({ of, name, ...more }) });
    else if (met === 'unknown') {
      reading.report(parsed, at, {
        code: 'unmet',
        severity: 'warning',
        message: `${of} needs ${name}; it is unknown whether the image ${pods?.image ?? ''} has it`,
        hint: `If it does, add \`pods.provides: [${name}]\`.`,
      });
    }
  };
  const lists = [
    ...(agent === undefined ? [] : withMembers(agent)).map(({ parsed, value }) => ({
      parsed,
      list: ['tools'],
      tools: value.tools ?? [],
    })),
    ...partsIn(world).map(({ parsed, realTools }) => ({ parsed, list: ['real', 'tools'], tools: realTools })),
  ];
  for (const { parsed, list, tools } of lists) {
    for (const [index, entry] of tools.entries()) {
      const at: Path = [...list, index];
      const of =
        entry.module !== undefined
          ? `the module ${entry.module}`
          : entry.mcp !== undefined
            ? `the MCP server ${mcpName(entry)}`
            : (entry.builtin?.join(', ') ?? 'a tool');
      entry.needs?.forEach((name, position) => check(parsed, [...at, 'needs', position], of, name));
      entry.builtin?.forEach((name, position) => {
        const own = builtinNeed(name, entry);
        if (own !== undefined) check(parsed, [...at, 'builtin', position], `the built-in ${name}`, own.name, own);
      });
      const { command, args = [], catalogued } = entry.mcp ?? {};
      if (catalogued !== undefined) {
        for (const name of CATALOGUE[catalogued].needs) check(parsed, [...at, 'mcp'], of, name);
        continue;
      }
      const program = command === undefined ? undefined : commandNeed(command, args);
      // Declared needs were checked above.
      if (program !== undefined && entry.needs === undefined) check(parsed, [...at, 'mcp', 'command'], of, program);
    }
  }
  for (const { parsed, name: of, kind, needs } of partsIn(world))
    for (const { name, at } of needs) check(parsed, at, `the world ${of}`, name, { world: kind });
}
