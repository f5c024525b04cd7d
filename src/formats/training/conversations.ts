/** Conversations of a rollout in the chat format, with what may be learned from them. */
import { type ChatMessage, toChatMessages } from '../../trace/chat/messages.ts';
import { ordinalsOf } from '../../trace/model/ordinals.ts';
import type { ModelSpan } from '../../trace/model/spans.ts';
import type { TrajectoryModel } from '../../trace/model.ts';
import type { Part, Role } from '../../trace/schema.ts';

/** A message with its texts, in place of references to them. */
export interface WholeMessage {
  readonly m: number;
  readonly role: Role;
  readonly parts: readonly Part[];
}
export type WholeMessages = ReadonlyMap<number, WholeMessage>;

export interface Turn {
  readonly message: ChatMessage;
  /** seq of the call of this conversation that sampled it; undefined for what the conversation only contains. */
  readonly call: number | undefined;
  /** Whether it may be trained: sampled in this conversation, and all its tool calls parsed. */
  readonly loss: boolean;
}

export interface Conversation {
  /** Instance path of the agent. */
  readonly agent: string;
  readonly turns: readonly Turn[];
}

/** Called with the reason and the number of replies that are in no conversation. */
type LeaveOut = (why: string, count: number) => void;

/**
 * Returns the conversations of a rollout for supervised training: the calls of one agent for as long as each context
 * begins with exactly the messages before it. Every reply is trained in the conversation that sampled it, and only
 * there. A conversation ends before the first reply that was truncated, changed by a person, or followed by a lost
 * worker, and after the last reply that may be trained.
 */
export function conversationsOf(model: TrajectoryModel, messages: WholeMessages, leaveOut: LeaveOut): Conversation[] {
  const chains: ModelSpan[][] = [];
  const newest = new Map<string, ModelSpan[]>();
  for (const span of callsOf(model)) {
    const chain = newest.get(span.agent);
    if (chain !== undefined && continues(chain.at(-1), span)) chain.push(span);
    else {
      const begun = [span];
      chains.push(begun);
      newest.set(span.agent, begun);
    }
  }
  return chains.flatMap((chain) => {
    const whys = chain.map((span) => whyNotLearned(model, span));
    const bad = whys.findIndex((why) => why !== undefined);
    const why = whys[bad];
    if (why !== undefined) leaveOut(why, chain.length - bad);
    const learned = bad === -1 ? chain : chain.slice(0, bad);
    const last = learned.at(-1);
    if (last === undefined) return [];
    const { agent, turns } = conversationOf(model, last, learned, messages);
    const end = turns.findLastIndex(({ loss }) => loss);
    return end === -1 ? [] : [{ agent, turns: turns.slice(0, end + 1) }];
  });
}

/** Returns the messages of a call with its reply. `calls`: those that sampled a part of them, for `Turn.call`. */
export function conversationOf(
  model: TrajectoryModel,
  last: ModelSpan,
  calls: readonly ModelSpan[],
  messages: WholeMessages,
): Conversation {
  const sampledBy = new Map(calls.flatMap(({ seq, end }) => (end?.data.m === undefined ? [] : [[end.data.m, seq]])));
  const reply = last.end?.data.m;
  const turns: Turn[] = [];
  let results: WholeMessage[] = [];
  const flush = (): void => {
    // The images of all results of a turn follow after the last of them.
    for (const message of toChatMessages(results, REASONING)) turns.push({ message, call: undefined, loss: false });
    results = [];
  };
  for (const m of [...ordinalsOf(last.start.data.context), ...(reply === undefined ? [] : [reply])]) {
    const whole = messages.get(model.currentMessage(m, last.end?.seq ?? last.seq)?.m ?? m);
    if (whole === undefined) continue;
    if (whole.role === 'tool') {
      results.push(whole);
      continue;
    }
    flush();
    const call = sampledBy.get(m);
    const loss = call !== undefined && !whole.parts.some(isUnparsed);
    for (const message of toChatMessages([whole], REASONING)) turns.push({ message, call, loss });
  }
  flush();
  return { agent: last.agent, turns };
}

const REASONING = ['reasoning_content'] as const;

/** Calls of agents that have a reply, in order. */
function callsOf(model: TrajectoryModel): ModelSpan[] {
  return model.events.flatMap((event) => {
    const span = event.kind === 'model.start' ? model.span(event.seq) : undefined;
    if (span?.kind !== 'model' || span.start.data.side !== undefined) return [];
    return span.end?.data.status === 'ok' && span.end.data.m !== undefined ? [span] : [];
  });
}

function continues(before: ModelSpan | undefined, next: ModelSpan): boolean {
  const reply = before?.end?.data.m;
  if (before === undefined || reply === undefined) return false;
  const earlier = [...ordinalsOf(before.start.data.context), reply];
  const later = ordinalsOf(next.start.data.context);
  return earlier.every((m, index) => later[index] === m);
}

/** Returns why a reply, and what follows it, must not be learned; undefined if it may. */
function whyNotLearned(model: TrajectoryModel, { seq, agent, start, end }: ModelSpan): string | undefined {
  if (end?.data.m === undefined) return 'they have no text';
  if (end.data.finish_reason === 'length') return 'truncated, or after a truncated reply';
  const edited = ordinalsOf(start.data.context).some((m) => {
    const entry = model.message(m);
    return entry?.event.data.origin === 'edited' || (entry?.editedBy?.event.seq ?? Infinity) < end.seq;
  });
  if (
    edited ||
    model.message(end.data.m)?.editedBy !== undefined ||
    end.data.source === 'edited' ||
    model.editsOf(seq).length > 0 ||
    model.editsOf(end.seq).length > 0
  )
    return 'changed by a person, or after such a change';
  const next = model.agent(agent)?.modelStarts.find((at) => at > seq) ?? Infinity;
  const isLost = model.leases.some(({ seq: at, data: { how } }) => how !== 'fresh' && at > end.seq && at < next);
  if (isLost || (next === Infinity && model.end?.data.status === 'infrastructure'))
    return 'followed by a lost worker, or after such a reply';
  return undefined;
}

function isUnparsed(part: Part): boolean {
  return part.type === 'tool_call' && typeof part.arguments === 'string';
}
