/** The tool `predict`: an agent asks a world what a call would return, before it makes it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../../src/common/json.ts';
import type { ModelClient, World } from '../../../src/rollout/ports.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import type { EventOf, TraceEvent } from '../../../src/trace/schema.ts';
import {
  end,
  type Kit,
  type KitOptions,
  kit,
  NumberWorld,
  ScriptedModel,
  ScriptedTools,
} from '../../support/rolloutKit.ts';
import { Twin, TwinModel } from '../../support/twin.ts';

interface Call {
  readonly name: string;
  readonly arguments?: Json;
}
const predict = (tool: Json, args: Json): Call => ({ name: 'predict', arguments: { tool, arguments: args } });

const CALLS: readonly (readonly Call[])[] = [
  [predict('add', { n: 5 })],
  [{ name: 'add', arguments: { n: 5 } }],
  [predict('add', { n: 1 }), { name: 'add', arguments: { n: 1 } }, predict('peek', {})],
];

interface Run extends Kit {
  readonly twin: Twin;
  readonly twinModel: TwinModel;
  readonly world: NumberWorld;
}

function run(
  calls: readonly (readonly Call[])[],
  options: KitOptions = {},
  model?: ModelClient,
  lookahead?: World,
): Run {
  const twin = new Twin();
  const twinModel = new TwinModel();
  const world = new NumberWorld();
  const one = kit({
    model: new ScriptedModel([...calls.map((turn) => ({ calls: [...turn] })), { text: '42' }]),
    tools: new ScriptedTools({ other: { run: () => 'x' } }),
    world,
    ...options,
    ports: { modelOf: () => model ?? twinModel, lookahead: lookahead ?? twin, ...options.ports },
  });
  return { ...one, twin, twinModel, world };
}

/** What agents saw of calls, with the source of the result and the class of the error. */
function seen(events: readonly TraceEvent[]): unknown[] {
  return events.flatMap((event) => {
    if (event.kind !== 'tool.start') return [];
    const ended = events.find(({ kind, span }) => kind === 'tool.end' && span === event.seq) as EventOf<'tool.end'>;
    const { source, error, m } = ended.data;
    const message = events.find((one) => one.kind === 'message' && one.data.m === m) as EventOf<'message'> | undefined;
    const part = message?.data.parts.find(({ type }) => type === 'tool_call_response');
    return [[event.data.name, part !== undefined && 'response' in part ? part.response : null, source, error?.class]];
  });
}

const EXPECTED = [
  ['predict', '{"value":5}', 'predicted', undefined],
  ['add', { value: 5 }, 'live', undefined],
  ['predict', '{"value":7}', 'predicted', undefined], // the twin believes that 5 + 1 is 7
  ['add', { value: 6 }, 'live', undefined],
  ['predict', '{"value":7}', 'predicted', undefined],
];

/** Makes one call of `predict`, and returns its error. */
async function errorOf(
  call: Call,
  model?: ModelClient,
  lookahead?: World,
): Promise<EventOf<'tool.end'>['data']['error']> {
  const events = await run([[call]], {}, model, lookahead).run();
  assert.equal(end(events).status, 'done', 'the rollout goes on');
  const ended = events.find(({ kind }) => kind === 'tool.end') as EventOf<'tool.end'>;
  return ended.data.error;
}

