import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { forkPoint, launchFork, planFork } from '../../client/commands/fork.ts';
import { diskError } from '../../client/disk.ts';
import { differsText } from '../../client/text/forkText.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { type ForkEdit, forkEdit } from '../../config/submission/forkEdit.ts';
import { ENTRY } from '../../protocol/entry.ts';
import { readRegularSync } from '../../tools/regularFile.ts';
import { type Command, flag, HELD_BY_OPTION, numberOption, oneWord, textOption } from '../command.ts';
import type { Context } from '../context.ts';
import { followBatch } from '../follow.ts';

export const fork: Command = {
  name: 'fork',
  usage: 'ROLLOUT:STEP|ROLLOUT@SEQ [-k N] [--edit FILE] [--batch FILE] [--agent FILE] [--model NAME]',
  text:
    'Continues a rollout from a step, k times, as a new batch. Earlier steps are replayed from the recording. The ' +
    'fork uses its parent’s configuration unless options change it; differences are printed before it starts.',
  options: {
    k: { type: 'string', short: 'k', value: 'N', text: 'number of continuations (1)' },
    edit: {
      type: 'string',
      value: 'FILE',
      text: 'edits to apply first: a YAML or JSON list of {of: {m | seq}, path, value}',
    },
    batch: { type: 'string', value: 'FILE', text: 'use the current agent, world, and scorer of this batch file' },
    agent: { type: 'string', value: 'FILE', text: 'use this agent file' },
    model: { type: 'string', value: 'NAME', text: 'use this model' },
    endpoint: { type: 'string', value: 'URL', text: 'use this model endpoint' },
    'accept-irreversible': { type: 'boolean', text: 'continue even if irreversible calls may be repeated' },
    'dry-run': { type: 'boolean', text: 'only print what differs from the parent' },
    hold: {
      type: 'boolean',
      text: 'for a debugger: hold the fork before its first call; edited attempts still count',
    },
    ...HELD_BY_OPTION,
    detach: { type: 'boolean', text: 'do not wait until the batch ends' },
  },
  async run(context, commandLine) {
    const word = oneWord(fork, commandLine);
    forkPoint(word); // fail early, before a server starts
    const edit = readEdits(context, textOption(commandLine, 'edit'));
    const attempts = numberOption(commandLine, 'k', 1);
    const connection = await context.connect();
    const planned = await planFork(
      connection.api,
      word,
      {
        file: textOption(commandLine, 'batch'),
        agent: textOption(commandLine, 'agent'),
        model: textOption(commandLine, 'model'),
        endpoint: textOption(commandLine, 'endpoint'),
      },
      context,
      context.signal,
    );
    const {
      rollout,
      seq,
      runs: { differs, notes },
    } = planned;
    if (flag(commandLine, 'dry-run')) {
      if (context.json) context.printJson({ rollout, seq, differs, notes });
      else
        context.print(
          [
            `The fork continues after event ${seq} of rollout ${rollout}.`,
            differs.length === 0 ? 'Its configuration is the same as its parent’s.' : differsText(differs),
            ...notes,
          ].join('\n'),
        );
      return 0;
    }
    const heldBy = textOption(commandLine, 'held-by');
    for (const text of [differsText(differs), ...notes]) if (text !== '') context.log(text);
    const { batch, warnings } = await launchFork(
      connection.api,
      planned,
      {
        attempts,
        edit,
        acceptIrreversible: flag(commandLine, 'accept-irreversible'),
        by: 'rollout',
        ...(flag(commandLine, 'hold') ? { debug: true, breakpoints: [{ ...ENTRY, by: heldBy ?? 'rollout' }] } : {}),
      },
      context.env,
      context.signal,
    );
    for (const warning of warnings) context.log(`warning: ${warning}`);
    if (flag(commandLine, 'detach')) {
      if (context.json) context.printJson({ batch, rollout, seq, differs, warnings });
      else context.print(batch);
      return 0;
    }
    return followBatch(context, connection, batch, {});
  },
};

function readEdits(context: Context, file: string | undefined): ForkEdit[] | undefined {
  if (file === undefined) return undefined;
  try {
    return z
      .array(forkEdit)
      .min(1)
      .parse(parse(readRegularSync(path.resolve(context.cwd, file))));
  } catch (error) {
    if (StudioError.is(error)) throw diskError(file, error);
    const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
    const reason = issue === undefined ? errorText(error) : `${issue.path.join('.')}: ${issue.message}`;
    throw new StudioError('config', `${file}: ${reason}.`, {
      hint: 'The file must contain a list such as [{of: {m: 3}, path: /parts/0/content, value: "…"}].',
      cause: error,
    });
  }
}
