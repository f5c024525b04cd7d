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

/** Position of the next piece and the offset in its text. `step` −1 is the header; last step + 1 is the end. */
const place = z.object({ step: z.number().int().min(-1), offset: z.number().int().min(0) });
type Place = z.infer<typeof place>;
const places = cursor('read_trajectory', place);

export const readTrajectory = defineTool({
  name: 'read_trajectory',
  title: 'Read a trajectory',
  description:
    'Reads one attempt as text: model messages, tool calls with arguments and results, world changes, errors, and ' +
    'the score. A step is one model call with its tool calls; step 0 is before the first. Long values are shortened ' +
    'unless detail is full; read_call returns one call in full.',
  input: z.strictObject({
    reference: z.string().describe('BATCH/TASK/ATTEMPT or a rollout ID; append :STEP to start at that step'),
    from_step: z.number().int().min(0).optional().describe('First step'),
    to_step: z.number().int().min(0).optional().describe('Last step'),
    detail: z
      .enum(['overview', 'full'])
      .default('overview')
      .describe('full: complete messages, arguments, and results, and the input of each model call'),
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
  async run({ reference, from_step: fromStep, to_step: toStep, detail, cursor: position }, call) {
    const opened = await openAttempt(reference, call, (point) => {
      const step = fromStep ?? point.step;
      return step === toStep ? step : undefined;
    });
    const { steps } = opened.header;
    const first =
      fromStep ??
      opened.point.step ??
      (opened.point.seq === undefined ? 0 : (opened.model.stepOf(opened.point.seq)?.index ?? 0));
    if (first > steps)
      throw new StudioError('not_found', `This trajectory has no step ${first}.`, {
        hint: `Use a step from 0 to ${steps}.`,
      });
    const last = toStep ?? Infinity;
    if (last < first)
      throw new StudioError('usage', `from_step ${first} is after to_step ${last}.`, { hint: 'Swap them.' });
    const start = position === undefined ? { step: -1, offset: 0 } : places.read(position);
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
          : `${text}\n… continues with step ${next.step}: cursor ${nextCursor}\n`,
    };
  },
});

/** Renders one page of a trajectory from a position. */
export function readPage(
  { model, header, rollout }: Pick<OpenedAttempt, 'model' | 'header' | 'rollout'>,
  range: { readonly first: number; readonly last: number; readonly full: boolean },
  start: Place,
): { text: string; next?: Place } {
  let text = '';
  let left = PAGE_BYTES;
  const ends = header.steps + 1;
  let isFirst = true;
  for (const piece of trajectoryPieces(
    model,
    { width: WIDTH, color: false, rollout },
    { from: Math.max(range.first, start.step), full: range.full, header },
  )) {
    const step = piece.step ?? (isFirst ? -1 : ends);
    isFirst = false;
    if (step < start.step || (step > range.last && range.last < ends - 1)) continue;
    const offset = step === start.step ? start.offset : 0;
    const part = sliceBytes(piece.text, offset, left);
    // Move a piece to the next page, unless it is larger than a page.
    if (part.next !== undefined && text !== '' && bytesOf(piece.text) <= PAGE_BYTES)
      return { text, next: { step, offset } };
    text += part.text;
    if (part.next !== undefined) return { text, next: { step, offset: part.next } };
    left -= bytesOf(part.text);
  }
  return { text };
}
