import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '../../../src/common/abort.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import { conflict, heldAt, type Run, run, TOOL } from '../../support/gateKit.ts';
import {
  end,
  type KitOptions,
  kinds,
  kit,
  ScriptedModel,
  ScriptedTools,
  submission,
} from '../../support/rolloutKit.ts';

describe('a breakpoint', () => {
  it('holds before a tool: nothing is called until it is released', async () => {
    const one = run({ job: { breakpoints: [TOOL] } });
    const done = one.run();
    const hold = await heldAt(one);
    assert.deepEqual(hold.data, { why: 'breakpoint', breakpoint: 'bp', side: 'before', limit_ms: 60_000 });
    assert.equal(hold.span, one.recorder.of('tool.start')[0]!.seq);
    assert.equal(one.tools.calls.length, 0);
    assert.deepEqual(one.slot, { released: 1, acquired: 0 });
    const { seq } = await one.command('release', {}, 'k1');
    const events = await done;
    const release = events.find((event) => event.kind === 'release')!;
    assert.equal(release.seq, seq);
    const data = release.data as { how: string; command?: string; by?: string; held_ms: number };
    assert.deepEqual([data.how, data.command, data.by], ['continue', 'k1', 'ann']);
    assert.deepEqual(one.slot, { released: 1, acquired: 1 });
    assert.deepEqual(
      [end(events).status, end(events).touched, end(events).totals.held_ms],
      ['done', false, Math.round(data.held_ms)],
    );
  });

  it('holds after one, on a condition, from the n-th hit on', async () => {
    const model = new ScriptedModel([
      ...Array.from({ length: 4 }, (_, a) => ({ calls: [{ name: 'times', arguments: { a, b: 7 } }] })),
      { text: '42' },
    ]);
    const one = run({
      model,
      job: {
        breakpoints: [
          { id: 'bp', side: 'after', kind: 'tool', when: 'tool.result >= 7.0 && tool.arguments.b == 7', hits: 2 },
        ],
      },
    });
    const done = one.run();
    const hold = await heldAt(one);
    assert.equal(hold.span, one.recorder.of('tool.start')[2]!.seq, 'the second of those over 7');
    await one.command('release');
    await heldAt(one, 2);
    await one.command('release');
    assert.equal((await done).filter((event) => event.kind === 'hold').length, 2);
  });

  it('writes a line instead when it is a log point', async () => {
    const one = run({ job: { breakpoints: [{ ...TOOL, log: '{tool.name} of {tool.arguments.a} {{x}}' }] } });
    const events = await one.run();
    assert.ok(!kinds(events).includes('hold'));
    assert.equal(one.recorder.of('log')[0]!.data.text, 'times of 6 {x}');
  });

  it('that holds once checks whether it is the first', async () => {
    const claims: string[] = [];
    const one = run({
      job: { breakpoints: [{ ...TOOL, once: true }] },
      ports: {
        claim: (id) => {
          claims.push(id);
          return Promise.resolve(false);
        },
      },
    });
    assert.ok(!kinds(await one.run()).includes('hold'));
    assert.deepEqual(claims, ['bp']);
  });

  it('only logs when the worker already holds enough rollouts', async () => {
    let releases = 0;
    const none = {
      holdPermits: {
        acquire: () => false,
        release: () => {
          releases++;
        },
      },
    };
    const one = run({ job: { breakpoints: [TOOL] }, ports: none });
    assert.ok(!kinds(await one.run()).includes('hold'));
    assert.match(one.recorder.logs[0]!, /did not hold/);
    const other = run({
      job: { breakpoints: [TOOL] },
      ports: {
        holdPermits: {
          acquire: () => true,
          release: () => {
            releases++;
          },
        },
      },
    });
    const done = other.run();
    await heldAt(other);
    await other.command('release');
    await done;
    assert.equal(releases, 1);
  });

  it('that is invalid is reported and holds nothing', async () => {
    const one = run({ job: { breakpoints: [{ ...TOOL, when: 'tool.name ==' }] } });
    assert.equal(end(await one.run()).status, 'done');
    assert.match(one.recorder.logs[0]!, /Breakpoints could not be set/);
  });

  it('continues by itself after the hold limit', async () => {
    const one = run({ job: { breakpoints: [TOOL], submission: submission({}, { hold_limit_seconds: 0.02 }) } });
    const events = await one.run();
    assert.equal((events.find((event) => event.kind === 'release')!.data as { how: string }).how, 'expired');
    assert.equal(end(events).status, 'done');
  });
});