describe('predict', () => {
  it('returns what the call would return, without making it, from what the agent saw', async () => {
    const one = run(CALLS);
    const events = await one.run();
    assert.deepEqual(seen(events), EXPECTED);
    assert.deepEqual(
      one.world.calls,
      ['add', 'add'].map((_, at) => one.world.calls[at]),
    );
    assert.equal(one.world.calls.length, 2);
    assert.deepEqual(one.twinModel.asked, [
      'add {"n":5}',
      'add {"n":5} = {"value":5}\nadd {"n":1}',
      'add {"n":5} = {"value":5}\nadd {"n":1} = {"value":6}\npeek {}',
    ]);
    for (const event of events)
      if (event.kind === 'model.start' && event.parent !== undefined) assert.equal(event.data.side, 'lookahead');
    assert.deepEqual([end(events).totals.steps, end(events).totals.side?.calls], [4, 3]);
    assert.deepEqual([one.twin.opened, one.twin.closed], [1, 1]);
  });

  it('continues after every event on another worker, and no answered question is asked again', async () => {
    const whole = run(CALLS);
    const events = await whole.run();
    assert.ok(whole.recorder.boundaries.length > 15);
    for (const last of whole.recorder.boundaries.slice(0, -1)) {
      const before = events.slice(0, last);
      const resumed = run(CALLS, {
        job: { how: 'resumed', epoch: 2 },
        after: { events: before, blobs: new Map(whole.recorder.blobs) },
      });
      const all = await resumed.run();
      const answered = before.filter((event) => event.kind === 'model.end' && event.agent === 'lookahead').length;
      assert.equal(resumed.twinModel.asked.length, 3 - answered, `after event ${last}: only open questions are asked`);
      assert.equal(end(all).fingerprint, end(events).fingerprint, `after event ${last}`);
    }
  });

  it('refuses what would be refused, with the problem', async () => {
    const unknown = await errorOf(predict('subtract', { n: 1 }));
    assert.equal(unknown?.class, 'unknown_tool');
    assert.match(unknown.message, /Unknown tool "subtract"\. Available tools: other, add, peek/);
    const invalid = await errorOf(predict('add', { n: 'five' }));
    assert.equal(invalid?.class, 'invalid_arguments');
    assert.match(invalid.message, /The arguments of add do not match its schema: n must be/);
    const itself = await errorOf(predict('predict', { tool: 'add', arguments: { n: 1 } }));
    assert.deepEqual([itself?.class, itself?.message], ['invalid_arguments', 'predict does not predict itself.']);
    const incomplete = await errorOf({ name: 'predict', arguments: { tool: 'add' } });
    assert.match(incomplete?.message ?? '', /"arguments" is missing/);
    const other = await errorOf(predict('other', {}));
    assert.deepEqual(
      [other?.class, other?.message],
      ['unknown_tool', 'twin does not know other, so it cannot predict it.'],
    );
  });

  it('fails with its world, and the agent goes on', async () => {
    let asked = 0;
    const down: ModelClient = {
      complete: () => {
        asked++;
        return Promise.reject(new ClassedError('infrastructure', 'The endpoint does not answer.'));
      },
    };
    const events = await run([[predict('add', { n: 1 })], [predict('add', { n: 2 })]], {}, down).run();
    assert.deepEqual([end(events).status, asked], ['done', 1], 'an endpoint that is down is not waited for again');
    const errors = events.flatMap((event) => (event.kind === 'tool.end' ? [event.data.error] : []));
    for (const error of errors) {
      assert.deepEqual([error?.class, error?.blame], ['tool_error', undefined]);
      assert.match(error?.message ?? '', /^add cannot be predicted: The endpoint does not answer\./);
    }
    const broken: World = {
      name: 'broken',
      kind: 'simulated',
      open: () => Promise.reject(new ClassedError('world_error', 'The state is missing.', { fatal: true })),
    };
    const error = await errorOf(predict('add', { n: 1 }), undefined, broken);
    assert.deepEqual([error?.class, error?.message], ['tool_error', 'add cannot be predicted: The state is missing.']);
  });

  it('returns the answer of a recorded world, also if the recorded call failed', async () => {
    const twin = new Twin();
    const recorded: World = {
      name: 'recorded',
      kind: 'recorded',
      open: async () => ({
        ...(await twin.open()),
        call: () => {
          const place = { rollout: 'r', seq: 3 };
          throw new ClassedError('tool_error', 'too much', { recorded: { place, response: 'Error: too much' } });
        },
      }),
    };
    const events = await run([[predict('add', { n: 1 })]], {}, undefined, recorded).run();
    assert.deepEqual(seen(events), [['predict', 'Error: too much', 'predicted', undefined]]);
  });
});
