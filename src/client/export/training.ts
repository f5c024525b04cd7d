/** Exports attempts in a format for trainers: reads, redacts, and writes lines, and counts what is left out. */
import { Readable } from 'node:stream';
import type { JsonObject } from '../../common/json.ts';
import type { ExportRedaction } from '../../common/redaction/exported.ts';
import { conversationOf, conversationsOf } from '../../formats/training/conversations.ts';
import type { LeaveOut, TokenRow, TrainingAttempt, TrainingFormat } from '../../formats/training/format.ts';
import type { PlannedAttempt } from '../../formats/training/nullRewards.ts';
import type { Api } from '../../protocol/api.ts';
import type { ModelSpan } from '../../trace/model/spans.ts';
import type { TrajectoryModel } from '../../trace/model.ts';
import { trainingRows } from '../../trace/segments/trainingRows.ts';
import { AttemptReader, type ReadAttempt } from './readAttempt.ts';

/** What is written, and what the reading of attempts leaves out, by reason. */
export interface ExportCounts {
  /** Attempts with a part in the file. */
  attempts: number;
  lines: number;
  /** Attempts that have nothing to write. */
  readonly attempts_left_out: Record<string, number>;
  /** Calls, replies, or pairs: parts of attempts. */
  readonly parts_left_out: Record<string, number>;
}

export function noCounts(): ExportCounts {
  return { attempts: 0, lines: 0, attempts_left_out: {}, parts_left_out: {} };
}

/** Attempts that are read together, and how many times so many at the same time. Twice as many take 90 MB more. */
const TOGETHER = 4;
const AT_A_TIME = 2;

/** Yields the lines of the attempts, in their order. */
export async function* trainingLines(
  api: Api,
  format: TrainingFormat,
  attempts: readonly PlannedAttempt[],
  redaction: ExportRedaction,
  counts: ExportCounts,
  signal: AbortSignal,
): AsyncGenerator<JsonObject> {
  const reader = new AttemptReader(api, signal);
  const leaveOut: LeaveOut = (why, count = 1) => addTo(counts.parts_left_out, why, count);
  const needs = { tokens: format.needs !== 'conversations', messages: format.needs !== 'tokens' || !redaction.empty };
  const read = async (some: readonly PlannedAttempt[]): Promise<TrainingAttempt[]> => {
    const all = await reader.read(
      some.map(({ row }) => row.rollout),
      needs,
    );
    return all.flatMap((one, index) => {
      const planned = some[index];
      if (planned === undefined) return [];
      const attempt = attemptOf(format, planned, one, redaction, leaveOut);
      if (typeof attempt !== 'string') return [attempt];
      addTo(counts.attempts_left_out, attempt, 1);
      return [];
    });
  };
  const parts = Array.from({ length: Math.ceil(attempts.length / TOGETHER) }, (_, index) =>
    attempts.slice(index * TOGETHER, (index + 1) * TOGETHER),
  );
  const pages: AsyncIterable<TrainingAttempt[]> = Readable.from(parts).map(read, { concurrency: AT_A_TIME, signal });
  const written = (lines: readonly JsonObject[], of: number): readonly JsonObject[] => {
    counts.lines += lines.length;
    if (lines.length > 0) counts.attempts += of;
    return lines;
  };
  if (format.per === 'attempt') {
    for await (const page of pages) for (const attempt of page) yield* written(format.lines(attempt, leaveOut), 1);
    return;
  }
  let members: TrainingAttempt[] = [];
  for await (const page of pages)
    for (const attempt of page) {
      if (members.length > 0 && members[0]?.group.id !== attempt.group.id) {
        yield* written(format.lines(members, leaveOut), members.length);
        members = [];
      }
      members.push(attempt);
    }
  if (members.length > 0) yield* written(format.lines(members, leaveOut), members.length);
}

/** Returns the attempts that a format needs, and counts the others. */
export function pickedAttempts(
  format: TrainingFormat,
  attempts: readonly PlannedAttempt[],
  leaveOut: LeaveOut,
): readonly PlannedAttempt[] {
  if (format.per !== 'group' || format.pick === undefined) return attempts;
  return [...Map.groupBy(attempts, ({ group }) => group.id).values()].flatMap((members) => {
    const picked = (format.pick?.(members.map(({ reward }) => reward)) ?? []).flatMap((index) => members[index] ?? []);
    if (picked.length === 0) leaveOut('all rewards of their task are the same', members.length);
    else leaveOut('neither the best nor the worst of their task', members.length - picked.length);
    return picked;
  });
}

/** Returns an attempt as formats see it, or why it is left out. */
function attemptOf(
  format: TrainingFormat,
  planned: PlannedAttempt,
  { model, records, messages, tools }: ReadAttempt,
  redaction: ExportRedaction,
  leaveOut: LeaveOut,
): TrainingAttempt | string {
  const { row } = planned;
  const facts = { ...planned, model: model.start?.data.model ?? firstModel(model), tools: redaction.json(tools) };
  if (format.needs === 'conversations') {
    if (row.progress.touched) return 'a person changed it';
    const whole = new Map([...messages].map(([m, message]) => [m, redaction.json(message)]));
    const conversations = conversationsOf(model, whole, (why, count) => leaveOut(`replies: ${why}`, count));
    return conversations.length === 0 ? 'none of its replies may be trained' : { ...facts, tokens: [], conversations };
  }
  // A redacted text no longer equals its tokens, which would still spell what it hides.
  if (!redaction.empty && redaction.findings([...messages.values()]) > 0)
    return 'its text has something to redact, which its tokens would spell';
  const { rows, left_out: leftOut } = trainingRows(model, row, records);
  for (const { why } of leftOut) leaveOut(`model calls: ${why}`);
  if (rows.length === 0) return 'no tokens of it were captured';
  const tokens = rows.map((one): TokenRow => {
    const calls = one.calls.flatMap(({ seq }) => modelSpan(model, seq) ?? []);
    const last = calls.at(-1);
    const conversation =
      format.needs === 'tokens' || last === undefined ? undefined : conversationOf(model, last, calls, messages);
    return {
      row: redaction.empty ? one : redaction.json(one),
      conversation,
      turns: conversation?.turns.filter(({ message: { role } }) => role !== 'system').length ?? 0,
    };
  });
  return { ...facts, tokens, conversations: [] };
}

function modelSpan(model: TrajectoryModel, seq: number): ModelSpan | undefined {
  const span = model.span(seq);
  return span?.kind === 'model' ? span : undefined;
}

function firstModel(model: TrajectoryModel): string | undefined {
  for (const event of model.events)
    if (!('unknown' in event) && event.kind === 'model.start' && event.data.side === undefined) return event.data.model;
  return undefined;
}

export function addTo(counts: Record<string, number>, why: string, count: number): void {
  if (count > 0) counts[why] = (counts[why] ?? 0) + count;
}
