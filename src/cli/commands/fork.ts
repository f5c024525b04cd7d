import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { forkPoint, launchFork, planFork } from '../../client/commands/fork.ts';
import { differsText } from '../../client/text/forkText.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { type ForkEdit, forkEdit } from '../../config/submission.ts';
import { ENTRY } from '../../protocol/entry.ts';
import { type Command, flag, numberOption, oneWord, textOption } from '../command.ts';
import type { Context } from '../context.ts';
import { followBatch } from '../follow.ts';

export const fork: Command = {
  name: 'fork',
  usage: 'ROLLOUT:STEP|ROLLOUT@SEQ [-k N] [--edit FILE] [--batch FILE] [--agent FILE] [--model NAME]',
  text:
    'Continues a rollout from a step, k times, as a batch of its own. What came before is answered from the ' +
    'record. It runs what its parent ran, unless told otherwise; what differs then is told first.',
  options: {
    k: { type: 'string', short: 'k', value: 'N', text: 'continuations (1)' },
    edit: {
      type: 'string',
      value: 'FILE',
      text: 'edits to begin with: a YAML or JSON list of {of: {m | seq}, path, value}',
    },
    batch: { type: 'string', value: 'FILE', text: 'agent, world and scorer of this batch file as they are now' },
    agent: { type: 'string', value: 'FILE', text: 'another agent' },
    model: { type: 'string', value: 'NAME', text: 'another model' },
    endpoint: { type: 'string', value: 'URL', text: 'where the model is' },
    'accept-irreversible': { type: 'boolean', text: 'go on although irreversible calls may be made again' },
    'dry-run': { type: 'boolean', text: 'only tell what differs from the parent' },
    hold: {
      type: 'boolean',
      text: 'for a debugger: held at its first call, and attempts count although they are edited',
    },
    detach: { type: 'boolean', text: 'do not wait for the end' },
  },
  async run(context, given) {
    const word = oneWord(fork, given);
    forkPoint(word); // a wrong one is told before a server is started
    const edit = readEdits(context, textOption(given, 'edit'));
    const attempts = numberOption(given, 'k', 1);
    const connection = await context.connect();
    const planned = await planFork(
      connection.api,
      word,
      {
        file: textOption(given, 'batch'),
        agent: textOption(given, 'agent'),
        model: textOption(given, 'model'),
        endpoint: textOption(given, 'endpoint'),
      },
      context,
      context.signal,
    );
    const {
      rollout,
      seq,
      runs: { differs, notes },
    } = planned;
    if (flag(given, 'dry-run')) {
      if (context.json) context.printJson({ rollout, seq, differs, notes });
      else
        context.print(
          [
            `It goes on behind event ${seq} of rollout ${rollout}.`,
            differs.length === 0 ? 'It runs what its parent ran.' : differsText(differs),
            ...notes,
          ].join('\n'),
        );
      return 0;
    }
    for (const text of [differsText(differs), ...notes]) if (text !== '') context.tell(text);
    const batch = await launchFork(
      connection.api,
      planned,
      {
        attempts,
        edit,
        acceptIrreversible: flag(given, 'accept-irreversible'),
        by: 'rollout',
        ...(flag(given, 'hold') ? { debug: true, breakpoints: [ENTRY] } : {}),
      },
      context.env,
      context.signal,
    );
    if (flag(given, 'detach')) {
      if (context.json) context.printJson({ batch, rollout, seq, differs });
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
      .parse(parse(readFileSync(path.resolve(context.cwd, file), 'utf8')));
  } catch (error) {
    const issue = error instanceof z.ZodError ? error.issues[0] : undefined;
    const why = issue === undefined ? errorText(error) : `${issue.path.join('.')}: ${issue.message}`;
    throw new StudioError('config', `${file}: ${why}.`, {
      hint: 'It holds a list such as: [{of: {m: 3}, path: /parts/0/content, value: "…"}].',
      cause: error,
    });
  }
}
