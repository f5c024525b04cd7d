import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '../../../src/common/abort.ts';
import { redactor } from '../../../src/common/redaction/redactor.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { Random } from '../../support/random.ts';
import {
  completed,
  end,
  type Kit,
  type KitOptions,
  kinds,
  kit,
  NumberWorld,
  normalizedEvents,
  ScriptedModel,
  type ScriptedReply,
  ScriptedTools,
  submission,
} from '../../support/rolloutKit.ts';

/** A run with every feature: dropped reasoning, parallel calls, errors, a truncated result, snapshots, tokens. */
const SCRIPT: ScriptedReply[] = [
  {
    reasoning: 'first',
    text: 'Looking.',
    calls: [{ name: 'look', arguments: { at: 'a' } }, { name: 'add', arguments: { n: 2 } }, { name: 'fail' }],
    tokens: { prompt: [1, 2], completion: [3] },
  },
  {
    calls: Array.from({ length: 9 }, () => ({ name: 'add', arguments: { n: 1 } })),
    tokens: { prompt: [1, 2, 3, 4], completion: [5] },
  },
  {
    reasoning: 'second',
    calls: [{ name: 'look', arguments: 'not json' }, { name: 'nothing' }, { name: 'long' }],
    tokens: { prompt: [1, 2, 3, 4, 5], completion: [6] },
  },
  {
    calls: [...Array.from({ length: 8 }, () => ({ name: 'add', arguments: { n: 1 } })), { name: 'peek' }],
    tokens: { prompt: [1, 2, 3, 4, 5, 10], completion: [7] }, // drift: 10 instead of 6
  },
  { text: 'It is 42.', tokens: { prompt: [1, 2, 3, 4, 5, 10, 7, 8], completion: [9] } },
];
const SUBMISSION = submission({ context: { reasoning: 'drop', tool_result_tokens: 20, overflow: 'fail' } });

interface Run extends Kit {
  readonly model: ScriptedModel;
  readonly tools: ScriptedTools;
  readonly world: NumberWorld;
}

function rich(options: KitOptions = {}): Run {
  const model = new ScriptedModel(SCRIPT);
  const tools = new ScriptedTools({
    look: { run: (args) => ({ seen: args }) },
    fail: {
      run: () => {
        throw new Error('out of order');
      },
    },
    long: { run: () => 'abcdefghij'.repeat(50) },
  });
  const world = new NumberWorld();
  return {
    ...kit({ model, tools, world, ...options, job: { submission: SUBMISSION, ...options.job } }),
    model,
    tools,
    world,
  };
}

function resume(events: readonly TraceEvent[], blobs: Map<string, Uint8Array>, epoch = 2): Run {
  return rich({ job: { how: 'resumed', epoch }, after: { events, blobs } });
}

