import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { outcomeOf } from '../../trace/outcome.ts';
import { trajectoryPieces } from '../../trace/text.ts';
import { bytesOf, PAGE_BYTES, sliceBytes } from '../answers/bounds.ts';
import { cursor } from '../answers/cursor.ts';
import { CURSOR, NEXT, outcome } from '../answers/shapes.ts';
import { type OpenedAttempt, openAttempt } from '../reading/attempt.ts';
import { defineTool } from '../tool.ts';

const WIDTH = 120;

/** The piece that comes next, and where in its text. `step` −1 is the header, one behind the last step the end. */
const place = z.object({ step: z.number().int().min(-1), offset: z.number().int().min(0) });
type Place = z.infer<typeof place>;
const places = cursor('read_trajectory', place);

export const readTrajectory = defineTool({
  name: 'read_trajectory',
  title: 'Read a trajectory',
  description:
    'One attempt as readable text: what the model said, the tools it called with arguments and results, changes ' +
    'of the world, errors, the score. By steps (one model call with what it asked for; 0 is before the first). ' +
    'Long values are cut unless detail is full; read_call gives one call whole.',
  input: z.strictObject({
    reference: z.string().describe('BATCH/TASK/ATTEMPT or a rollout’s id; with :STEP to begin at that step'),
    from_step: z.number().int().min(0).optional().describe('First step'),
    to_step: z.number().int().min(0).optional().describe('Last step'),
    detail: z
      .enum(['overview', 'full'])
      .default('overview')
      .describe('full: messages, arguments and results uncut, and what each model call was given'),
    cursor: CURSOR,
  }),
  output: z.object({
    reference: z.string(),
    rollout: z.string(),
    outcome,
    steps: z.number().int().describe('Number of the last step'),
    text: z.string(),
    next_cursor: NEXT,
  }),
  effect: 'read',
  async run({ reference, from_step: fromStep, to_step: toStep, detail, cursor: given }, call) {
    const opened = await openAttempt(reference, call);
    const steps = opened.model.steps.length - 1;
    const first =
      fromStep ??
      opened.point.step ??
      (opened.point.seq === undefined ? 0 : (opened.model.stepOf(opened.point.seq)?.index ?? 0));
    if (first > steps)
      throw new StudioError('not_found', `This trajectory has no step ${first}.`, {
        hint: `Its steps are 0 to ${steps}.`,
      });
    const last = toStep ?? Infinity;
    if (last < first)
      throw new StudioError('usage', `from_step ${first} is behind to_step ${last}.`, { hint: 'Swap them.' });
    const start = given === undefined ? { step: -1, offset: 0 } : places.read(given);
    const { text, next } = readPage(opened, { first, last, full: detail === 'full' }, start);
    const nextCursor = next === undefined ? undefined : places.write(next);
    return {
      data: {
        reference: opened.reference,
        rollout: opened.rollout,
        outcome: outcomeOf(opened.info.row),
        steps,
        text,
        ...(nextCursor === undefined ? {} : { next_cursor: nextCursor }),
      },
      text:
        nextCursor === undefined || next === undefined
          ? text
          : `${text}\n… goes on with step ${next.step}: cursor ${nextCursor}\n`,
    };
  },
});

/** One page of a trajectory as text, from a place on. */
export function readPage(
  { model, rollout }: Pick<OpenedAttempt, 'model' | 'rollout'>,
  range: { readonly first: number; readonly last: number; readonly full: boolean },
  start: Place,
): { text: string; next?: Place } {
  let text = '';
  let left = PAGE_BYTES;
  const ends = model.steps.length;
  let header = true;
  for (const piece of trajectoryPieces(
    model,
    { width: WIDTH, color: false, rollout },
    { from: Math.max(range.first, start.step), full: range.full },
  )) {
    const step = piece.step ?? (header ? -1 : ends);
    header = false;
    if (step < start.step || (step > range.last && range.last < ends - 1)) continue;
    const offset = step === start.step ? start.offset : 0;
    const part = sliceBytes(piece.text, offset, left);
    // A piece that is not begun yet begins on a page of its own, unless a whole page would not hold it.
    if (part.next !== undefined && text !== '' && bytesOf(piece.text) <= PAGE_BYTES)
      return { text, next: { step, offset } };
    text += part.text;
    if (part.next !== undefined) return { text, next: { step, offset: part.next } };
    left -= bytesOf(part.text);
  }
  return { text };
}
