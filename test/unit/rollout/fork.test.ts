import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ForkEdit } from '../../../src/config/submission.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
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
  ScriptedTools,
  submission,
} from '../../support/rolloutKit.ts';

interface Run extends Kit {
  readonly model: ScriptedModel;
  readonly tools: ScriptedTools;
  readonly world: NumberWorld;
}

/** Adds the expected numbers until the world is at 10, then says so: later steps depend on earlier results. */
function run(options: KitOptions = {}, job: Partial<Kit['job']> = {}): Run {
  const model = new ScriptedModel([
    { calls: [{ name: 'rate', arguments: { of: 'a' } }] },
    (request) => ({
      calls: [
        { name: 'add', arguments: { n: lastResult(request.messages) } },
        { name: 'rate', arguments: { of: 'b' } },
      ],
    }),
    (request) => ({ calls: [{ name: 'add', arguments: { n: lastResult(request.messages) } }] }),
    (request) => ({ text: `42, after ${JSON.stringify(request.messages.at(-1)!.parts)}` }),
  ]);
  const tools = new ScriptedTools({ rate: { run: (args) => (args['of'] === 'a' ? 3 : 4) } });
  const world = new NumberWorld();
  return { ...kit({ model, tools, world, ...options, job }), model, tools, world };
}

function lastResult(messages: readonly { parts: readonly unknown[] }[]): number {
  for (const message of messages.toReversed()) {
    for (const part of message.parts as { response?: unknown }[])
      if (typeof part.response === 'number') return part.response;
  }
  return 0;
}

function fork(parent: Kit, cut: number, edits: readonly ForkEdit[] = [], more: Partial<Kit['job']> = {}): Run {
  return run(
    { after: { events: parent.stream().slice(0, cut), blobs: new Map(parent.recorder.blobs) } },
    { rollout: 'r2', fork: { rollout: 'r1', seq: cut }, edits, ...more },
  );
}

