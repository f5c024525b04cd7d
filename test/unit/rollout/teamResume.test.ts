import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SubmittedAgent } from '../../../src/config/submission.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { Random } from '../../support/random.ts';
import { completed, end, type KitOptions, NumberWorld, type ScriptedReply } from '../../support/rolloutKit.ts';
import { delegate, handOff, member, stories, type TeamKit, team, teamKit } from '../../support/teamKit.ts';

/** Lets others go first, by chance that depends on the caller. */
function slowly(said: ScriptedReply): (request: { readonly seed: number }) => Promise<ScriptedReply> {
  return async ({ seed }) => {
    for (let turn = 0; turn < seed % 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    return said;
  };
}

const add = (n: number): NonNullable<ScriptedReply['calls']>[number] => ({ name: 'add', arguments: { n } });

/**
 * A handoff to a leader whose members work on one world in parallel, and a workflow with a parallel pair that loops.
 */
const SCRIPTS = {
  desk: [handOff('lead', 'go on')],
  lead: [
    slowly({ calls: [delegate('worker', 'a'), delegate('worker', 'b'), add(1), delegate('pair', 'both')] }),
    slowly({ calls: [delegate('worker', 'c'), { name: 'peek' }] }),
    { text: '42' },
  ],
  worker: [slowly({ calls: [add(2), { name: 'look' }] }), slowly({ calls: [add(3)] }), slowly({ text: 'worked' })],
  north: [slowly({ calls: [add(4)] }), slowly({ text: 'snow' })],
  south: [slowly({ calls: [add(5), { name: 'look', arguments: { at: 'south' } }] }), slowly({ text: 'sun' })],
};
const PAIR = member('pair', {
  ...team('workflow', [member('north', { after: [] }), member('south', { after: [] })]),
  loop: { until: 'NEVER', most: 2 },
});
const AGENT: Partial<SubmittedAgent> = team(
  'handoff',
  [member('lead', team('leader', [member('worker'), PAIR]))],
  { limits: { steps: 60, seconds: 60, tool_seconds: 10, tokens: 100_000 } },
  true,
);

interface Run extends TeamKit {
  readonly world: NumberWorld;
}

function run(options: KitOptions & { readonly snapshots?: boolean } = {}): Run {
  const world = new NumberWorld({ snapshots: options.snapshots ?? true });
  return { ...teamKit(AGENT, SCRIPTS, { world, ...options }), world };
}

function resume(
  events: readonly TraceEvent[],
  blobs: Map<string, Uint8Array>,
  options: { readonly epoch?: number; readonly snapshots?: boolean } = {},
): Run {
  return run({ ...options, job: { how: 'resumed', epoch: options.epoch ?? 2 }, after: { events, blobs } });
}

/**
 * When several agents call a world, its answers depend on their order, and so does which call of a turn ends first:
 * only who did what in which turn is compared.
 */
function done(events: readonly TraceEvent[]): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(stories(events)).map(([agent, lines]) => {
      const turns: string[][] = [[]];
      for (const line of lines) {
        if (line.startsWith('says ')) turns.push([line.replaceAll(/\\*"value\\*":\d+/g, 'value')], []);
        else turns.at(-1)?.push(line.replaceAll(/\\*"value\\*":\d+/g, 'value'));
      }
      return [agent, turns.flatMap((turn) => turn.toSorted())];
    }),
  );
}

/** Values of the world in the order of its calls, as recorded. */
function values(events: readonly TraceEvent[]): number[] {
  return events.flatMap((event) =>
    event.kind === 'world.diff' ? event.data.changes.map(({ after }) => Number(after)) : [],
  );
}

