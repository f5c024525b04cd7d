// What a scorer learns about the calls: the same live, resumed anywhere, forked, and scored again.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Scorer, ToolCallContext } from '../../../src/rollout/ports.ts';
import { type CallTroubles, callTroubles } from '../../../src/trace/callTroubles.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import type { ErrorClass, EventData } from '../../../src/trace/schema.ts';
import { end, type Kit, type KitOptions, kit, ScriptedModel, ScriptedTools } from '../../support/rolloutKit.ts';
import { Stream } from '../../support/stream.ts';

const seen: CallTroubles[] = [];
const SCORER: Scorer = {
  name: 'troubles',
  score: ({ troubles }) => {
    seen.push(troubles);
    return Promise.resolve({ value: 0, passed: false, outcome: 'format' });
  },
};

function troubled(options: KitOptions = {}): Kit {
  const model = new ScriptedModel([
    { calls: [{ name: 'look', arguments: { at: 1 } }, { name: 'loook' }] },
    { calls: [{ name: 'fail' }] },
    { calls: [{ name: 'look', arguments: { at: 1 } }] },
    { calls: [{ name: 'look', arguments: 'not json' }] },
    { text: '41' },
  ]);
  const tools = new ScriptedTools({
    look: { run: () => 'seen' },
    fail: {
      run: () => {
        throw new ClassedError('tool_error', 'broken', { blame: 'world' });
      },
    },
  });
  return kit({ model, tools, scorer: SCORER, ...options });
}

/** Spans differ in streams with other leases. */
const names = ({ refused, fault }: CallTroubles | undefined = {}): (string | undefined)[] => [
  refused?.tool,
  refused?.error.class,
  fault?.tool,
  fault?.error.class,
];

describe('what the record says about calls', () => {
  it('is the same live, after a loss anywhere, in a fork, and when it is scored again', async () => {
    const expected = ['look', 'malformed_output', 'fail', 'tool_error'];
    const whole = troubled();
    const events = await whole.run();
    assert.deepEqual(names(seen.pop()), expected);
    assert.deepEqual(names(callTroubles(events)), expected);
    const score = events.find(({ kind }) => kind === 'score');
    assert.equal(score?.kind === 'score' && score.data.outcome, 'format');
    const blobs = whole.recorder.blobs;
    const scored = score?.seq ?? 0;
    for (const boundary of whole.recorder.boundaries.filter((seq) => seq < scored)) {
      const after = { events: events.slice(0, boundary), blobs: new Map(blobs) };
      await troubled({ job: { how: 'resumed', epoch: 2 }, after }).run();
      assert.deepEqual(names(seen.pop()), expected, `resumed after event ${boundary}`);
      if (boundary < 2) continue; // a fork begins after its parent
      await troubled({ job: { rollout: 'r2', fork: { rollout: 'r1', seq: boundary } }, after }).run();
      assert.deepEqual(names(seen.pop()), expected, `forked at event ${boundary}`);
    }
    const again = troubled({
      job: { rollout: 'r3', rescores: { rollout: 'r1', seq: events.length } },
      after: { events, blobs: new Map(blobs) },
    });
    assert.equal(end(await again.run()).reward, 0);
    assert.deepEqual(names(seen.pop()), expected);
    assert.equal(seen.length, 0);
  });

  it('has the line where a call was that ran too long, if its host knows it', async () => {
    const place = { file: 'w.py', line: 3, column: 1 };
    const run = (_args: unknown, { signal }: ToolCallContext): Promise<never> =>
      new Promise((_resolve, reject) => {
        const late = (): void => reject(new ClassedError('timeout', 'It was late.', { place, blame: 'world' }));
        signal.addEventListener('abort', late, { once: true });
      });
    const tools = new ScriptedTools({ stall: { timeoutSeconds: 0.05, run } });
    const model = new ScriptedModel([{ calls: [{ name: 'stall' }] }, { text: '41' }]);
    await kit({ model, tools, scorer: SCORER }).run();
    assert.deepEqual(seen.pop()?.fault?.error, { class: 'timeout', message: 'It was late.', place, blame: 'world' });
  });

  it('blames the form only if the last call was refused for it, and neither rules nor people', () => {
    type End = Partial<EventData['tool.end']>;
    const refused = (of: ErrorClass, more: End = {}): End => ({ error: { class: of, message: 'no' }, ...more });
    const read = (...ends: End[]): CallTroubles => {
      const stream = new Stream();
      stream.start();
      const spans = ends.map((_end, at) =>
        stream.add('tool.start', { call: `c${at}`, name: `tool ${at}`, arguments: {}, effect: 'pure' }),
      );
      // The calls of one turn end in any order.
      for (const [at, data] of [...ends.entries()].reverse())
        stream.add('tool.end', { status: 'ok', source: 'live', ...data }, { span: spans[at] ?? 0 });
      return callTroubles(stream.events);
    };
    for (const form of ['unknown_tool', 'invalid_arguments', 'malformed_output'] as const)
      assert.deepEqual(names(read({}, refused(form))).slice(0, 2), ['tool 1', form]);
    for (const calls of [
      [],
      [refused('unknown_tool'), {}],
      [refused('unknown_tool'), refused('tool_error')],
      [refused('unknown_tool'), refused('cancelled')],
      [refused('invalid_arguments', { injected: 'rule', made: false })],
      [refused('invalid_arguments', { source: 'edited' })],
    ])
      assert.deepEqual(read(...calls), {}, JSON.stringify(calls));
    assert.deepEqual(names(read(refused('unknown_tool'), refused('infrastructure'))).slice(0, 1), ['tool 0']);
    const fault: End = { error: { class: 'timeout', message: 'late', blame: 'world' } };
    assert.deepEqual(names(read({}, fault, fault)).slice(2), ['tool 1', 'timeout']);
    assert.deepEqual(read({ ...fault, injected: 'rule' }), {});
  });
});
