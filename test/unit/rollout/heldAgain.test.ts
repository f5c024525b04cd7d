import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { heldAt, type Run, run, TOOL } from '../../support/gateKit.ts';
import { end, kinds, kit, ScriptedModel, ScriptedTools } from '../../support/rolloutKit.ts';

describe('a hold that lost its worker', () => {
  for (const side of ['before', 'after'] as const) {
    it(`is restored at the same gate, ${side} the call`, async () => {
      const first = run({ job: { breakpoints: [{ ...TOOL, side }] } });
      const gone = first.run();
      await heldAt(first);
      const prefix = first.stream();
      first.rollout.abort('lost');
      await gone;
      assert.equal(first.stream().length, prefix.length, 'an aborted rollout writes nothing more');
      const again = run({
        job: { how: 'resumed', epoch: 2, held: true },
        after: { events: prefix, blobs: new Map(first.recorder.blobs) },
      });
      const done = again.run();
      const hold = await heldAt(again);
      assert.deepEqual(hold.data, { why: 'breakpoint', breakpoint: 'bp', side, limit_ms: 60_000 });
      const started =
        side === 'before'
          ? again.recorder.of('tool.start')[0]!.seq
          : prefix.find((event) => event.kind === 'tool.start')!.seq;
      assert.equal(hold.span, started);
      // Lost again before it reached the gate: still held.
      const third = run({
        job: { how: 'resumed', epoch: 3, held: false },
        after: { events: [...prefix, ...again.recorder.events.slice(0, 1)], blobs: new Map(first.recorder.blobs) },
      });
      const thirdDone = third.run();
      assert.equal((await heldAt(third)).data.why, 'breakpoint');
      await third.command('release');
      await thirdDone;
      if (side === 'after')
        await again.command('edit', {
          of: { m: prefix.find((event) => event.kind === 'tool.end')!.data.m! },
          path: '/result',
          value: 1,
        });
      await again.command('release');
      const events = await done;
      assert.equal(end(events).status, 'done');
      assert.equal(events.filter((event) => event.kind === 'hold').length, 2);
      if (side === 'after')
        assert.deepEqual(again.model.requests.at(-1)!.messages.at(-1)!.parts, [
          { type: 'tool_call_response', id: 'c0_0', response: 1 },
        ]);
    });
  }

  it('of a paused batch lasts as long as the pause', async () => {
    const first = run({ job: { paused: true } });
    const gone = first.run();
    assert.equal((await heldAt(first)).data.why, 'pause');
    const prefix = first.stream();
    first.rollout.abort('lost');
    await gone;
    const again = (paused: boolean): Run =>
      run({
        job: { how: 'resumed', epoch: 2, held: true, paused },
        after: { events: prefix, blobs: new Map(first.recorder.blobs) },
      });
    const still = again(true);
    const done = still.run();
    assert.equal((await heldAt(still)).data.why, 'pause');
    still.rollout.setBreakpoints([], false);
    assert.equal(end(await done).status, 'done');
    // Nobody would release it now.
    const over = again(false);
    assert.equal(end(await over.run()).status, 'done');
    assert.equal(over.recorder.of('hold').length, 0);
  });

  it('keeps edits, injections, and skips through a takeover', async () => {
    const first = run({ job: { breakpoints: [{ id: 'a', side: 'after', kind: 'model', when: 'step == 1' }, TOOL] } });
    const done = first.run();
    await heldAt(first);
    await first.command('edit', {
      of: { m: first.recorder.of('model.end')[0]!.data.m! },
      path: '/parts/1/arguments/a',
      value: 10,
    });
    await first.command('inject', { message: { role: 'user', parts: [{ type: 'text', content: 'hurry' }] } });
    await first.command('release');
    await heldAt(first, 2);
    await first.command('edit', {
      of: { seq: first.recorder.of('tool.start')[0]!.seq },
      path: '/arguments/b',
      value: 20,
    });
    const edited = first.recorder.boundaries.length;
    await first.command('release');
    const whole = await done;
    const seen = first.model.requests[1]!.messages;
    assert.deepEqual(first.tools.calls[0]!.arguments, { a: 10, b: 20 });
    for (const boundary of first.recorder.boundaries.slice(1, -1)) {
      const again = run({
        job: { how: 'resumed', epoch: 2 },
        after: { events: whole.slice(0, boundary), blobs: new Map(first.recorder.blobs) },
      });
      const events = await again.run();
      if (first.recorder.boundaries.indexOf(boundary) < edited - 1) continue; // the person's message was not there yet
      assert.equal(end(events).touched, true, `resumed after event ${boundary}`);
      const repeated = [...again.tools.calls.map((call) => call.arguments)];
      assert.ok(
        repeated.every((args) => args['a'] === 10 && args['b'] === 20),
        `resumed after event ${boundary}`,
      );
      const last = again.model.requests.at(-1)?.messages;
      if (last !== undefined)
        assert.deepEqual(
          last.map((message) => message.parts),
          seen.map((message) => message.parts),
          `resumed after event ${boundary}`,
        );
    }
  });
});

describe('cancel', () => {
  it('ends a rollout within a second even inside a hanging tool', async () => {
    const tools = new ScriptedTools({ times: { run: () => new Promise(() => undefined) } });
    const one = kit({ tools, model: new ScriptedModel([{ calls: [{ name: 'times' }, { name: 'times' }] }]) });
    const done = one.run();
    await one.recorder.when((event) => event.kind === 'tool.start');
    const began = performance.now();
    const { seq } = await one.command('cancel', { reason: 'enough' });
    const events = await done;
    assert.ok(performance.now() - began < 1000);
    assert.equal(events.at(-1)!.seq, seq);
    assert.deepEqual(kinds(events).slice(-3), ['tool.end', 'tool.end', 'rollout.end']);
    const { status, error, passed, reward } = end(events);
    assert.deepEqual(
      [status, error?.class, error?.message, passed, reward],
      ['cancelled', 'cancelled', 'enough', null, null],
    );
    assert.equal(tools.closed, 1);
  });

  it('ends a held one, with its hold', async () => {
    const one = run({ job: { breakpoints: [TOOL] } });
    const done = one.run();
    await heldAt(one);
    await one.command('cancel');
    assert.deepEqual(kinds(await done).slice(-4), ['hold', 'release', 'tool.end', 'rollout.end']);
  });
});
