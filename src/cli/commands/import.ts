import path from 'node:path';
import { type ImportResult, importFile } from '../../client/importFile.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import type { Command } from '../command.ts';

export const importFiles: Command = {
  name: 'import',
  usage: 'FILE…',
  text: 'Imports recordings of other tools (tau-bench results), each file as a batch.',
  options: {},
  async run(context, given) {
    if (given.words.length === 0) throw new StudioError('usage', 'usage: rollout import FILE…');
    const { api } = await context.connect();
    const results: ImportResult[] = [];
    for (const word of given.words) {
      const result = await importFile(api, path.resolve(context.cwd, word), { signal: context.signal });
      results.push(result);
      for (const { place, why } of result.skipped) context.tell(`left out ${place}: ${why}`);
      if (!context.json)
        context.print(
          `${word}: batch ${result.batch}, ${plural(result.tasks.length, 'task')}, ` +
            `${plural(result.rollouts, 'rollout')}${result.skipped.length === 0 ? '' : `, ${result.skipped.length} left out`}`,
        );
    }
    if (context.json) context.printJson(results.length === 1 ? results[0] : results);
    return 0;
  },
};
