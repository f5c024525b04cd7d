import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seedOf } from '../../../src/common/hash.ts';
import { canonicalJson, type Json } from '../../../src/common/json.ts';
import type { CalledTools } from '../../../src/trace/schema/calls.ts';
import type { ErrorClass, EventData, TraceEvent } from '../../../src/trace/schema.ts';
import { RatedCalls } from '../../../src/trace/toolCalls/rated.ts';

interface Made {
  readonly tool: string;
  readonly args?: Json;
  readonly response?: Json;
  readonly error?: ErrorClass;
  readonly end?: Partial<EventData['tool.end']>;
}

function rated(calls: readonly Made[], except?: string): CalledTools {
  const reader = new RatedCalls(except);
  let seq = 0;
  const add = (event: Pick<TraceEvent, 'kind'> & Record<string, unknown>): void => {
    seq += 1;
    reader.add({ seq, v: 1, at: seq, ...event } as unknown as TraceEvent);
  };
  for (const [m, { tool, args = {}, response, error, end }] of calls.entries()) {
    add({ kind: 'tool.start', data: { call: `c${m}`, name: tool, arguments: args, effect: 'pure' } });
    const span = seq;
    if (response !== undefined)
      add({
        kind: 'message',
        data: { m, role: 'tool', origin: 'tool', parts: [{ type: 'tool_call_response', id: `c${m}`, response }] },
      });
    const failed = error === undefined ? {} : { error: { class: error, message: error } };
    add({
      kind: 'tool.end',
      span,
      data: { status: error === undefined ? 'ok' : 'error', m, source: 'live', ...failed, ...end },
    });
  }
  return reader.tools();
}

const hash = (args: Json): number => seedOf(canonicalJson(args));

describe('the calls of a rollout', () => {
  it('succeeded, failed, or were refused for their form', () => {
    assert.deepEqual(
      rated([
        { tool: 'find', args: { b: 1, a: 2 }, response: { found: true } },
        { tool: 'find', args: { a: 2, b: 1 }, response: 'Error: not found' },
        { tool: 'find', args: { a: 3 }, response: '{"error": "gone"}' },
        { tool: 'find', args: {}, error: 'tool_error' },
        { tool: 'find', args: { c: 1 }, error: 'invalid_arguments' },
        { tool: 'find', args: {}, error: 'malformed_output' },
        { tool: 'lose', error: 'unknown_tool' },
        { tool: '__proto__', error: 'unknown_tool' },
      ]),
      {
        find: {
          succeeded: [hash({ a: 2, b: 1 })],
          failed: [hash({ a: 2, b: 1 }), hash({ a: 3 }), hash({})],
          invalid: 2,
        },
        '': { invalid: 2 },
      },
    );
  });

  it('do not count if they were interrupted, or are predictions', () => {
    assert.deepEqual(
      rated(
        [
          { tool: 'find', error: 'infrastructure' },
          { tool: 'find', error: 'cancelled' },
          { tool: 'find', error: 'limit' },
          { tool: 'find', end: { status: 'cut' } },
          { tool: 'predict', response: { foreseen: true } },
          { tool: 'find', error: 'timeout' },
        ],
        'predict',
      ),
      { find: { failed: [hash({})] } },
    );
    assert.deepEqual(Object.keys(rated([{ tool: 'predict', response: 1 }])), ['predict'], 'a tool of the user');
  });

  it('are only counted after the first 256', () => {
    const { find } = rated(Array.from({ length: 300 }, (_, n) => ({ tool: 'find', args: { n }, response: 'ok' })));
    assert.equal(find?.succeeded?.length, 256);
    assert.deepEqual(find.more, { succeeded: 44, failed: 0 });
  });
});
