import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { errorText, StudioError } from '../../common/errors.ts';
import { forkEdit, type ForkEdit } from '../../config/submission.ts';
import { flag, numberOption, oneWord, textOption, type Command } from '../command.ts';
import type { Context } from '../context.ts';
import { followBatch } from '../follow.ts';
import { forkAt, forkPoint } from '../../client/commands/fork.ts';

export const fork: Command = {
  name: 'fork',
  usage: 'ROLLOUT:STEP|ROLLOUT@SEQ [-k N] [--edit FILE] [--detach]',
  text: 'Continues a rollout from a step, k times, as a batch of its own. What came before is answered from the record.',
  options: {
    k: { type: 'string', short: 'k', value: 'N', text: 'continuations (1)' },
    edit: { type: 'string', value: 'FILE', text: 'edits to begin with: a YAML or JSON list of {of: {m | seq}, path, value}' },
    'accept-irreversible': { type: 'boolean', text: 'go on although irreversible calls may be made again' },
    detach: { type: 'boolean', text: 'do not wait for the end' },
  },
  async run(context, given) {
    const word = oneWord(fork, given);
    forkPoint(word); // a wrong one is told before a server is started
    const edit = readEdits(context, textOption(given, 'edit'));
    const connection = await context.connect();
    const { batch } = await forkAt(connection.api, word, {
      attempts: numberOption(given, 'k', 1), edit, acceptIrreversible: flag(given, 'accept-irreversible'), by: 'rollout',
    }, context.signal);
    if (flag(given, 'detach')) {
      if (context.json) context.printJson({ batch });
      else context.print(batch);
      return 0;
    }
    return followBatch(context, connection, batch, {});
  },
};

function readEdits(context: Context, file: string | undefined): ForkEdit[] | undefined {
  if (file === undefined) return undefined;
  try {
    return z.array(forkEdit).min(1).parse(parse(readFileSync(path.resolve(context.cwd, file), 'utf8')));
  } catch (error) {
    const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
    const why = issue === undefined ? errorText(error) : `${issue.path.join('.')}: ${issue.message}`;
    throw new StudioError('config', `${file}: ${why}.`, { mend: 'It holds a list such as: [{of: {m: 3}, path: /parts/0/content, value: "…"}].', cause: error });
  }
}
