/** Builds the events of tool calls. */
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { ClassedError } from '../../trace/classedError.ts';
import type { EventData, Part } from '../../trace/schema.ts';
import { isUndone } from '../../trace/undone.ts';
import type { EffectResult, Outcome } from '../act/act.ts';
import type { Envelope, Log } from '../log/log.ts';
import type { Sha256 } from '../log/messages.ts';
import type { ToolOutcome, ToolSpec } from '../ports.ts';

export type ToolCallPart = Extract<Part, { type: 'tool_call' }>;

/** Duration of a call, with earlier tries. */
export type CallTiming = Pick<EventData['tool.end'], 'ms' | 'retries'>;

/** Number of characters of a full output in its reference. */
const HEAD_CHARS = 1_024;

export function startOf(part: ToolCallPart, effect: ToolSpec['effect']): EventData['tool.start'] {
  const base = { call: part.id, name: part.name, effect };
  if (typeof part.arguments !== 'string') return { ...base, arguments: part.arguments };
  // A model may write nothing for a tool without arguments.
  return part.arguments.trim() === '' ? { ...base, arguments: {} } : { ...base, arguments: {}, raw: part.arguments };
}

export function argumentsOf(value: Json): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns the response that the agent got, if it got one. */
export function responseOf({ message }: EffectResult<'tool'>): Json | undefined {
  return message?.parts.find((part) => part.type === 'tool_call_response')?.response;
}

interface SuccessOptions {
  readonly envelope?: Envelope | undefined;
  /** The rule that has changed the call. */
  readonly injected?: string | undefined;
  /** What the agent sees instead of the result. */
  readonly seen?: ToolOutcome | undefined;
}

/** Returns the response for the model and the end of a successful call. */
export function successOf(
  sha256: Sha256,
  request: EventData['tool.start'],
  result: ToolOutcome,
  timing: CallTiming,
  { envelope, injected, seen }: SuccessOptions = {},
): Outcome<'tool'> {
  const { response, parts: files = [] } = seen ?? result;
  const parts: Part[] = [{ type: 'tool_call_response', id: request.call, response }, ...files];
  const end: EventData['tool.end'] = {
    status: 'ok',
    ...timing,
    source: result.source ?? 'live',
    ...(result.recorded === undefined ? {} : { recorded: result.recorded }),
    ...(injected === undefined ? {} : { injected }),
    ...(seen === undefined ? {} : { result: result.response }),
    ...(result.real === undefined ? {} : { real: result.real }),
    ...(result.cut === undefined ? {} : { cut: result.cut }),
  };
  const base = { message: { role: 'tool', parts, origin: 'tool', ...envelope } as const, changes: result.changes };
  if (result.full === undefined) return { ...base, end };
  const sha = sha256(result.full);
  const media = 'text/plain';
  const head = new TextDecoder().decode(result.full.subarray(0, HEAD_CHARS)).slice(0, HEAD_CHARS);
  return {
    ...base,
    end: { ...end, result: { $blob: sha, bytes: result.full.length, media, head } },
    blobs: [{ sha, bytes: result.full, media }],
    refs: new Set([sha]),
  };
}

/** Returns the end of a failed call and the response for the model, unless the rollout ends. */
export function failureOf(
  request: EventData['tool.start'],
  error: ClassedError,
  timing: CallTiming,
  envelope?: Envelope,
): Outcome<'tool'> {
  const { recorded } = error;
  const end: EventData['tool.end'] = {
    status: 'error',
    ...timing,
    ...(recorded === undefined ? { source: 'live' } : { source: 'recorded', recorded: recorded.place }),
    error: error.toTrace(),
  };
  if (error.class === 'infrastructure' || error.class === 'cancelled' || error.class === 'limit') return { end };
  const response = error.toResponse();
  return {
    message: {
      role: 'tool',
      parts: [{ type: 'tool_call_response', id: request.call, response }],
      origin: 'tool',
      ...envelope,
    },
    // A call that never happened has changed nothing.
    changes: isUndone(error.class) ? undefined : error.changes,
    end,
  };
}

/** A result that was cut may end within a secret, before the note on the cut. */
export function cleanCut(result: ToolOutcome, log: Log): ToolOutcome {
  const { response, cut } = result;
  if (cut === undefined || typeof response !== 'string') return result;
  const end = response.lastIndexOf('\n[');
  return end === -1 ? result : { ...result, response: log.cleanCut(response.slice(0, end)) + response.slice(end) };
}
