/** A world that predicts tool calls before they are made: neither the agent nor the rollout notices. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../../src/common/json.ts';
import type { ModelClient, ShadowWorld } from '../../../src/rollout/ports.ts';
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
import { TWIN_MODEL as MODEL, Twin, TwinModel } from '../../support/twin.ts';

const CALLS: { name: string; arguments?: Json }[][] = [
  [{ name: 'add', arguments: { n: 5 } }],
  [{ name: 'add', arguments: { n: 1 } }, { name: 'peek' }],
  [{ name: 'other' }],
  [{ name: 'peek' }],
];

interface Run extends Kit {
  readonly twin: Twin;
  readonly model: TwinModel;
  readonly world: NumberWorld;
}

function run(
  options: KitOptions = {},
  shadow: Partial<ShadowWorld> = {},
  twinModel: ModelClient = new TwinModel(),
): Run {
  const twin = new Twin();
  const world = new NumberWorld();
  const one = kit({
    model: new ScriptedModel([...CALLS.map((calls) => ({ calls })), { text: '42' }]),
    tools: new ScriptedTools({ other: { run: () => 'x' } }),
    world,
    ...options,
    ports: {
      modelOf: () => twinModel,
      shadow: { world: twin, ...shadow },
      ...options.ports,
    },
  });
  return { ...one, twin, model: twinModel as TwinModel, world };
}

function scoresOf(events: readonly TraceEvent[]): EventOf<'score'>[] {
  return events.filter((event) => event.kind === 'score' && event.span !== undefined) as EventOf<'score'>[];
}

/** What was predicted, with its accuracy, by the call's tool. */
function told(events: readonly TraceEvent[]): unknown[] {
  return scoresOf(events).map(({ span, data }) => {
    const start = events.find(({ seq }) => seq === span) as EventOf<'tool.start'>;
    return [start.data.name, data.prediction?.response, data.value];
  });
}

const EXPECTED = [
  ['add', '{"value":5}', 1],
  ['add', '{"value":7}', 1], // 6 occurred nowhere before, so any number is plausible
  ['peek', '{"value":7}', 0.5],
  ['peek', '{"value":7}', 0.5],
];

describe('a shadow', () => {
  it('predicts the calls of its tools before they are made, in side calls inside them', async () => {
    const one = run();
    const events = await one.run();
    assert.deepEqual(told(events), EXPECTED);
    assert.deepEqual(one.model.asked, [
      'add {"n":5}',
      'add {"n":5} = {"value":5}\nadd {"n":1}',
      'add {"n":5} = {"value":5}\nadd {"n":1} = {"value":6}\npeek {}',
      'add {"n":5} = {"value":5}\nadd {"n":1} = {"value":6}\npeek {} = {"value":6}\npeek {}',
    ]);
    for (const { span, data } of scoresOf(events)) {
      const model = events.find((event) => event.kind === 'model.start' && event.parent === span);
      const ended = events.find((event) => event.kind === 'tool.end' && event.span === span);
      assert.ok(model !== undefined && ended !== undefined && model.seq < ended.seq, 'predicted before it was made');
      assert.equal((model as EventOf<'model.start'>).data.side, 'shadow');
      assert.deepEqual([data.scorer, data.passed, data.prediction?.how], ['prediction', null, 'shadow']);
    }
    const { totals, passed } = end(events);
    assert.deepEqual([totals.steps, totals.side?.calls, passed], [5, 4, true]);
    assert.deepEqual([one.twin.opened, one.twin.closed], [1, 1]);
    const plainRun = await kit({
      model: new ScriptedModel([...CALLS.map((calls) => ({ calls })), { text: '42' }]),
      tools: new ScriptedTools({ other: { run: () => 'x' } }),
      world: new NumberWorld(),
    }).run();
    assert.equal(end(events).fingerprint, end(plainRun).fingerprint, 'the agent sees nothing of it');
  });

  it('predicts only the calls that `when` selects, and sees all of them', async () => {
    const one = run({}, { when: 'tool.name == "peek" && step > 2' });
    const events = await one.run();
    assert.deepEqual(told(events), [['peek', '{"value":7}', 0.5]]);
    assert.equal(one.twin.seen.length, 4);
  });

  it('is worth an error on its score if it fails, and nothing else', async () => {
    let asked = 0;
    const down: ModelClient = {
      complete: () => {
        asked++;
        return Promise.reject(new ClassedError('infrastructure', 'The endpoint does not answer.'));
      },
    };
    const events = await run({}, {}, down).run();
    assert.equal(end(events).status, 'done');
    assert.equal(end(events).passed, true);
    assert.deepEqual(
      scoresOf(events).map(({ data }) => [data.value, data.error?.class, data.prediction]),
      Array.from({ length: 4 }, () => [null, 'infrastructure', { world: 'twin', how: 'shadow' }]),
    );
    assert.equal(asked, 1, 'an endpoint that is down is not waited for at every call');
  });

  it('does not predict calls that are never made', async () => {
    const model = new ScriptedModel([
      { calls: [{ name: 'add', arguments: { n: 'five' } }, { name: 'none' }] },
      { text: '42' },
    ]);
    const events = await run({ model }).run();
    assert.deepEqual(scoresOf(events), []);
  });

  it('asks the judge after the call, for marks', async () => {
    const judged: unknown[] = [];
    const one = run(
      {},
      {
        when: 'tool.name == "peek"',
        judge: async ({ before, action, predicted, real }, ask) => {
          judged.push([before.length, action, predicted, real]);
          await ask({ side: 'shadow', model: MODEL, messages: [{ role: 'user', text: `judge ${predicted}` }] });
          return { value: 0.75, parts: { format: 5, factuality: 3 }, explanation: 'one wrong number' };
        },
      },
    );
    const events = await one.run();
    assert.deepEqual(judged[0], [2, '{"name":"peek","arguments":{}}', '{"value":7}', '{"value":6}']);
    const [first] = scoresOf(events);
    assert.deepEqual(
      [first?.data.value, first?.data.parts, first?.data.explanation],
      [0.75, { status: 1, keys: 1, deterministic: 0, format: 5, factuality: 3 }, 'one wrong number'],
    );
    const sides = events.flatMap((event) => (event.kind === 'model.start' ? (event.data.side ?? []) : []));
    assert.deepEqual(sides, ['shadow', 'judge', 'shadow', 'judge']);
  });
});