describe('a held rollout', () => {
  it('steps from gate to gate', async () => {
    const one = run({ job: { breakpoints: [TOOL] } });
    const done = one.run();
    const sides: string[] = [];
    for (let nth = 1; nth <= 4; nth++) {
      const hold = await heldAt(one, nth);
      sides.push(
        `${hold.data.why} ${hold.data.side} ${one.recorder.events.find((event) => event.seq === hold.span)!.kind}`,
      );
      await one.command(nth === 4 ? 'release' : 'step');
    }
    assert.deepEqual(sides, [
      'breakpoint before tool.start',
      'step after tool.start',
      'step before model.start',
      'step after model.start',
    ]);
    assert.equal(end(await done).status, 'done');
  });

  it('names who requested the step, and goes on without holds when that client has gone', async () => {
    const one = run({
      job: {
        breakpoints: [
          { ...TOOL, by: 'ann' },
          { id: 'after', side: 'after', by: 'ann' },
        ],
      },
    });
    const done = one.run();
    assert.equal((await heldAt(one)).data.by, 'ann', 'who set the breakpoint');
    await one.command('step');
    const stepped = await heldAt(one, 2);
    assert.equal(stepped.data.by, 'ann');
    await one.command('release', { of: 'bob' });
    assert.ok(
      !one.recorder.of('release').some(({ seq }) => seq > stepped.seq),
      'another client’s holds are none of it',
    );
    await one.command('release', { of: 'ann' });
    const events = await done;
    assert.equal(events.filter(({ kind }) => kind === 'hold').length, 2, 'its breakpoints no longer hold');
    assert.equal(end(events).status, 'done');
  });

  it('goes on when the client whose step is in progress has gone', async () => {
    const one = run({ job: { breakpoints: [TOOL] } });
    const done = one.run();
    await heldAt(one);
    await Promise.all([one.command('step'), one.command('release', { of: 'ann' })]);
    assert.equal(end(await done).status, 'done');
    assert.equal(one.recorder.of('hold').length, 1);
  });

  it('does not count against limits', async () => {
    const one = run({
      job: {
        breakpoints: [TOOL],
        submission: submission({ limits: { steps: 5, seconds: 0.15, tool_seconds: 1, tokens: 1000 } }),
      },
    });
    const done = one.run();
    await heldAt(one);
    await new Promise((resolve) => setTimeout(resolve, 250));
    await one.command('release');
    const { status, totals } = end(await done);
    assert.equal(status, 'done');
    assert.ok(totals.held_ms! >= 240 && totals.ms! < 150, JSON.stringify(totals));
  });

  it('is stepped into the code of its call: no clock runs during that, and it holds again after the call', async () => {
    const debugged = deferred<undefined>();
    const tools = new ScriptedTools({
      times: {
        run: async ({ a }, { inspect }) => {
          inspect?.opened('ws://127.0.0.1:1/x');
          if (inspect !== undefined) await debugged.promise;
          inspect?.closed();
          return a ?? null;
        },
      },
    });
    const one = run({
      tools,
      job: {
        breakpoints: [TOOL],
        submission: submission({ limits: { steps: 5, seconds: 0.3, tool_seconds: 0.2, tokens: 1000 } }),
      },
    });
    const done = one.run();
    await heldAt(one);
    const stepped = await one.command('step', { inspect: true });
    assert.equal(stepped.inspector, 'ws://127.0.0.1:1/x');
    await new Promise((resolve) => setTimeout(resolve, 500)); // longer than both limits
    debugged.resolve(undefined);
    const behind = await heldAt(one, 2);
    assert.deepEqual([behind.data.why, behind.data.side], ['step', 'after']);
    const [call] = one.recorder.of('tool.end');
    assert.equal(call!.data.status, 'ok');
    assert.ok(call!.data.ms! < 200, `${call!.data.ms} ms`);
    await one.command('release');
    assert.deepEqual([end(await done).status, end(one.recorder.events).touched], ['done', true]);
  });

  it('steps normally over a call whose code cannot be debugged', async () => {
    const one = run({ job: { breakpoints: [TOOL] } });
    const done = one.run();
    await heldAt(one);
    assert.equal((await one.command('step', { inspect: true })).inspector, undefined);
    assert.equal((await heldAt(one, 2)).data.side, 'after');
    await one.command('release');
    await done;
  });

  it('accepts edited arguments, and becomes touched', async () => {
    const one = run({ job: { breakpoints: [TOOL] } });
    const done = one.run();
    const hold = await heldAt(one);
    const { seq } = await one.command('edit', { of: { seq: hold.span! }, path: '/arguments/a', value: 100 }, 'e1');
    await one.command('release');
    const events = await done;
    assert.deepEqual(one.tools.calls[0]!.arguments, { a: 100, b: 7 });
    const edit = one.recorder.of('edit')[0]!;
    assert.equal(edit.seq, seq);
    assert.equal(edit.data.command, 'e1');
    assert.deepEqual(one.recorder.of('tool.start')[0]!.data.arguments, { a: 6, b: 7 }, 'as the model requested');
    assert.equal(end(events).touched, true);
  });

  it('accepts an edited result, message, or setting of the model', async () => {
    const one = run({
      job: {
        breakpoints: [
          { id: 'any', side: 'after', tool: 'times' },
          { id: 'm', side: 'before', kind: 'model', when: 'step == 2' },
        ],
      },
    });
    const done = one.run();
    const after = await heldAt(one);
    const ended = one.recorder.of('tool.end')[0]!;
    assert.equal(after.span, ended.span);
    await one.command('edit', { of: { seq: ended.seq }, path: '/result', value: 'forty-two' });
    await one.command('release');
    const before = await heldAt(one, 2);
    await one.command('edit', { of: { seq: before.span! }, path: '/sampling/temperature', value: 0 });
    await one.command('edit', { of: { m: ended.data.m! }, path: '/result', value: 'forty-three' });
    await assert.rejects(one.command('edit', { of: { m: 1 }, path: '/parts/0/content', value: 'x' }), conflict);
    await one.command('release');
    await done;
    const request = one.model.requests[1]!;
    assert.deepEqual(request.messages.at(-1)!.parts, [
      { type: 'tool_call_response', id: 'c0_0', response: 'forty-three' },
    ]);
    assert.equal(request.messages.at(-1)!.role, 'tool');
    assert.equal(request.sampling.temperature, 0);
  });

  it('continues from an edited reply of the model', async () => {
    const one = run({ job: { breakpoints: [{ id: 'm', side: 'after', kind: 'model', when: 'step == 1' }] } });
    const done = one.run();
    await heldAt(one);
    const ended = one.recorder.of('model.end')[0]!;
    await one.command('edit', { of: { m: ended.data.m! }, path: '/parts/1/arguments/a', value: 10 });
    await assert.rejects(
      one.command('edit', { of: { seq: ended.span! }, path: '/sampling/temperature', value: 0 }),
      conflict,
    );
    await assert.rejects(
      one.command('edit', { of: { m: ended.data.m! }, path: '/parts/0/type', value: 'song' }),
      (error) => StudioError.is(error, 'usage'),
    );
    await one.command('release');
    await done;
    assert.deepEqual(one.tools.calls[0]!.arguments, { a: 10, b: 7 });
    assert.deepEqual(
      one.recorder
        .of('message')
        .filter((event) => event.data.m === ended.data.m)
        .map((event) => event.data.origin),
      ['sampled'],
      'the sampled one stays',
    );
  });

  it('accepts an injected message where the model sees it next', async () => {
    const one = run({ job: { breakpoints: [TOOL, { id: 'm', side: 'before', kind: 'model', when: 'step == 2' }] } });
    const done = one.run();
    await heldAt(one);
    const { seq } = await one.command(
      'inject',
      { message: { role: 'user', parts: [{ type: 'text', content: 'hurry' }] } },
      'i1',
    );
    await one.command('release');
    await heldAt(one, 2);
    await one.command('inject', { message: { role: 'user', parts: [{ type: 'text', content: 'now' }] } });
    await one.command('release');
    const events = await done;
    const injected = events.find((event) => event.seq === seq)!;
    assert.deepEqual([injected.kind, (injected.data as { origin: string }).origin], ['message', 'given']);
    assert.deepEqual(
      one.model.requests[1]!.messages.slice(3).map(({ role, parts: [part] }) => [
        role,
        part?.type === 'text' ? part.content : 42,
      ]),
      [
        ['tool', 42],
        ['user', 'hurry'],
        ['user', 'now'],
      ],
    );
    assert.equal(end(events).touched, true);
  });

  it('skips a call with a provided result', async () => {
    const one = run({ job: { breakpoints: [TOOL] } });
    const done = one.run();
    await heldAt(one);
    const { seq } = await one.command('skip', { result: { made: 'up' } });
    const events = await done;
    assert.equal(one.tools.calls.length, 0);
    const ended = one.recorder.of('tool.end')[0]!;
    assert.equal(ended.seq, seq);
    assert.equal(ended.data.source, 'edited');
    assert.deepEqual(one.model.requests[1]!.messages.at(-1)!.parts, [
      { type: 'tool_call_response', id: 'c0_0', response: { made: 'up' } },
    ]);
    assert.equal(end(events).touched, true);
  });

  it('refuses commands that its state does not allow', async () => {
    const one = run({ job: { breakpoints: [TOOL] } });
    await assert.rejects(one.command('hold'), conflict);
    const done = one.run();
    await heldAt(one);
    await assert.rejects(one.command('hold'), conflict);
    await assert.rejects(one.command('answer', { value: 1 }), conflict);
    await assert.rejects(one.command('edit', { of: { seq: 1 }, path: '/arguments', value: {} }), conflict);
    await assert.rejects(one.command('edit', { of: {}, value: 1 }), (error) => StudioError.is(error, 'usage'));
    await assert.rejects(one.command('dance'), (error) => StudioError.is(error, 'usage'));
    await one.command('release');
    await done;
    await assert.rejects(one.command('release'), conflict);
    await assert.rejects(one.command('cancel'), conflict);
  });

  it('ends its hold when a parallel call ends the try', async () => {
    const model = new ScriptedModel([{ calls: [{ name: 'die' }, { name: 'times' }] }]);
    let die = (): void => undefined;
    const tools = new ScriptedTools({
      times: { run: () => 1 },
      die: {
        run: () =>
          new Promise((_resolve, reject) => {
            die = () => reject(new ClassedError('infrastructure', 'dead'));
          }),
      },
    });
    const one = kit({ model, tools, job: { breakpoints: [TOOL] } });
    const done = one.run();
    await heldAt(one);
    await new Promise((resolve) => setImmediate(resolve));
    die();
    const events = await done;
    assert.equal(end(events).status, 'infrastructure');
    assert.deepEqual(
      kinds(events).filter((kind) => kind === 'hold' || kind === 'release'),
      ['hold', 'release'],
    );
    assert.equal(tools.calls.filter((call) => call.name === 'times').length, 0);
  });

  it('is held at one gate at a time', async () => {
    const model = new ScriptedModel([
      {
        calls: [
          { name: 'times', arguments: { a: 1, b: 1 } },
          { name: 'times', arguments: { a: 2, b: 2 } },
        ],
      },
      { text: '42' },
    ]);
    const one = run({ model, job: { breakpoints: [TOOL] } });
    const done = one.run();
    await heldAt(one);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(one.recorder.of('hold').length, 1);
    await one.command('release');
    await heldAt(one, 2);
    await one.command('release');
    assert.equal(end(await done).status, 'done');
  });
});