describe('a resumed team', () => {
  it('continues wherever its worker was lost, and repeats no recorded call', async () => {
    const whole = run();
    const undisturbed = await whole.run();
    const expected = done(undisturbed);
    assert.equal(end(undisturbed).answer, '42');
    const calls = whole.callCount();
    const random = new Random();
    for (const boundary of whole.recorder.boundaries.slice(0, -1)) {
      if (random.next() > 0.4) continue; // others the next time
      const prefix = undisturbed.slice(0, boundary);
      const again = resume(prefix, new Map(whole.recorder.blobs));
      const events = await again.run();
      assert.deepEqual(done(events), expected, `TEST_SEED=${random.seed}: resumed after event ${boundary}`);
      assert.equal(again.callCount(), calls - completed(prefix, 'model.end'), `model calls after event ${boundary}`);
      assert.equal(again.world.value, whole.world.value, `the world after event ${boundary}`);
      assert.deepEqual(again.recorder.logs, [], `after event ${boundary}`);
      assert.deepEqual(
        values(events),
        values(events).toSorted((a, b) => a - b),
        `what the world was after event ${boundary}`,
      );
      assert.equal(end(events).totals.steps, end(undisturbed).totals.steps);
      const steps = events.flatMap((event) => (event.kind === 'model.start' ? [event.data.step] : []));
      assert.deepEqual(
        [...new Set(steps)],
        Array.from({ length: new Set(steps).size }, (_, index) => index + 1),
        'steps are numbered in the order of their starts',
      );
    }
  });

  it('continues where it was handed over, and no call is made twice', async () => {
    const whole = run();
    const undisturbed = await whole.run();
    const calls = whole.callCount();
    const random = new Random();
    let handedOver = 0;
    for (let round = 0; round < 30; round++) {
      const first = run();
      const running = first.run();
      for (let turn = random.next() * 60; turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
      // It may have ended.
      await first.rollout.leave().catch(() => undefined);
      const events = await running;
      if (events.at(-1)?.kind === 'rollout.end') continue;
      handedOver++;
      const again = resume(events, new Map(first.recorder.blobs));
      const all = await again.run();
      const place = `TEST_SEED=${random.seed}: handed over after event ${events.length}`;
      assert.deepEqual(done(all), done(undisturbed), place);
      assert.equal(first.callCount() + again.callCount(), calls, place);
      assert.equal(first.tools.calls.length + again.tools.calls.length, whole.tools.calls.length, place);
      assert.equal(again.world.value, whole.world.value, place);
    }
    assert.ok(handedOver > 5, `${handedOver} were handed over`);
  });

  it('does so after any two losses, including without snapshots of the world', async () => {
    const random = new Random();
    const whole = run({ snapshots: false });
    const undisturbed = await whole.run();
    const expected = done(undisturbed);
    for (let round = 0; round < 15; round++) {
      const first = whole.recorder.boundaries[Math.floor(random.next() * (whole.recorder.boundaries.length - 1))]!;
      const once = resume(undisturbed.slice(0, first), new Map(whole.recorder.blobs), { snapshots: false });
      await once.run();
      const second = once.recorder.boundaries[Math.floor(random.next() * (once.recorder.boundaries.length - 1))]!;
      const prefix = once.stream().slice(0, second);
      const twice = resume(prefix, new Map(once.recorder.blobs), { epoch: 3, snapshots: false });
      const events = await twice.run();
      assert.deepEqual(done(events), expected, `TEST_SEED=${random.seed}: lost after ${first} and ${second}`);
      assert.equal(
        twice.callCount(),
        whole.callCount() - completed(prefix, 'model.end'),
        `lost after ${first} and ${second}`,
      );
      assert.deepEqual(twice.recorder.logs, []);
      assert.deepEqual(
        values(events),
        values(events).toSorted((a, b) => a - b),
      );
    }
  });

  it("survives any number of workers in a member's call", async () => {
    const agent = team('leader', [member('worker')]);
    const scripts = { desk: [{ calls: [delegate('worker', 'long')] }, { text: '42' }], worker: [{ text: 'worked' }] };
    const isCall = (event: TraceEvent): boolean => event.kind === 'model.start' && event.agent === 'desk/worker#1';
    let last = teamKit(agent, scripts);
    await last.run();
    let events: readonly TraceEvent[] = last.stream();
    for (let epoch = 2; epoch < 8; epoch++) {
      events = last.stream().slice(0, last.recorder.events.find(isCall)!.seq);
      last = teamKit(agent, scripts, {
        job: { how: 'resumed', epoch },
        after: { events, blobs: new Map(last.recorder.blobs) },
      });
      await last.run();
      assert.equal(end(last.stream()).answer, '42');
      assert.equal(last.callCount(), 2);
    }
    assert.equal(
      events.filter((event) => event.kind === 'tool.end' && event.data.error?.class === 'infrastructure').length,
      5,
    );
  });
});

describe('a forked team', () => {
  it('continues from any event, with the recorded answers before it', async () => {
    const whole = run();
    const undisturbed = await whole.run();
    for (let cut = 3; cut < undisturbed.length - 1; cut += 7) {
      const prefix = undisturbed.slice(0, cut);
      const fork = run({
        job: { rollout: 'r2', fork: { rollout: 'r1', seq: cut } },
        after: { events: prefix, blobs: new Map(whole.recorder.blobs) },
      });
      const events = await fork.run();
      assert.equal(end(events).answer, '42', `forked at ${cut}`);
      assert.equal(fork.callCount(), whole.callCount() - completed(prefix, 'model.end'), `forked at ${cut}`);
      assert.deepEqual(fork.recorder.logs, [], `forked at ${cut}`);
    }
  });

  it('continues with another team than the recorded one', async () => {
    const whole = run();
    const undisturbed = await whole.run();
    const cut = Math.floor(undisturbed.length / 2);
    const fork = teamKit(
      team('handoff', [member('lead')], {}, true),
      { desk: [handOff('lead', 'other')], lead: [{ calls: [add(1)] }, { text: '42' }] },
      {
        world: new NumberWorld(),
        job: { rollout: 'r2', fork: { rollout: 'r1', seq: cut } },
        after: { events: undisturbed.slice(0, cut), blobs: new Map(whole.recorder.blobs) },
      },
    );
    const events = await fork.run();
    assert.equal(end(events).status, 'done');
  });
});

describe('a held team', () => {
  it("is held at a member's gate, the others at their next one, and continues", async () => {
    const held = run({
      job: { breakpoints: [{ id: 'b1', side: 'before', tool: 'look', when: 'agent == "desk/lead#1/worker#2"' }] },
    });
    const running = held.run();
    const hold = await held.recorder.when((event) => event.kind === 'hold');
    assert.equal(hold.agent, 'desk/lead#1/worker#2');
    await held.command('edit', { of: { seq: hold.span! }, path: '/arguments', value: { at: 'elsewhere' } });
    await held.command('release');
    const events = await running;
    assert.equal(end(events).answer, '42');
    const look = held.tools.calls.find((call) => call.arguments['at'] === 'elsewhere');
    assert.ok(look !== undefined);
    assert.equal(end(events).touched, true);
  });

  it('may have a member answered by a person', async () => {
    const held = run({ job: { breakpoints: [{ id: 'b1', side: 'before', tool: 'pair' }] } });
    const running = held.run();
    await held.recorder.when((event) => event.kind === 'hold');
    await held.command('skip', { result: 'never mind' });
    const events = await running;
    assert.equal(
      events.some((event) => event.agent?.includes('pair') === true),
      false,
    );
    const again = resume(events.slice(0, -2), new Map(held.recorder.blobs));
    assert.equal(end(await again.run()).answer, '42');
    assert.equal(again.callCount(), 0);
  });
});
