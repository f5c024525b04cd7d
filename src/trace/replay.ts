/**
 * A recorded rollout in the form in which another rollout replays it: what its models replied, and what its tool calls
 * returned. The replaying rollout makes the same calls in the same order and reaches neither models nor tools.
 */
import { z } from 'zod';
import type { JsonObject } from '../common/json.ts';
import { responseIn } from './model/messages.ts';
import type { ModelSpan, ToolSpan } from './model/spans.ts';
import type { TrajectoryModel } from './model.ts';
import { json } from './schema/parts.ts';
import { effect, part, traceError } from './schema.ts';
import { isRefused, isUnreadable } from './undone.ts';

const jsonObject = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>; // from JSON.parse

const error = traceError.pick({ class: true, message: true });

/** A reply of a model, or how its call failed. */
const recordedReply = z.union([
  z.object({ parts: z.array(part), finish_reason: z.string().optional() }),
  z.object({ error }),
]);
export type RecordedReply = z.infer<typeof recordedReply>;

/** A tool call with what the agent got. */
const recordedCall = z.object({
  /** Its ID. Some sources use one for several calls. */
  call: z.string(),
  name: z.string(),
  arguments: json,
  /** seq of its start in the recording. */
  seq: z.number().int().min(1),
  effect,
  response: json,
  /** Images and links that belong to the response. */
  parts: z.array(part).optional(),
  error: error.optional(),
  /** It did not reach a tool, so no world can predict it. */
  refused: z.literal(true).optional(),
});
export type RecordedCall = z.infer<typeof recordedCall>;

/** A tool as the models saw it. */
export const recordedTool = z.object({ name: z.string(), description: z.string(), parameters: jsonObject });
export type RecordedTool = z.infer<typeof recordedTool>;

export const recording = z.object({
  /** By instance path, in order. */
  replies: z.record(z.string(), z.array(recordedReply)),
  /** In order of their starts. */
  calls: z.array(recordedCall),
  /** Those of all agents, as far as they are known. */
  tools: z.array(recordedTool),
  /** Why it ended before its agents did. */
  error: error.optional(),
  /** Of a recording of another tool: its agent ended when it had no more replies. */
  done: z.literal(true).optional(),
});
export type Recording = z.infer<typeof recording>;

export interface RecordingOptions {
  /** The tools that its models had. */
  readonly tools: readonly RecordedTool[];
  /** Tools that the loop itself answers: members of a team, and the answer. */
  readonly without: ReadonlySet<string>;
  /**
   * The path under which one agent replays the calls of all of them, for recordings whose team is unknown. Its other
   * replies are left out, because they would end its work.
   */
  readonly only?: string;
}

/** Returns what a rollout consists of. Its events must have complete values (see `unspill`). */
export function recordingOf(model: TrajectoryModel, { tools, without, only }: RecordingOptions): Recording {
  const replies = new Map<string, RecordedReply[]>();
  for (const { kind, seq } of model.events) {
    const span = kind === 'model.start' ? model.span(seq) : undefined;
    if (span?.kind !== 'model' || !isOfConversation(span)) continue;
    const reply = replyOf(model, span);
    if (reply === undefined) continue;
    const path = only ?? span.agent;
    const list = replies.get(path);
    if (list === undefined) replies.set(path, [reply]);
    else list.push(reply);
  }
  const { status, error: end } = model.end?.data ?? {};
  const calls = model.tools.flatMap((span) => (without.has(span.start.data.name) ? [] : (callOf(model, span) ?? [])));
  const answered = new Set(calls.map(({ call }) => call));
  return {
    replies: Object.fromEntries(
      [...replies].map(([path, list]) => [
        path,
        only === undefined ? list : list.map((reply) => answeredPart(reply, answered)).filter(staysAlone),
      ]),
    ),
    calls,
    tools: tools.filter(({ name }) => !without.has(name)),
    ...(end === undefined ? {} : { error: { class: end.class, message: end.message } }),
    ...(only !== undefined && status === 'done' && end === undefined ? { done: true } : {}),
  };
}

/** Whether the agents' conversation contains the call: those of judges and of tools' code are not repeated. */
function isOfConversation({ start }: ModelSpan): boolean {
  return start.data.side === undefined || start.data.side === 'user';
}

function replyOf(model: TrajectoryModel, { end }: ModelSpan): RecordedReply | undefined {
  const data = end?.data;
  const message = data?.m === undefined ? undefined : model.currentMessage(data.m);
  if (message !== undefined)
    return {
      parts: message.event.data.parts,
      ...(data?.finish_reason === undefined ? {} : { finish_reason: data.finish_reason }),
    };
  // An interrupted call was made again, or ended the rollout.
  if (data?.error === undefined || data.status === 'cut' || isInterruption(data.error.class)) return undefined;
  return { error: { class: data.error.class, message: data.error.message } };
}

/** Of several agents in one: replies with calls, and the last one. */
function staysAlone(reply: RecordedReply, index: number, all: readonly RecordedReply[]): boolean {
  return index === all.length - 1 || ('parts' in reply && reply.parts.some(({ type }) => type === 'tool_call'));
}

/** Leaves out the calls to which nobody answered: other tools end a conversation with them. */
function answeredPart(reply: RecordedReply, answered: ReadonlySet<string>): RecordedReply {
  if ('error' in reply) return reply;
  return { ...reply, parts: reply.parts.filter((part) => part.type !== 'tool_call' || answered.has(part.id)) };
}

function callOf(model: TrajectoryModel, span: ToolSpan): RecordedCall | undefined {
  const { call, name, effect: ofCall } = span.start.data;
  const end = span.end?.data;
  if (end === undefined || end.status === 'cut' || (end.error !== undefined && isInterruption(end.error.class)))
    return undefined;
  const message = end.m === undefined ? undefined : model.currentMessage(end.m);
  const parts = message?.event.data.parts ?? [];
  const others = parts.filter(({ type }) => type !== 'tool_call_response');
  return {
    call,
    name,
    arguments: model.argumentsOf(span).value,
    seq: span.seq,
    effect: ofCall,
    response: responseIn(parts, call) ?? model.resultOf(span)?.value ?? null,
    ...(others.length === 0 ? {} : { parts: others }),
    ...(end.error === undefined ? {} : { error: { class: end.error.class, message: end.error.message } }),
    ...(isUnreadable(span.start.data) || (end.error !== undefined && isRefused(end.error.class))
      ? { refused: true }
      : {}),
  };
}

function isInterruption(errorClass: z.infer<typeof error>['class']): boolean {
  return errorClass === 'infrastructure' || errorClass === 'cancelled' || errorClass === 'limit';
}
