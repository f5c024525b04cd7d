/** Reads the calls of a trajectory as a recorded world answers them: with what the tools really returned. */
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { StudioError } from '../../common/errors.ts';
import { hashOf } from '../../common/hash.ts';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { ANSWER_TOOL } from '../answerTool.ts';
import type { ToolSpan } from '../model/spans.ts';
import type { TrajectoryModel } from '../model.ts';
import type { EventOf, Part, TraceEvent } from '../schema.ts';
import { type ReadBlob, unspill } from '../spill.ts';
import { hasHappened } from '../undone.ts';
import { isBlobRef } from '../values/keys.ts';
import { definitionsIn } from './definitions.ts';
import type { RecordedAnswer, RecordedAttempt, RecordedCall, RecordedTool } from './schema.ts';

/** Longer answers, in bytes of JSON, become blobs. */
const LONG = 256 * 1024;

interface ReadPorts {
  /** Throws StudioError `not_found` or `gone` if the store no longer has the blob. */
  readonly read: ReadBlob;
  /** Keeps a long answer, and returns its hash. */
  readonly keep: (bytes: Uint8Array) => Promise<string>;
}

interface ReadAttempt {
  readonly calls: RecordedAttempt['calls'];
  /** As the agents got them. */
  readonly definitions: readonly RecordedTool[];
  /** Number of calls whose arguments or answer the store no longer has. */
  readonly lost: number;
  /** Number of calls without a result: they were interrupted, or the recording does not have it. */
  readonly open: number;
}

/**
 * Returns the calls of a trajectory, in order of their start. Left out are calls that never reached a tool (refused,
 * answered by a person or by a rule), that were interrupted, and that another agent answered. Of a result that a rule
 * or a person changed afterwards, it takes what the tool really returned.
 */
export async function readRecordedCalls(model: TrajectoryModel, ports: ReadPorts): Promise<ReadAttempt> {
  const definitions = await definitionsIn(model, ports.read);
  const answering = new Set(definitions.flatMap((tool) => (tool.description === ANSWER_TOOL ? [tool.name] : [])));
  const delegating = new Set(
    model.tools.filter((span) => isDelegated(model, span)).map(({ start }) => start.data.name),
  );
  const isOther = (name: string): boolean => answering.has(name) || delegating.has(name) || name.startsWith(HAND_OFF);
  const calls: RecordedCall[] = [];
  let lost = 0;
  let open = 0;
  for (const span of model.tools) {
    const { name, raw, effect } = span.start.data;
    if (raw !== undefined || isOther(name)) continue;
    if (span.end === undefined || span.end.data.status === 'cut') open++;
    if (!hasHappened(span.end?.data)) continue;
    const args = await orLost(argumentsOf(model, span, ports.read));
    if (args === undefined) {
      lost++;
      continue; // nobody can say what was called
    }
    const answer = await orLost(answerOf(model, span, ports.read));
    if (answer === undefined) lost++;
    const pure = effect === 'pure' ? ({ pure: true } as const) : {};
    calls.push({
      seq: span.seq,
      name,
      arguments: args,
      ...pure,
      ...(answer === undefined ? {} : await kept(answer, ports)),
    });
  }
  return { calls, definitions: definitions.filter(({ name }) => !isOther(name)), lost, open };
}

/** The tools that hand off to a member of a team. */
const HAND_OFF = 'hand_off_to_';

function isDelegated(model: TrajectoryModel, span: ToolSpan): boolean {
  return model.children(span.seq).some((seq) => model.event(seq)?.kind === 'agent.start');
}

async function kept(answer: RecordedAnswer, { keep }: ReadPorts): Promise<Pick<RecordedCall, 'answer' | 'long'>> {
  const bytes = utf8ToBytes(JSON.stringify(answer));
  return bytes.length > LONG ? { long: { blob: await keep(bytes), response: hashOf(answer.response) } } : { answer };
}

/** Returns undefined if the store no longer has a blob. */
async function orLost<T>(reading: Promise<T | undefined>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (StudioError.is(error, 'not_found') || StudioError.is(error, 'gone')) return undefined;
    throw error;
  }
}

async function argumentsOf(model: TrajectoryModel, span: ToolSpan, read: ReadBlob): Promise<JsonObject> {
  const edited = model.argumentsOf(span);
  const start = { ...span.start, data: { ...span.start.data, arguments: edited.value } };
  const { data } = await unspill(start, read);
  return isJsonObject(data.arguments) ? data.arguments : {};
}

async function answerOf(model: TrajectoryModel, span: ToolSpan, read: ReadBlob): Promise<RecordedAnswer | undefined> {
  const { end } = span;
  if (end === undefined) return undefined;
  const { result, error, m, cut, injected } = end.data;
  const seen = m === undefined ? undefined : await seenIn(model.message(m)?.event, span, read);
  const failed = error === undefined ? {} : { error: { class: error.class, message: error.message } };
  // A long output is cut for everybody: its whole text, which only the record has, is not what a tool answers.
  if (result !== undefined && (cut === undefined || injected !== undefined))
    return { response: await wholeResult(end, read), ...failed };
  if (seen !== undefined) return { ...seen, ...failed };
  return error === undefined ? undefined : { response: `Error (${error.class}): ${error.message}`, ...failed };
}

async function wholeResult(end: EventOf<'tool.end'>, read: ReadBlob): Promise<Json> {
  return (await unspill(end, read)).data.result ?? null;
}

async function seenIn(
  message: TraceEvent | undefined,
  span: ToolSpan,
  read: ReadBlob,
): Promise<Pick<RecordedAnswer, 'response' | 'parts'> | undefined> {
  if (message?.kind !== 'message') return undefined;
  const { parts } = (await unspill(message, read)).data;
  const response = parts.find((part) => part.type === 'tool_call_response' && part.id === span.start.data.call);
  if (response?.type !== 'tool_call_response') return undefined;
  const others: Part[] = parts.filter((part) => part.type !== 'tool_call_response' && !isReference(part));
  return { response: response.response, ...(others.length === 0 ? {} : { parts: others }) };
}

function isReference(part: Part): boolean {
  return 'content' in part && isBlobRef(part.content);
}
