import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { stepBefore } from '../../protocol/findStep.ts';
import { outcomeOf } from '../../trace/outcome.ts';
import { trajectoryPieces } from '../../trace/text.ts';
import { bytesOf, PAGE_BYTES, sliceBytes } from '../answers/bounds.ts';
import { cursor } from '../answers/cursor.ts';
import { CURSOR, NEXT, outcome } from '../answers/shapes.ts';
import { findAttempt } from '../reading/attempt.ts';
import { defineTool } from '../tool.ts';

const WIDTH = 120;

/** The step of the next piece, and the offset in its text. */
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
    const found = await findAttempt(reference, call);
    const { info, rollout, point } = found;
    const { api, signal, session } = call;
    const first =
      fromStep ?? point.step ?? (point.seq === undefined ? 0 : await stepBefore(api, rollout, point.seq, signal));
    const steps = info.row.progress.step ?? 0;
    if (first > steps)
      throw new StudioError('not_found', `This trajectory has no step ${first}.`, {
        hint: `Use a step from 0 to ${steps}.`,
      });
    const last = toStep ?? Infinity;
    if (last < first)
      throw new StudioError('usage', `from_step ${first} is after to_step ${last}.`, { hint: 'Swap them.' });
    const start = position === undefined ? { step: -1, offset: 0 } : places.read(position);
    const parts = session.trajectories.openSteps(api, info, Math.max(first, start.step), signal);
    const { text, next } = await readPage(parts, rollout, { last, full: detail === 'full' }, start);
    const nextCursor = next === undefined ? undefined : places.write(next);
    return {
      data: {
        reference: found.reference,
        rollout,
        outcome: outcomeOf(info.row),
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

/** Renders one page from a position. `parts`: the trajectory from its step on, of which no more is read than needed. */
export async function readPage(
  parts: Parameters<typeof trajectoryPieces>[0],
  rollout: string,
  { last, full }: { readonly last: number; readonly full: boolean },
  start: Place,
): Promise<{ text: string; next?: Place }> {
  let text = '';
  let left = PAGE_BYTES;
  for await (const piece of trajectoryPieces(parts, { width: WIDTH, color: false, rollout }, full)) {
    const { step } = piece;
    if (step < start.step) continue;
    if (piece.what === 'end' ? step - 1 > last : step > last) break;
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