describe('a pause', () => {
  it('holds at the next gate, and is released', async () => {
    const one = run({ job: { paused: true } });
    const done = one.run();
    const hold = await heldAt(one);
    assert.deepEqual(hold.data, { why: 'pause', side: 'before' });
    assert.equal(one.model.requests.length, 0);
    one.rollout.setBreakpoints([], false);
    assert.equal(end(await done).status, 'done');
  });

  it('by command responds with the resulting hold', async () => {
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const model = new ScriptedModel([
      async () => {
        await gate;
        return { text: '42' };
      },
    ]);
    const one = run({ model });
    const done = one.run();
    await one.recorder.when((event) => event.kind === 'model.start');
    const held = one.command('hold', {}, 'h1');
    await new Promise((resolve) => setImmediate(resolve));
    go();
    const { seq } = await held;
    const hold = await heldAt(one);
    assert.equal(hold.seq, seq);
    assert.deepEqual(hold.data, { why: 'pause', side: 'after', by: 'ann', command: 'h1' });
    one.rollout.setBreakpoints([], false);
    assert.equal(one.recorder.of('release').length, 0, 'the end of a pause of the batch is not for it');
    await one.command('release');
    await done;
  });

  it('is refused at the end when no gate follows', async () => {
    const model = new ScriptedModel([{ text: '42' }]);
    let hold: Promise<unknown> | undefined;
    const one = run({
      model,
      scorer: {
        name: 's',
        score: () => {
          hold = one.command('hold');
          return Promise.resolve({ value: 1, passed: true });
        },
      },
    });
    await one.run();
    await assert.rejects(hold!, conflict);
  });

  it('or a loss of the server before the rollout began counts', async () => {
    const one = run();
    one.rollout.setLost(true);
    one.rollout.setBreakpoints([], true);
    const done = one.run();
    assert.equal((await heldAt(one)).data.why, 'pause');
    one.rollout.setBreakpoints([], false);
    assert.equal((await heldAt(one, 2)).data.why, 'lost_server');
    one.rollout.setLost(false);
    assert.equal(end(await done).status, 'done');
  });

  it('starts no effect while the server is lost', async () => {
    const one = run({ job: { breakpoints: [TOOL] } });
    const done = one.run();
    await heldAt(one);
    one.rollout.setLost(true);
    await one.command('release');
    const hold = await heldAt(one, 2);
    assert.equal(hold.data.why, 'lost_server');
    await assert.rejects(one.command('release'), conflict);
    assert.equal(one.tools.calls.length, 0);
    one.rollout.setLost(false);
    assert.equal(end(await done).status, 'done');
  });
});

