import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Api } from '../../protocol/api.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import { forkEdit, type ForkEdit } from '../../config/submission.ts';
import { flag, numberOption, oneWord, textOption, type Command } from '../command.ts';
import type { Context } from '../context.ts';
import { followBatch } from '../follow.ts';
import { parseReference, resolveRollout, type Point } from '../../client/reference.ts';

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
    const reference = parseReference(oneWord(fork, given));
    if (reference.kind === 'batch' || (reference.point.step === undefined && reference.point.seq === undefined)) {
      throw new StudioError('usage', 'A fork needs the point to go on from.', { mend: 'Give ROLLOUT:STEP (before that step’s model call) or ROLLOUT@SEQ (after that event).' });
    }
    const connection = await context.connect();
    const rollout = await resolveRollout(connection.api, reference, context.signal);
    const edit = readEdits(context, textOption(given, 'edit'));
    const { batch } = await connection.api.fork({
      batch: newId('b'), rollout, seq: await cutOf(connection.api, rollout, reference.point, context.signal), attempts: numberOption(given, 'k', 1) ?? 1, by: 'rollout',
      ...(edit === undefined ? {} : { edit }),
      ...(flag(given, 'accept-irreversible') ? { accept_irreversible: true } : {}),
    }, context.signal);
    if (flag(given, 'detach')) {
      if (context.json) context.printJson({ batch });
      else context.print(batch);
      return 0;
    }
    return followBatch(context, connection, batch, {});
  },
};

/** The last shared seq: of `:STEP`, what came before that step's model call. */
async function cutOf(api: Api, rollout: string, point: Point, signal: AbortSignal): Promise<number> {
  if (point.seq !== undefined) return point.seq;
  let steps = 0;
  for await (const page of api.allEvents(rollout, signal)) {
    for (const event of page) {
      if (event.kind !== 'model.start') continue;
      steps = event.data.step;
      if (steps === point.step) return event.seq - 1;
    }
  }
  throw new StudioError('not_found', `Rollout ${rollout} has no step ${point.step ?? 0}; it has ${steps}.`);
}

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
