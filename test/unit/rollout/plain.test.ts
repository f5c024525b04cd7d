import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seedOf } from '../../../src/common/hash.ts';
import type { ModelClient } from '../../../src/rollout/ports.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { end, kinds, kit, NumberWorld, ScriptedModel, ScriptedTools, submission } from '../../support/rolloutKit.ts';

describe('a rollout', () => {
  it('calls the model, uses a tool, answers, is scored', async () => {
    const model = new ScriptedModel([
      { reasoning: 'multiply', text: 'Let me see.', calls: [{ name: 'times', arguments: { a: 6, b: 7 } }] },
      { text: 'It is 42.' },
    ]);
    const tools = new ScriptedTools({ times: { run: (args) => Number(args['a']) * Number(args['b']) } });
    const events = await kit({ model, tools }).run();
    assert.deepEqual(kinds(events), [
      'rollout.start',
      'rollout.lease',
      'message',
      'message',
      'model.start',
      'message',
      'model.end',
      'tool.start',
      'message',
      'tool.end',
      'model.start',
      'message',
      'model.end',
      'score',
      'rollout.end',
    ]);
    const { status, passed, reward, answer, touched, totals, error } = end(events);
    assert.deepEqual(
      { status, passed, reward, answer, touched, error },
      { status: 'done', passed: true, reward: 1, answer: 'It is 42.', touched: false, error: undefined },
    );
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
    assert.equal(tools.closed, 1);
  });

  it("sends the model the prompt, the question, and the tool's result", async () => {
    const model = new ScriptedModel([{ calls: [{ id: 'x', name: 'times', arguments: { a: 6 } }] }, { text: '42' }]);
    await kit({ model, tools: new ScriptedTools({ times: { run: () => 42 } }) }).run();
    const [first, second] = model.requests;
    assert.deepEqual(
      first!.messages.map(({ role, parts }) => ({ role, parts })),
      [
        { role: 'system', parts: [{ type: 'text', content: 'You work at a desk. Task t1.' }] },
        { role: 'user', parts: [{ type: 'text', content: 'What is six times seven?' }] },
      ],
    );
    assert.deepEqual(second!.messages.at(-1)!.parts, [{ type: 'tool_call_response', id: 'x', response: 42 }]);
    assert.deepEqual(
      second!.messages.map((message) => message.m),
      [1, 2, 3, 4],
    );
    const seed = seedOf(7, 't1', 1);
    assert.deepEqual(
      model.requests.map((request) => request.seed),
      [seedOf(seed, 'desk', 1), seedOf(seed, 'desk', 2)],
    );
    assert.deepEqual(
      first!.tools.map((tool) => tool.name),
      ['times'],
    );
  });

  it('writes the start, the message, and the end of an effect in one append each', async () => {
    const one = kit({
      model: new ScriptedModel([{ calls: [{ name: 'times' }] }, { text: '42' }]),
      tools: new ScriptedTools({ times: { run: () => 42 } }),
    });
    await one.run();
    const appends: string[] = [];
    let from = 0;
    for (const to of one.recorder.boundaries) {
      appends.push(
        one.recorder.events
          .slice(from, to)
          .map((event) => event.kind)
          .join('+'),
      );
      from = to;
    }
    assert.deepEqual(appends, [
      'rollout.start+rollout.lease',
      'message+message+model.start',
      'message+model.end',
      'tool.start',
      'message+tool.end',
      'model.start',
      'message+model.end',
      'score',
      'rollout.end',
    ]);
  });

  it('makes parallel calls simultaneously, and answers them in call order', async () => {
    let running = 0;
    let most = 0;
    const wait = async (ms: number): Promise<number> => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, ms));
      running--;
      return ms;
    };
    const tools = new ScriptedTools({ wait: { run: (args) => wait(Number(args['ms'])) } });
    const model = new ScriptedModel([
      { calls: [15, 1, 8].map((ms) => ({ name: 'wait', arguments: { ms } })) },
      { text: '42' },
    ]);
    const one = kit({ model, tools });
    const events = await one.run();
    assert.equal(most, 3);
    const starts = one.recorder.of('tool.start');
    assert.deepEqual(
      starts.map((event) => event.data.call),
      ['c0_0', 'c0_1', 'c0_2'],
    );
    assert.deepEqual(
      starts.map((event) => event.seq),
      [8, 9, 10],
      'all starts before any end',
    );
    assert.deepEqual(
      one.recorder.of('tool.end').map((event) => event.span),
      [9, 10, 8],
    );
    assert.deepEqual(
      model.requests[1]!.messages.slice(3).map((message) => message.parts[0]),
      [15, 1, 8].map((ms, index) => ({ type: 'tool_call_response', id: `c0_${index}`, response: ms })),
    );
    assert.deepEqual(one.recorder.of('model.start')[1]!.data.context, [
      [1, 3],
      [6, 6],
      [4, 5],
    ]);
    assert.equal(end(events).totals.tool_calls, 3);
  });

  it('runs a world: calls in order, changes, verifier, close', async () => {
    const world = new NumberWorld();
    const model = new ScriptedModel([
      { calls: [{ name: 'add', arguments: { n: 2 } }, { name: 'peek' }, { name: 'add', arguments: { n: 3 } }] },
      { text: 'done' },
    ]);
    const one = kit({ model, world });
    const events = await one.run();
    assert.deepEqual(world.calls, ['add 2', 'peek', 'add 3']);
    assert.deepEqual(
      one.recorder.of('world.diff').map((event) => [event.span, event.data.changes[0]!.after]),
      [
        [9, 2],
        [11, 5],
      ],
    );
    assert.equal(end(events).reward, 5);
    assert.equal(world.closed, 1);
    assert.deepEqual(kinds(events).slice(-3), ['score', 'world.close', 'rollout.end']);
    assert.deepEqual(one.recorder.of('world.close')[0]!.span, one.recorder.of('world.open')[0]!.seq);
    assert.equal(world.opened[0]!.seed, seedOf(7, 't1'), 'all attempts of a task begin in the same world');
  });

  it('keeps a snapshot after every 16 calls that changed the world, and of the final state', async () => {
    const calls = Array.from({ length: 11 }, () => ({ name: 'add', arguments: { n: 1 } }));
    const world = new NumberWorld();
    const one = kit({
      world,
      model: new ScriptedModel([{ calls }, { calls }, { calls: [...calls, { name: 'peek' }] }, { text: 'done' }]),
    });
    await one.run();
    const snapshots = one.recorder.of('world.snapshot');
    assert.deepEqual(
      snapshots.map((event) => Buffer.from(one.recorder.blobs.get(event.data.snapshot)!).toString()),
      ['16', '32', '33'],
    );
  });

  it('stores the tool list once, by its hash, and names it in every call', async () => {
    const one = kit({
      model: new ScriptedModel([{ calls: [{ name: 'times' }] }, { text: '42' }]),
      tools: new ScriptedTools({ times: { run: () => 42 } }),
    });
    await one.run();
    const shas = one.recorder.of('model.start').map((event) => event.data.tools);
    assert.equal(new Set(shas).size, 1);
    // The keys in the order the model sees them: it is part of the prompt.
    assert.equal(
      Buffer.from(one.recorder.blobs.get(shas[0]!)!).toString(),
      '[{"name":"times","description":"does times","parameters":{"type":"object"}}]',
    );
  });

  it('shows images and lists the other attachments', async () => {
    const sha = 'a'.repeat(64);
    const model = new ScriptedModel([{ text: '42' }]);
    const task = {
      id: 't1',
      question: 'Look.',
      meta: {},
      files: [
        { name: 'a.PNG', sha, bytes: 3 },
        { name: 'b.csv', sha, bytes: 3 },
      ],
    };
    await kit({ model, job: { task }, after: { events: [], blobs: new Map([[sha, Buffer.from('abc')]]) } }).run();
    assert.deepEqual(model.requests[0]!.messages[1]!.parts, [
      { type: 'text', content: 'Look.\n\nAttached files, in the working directory: a.PNG, b.csv' },
      { type: 'blob', mime_type: 'image/png', modality: 'image', content: 'YWJj' },
    ]);
  });

  it('puts images from a tool next to its answer, and a truncated output whole into a blob', async () => {
    const model = new ScriptedModel([{ calls: [{ name: 'look' }] }, { text: '42' }]);
    const image = { type: 'blob', mime_type: 'image/png', content: 'YWJj' } as const;
    const one = kit({
      model,
      tools: new ScriptedTools({
        look: { run: () => ({ response: 'beg…', parts: [image], cut: 6, full: Buffer.from('beginning') }) },
      }),
    });
    await one.run();
    assert.deepEqual(model.requests[1]!.messages.at(-1)!.parts, [
      { type: 'tool_call_response', id: 'c0_0', response: 'beg…' },
      image,
    ]);
    const { result, cut } = one.recorder.of('tool.end')[0]!.data;
    assert.equal(cut, 6);
    const ref = result as { $blob: string; head: string };
    assert.equal(ref.head, 'beginning');
    assert.equal(Buffer.from(one.recorder.blobs.get(ref.$blob)!).toString(), 'beginning');
  });

  it("keeps a tool's output, and a value over 64 KiB as a blob", async () => {
    const long = 'x'.repeat(70_000);
    const tools = new ScriptedTools({
      talk: {
        run: (_args, context) => {
          context.onLog('out', 'one ');
          context.onLog('out', 'two');
          context.onLog('err', 'three');
          return long;
        },
      },
    });
    const one = kit({
      tools,
      model: new ScriptedModel([{ calls: [{ name: 'talk' }] }, { text: '42' }]),
      job: {
        submission: submission({ context: { reasoning: 'keep', tool_result_tokens: 100_000, overflow: 'fail' } }),
      },
    });
    await one.run();
    assert.deepEqual(
      one.recorder.of('log').map((event) => [event.data.stream, event.data.text, event.span]),
      [
        ['out', 'one two', 8],
        ['err', 'three', 8],
      ],
    );
    const message = one.recorder.of('message')[3]!;
    assert.equal((message.data.parts[0] as unknown as { response: { bytes: number } }).response.bytes, 70_000);
  });

  it('captures tokens as differences, and reports what is trainable', async () => {
    const model = new ScriptedModel([
      {
        calls: [{ name: 'f' }],
        tokens: { prompt: [1, 2, 3], completion: [4, 5], logprobs: Float32Array.of(-0.5, -0.25) },
      },
      { calls: [{ name: 'f' }], tokens: { prompt: [1, 2, 3, 4, 5, 6, 7], completion: [8] } },
      { calls: [{ name: 'f' }], tokens: { prompt: [1, 2, 9], completion: [8] } },
      { text: '42' },
    ]);
    const decoding: ModelClient = {
      complete: (request, context) => model.complete(request, context),
      decode: (ids) => Promise.resolve(ids.map((id) => `<${id}>`)),
    };
    const one = kit({ model: decoding, tools: new ScriptedTools({ f: { run: () => 1 } }) });
    await one.run();
    const ends = one.recorder.of('model.end');
    assert.deepEqual(
      ends.map(({ data }) => data.drift),
      [undefined, undefined, { at: 2, was: { id: 3, text: '<3>' }, is: { id: 9, text: '<9>' } }, undefined],
    );
    const records = ends
      .slice(0, 3)
      .map((event) => JSON.parse(Buffer.from(one.recorder.blobs.get(event.data.tokens!.$blob)!).toString()) as unknown);
    const spans = one.recorder.of('model.start').map((event) => event.seq);
    assert.deepEqual(records, [
      {
        prompt: { ids: [1, 2, 3] },
        completion: [4, 5],
        logprobs: Buffer.from(Float32Array.of(-0.5, -0.25).buffer).toString('base64'),
      },
      { prompt: { of: spans[0], keep: 5, ids: [6, 7] }, completion: [8] },
      { prompt: { of: spans[1], keep: 2, ids: [9] }, completion: [8] },
    ]);
    assert.deepEqual(
      ends.map((event) => [event.data.trainable, event.data.why_not]),
      [
        [true, undefined],
        [true, undefined],
        [true, undefined],
        [false, 'the token IDs were not captured'],
      ],
    );
  });

  it('sends deltas and reads as a trajectory', async () => {
    const model = new ScriptedModel([
      (_request, context) => {
        context.onDelta?.('It is ');
        context.onDelta?.('42.');
        return { text: 'It is 42.' };
      },
    ]);
    const one = kit({ model });
    const events = await one.run();
    assert.deepEqual(one.recorder.deltas, ['It is ', '42.']);
    const trajectory = new TrajectoryModel();
    trajectory.push(events);
    assert.equal(trajectory.steps.length, 2);
    assert.equal(trajectory.openSpans(trajectory.last).length, 0);
  });
});
