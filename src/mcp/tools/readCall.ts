import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import { rewardOf } from '../../trace/callReward.ts';
import type { ToolSpan } from '../../trace/model/spans.ts';
import { scoreText } from '../../trace/text/score.ts';
import { stepAt } from '../../trace/text.ts';
import { endOfRange, PAGE_BYTES, sliceBytes } from '../answers/bounds.ts';
import { type OpenedAttempt, openAttempt } from '../reading/attempt.ts';
import { CALL_PARTS, callTexts, partOf } from '../reading/callText.ts';
import { defineTool } from '../tool.ts';

const callState = z.enum(['ok', 'error', 'cut', 'open']);

export const readCall = defineTool({
  name: 'read_call',
  title: 'Read a tool call',
  description:
    'Reads one tool call in full: arguments, result, its provenance, predictions of worlds, error with stack, world ' +
    'changes, and output. Large values are read in ranges of characters.',
  input: z.strictObject({
    reference: z
      .string()
      .describe(
        'BATCH/TASK/ATTEMPT:STEP or ROLLOUT:STEP; use @SEQ for the call of an event; without either, `call` counts ' +
          'all calls of the attempt',
      ),
    call: z.number().int().min(1).default(1).describe('Number of the call, starting at 1'),
    part: z.enum(CALL_PARTS).default('all'),
    offset: z.number().int().min(0).default(0).describe('First character'),
    length: z.number().int().min(1).max(PAGE_BYTES).default(PAGE_BYTES).describe('Maximum number of characters'),
  }),
  output: z.object({
    reference: z.string().describe('Reference of its step'),
    seq: z.number().int(),
    tool: z.string(),
    status: callState,
    ms: z.number().optional(),
    reward: z.number().optional().describe('Score of this call alone'),
    parts: z.record(z.string(), z.number().int()).describe('Number of characters in each part'),
    part: z.enum(CALL_PARTS),
    offset: z.number().int(),
    total: z.number().int().describe('Number of characters in the selected part'),
    text: z.string(),
    next_offset: z.number().int().optional().describe('Pass it as `offset` to continue; absent at the end'),
  }),
  effect: 'read',
  async run({ reference, call: number, part, offset, length }, call) {
    const opened = await openAttempt(reference, call, ({ step }) => step);
    const span = findCall(opened, number) ?? noCall(await openAttempt(reference, call), number);
    const texts = await callTexts(opened.model, span, call.api, call.signal);
    if (part !== 'all' && texts[part] === undefined)
      throw new StudioError('not_found', `This call of ${span.start.data.name} has no ${part}.`, {
        hint: `Available parts: ${Object.keys(texts).join(', ')}.`,
      });
    const whole = partOf(texts, part);
    if (offset > whole.length)
      throw new StudioError('usage', `Offset ${offset} is past the end: the text has ${whole.length} characters.`, {
        hint: 'Pass a smaller offset.',
      });
    const cut = sliceBytes(whole.slice(0, endOfRange(whole, offset, length)), offset, PAGE_BYTES);
    const end = offset + cut.text.length;
    const status: z.infer<typeof callState> = span.end?.data.status ?? 'open';
    const ms = span.end?.data.ms;
    const reward = rewardOf(opened.model.scoresOf(span.seq))?.data.value ?? undefined;
    const place = `${opened.reference}:${span.step}`;
    const facts = [
      `${span.start.data.name} at ${place}, seq ${span.seq}`,
      status,
      ...(ms === undefined ? [] : [duration(ms)]),
      ...(reward === undefined ? [] : [`reward ${scoreText(reward)}`]),
    ].join(' · ');
    return {
      data: {
        reference: place,
        seq: span.seq,
        tool: span.start.data.name,
        status,
        ...(ms === undefined ? {} : { ms }),
        ...(reward === undefined ? {} : { reward }),
        parts: Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.length])),
        part,
        offset,
        total: whole.length,
        text: cut.text,
        ...(end < whole.length ? { next_offset: end } : {}),
      },
      text:
        `${facts}\n\n${cut.text}` +
        (end < whole.length ? `\n… ${whole.length - end} more characters: offset ${end}` : ''),
    };
  },
});

function findCall({ model, point, reference }: OpenedAttempt, number: number): ToolSpan | undefined {
  if (point.seq !== undefined) {
    const event = model.event(point.seq);
    const span = model.span(point.seq) ?? (event?.span === undefined ? undefined : model.span(event.span));
    if (span?.kind === 'tool') return span;
    throw new StudioError('not_found', `Event ${point.seq} does not belong to a tool call.`, {
      hint: `See the calls with read_trajectory ${reference}.`,
    });
  }
  return (point.step === undefined ? model.tools : model.step(point.step)?.tools)?.[number - 1];
}

/** Throws the error that says which calls there are. */
function noCall({ model, point, reference }: OpenedAttempt, number: number): never {
  const calls = point.step === undefined ? model.tools : stepAt(model, point.step).tools;
  const where = point.step === undefined ? reference : `Step ${point.step} of ${reference}`;
  const steps = [...new Set(model.tools.map((span) => span.step))];
  throw new StudioError('not_found', `${where} has ${plural(calls.length, 'tool call')}, not ${number}.`, {
    hint:
      steps.length === 0
        ? 'It called no tools.'
        : `Steps with calls: ${steps.slice(0, 50).join(', ')}${steps.length > 50 ? ' …' : ''}.`,
  });
}