describe('a fork', () => {
  it('from any event reaches the same end and repeats none of the shared calls', async () => {
    const parent = run();
    const events = await parent.run();
    const expected = end(events);
    for (let cut = 0; cut < events.length - 3; cut++) {
      const child = fork(parent, cut);
      const stream = await child.run();
      const { status, answer, reward, fingerprint } = end(stream);
      assert.deepEqual(
        { status, answer, reward, fingerprint },
        {
          status: expected.status,
          answer: expected.answer,
          reward: expected.reward,
          fingerprint: expected.fingerprint,
        },
        `cut at ${cut}`,
      );
      assert.equal(
        child.model.requests.length,
        4 - completed(events.slice(0, cut), 'model.end'),
        `model calls, cut at ${cut}`,
      );
      assert.equal(
        child.tools.calls.length,
        2 -
          events.slice(0, cut).filter((event) => event.kind === 'tool.end' && nameOf(events, event) === 'rate').length,
        `tool calls, cut at ${cut}`,
      );
      assert.equal(child.world.value, 7, `the world, cut at ${cut}`);
      const start = child.recorder.of('rollout.start')[0]!;
      assert.equal(start.seq, cut + 1);
      assert.deepEqual(start.data.fork, { rollout: 'r1', seq: cut });
      assert.ok(!kinds(child.recorder.events).includes('log'), 'nothing to report');
      assert.deepEqual(
        child.recorder.events.filter((event) => 'error' in event.data),
        [],
        'what was open at the cut has not failed',
      );
    }
  });

  it('counts only its own usage', async () => {
    const parent = run();
    const events = await parent.run();
    const third = parent.recorder.of('model.start')[2]!.seq;
    const { totals, touched } = end(await fork(parent, third - 1).run());
    assert.deepEqual(
      { ...totals, ms: 0 },
      {
        steps: 2,
        tool_calls: 1,
        input_tokens: 20,
        output_tokens: 10,
        cached_tokens: 0,
        ms: 0,
        held_ms: 0,
        cost: 40e-6,
      },
    );
    assert.equal(touched, false);
    assert.equal(end(events).totals.steps, 4);
  });

  it('sees an edited result in all later calls, and the edit is in its record', async () => {
    const parent = run();
    await parent.run();
    const rate = parent.recorder.of('tool.end')[0]!;
    const second = parent.recorder.of('model.start')[1]!.seq;
    const child = fork(parent, second - 1, [{ of: { seq: rate.seq }, path: '/result', value: 6 }]);
    const stream = await child.run();
    assert.deepEqual(kinds(child.recorder.events).slice(0, 5), [
      'rollout.start',
      'rollout.lease',
      'edit',
      'message',
      'world.close',
    ]);
    assert.equal(child.recorder.boundaries[0], second - 1 + 5, 'one append');
    const edited = child.recorder.of('message')[0]!.data;
    assert.equal(edited.origin, 'edited');
    const seen = child.model.requests[0]!.messages.at(-1)!;
    assert.deepEqual(
      [seen.m, seen.role, seen.parts],
      [edited.m, 'tool', [{ type: 'tool_call_response', id: 'c0_0', response: 6 }]],
    );
    assert.equal(child.world.value, 10, '6 as edited, then 4');
    assert.equal(end(stream).touched, false);
    assert.deepEqual(child.recorder.of('model.start')[0]!.data.context, [
      [1, 3],
      [edited.m, edited.m],
    ]);
  });

  it('continues from an edited message of the model', async () => {
    const parent = run();
    await parent.run();
    const said = parent.recorder.of('model.end')[1]!;
    const child = fork(parent, said.seq, [{ of: { m: said.data.m! }, path: '/parts/0/arguments/n', value: 5 }]);
    await child.run();
    assert.deepEqual(child.world.calls, ['add 5', 'add 4']);
    const again = parent.recorder.of('tool.end')[1]!;
    const late = fork(parent, again.seq, [{ of: { m: said.data.m! }, path: '/parts/0/arguments/n', value: 5 }]);
    await late.run();
    assert.deepEqual(late.world.calls, ['add 3', 'add 4'], 'what was called before the cut stays called');
    assert.equal(
      late.model.requests[0]!.messages[4]!.m,
      late.recorder.of('message')[0]!.data.m,
      'but later calls see the edit',
    );
  });

  it('makes an open call with edited arguments', async () => {
    const parent = run();
    await parent.run();
    const start = parent.recorder.of('tool.start')[1]!;
    const child = fork(parent, start.seq, [{ of: { seq: start.seq }, path: '/arguments/n', value: 9 }]);
    await child.run();
    assert.equal(child.world.calls[0], 'add 9');
    const [requested, written] = child.recorder.of('edit');
    assert.equal(requested!.data.of.seq, start.seq);
    assert.equal(written!.data.of.seq, child.recorder.of('tool.start')[0]!.seq, 'the repeated call shows its edit');
  });

  it('is resumed like any other, edits included', async () => {
    const parent = run();
    await parent.run();
    const rate = parent.recorder.of('tool.end')[0]!;
    const cut = parent.recorder.of('model.start')[1]!.seq - 1;
    const edits: ForkEdit[] = [{ of: { seq: rate.seq }, path: '/result', value: 6 }];
    const child = fork(parent, cut, edits);
    const expected = normalizedEvents(await child.run());
    for (const boundary of child.recorder.boundaries.slice(0, -1)) {
      const again = run(
        { after: { events: child.stream().slice(0, boundary), blobs: new Map(child.recorder.blobs) } },
        { rollout: 'r2', fork: { rollout: 'r1', seq: cut }, edits, how: 'resumed', epoch: 2 },
      );
      assert.deepEqual(normalizedEvents(await again.run()), expected, `resumed after event ${boundary}`);
    }
  });

  it('with another prompt uses the recorded answers in order, and says so once', async () => {
    const parent = run();
    await parent.run();
    const fourth = parent.recorder.of('model.start')[3]!.seq;
    const child = fork(parent, fourth - 1, [], { submission: submission({ prompt: { text: 'Be brief.' } }) });
    const stream = await child.run();
    assert.equal(child.model.requests.length, 1);
    assert.equal(child.tools.calls.length, 0);
    assert.deepEqual(child.model.requests[0]!.messages[0]!.parts, [{ type: 'text', content: 'Be brief.' }]);
    assert.equal(child.recorder.of('log').length, 1);
    assert.match(child.recorder.logs[0]!, /used in order/);
    assert.equal(end(stream).status, 'done');
  });

  it('reports that sessions restart', async () => {
    const parts = (): KitOptions => ({
      tools: new ScriptedTools({ browse: { sessionBound: true, run: () => 'page' } }),
      model: new ScriptedModel([{ calls: [{ name: 'browse' }] }, { text: '42' }]),
    });
    const parent = kit(parts());
    await parent.run();
    const child = kit({
      ...parts(),
      job: { rollout: 'r2', fork: { rollout: 'r1', seq: 10 } },
      after: { events: parent.stream().slice(0, 10), blobs: new Map() },
    });
    assert.equal(end(await child.run()).status, 'done');
    assert.match(child.recorder.logs[0]!, /new sessions of browse/);
  });

  it('refuses an impossible edit', async () => {
    const parent = run();
    await parent.run();
    const start = parent.recorder.of('tool.start')[0]!;
    for (const edit of [
      { of: { m: 99 }, path: '/parts', value: [] },
      { of: { seq: start.seq }, path: '/arguments/of', value: 'x' },
      { of: { m: 2 }, path: '/role', value: 'x' },
    ]) {
      const child = fork(parent, 20, [edit]);
      const { status, error, reward } = end(await child.run());
      assert.deepEqual([status, error?.class, reward], ['done', 'invalid_arguments', null]);
      assert.equal(child.model.requests.length, 0);
    }
  });
});

function nameOf(events: readonly TraceEvent[], ended: TraceEvent): string {
  const start = events.find((event) => event.seq === ended.span);
  return start?.kind === 'tool.start' ? start.data.name : '';
}
