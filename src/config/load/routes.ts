/** Checks who answers the calls of the tools of a simulated world. */
import type { WorldFile } from '../schema/worldFile.ts';
import type { ParsedFile } from '../source/parse.ts';
import { routableTools, unknownRoutes } from '../tools/routes.ts';
import type { Reading } from './reading.ts';

/** Reports routes without a real world, tools that two routes name, and names of no tool. */
export async function checkRoutes(
  reading: Reading,
  parsed: ParsedFile,
  { route = [] }: Partial<WorldFile>,
): Promise<void> {
  if (parsed.has(['route']) && !parsed.has(['real'])) {
    reading.report(parsed, ['route'], {
      code: 'conflict',
      message: '`route` needs `real`: without a real world, the model simulates all tools',
      hint: 'Add `real: { world: library.world.yaml }`, or `real: { tools: […] }`, or remove `route`.',
    });
  }
  const seen = new Set<string>();
  for (const [index, { tools }] of route.entries())
    for (const [position, pattern] of tools.entries()) {
      if (seen.has(pattern))
        reading.report(parsed, ['route', index, 'tools', position], {
          code: 'conflict',
          message: `\`${pattern}\` is already in an earlier route, which applies`,
          hint: 'Remove one of them.',
        });
      seen.add(pattern);
    }
  if (route.length === 0 || !parsed.has(['real'])) return;
  const { files } = reading;
  const known = await routableTools(parsed.file, parsed.text, (path) => files.readText(path).catch(() => undefined));
  if (known !== undefined) for (const problem of unknownRoutes(parsed, route, known)) reading.add(parsed, problem);
}
