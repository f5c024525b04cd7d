import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { type ImportResult, importFile } from '../../client/importFile.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import type { Command } from '../command.ts';

/** Most of what an import allocates is garbage soon: without this, V8 keeps 100 MB more of it. */
const SMALL_HEAP = '--semi-space-growth-factor=1';

export const importFiles: Command = {
  name: 'import',
  usage: 'FILE…',
  text: 'Imports recordings from other tools, such as tau-bench results. Each file becomes a batch.',
  options: {},
  async run(context, commandLine) {
    if (commandLine.words.length === 0) throw new StudioError('usage', 'usage: rollout import FILE…');
    setFlagsFromString(SMALL_HEAP);
    const { api } = await context.connect();
    const results: ImportResult[] = [];
    for (const word of commandLine.words) {
      const result = await importFile(api, path.resolve(context.cwd, word), { signal: context.signal });
      results.push(result);
      for (const { place, why } of result.skipped) context.log(`Skipped ${place}: ${why}`);
      const skipped = result.skipped.length === 0 ? '' : `, ${result.skipped.length} skipped`;
      if (!context.json)
        context.print(
          `${word}: batch ${result.batch}, ${plural(result.tasks.length, 'task')}, ` +
            `${plural(result.rollouts, 'rollout')}${skipped}`,
        );
    }
    if (context.json) context.printJson(results.length === 1 ? results[0] : results);
    return 0;
  },
};