describe('a question to a person', () => {
  const askPerson = (more: KitOptions = {}): Run => {
    const model = new ScriptedModel([{ calls: [{ name: 'ask', arguments: { question: 'really?' } }] }, { text: '42' }]);
    const tools = new ScriptedTools({ ask: { asksPerson: true } });
    return { ...kit({ model, tools, ...more }), model, tools };
  };

  it('holds until it is answered, which is the normal result', async () => {
    const one = askPerson();
    const done = one.run();
    const hold = await heldAt(one);
    assert.deepEqual(hold.data, { why: 'input', side: 'before', limit_ms: 60_000 });
    await assert.rejects(one.command('release'), conflict);
    const { seq } = await one.command('answer', { value: 'yes' });
    const events = await done;
    const release = one.recorder.of('release')[0]!;
    assert.equal(release.seq, seq);
    assert.equal(release.data.value, 'yes');
    assert.deepEqual(one.model.requests[1]!.messages.at(-1)!.parts, [
      { type: 'tool_call_response', id: 'c0_0', response: 'yes' },
    ]);
    assert.equal(end(events).touched, false);
  });

  it('fails with class timeout when nobody answers', async () => {
    const one = askPerson({ job: { submission: submission({}, { hold_limit_seconds: 0.02 }) } });
    await one.run();
    assert.equal(one.recorder.of('tool.end')[0]!.data.error!.class, 'timeout');
  });
});