describe('a shadow whose worker is lost', () => {
  it('continues after every event: one score per call, and no answered question is asked again', async () => {
    const whole = run();
    const events = await whole.run();
    assert.ok(whole.recorder.boundaries.length > 20);
    for (const last of whole.recorder.boundaries.slice(0, -1)) {
      const before = events.slice(0, last);
      const resumed = run({
        job: { how: 'resumed', epoch: 2 },
        after: { events: before, blobs: new Map(whole.recorder.blobs) },
      });
      const all = await resumed.run();
      assert.deepEqual(told(all), EXPECTED, `after event ${last}`);
      const answered = before.filter((event) => event.kind === 'model.end' && event.agent === 'shadow').length;
      assert.equal(resumed.model.asked.length, 4 - answered, `after event ${last}: only open questions are asked`);
      assert.equal(end(all).fingerprint, end(events).fingerprint);
    }
  });

  it('does so with a judge, too', async () => {
    const shadow: Partial<ShadowWorld> = {
      judge: async ({ predicted }, ask) => {
        await ask({ side: 'shadow', model: MODEL, messages: [{ role: 'user', text: `judge ${predicted}` }] });
        return { value: 0.5, parts: { format: 3 }, explanation: 'so' };
      },
    };
    const whole = run({}, shadow);
    const events = await whole.run();
    for (const last of whole.recorder.boundaries.slice(0, -1)) {
      const before = events.slice(0, last);
      const resumed = run(
        { job: { how: 'resumed', epoch: 2 }, after: { events: before, blobs: new Map(whole.recorder.blobs) } },
        shadow,
      );
      const all = await resumed.run();
      assert.equal(new Set(scoresOf(all).map(({ span }) => span)).size, scoresOf(all).length);
      assert.equal(scoresOf(all).length, 4, `after event ${last}`);
      const answered = before.filter(
        (event) => event.kind === 'model.end' && (event.agent === 'shadow' || event.agent === 'judge'),
      ).length;
      assert.equal(resumed.model.asked.length, 8 - answered, `after event ${last}`);
    }
  });

  it('leaves the calls of an ancestor to the ancestor', async () => {
    const whole = run();
    const events = await whole.run();
    const cut = scoresOf(events)[0]!.seq - 1; // before the first score
    const fork = run({
      job: { fork: { rollout: 'r0', seq: cut }, rollout: 'r1' },
      after: { events: events.slice(0, cut), blobs: new Map(whole.recorder.blobs) },
    });
    const all = await fork.run();
    assert.deepEqual(told(all), EXPECTED.slice(1));
    assert.equal(fork.model.asked[0], 'add {"n":5} = {"value":5}\nadd {"n":1}');
  });
});
