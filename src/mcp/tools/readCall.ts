import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import type { ToolSpan } from '../../trace/model/spans.ts';
import { endOfRange, PAGE_BYTES, sliceBytes } from '../answers/bounds.ts';
import { type OpenedAttempt, openAttempt } from '../reading/attempt.ts';
import { CALL_PARTS, callTexts, partOf } from '../reading/callText.ts';
import { defineTool } from '../tool.ts';

const callState = z.enum(['ok', 'error', 'cut', 'open']);

export const readCall = defineTool({
  name: 'read_call',
  title: 'Read a tool call',
  description:
    'One tool call in full: arguments, result, error with stack, changes of the world, what it printed. Values ' +
    'of any size, by ranges of characters.',
  input: z.strictObject({
    reference: z
      .string()
      .describe(
        'BATCH/TASK/ATTEMPT:STEP or ROLLOUT:STEP; @SEQ for the call of one event; without either, `call` counts ' +
          'over the whole attempt',
      ),
    call: z.number().int().min(1).default(1).describe('Which call, from 1'),
    part: z.enum(CALL_PARTS).default('all'),
    offset: z.number().int().min(0).default(0).describe('First character'),
    length: z.number().int().min(1).max(PAGE_BYTES).default(PAGE_BYTES).describe('Most characters'),
  }),
  output: z.object({
    reference: z.string().describe('Its step'),
    seq: z.number().int(),
    tool: z.string(),
    status: callState,
    ms: z.number().optional(),
    parts: z.record(z.string(), z.number().int()).describe('Characters of each part it has'),
    part: z.enum(CALL_PARTS),
    offset: z.number().int(),
    total: z.number().int().describe('Characters of the chosen part'),
    text: z.string(),
    next_offset: z.number().int().optional().describe('Pass it as `offset` for what comes next; absent at the end'),
  }),
  effect: 'read',
  async run({ reference, call: number, part, offset, length }, call) {
    const opened = await openAttempt(reference, call);
    const span = findCall(opened, number);
    const texts = await callTexts(opened.model, span, call.api, call.signal);
    if (part !== 'all' && texts[part] === undefined)
      throw new StudioError('not_found', `This call of ${span.start.data.name} has no ${part}.`, {
        hint: `It has: ${Object.keys(texts).join(', ')}.`,
      });
    const whole = partOf(texts, part);
    if (offset > whole.length)
      throw new StudioError('usage', `There is nothing at ${offset}: the text has ${whole.length} characters.`, {
        hint: 'Give a smaller offset.',
      });
    const cut = sliceBytes(whole.slice(0, endOfRange(whole, offset, length)), offset, PAGE_BYTES);
    const end = offset + cut.text.length;
    const status: z.infer<typeof callState> = span.end?.data.status ?? 'open';
    const ms = span.end?.data.ms;
    const place = `${opened.reference}:${span.step}`;
    const facts = [
      `${span.start.data.name} at ${place}, seq ${span.seq}`,
      status,
      ...(ms === undefined ? [] : [duration(ms)]),
    ].join(' · ');
    return {
      data: {
        reference: place,
        seq: span.seq,
        tool: span.start.data.name,
        status,
        ...(ms === undefined ? {} : { ms }),
        parts: Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text.length])),
        part,
        offset,
        total: whole.length,
        text: cut.text,
        ...(end < whole.length ? { next_offset: end } : {}),
      },
      text: `${facts}\n\n${cut.text}${end < whole.length ? `\n… ${whole.length - end} more characters: offset ${end}` : ''}`,
    };
  },
});

function findCall({ model, point, reference }: OpenedAttempt, number: number): ToolSpan {
  if (point.seq !== undefined) {
    const event = model.event(point.seq);
    const span = model.span(point.seq) ?? (event?.span === undefined ? undefined : model.span(event.span));
    if (span?.kind === 'tool') return span;
    throw new StudioError('not_found', `Event ${point.seq} belongs to no tool call.`, {
      hint: `read_trajectory ${reference} shows its calls.`,
    });
  }
  const calls = point.step === undefined ? model.tools : model.step(point.step)?.tools;
  if (calls === undefined)
    throw new StudioError('not_found', `${reference} has no step ${point.step ?? 0}.`, {
      hint: `Its steps are 0 to ${model.steps.length - 1}.`,
    });
  const found = calls[number - 1];
  if (found !== undefined) return found;
  const where = point.step === undefined ? reference : `Step ${point.step} of ${reference}`;
  const steps = [...new Set(model.tools.map((span) => span.step))];
  throw new StudioError('not_found', `${where} has ${plural(calls.length, 'tool call')}, not ${number}.`, {
    hint:
      steps.length === 0
        ? 'No tool was called in it at all.'
        : `Steps with calls: ${steps.slice(0, 50).join(', ')}${steps.length > 50 ? ' …' : ''}.`,
  });
}
