/** Scripts of a world's calls, and what they answered. */
import type { Json } from '../../src/common/json.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { ScriptedModel } from './rolloutKit.ts';

/** One step for each list of calls such as `put a`; then the answer. */
export function callsOf(...steps: readonly (readonly string[])[]): ScriptedModel {
  return new ScriptedModel([
    ...steps.map((calls) => ({
      calls: calls.map((text) => {
        const [name = '', key] = text.split(' ');
        return { name, arguments: key === undefined ? {} : { key } };
      }),
    })),
    { text: '42' },
  ]);
}

/** Responses to the calls of a tool, or of all, in order. */
export function responses(events: readonly TraceEvent[], tool?: string): Json[] {
  return responsesToCalls(events, tool).map(([, response]) => response);
}

/** Responses with the seq of the start of their call, in order. */
export function responsesToCalls(events: readonly TraceEvent[], tool?: string): [number, Json][] {
  const starts = new Map(
    events.flatMap((event) => (event.kind === 'tool.start' ? [[event.seq, event.data.name]] : [])),
  );
  const messages = new Map(events.flatMap((event) => (event.kind === 'message' ? [[event.data.m, event.data]] : [])));
  return events.flatMap((event): [number, Json][] => {
    if (event.kind !== 'tool.end' || (tool !== undefined && starts.get(event.span ?? 0) !== tool)) return [];
    const part = messages.get(event.data.m ?? 0)?.parts[0];
    return part?.type === 'tool_call_response' ? [[event.span ?? 0, part.response]] : [];
  });
}