describe('a resumed rollout', () => {
  it('equals the undisturbed one, wherever its worker was lost, and repeats no recorded call', async () => {
    const whole = rich();
    const undisturbed = await whole.run();
    const expected = normalizedEvents(undisturbed);
    const models = whole.model.requests.length;
    const calls = whole.tools.calls.length;
    for (const boundary of whole.recorder.boundaries.slice(0, -1)) {
      const prefix = undisturbed.slice(0, boundary);
      const again = resume(prefix, new Map(whole.recorder.blobs));
      const events = await again.run();
      assert.deepEqual(normalizedEvents(events), expected, `resumed after event ${boundary}`);
      assert.equal(
        again.model.requests.length,
        models - completed(prefix, 'model.end'),
        `model calls after event ${boundary}`,
      );
      const own = prefix.filter(
        (event) => event.kind === 'tool.end' && ['look', 'long', 'fail'].includes(nameOf(prefix, event)),
      ).length;
      const unreachable = prefix.filter(
        (event) => event.kind === 'tool.end' && event.data.error?.class === 'malformed_output',
      ).length;
      assert.equal(again.tools.calls.length, calls - own + unreachable, `tool calls after event ${boundary}`);
      assert.equal(again.world.value, whole.world.value, `the world after event ${boundary}`);
      assert.equal(again.world.opened.length, 1);
    }
  });

  it('restores the world from its newest snapshot and the calls after it', async () => {
    const whole = rich();
    const undisturbed = await whole.run();
    const snapshot = whole.recorder.of('world.snapshot')[0]!;
    const ends = undisturbed
      .filter((event) => event.kind === 'tool.end' && event.seq > snapshot.seq)
      .map((event) => event.seq);
    const again = resume(undisturbed.slice(0, ends[1]), new Map(whole.recorder.blobs));
    await again.run();
    assert.equal(again.world.opened[0]!.from, '17');
    const again16 = again.recorder.of('rollout.lease')[0]!;
    assert.equal(again16.data.snapshot, snapshot.data.snapshot);
    assert.equal(again.recorder.of('world.open')[0]!.data.from, snapshot.data.snapshot);
    assert.equal(again.world.value, whole.world.value);
  });

  it('is undisturbed after any two losses', async () => {
    const whole = rich();
    const expected = normalizedEvents(await whole.run());
    const random = new Random();
    for (let round = 0; round < 25; round++) {
      const first = whole.recorder.boundaries[Math.floor(random.next() * (whole.recorder.boundaries.length - 1))]!;
      const once = resume(whole.stream().slice(0, first), new Map(whole.recorder.blobs));
      await once.run();
      const second = once.recorder.boundaries[Math.floor(random.next() * (once.recorder.boundaries.length - 1))]!;
      const twice = resume(once.stream().slice(0, second), once.recorder.blobs, 3);
      assert.deepEqual(
        normalizedEvents(await twice.run()),
        expected,
        `seed ${random.seed}: lost after events ${first} and ${second}`,
      );
    }
  });

  it('also continues after a torn append', async () => {
    const whole = rich();
    const undisturbed = await whole.run();
    for (let last = 2; last < undisturbed.length - 1; last++) {
      const events = await resume(undisturbed.slice(0, last), new Map(whole.recorder.blobs)).run();
      assert.deepEqual(
        { ...end(events), totals: 0 },
        { ...end(undisturbed), totals: 0 },
        `resumed after event ${last}`,
      );
    }
  });

  it('writes the token records that an undisturbed run writes', async () => {
    const whole = rich();
    const undisturbed = await whole.run();
    const third = whole.recorder.of('model.start')[2]!;
    const again = resume(undisturbed.slice(0, third.seq - 1), new Map(whole.recorder.blobs));
    await again.run();
    const tokens = again.recorder.of('model.end')[0]!.data.tokens!;
    const second = whole.recorder.of('model.start')[1]!;
    assert.deepEqual(JSON.parse(Buffer.from(again.recorder.blobs.get(tokens.$blob)!).toString()), {
      prompt: { of: second.seq, keep: 5, ids: [] },
      completion: [6],
    });
  });

  it('closes open spans as infrastructure, with its lease', async () => {
    const whole = rich();
    const undisturbed = await whole.run();
    const start = whole.recorder.of('model.start')[1]!;
    const again = resume(undisturbed.slice(0, start.seq), new Map(whole.recorder.blobs));
    await again.run();
    const [lease, model, world] = again.recorder.events;
    assert.deepEqual(lease!.data, { epoch: 2, worker: 'w1', how: 'resumed' });
    assert.equal(model!.kind, 'model.end');
    assert.equal(model!.span, start.seq);
    assert.equal(world!.kind, 'world.close');
    assert.equal(again.recorder.boundaries[0], world!.seq, 'one append');
    assert.equal(again.recorder.of('model.start')[0]!.data.step, 2, 'the repeated step keeps its number');
  });

  it('ends the try when its calls differ from the record', async () => {
    const whole = rich();
    const undisturbed = await whole.run();
    const other = rich({
      job: {
        how: 'resumed',
        epoch: 2,
        submission: submission({ ...SUBMISSION.agent, prompt: { text: 'Another prompt.' } }),
      },
      after: { events: undisturbed.slice(0, 12), blobs: whole.recorder.blobs },
    });
    const { status, error, passed } = end(await other.run());
    assert.equal(status, 'infrastructure');
    assert.equal(error!.class, 'infrastructure');
    assert.match(error!.message, /diverged/);
    assert.equal(passed, null);
    assert.equal(other.model.requests.length, 0);
  });

  it('starts a new try when an irreversible call was open', async () => {
    const tools = (): ScriptedTools => new ScriptedTools({ pay: { effect: 'irreversible', run: () => 'paid' } });
    const model = (): ScriptedModel => new ScriptedModel([{ calls: [{ name: 'pay' }] }, { text: '42' }]);
    const first = kit({ tools: tools(), model: model() });
    const events = await first.run();
    const start = first.recorder.of('tool.start')[0]!.seq;
    const again = tools();
    const lost = await kit({
      tools: again,
      model: model(),
      job: { how: 'resumed', epoch: 2 },
      after: { events: events.slice(0, start), blobs: new Map() },
    }).run();
    assert.equal(end(lost).status, 'infrastructure');
    assert.match(end(lost).error!.message, /pay/);
    assert.equal(again.calls.length, 0);
    const answered = tools();
    const fine = await kit({
      tools: answered,
      model: model(),
      job: { how: 'resumed', epoch: 2 },
      after: { events: events.slice(0, start + 2), blobs: new Map() },
    }).run();
    assert.equal(end(fine).status, 'done');
    assert.equal(answered.calls.length, 0);
  });

  it('makes an irreversible call only once its start is stored, and after a loss every call', async () => {
    for (const [effect, how, waits] of [
      ['irreversible', 'fresh', true],
      ['pure', 'fresh', false],
      ['pure', 'resumed', true],
    ] as const) {
      const tools = new ScriptedTools({ pay: { effect, run: () => 'paid' } });
      const one = kit({
        tools,
        model: new ScriptedModel([{ calls: [{ name: 'pay' }] }, { text: '42' }]),
        job: { how },
      });
      const stored = deferred<undefined>();
      let flushes = 0;
      one.recorder.flushed = () => {
        flushes++;
        assert.equal(one.recorder.events.at(-1)!.kind, 'tool.start');
        assert.equal(tools.calls.length, 0);
        return stored.promise;
      };
      const running = one.run();
      if (waits) {
        await one.recorder.when((event) => event.kind === 'tool.start');
        await new Promise((resolve) => setImmediate(resolve));
        assert.equal(tools.calls.length, 0);
        stored.resolve(undefined);
      }
      await running;
      assert.deepEqual([flushes, tools.calls.length], [waits ? 1 : 0, 1], `${effect}, ${how}`);
    }
  });

  it('ends the try when its worker was lost three times in the same call', async () => {
    let events: readonly TraceEvent[] = [];
    const tools = new ScriptedTools({
      crash: { run: () => new Promise<never>(() => undefined) },
      fine: { run: () => 'fine' },
    });
    for (let epoch = 1; epoch <= 3; epoch++) {
      const one = kit({
        tools,
        model: new ScriptedModel([{ calls: [{ name: 'fine' }] }, { calls: [{ name: 'crash', arguments: { n: 1 } }] }]),
        job: { how: epoch === 1 ? 'fresh' : 'resumed', epoch },
        ...(epoch === 1 ? {} : { after: { events, blobs: new Map() } }),
      });
      const running = one.run();
      await one.recorder.when((event) => event.kind === 'tool.start' && event.data.name === 'crash');
      events = one.stream(); // what was stored when the worker died
      one.rollout.abort('the test goes on');
      await running;
    }
    const exhausted = await kit({
      tools,
      model: new ScriptedModel([]),
      job: { how: 'resumed', epoch: 4 },
      after: { events, blobs: new Map() },
    }).run();
    assert.equal(end(exhausted).status, 'infrastructure');
    assert.match(end(exhausted).error!.message, /^Every worker that called crash was lost during the call/);
    const twice = events.slice(
      0,
      events.findLastIndex((event) => event.kind === 'rollout.lease'),
    );
    const goesOn = kit({
      tools: new ScriptedTools({ crash: { run: () => 'not this time' }, fine: { run: () => 'fine' } }),
      model: new ScriptedModel([{ text: '' }, { calls: [{ name: 'crash', arguments: { n: 1 } }] }, { text: '42' }]),
      job: { how: 'resumed', epoch: 3 },
      after: { events: twice, blobs: new Map() },
    });
    assert.equal(end(await goesOn.run()).status, 'done');
  });

  it('starts a new try when it used a session that is gone', async () => {
    const parts = (): KitOptions => ({
      tools: new ScriptedTools({ browse: { sessionBound: true, run: () => 'page' } }),
      model: new ScriptedModel([{ calls: [{ name: 'browse' }] }, { text: '42' }]),
    });
    const first = kit(parts());
    const events = await first.run();
    const used = await kit({
      ...parts(),
      job: { how: 'resumed', epoch: 2 },
      after: { events: events.slice(0, 10), blobs: new Map() },
    }).run();
    assert.equal(end(used).status, 'infrastructure');
    assert.match(end(used).error!.message, /browse/);
    const unused = await kit({
      ...parts(),
      job: { how: 'resumed', epoch: 2 },
      after: { events: events.slice(0, 8), blobs: new Map() },
    }).run();
    assert.equal(end(unused).status, 'done');
  });

  it('starts a new try when the world cannot be restored, unless a snapshot has the state', async () => {
    const script = (adds: number): ScriptedModel =>
      new ScriptedModel([
        { calls: [{ name: 'burn', arguments: { n: 5 } }] },
        { calls: Array.from({ length: adds }, () => ({ name: 'add', arguments: { n: 1 } })) },
        { calls: [{ name: 'peek' }] },
        { text: 'done' },
      ]);
    for (const [adds, status] of [
      [3, 'infrastructure'],
      [15, 'done'],
    ] as const) {
      const first = kit({ world: new NumberWorld(), model: script(adds) });
      const events = await first.run();
      const third = first.recorder.of('model.start')[2]!.seq;
      const world = new NumberWorld();
      const resumed = await kit({
        world,
        model: script(adds),
        job: { how: 'resumed', epoch: 2 },
        after: { events: events.slice(0, third), blobs: new Map(first.recorder.blobs) },
      }).run();
      assert.equal(end(resumed).status, status, `${adds} calls after the irreversible one`);
      if (status === 'done') assert.equal(end(resumed).reward, 20);
    }
  });

  it('reports when the world answers differently than before', async () => {
    const first = rich();
    const events = await first.run();
    const third = first.recorder.of('model.start')[1]!.seq;
    const drifting = new NumberWorld();
    const open = drifting.open.bind(drifting);
    drifting.open = (input) => open({ ...input, from: Buffer.from('100') });
    const again = rich({
      world: drifting,
      job: { how: 'resumed', epoch: 2 },
      after: { events: events.slice(0, third), blobs: new Map(first.recorder.blobs) },
    });
    await again.run();
    assert.equal(again.recorder.logs.filter((text) => text.includes('returned a different result')).length, 1);
  });

  it('sees the same messages as before, although secrets are not in the record', async () => {
    const secrets = redactor(['hunter2']);
    const spec = submission({
      prompt: { text: 'The key is hunter2.' },
      context: { reasoning: 'keep', tool_result_tokens: 5, overflow: 'fail' },
    });
    const make = (more: KitOptions = {}): Kit =>
      kit({
        model: new ScriptedModel([
          { calls: [{ name: 'f', arguments: { hunter2: ['hunter2', Buffer.from('hunter2').toString('base64'), 7] } }] },
          { text: '42' },
        ]),
        tools: new ScriptedTools({ f: { run: () => ({ env: ['hunter2 and a long tail', 'hunter2'] }) } }),
        ports: { redactor: secrets },
        ...more,
        job: { submission: spec, ...more.job },
      });
    const first = make();
    const whole = await first.run();
    // The rollout itself redacts in messages what the worker's recorder redacts everywhere.
    assert.ok(!JSON.stringify(whole.filter((event) => event.kind === 'message')).includes('hunter2'));
    for (const boundary of first.recorder.boundaries.slice(0, -1)) {
      const events = secrets.json(whole.slice(0, boundary));
      const again = make({
        job: { how: 'resumed', epoch: 2 },
        after: { events, blobs: new Map(first.recorder.blobs) },
      });
      assert.deepEqual(normalizedEvents(await again.run()), normalizedEvents(whole), `resumed after event ${boundary}`);
    }
  });

  it('scores once', async () => {
    const whole = rich();
    const undisturbed = await whole.run();
    const scored = whole.recorder.of('score')[0]!.seq;
    let scorings = 0;
    const again = rich({
      scorer: {
        name: 'counting',
        score: () => {
          scorings++;
          return Promise.resolve({ value: 0, passed: false });
        },
      },
      job: { how: 'resumed', epoch: 2 },
      after: { events: undisturbed.slice(0, scored), blobs: new Map(whole.recorder.blobs) },
    });
    assert.equal(end(await again.run()).reward, end(undisturbed).reward);
    assert.equal(scorings, 0);
    assert.ok(!kinds(again.recorder.events).includes('score'));
  });

  it('continues counting its seconds', async () => {
    const whole = rich();
    const events = (await whole.run()).slice(0, 12);
    const late = events.map((event, index) => ({ ...event, at: event.at + index * 1000 }));
    const again = rich({
      job: {
        how: 'resumed',
        epoch: 2,
        submission: submission({ ...SUBMISSION.agent, limits: { ...SUBMISSION.agent.limits, seconds: 5 } }),
      },
      after: { events: late, blobs: whole.recorder.blobs },
    });
    const ended = end(await again.run());
    assert.equal(ended.status, 'truncated');
    assert.ok(ended.totals.ms! >= 10_000, String(ended.totals.ms));
    assert.equal(again.model.requests.length, 0);
  });
});

function nameOf(events: readonly TraceEvent[], ended: TraceEvent): string {
  const start = events.find((event) => event.seq === ended.span);
  return start?.kind === 'tool.start' ? start.data.name : '';
}
