import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModelClient, World } from '../../../src/rollout/ports.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { heldAt, TOOL } from '../../support/gateKit.ts';
import {
  end,
  type Kit,
  type KitOptions,
  kinds,
  kit,
  NumberWorld,
  ScriptedModel,
  type ScriptedReply,
  ScriptedTools,
  submission,
} from '../../support/rolloutKit.ts';

const SCRIPT: ScriptedReply[] = [
  { calls: [{ name: 'look', arguments: { at: 'a' } }, { name: 'add', arguments: { n: 2 } }, { name: 'send' }] },
  { calls: Array.from({ length: 9 }, () => ({ name: 'add', arguments: { n: 1 } })) },
  { calls: [{ name: 'send' }, ...Array.from({ length: 8 }, () => ({ name: 'add', arguments: { n: 1 } }))] },
  { text: 'It is 42.' },
];

interface Run extends Kit {
  /** Calls that were made outside, in order. */
  readonly made: string[];
  readonly world: NumberWorld;
}

/** `onCall` is called with the number of each outside call, while it runs. */
function rich(onCall: (nth: number, one: Kit) => void = () => undefined, options: KitOptions = {}): Run {
  const made: string[] = [];
  const begins = async (name: string): Promise<void> => {
    onCall(made.push(name), one);
    await new Promise((resolve) => setTimeout(resolve, 1));
  };
  const scripted = new ScriptedModel(SCRIPT);
  const model: ModelClient = {
    complete: async (request, context) => {
      await begins('model');
      return scripted.complete(request, context);
    },
  };
  const tools = new ScriptedTools({
    look: { run: (args) => begins('look').then(() => ({ seen: args })) },
    send: { effect: 'irreversible', run: () => begins('send').then(() => 'sent') },
  });
  const world = new NumberWorld();
  const one: Kit = kit({ model, tools, world, ...options, job: { submission: submission(), ...options.job } });
  return { ...one, made, world };
}

/** What was said, called, and returned, and how it ended; parallel calls may end in any order. */
function saidIn(events: readonly TraceEvent[]): unknown {
  const said = events.flatMap((event) => (event.kind === 'message' ? [JSON.stringify(event.data.parts)] : [])).sort();
  const { status, answer, passed, totals } = end(events);
  return { said, status, answer, passed, steps: totals.steps };
}

/** A world that reports its first call while it runs. */
function onFirstCall(world: NumberWorld, report: () => void): World {
  return {
    name: world.name,
    kind: world.kind,
    open: async (input) => {
      const session = await world.open(input);
      let isFirst = true;
      return {
        ...session,
        call: async (...args) => {
          if (isFirst) report();
          isFirst = false;
          return session.call(...args);
        },
      };
    },
  };
}

function continued(before: Kit, events: readonly TraceEvent[], options: KitOptions = {}): Run {
  return rich(undefined, {
    ...options,
    job: { how: 'resumed', epoch: 2, worker: 'w2', ...options.job },
    after: { events, blobs: new Map(before.recorder.blobs) },
  });
}

describe('a rollout that is handed over', () => {
  it('equals the undisturbed one, whatever runs then, and no call is made twice', async () => {
    const whole = rich();
    const expected = saidIn(await whole.run());
    const calls = whole.made.length;
    assert.equal(calls, 7);
    for (let nth = 1; nth <= calls; nth++) {
      const left: Promise<void>[] = [];
      const first = rich((number, one) => {
        if (number === nth) left.push(one.rollout.leave());
      });
      const events = await first.run();
      await Promise.all(left);
      if (events.at(-1)?.kind === 'rollout.end') {
        assert.equal(nth, calls, 'the last call ends the rollout');
        continue;
      }
      assert.equal(events.at(-1)?.kind, 'rollout.handover', kinds(events).join(' '));
      const again = continued(first, events);
      assert.deepEqual(saidIn(await again.run()), expected, `handed over in call ${nth}`);
      assert.equal(first.made.length + again.made.length, calls, `handed over in call ${nth}`);
      assert.equal(again.world.value, whole.world.value);
    }
  });

  it('makes calls that waited for their turn there, also irreversible ones', async () => {
    const burns = { calls: Array.from({ length: 3 }, () => ({ name: 'burn', arguments: { n: 1 } })) };
    const model = new ScriptedModel([burns, { text: '42' }]);
    const [before, after] = [new NumberWorld(), new NumberWorld()];
    const left: Promise<void>[] = [];
    const first = kit({ model, world: onFirstCall(before, () => void left.push(first.rollout.leave())) });
    const events = await first.run();
    await Promise.all(left);
    assert.deepEqual(before.calls, ['burn 1']);
    assert.deepEqual(
      events.flatMap((event) => (event.kind === 'tool.end' ? [event.data.made] : [])),
      [undefined, false, false],
    );
    assert.equal(first.recorder.of('world.snapshot').length, 1, 'its state is saved, as no call is made again');
    const blobs = new Map(first.recorder.blobs);
    const again = kit({ model, world: after, job: { how: 'resumed', epoch: 2 }, after: { events, blobs } });
    assert.equal(end(await again.run()).status, 'done');
    assert.deepEqual(after.calls, ['burn 1', 'burn 1']);
    assert.equal(after.value, 3);
    assert.equal(model.requests.length, 2);
  });

  it('drops what runs if there is no time left, which is no loss', async () => {
    const first = rich((number, one) => {
      if (number === 1) one.rollout.handOver();
    });
    const events = await first.run();
    assert.deepEqual(kinds(events).slice(-2), ['model.start', 'rollout.handover']);
    const again = continued(first, events);
    assert.equal(end(await again.run()).status, 'done');
    assert.equal(first.made.length + again.made.length, 8, 'one call is made again');
    assert.deepEqual(
      again.recorder.of('model.end').flatMap(({ data }) => data.error?.message ?? []),
      ['Its worker handed the rollout over.'],
    );
  });

  it('is held again at its gate', async () => {
    const model = new ScriptedModel([{ calls: [{ name: 'times', arguments: { a: 6, b: 7 } }] }, { text: '42' }]);
    const tools = new ScriptedTools({ times: { effect: 'irreversible', run: () => 42 } });
    const first = kit({ model, tools, job: { breakpoints: [TOOL] } });
    const running = first.run();
    await heldAt(first);
    await first.rollout.leave();
    const events = await running;
    assert.deepEqual(kinds(events).slice(-2), ['hold', 'rollout.handover']);
    const again = kit({
      model,
      tools,
      job: { how: 'resumed', epoch: 2, held: true },
      after: { events, blobs: new Map(first.recorder.blobs) },
    });
    const ended = again.run();
    await heldAt(again);
    await again.command('release');
    assert.equal(end(await ended).status, 'done');
    assert.equal(tools.calls.length, 1);
    assert.equal(model.requests.length, 2);
  });

  it('goes on to its end if its session cannot be restored', async () => {
    const left: Promise<void>[] = [];
    const tools = new ScriptedTools({
      shell: {
        sessionBound: true,
        run: () => {
          if (left.length === 0) left.push(one.rollout.leave());
          return 'done';
        },
      },
    });
    const call = { calls: [{ name: 'shell' }] };
    const one = kit({ model: new ScriptedModel([call, call, { text: '42' }]), tools });
    assert.equal(end(await one.run()).status, 'done');
    await Promise.all(left);
    assert.equal(one.recorder.of('rollout.handover').length, 0);
  });
});
