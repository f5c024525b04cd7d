/** Searches a trajectory: returns one hit per step, with an excerpt of the first matching event. */
import { z } from 'zod';
import { eventLine } from '../../client/text/lines.ts';
import { oneLine } from '../../common/text.ts';
import type { AnyEvent, TrajectoryModel } from '../../trace/model.ts';
import { provenanceOfMessage } from '../../trace/provenance.ts';
import { environmentOf } from '../../trace/query/environment.ts';
import { splitWords } from '../../trace/query/words.ts';
import type { Query } from '../../trace/query.ts';
import type { TaskRecord } from '../../trace/task.ts';

const BEFORE = 60;
const EXCERPT = 200;

export const foundShape = z.object({
  reference: z.string().describe('BATCH/TASK/ATTEMPT:STEP, for read_trajectory and fork_rollout'),
  step: z.number().int(),
  seq: z.number().int().describe('The first matching event'),
  events: z.number().int().describe('Number of matching events in the step'),
  what: z.string().describe('Kind of that event'),
  excerpt: z.string(),
  more: z
    .number()
    .int()
    .optional()
    .describe('Number of further matching steps in the same attempt that are not listed'),
});
export type SearchHit = z.infer<typeof foundShape>;

interface FindOptions {
  /** Reference of the attempt. */
  readonly reference: string;
  readonly task: TaskRecord | undefined;
  /** First step. */
  readonly from: number;
}

export function* findIn(
  model: TrajectoryModel,
  query: Query,
  { reference, task, from }: FindOptions,
): Generator<SearchHit> {
  const words = query.kind === 'text' ? splitWords(query.text.trim()) : [];
  for (const step of model.steps.slice(from)) {
    const hits = step.seqs.filter((seq) => query.matches(environmentOf(model, seq, task)).matched);
    const event = model.event(hits[0] ?? 0);
    if (event === undefined) continue;
    yield {
      reference: `${reference}:${step.index}`,
      step: step.index,
      seq: event.seq,
      events: hits.length,
      what: whatOf(model, event),
      excerpt: excerptOf(event, words[0]),
    };
  }
}

function whatOf(model: TrajectoryModel, event: AnyEvent): string {
  if ('unknown' in event) return event.kind;
  if (event.kind === 'message') {
    const entry = model.message(event.data.m);
    const from = entry === undefined ? [] : provenanceOfMessage(model, entry);
    if (event.data.side !== undefined) return `${event.data.role} message of the side model ${event.data.side}`;
    return `${event.data.role} message${from.length === 0 ? '' : ` (${from.join(', ')})`}`;
  }
  return event.kind === 'tool.start' ? `call of ${event.data.name}` : event.kind;
}

/** Returns the text around the first word, or for a condition, the event on one line. */
function excerptOf(event: AnyEvent, word: string | undefined): string {
  const around = word === undefined ? undefined : textAround(event.data, word.toLowerCase());
  if (around !== undefined) return around;
  if ('unknown' in event) return oneLine(JSON.stringify(event.data), EXCERPT);
  // Strip seq and kind, which the hit contains separately.
  return oneLine(eventLine(event).replace(/^\s*\d+\s+\S+\s*/, ''), EXCERPT);
}

function textAround(value: unknown, word: string): string | undefined {
  if (typeof value === 'string') {
    const at = value.toLowerCase().indexOf(word);
    if (at < 0) return undefined;
    const from = Math.max(0, at - BEFORE);
    return oneLine(`${from > 0 ? '…' : ''}${value.slice(from, from + EXCERPT)}`, EXCERPT);
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const member of Object.values(value)) {
    const found = textAround(member, word);
    if (found !== undefined) return found;
  }
  return undefined;
}
