import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import { ERROR_CLASSES } from '../../../src/trace/schema.ts';
import {
  end,
  type KitOptions,
  kinds,
  kit,
  NumberWorld,
  ScriptedModel,
  ScriptedTools,
  submission,
} from '../../support/rolloutKit.ts';

const limits = (change: object): KitOptions['job'] => ({
  submission: submission({ limits: { steps: 20, seconds: 60, tool_seconds: 10, tokens: 100_000, ...change } }),
});
const forever = { calls: [{ name: 'add', arguments: { n: 1 } }] };

describe('limits truncate a rollout, whose final state is scored', () => {
  it('by steps', async () => {
    const model = new ScriptedModel(Array.from({ length: 10 }, () => forever));
    const { status, reward, passed, answer, error, totals } = end(
      await kit({ model, world: new NumberWorld(), job: limits({ steps: 3 }) }).run(),
    );
    assert.deepEqual(
      [status, reward, passed, answer, error?.class, totals.steps],
      ['truncated', 3, true, null, 'limit', 3],
    );
    assert.match(error!.message, /3 steps/);
  });

  it('by tokens', async () => {
    const model = new ScriptedModel(Array.from({ length: 10 }, () => forever));
    const { status, error, totals } = end(
      await kit({ model, world: new NumberWorld(), job: limits({ tokens: 40 }) }).run(),
    );
    assert.deepEqual([status, error?.class, totals.steps], ['truncated', 'limit', 3]);
    assert.match(error!.message, /40 tokens/);
  });

  it('by seconds, in a model call', async () => {
    const model = new ScriptedModel([forever, () => new Promise(() => undefined)]);
    const one = kit({ model, world: new NumberWorld(), job: limits({ seconds: 0.05 }) });
    const { status, reward, error } = end(await one.run());
    assert.deepEqual([status, reward, error?.class], ['truncated', 1, 'limit']);
    assert.equal(one.recorder.of('model.end')[1]!.data.error!.class, 'limit');
  });

  it('by seconds, in a tool that ignores the signal', async () => {
    const tools = new ScriptedTools({ hang: { run: () => new Promise(() => undefined) } });
    const one = kit({
      model: new ScriptedModel([{ calls: [{ name: 'hang' }] }]),
      tools,
      job: limits({ seconds: 0.05 }),
    });
    const began = performance.now();
    const { status, error } = end(await one.run());
    assert.deepEqual([status, error?.class], ['truncated', 'limit']);
    assert.equal(one.recorder.of('tool.end')[0]!.data.error!.class, 'limit');
    assert.ok(performance.now() - began < 2500);
  });

  it('but not by the seconds that a call waits for its endpoint', async () => {
    const model = new ScriptedModel([
      async (_request, context) => {
        context.onWait?.(true);
        await new Promise((resolve) => setTimeout(resolve, 1_500)); // longer than the limit
        context.onWait?.(false);
        return { text: '42' };
      },
    ]);
    assert.equal(end(await kit({ model, job: limits({ seconds: 1 }) }).run()).status, 'done');
  });

  it('while tool_seconds ends only the call, and progress restarts it', async () => {
    const aborted: unknown[] = [];
    const tools = new ScriptedTools({
      hang: {
        run: (_args, context) =>
          new Promise((_resolve, reject) => {
            context.signal.addEventListener('abort', () => {
              aborted.push(context.signal.reason);
              reject(new Error('aborted'));
            });
          }),
      },
      slow: {
        run: async (_args, context) => {
          // Together longer than the limit, each far below it even on a busy machine.
          for (let i = 0; i < 8; i++) {
            await new Promise((resolve) => setTimeout(resolve, 100));
            context.onProgress();
          }
          return 'there';
        },
      },
    });
    const model = new ScriptedModel([{ calls: [{ name: 'hang' }, { name: 'slow' }] }, { text: '42' }]);
    const one = kit({ model, tools, job: limits({ tool_seconds: 0.6 }) });
    assert.equal(end(await one.run()).status, 'done');
    const ends = new Map(one.recorder.of('tool.end').map((event) => [event.span, event.data]));
    assert.equal(ends.get(8)!.error!.class, 'timeout');
    assert.equal(ends.get(9)!.status, 'ok');
    assert.equal(aborted.length, 1);
    assert.match(
      JSON.stringify(model.requests[1]!.messages.at(-2)!.parts),
      /Error \(timeout\): hang did not finish within 0.6 s/,
    );
  });
});

describe('a failed tool call is answered to the model, with its class', () => {
  const schema = {
    type: 'object',
    properties: { days: { type: 'integer' }, how: { enum: ['a', 'b'] } },
    required: ['days'],
    additionalProperties: false,
  };
  const cases: [string, { name: string; arguments?: unknown }, string, RegExp][] = [
    [
      'unknown_tool',
      { name: 'renew_laon' },
      'unknown_tool',
      /Unknown tool "renew_laon". Available tools: renew, fail, lie/,
    ],
    ['malformed_output', { name: 'renew', arguments: '{"days": 3' }, 'malformed_output', /not valid JSON .*"days"/],
    [
      'invalid_arguments: type',
      { name: 'renew', arguments: { days: 'three' } },
      'invalid_arguments',
      /days must be integer, not string/,
    ],
    ['invalid_arguments: missing', { name: 'renew' }, 'invalid_arguments', /"days" is missing/],
    [
      'invalid_arguments: additional',
      { name: 'renew', arguments: { days: 1, day: 2 } },
      'invalid_arguments',
      /"day" is not an argument/,
    ],
    [
      'invalid_arguments: enum',
      { name: 'renew', arguments: { days: 1, how: 'c' } },
      'invalid_arguments',
      /how must be one of \["a","b"\]/,
    ],
    ['invalid_arguments: not an object', { name: 'renew', arguments: [1] }, 'invalid_arguments', /one JSON object/],
    ['tool_error', { name: 'fail' }, 'tool_error', /out of order/],
    ['a class that only the rollout sets', { name: 'lie' }, 'tool_error', /cancelled by myself/],
  ];
  for (const [name, call, errorClass, text] of cases) {
    it(name, async () => {
      const tools = new ScriptedTools({
        renew: { parameters: schema, run: () => 'renewed' },
        fail: {
          run: () => {
            throw new ClassedError('tool_error', 'out of order', {
              place: { file: 'tools/loans.ts', line: 41, column: 9 },
            });
          },
        },
        lie: {
          run: () => {
            throw new ClassedError('cancelled', 'cancelled by myself');
          },
        },
      });
      const model = new ScriptedModel([{ calls: [call as { name: string }] }, { text: '42' }]);
      const one = kit({ model, tools });
      assert.equal(end(await one.run()).status, 'done');
      const { status, error } = one.recorder.of('tool.end')[0]!.data;
      assert.deepEqual([status, error?.class], ['error', errorClass]);
      const answered = JSON.stringify(model.requests[1]!.messages.at(-1)!.parts).replaceAll('\\"', '"');
      assert.match(answered, text);
      assert.ok(answered.includes(`Error (${errorClass})`));
      if (name === 'tool_error') assert.deepEqual(error!.place, { file: 'tools/loans.ts', line: 41, column: 9 });
      assert.equal(tools.calls.length, errorClass === 'tool_error' ? 1 : 0);
    });
  }

  it('with the unchanged text of arguments that do not parse, and no arguments as none', async () => {
    const tools = new ScriptedTools({ f: { run: () => 1 } });
    const one = kit({
      tools,
      model: new ScriptedModel([
        {
          calls: [
            { name: 'f', arguments: '{"a":' },
            { name: 'f', arguments: '' },
          ],
        },
        { text: '42' },
      ]),
    });
    await one.run();
    const [broken, empty] = one.recorder.of('tool.start').map((event) => event.data);
    assert.deepEqual([broken!.arguments, broken!.raw], [{}, '{"a":']);
    assert.deepEqual([empty!.arguments, empty!.raw], [{}, undefined]);
    assert.deepEqual(
      tools.calls.map((call) => call.arguments),
      [{}],
    );
  });

  it('but infrastructure ends the try and its parallel calls', async () => {
    const tools = new ScriptedTools({
      hang: { run: () => new Promise(() => undefined) },
      die: {
        run: () => {
          throw new ClassedError('infrastructure', 'the host died');
        },
      },
    });
    const one = kit({ tools, model: new ScriptedModel([{ calls: [{ name: 'hang' }, { name: 'die' }] }]) });
    const { status, error, reward } = end(await one.run());
    assert.deepEqual(
      [status, error?.class, error?.message, reward],
      ['infrastructure', 'infrastructure', 'the host died', null],
    );
    assert.deepEqual(
      one.recorder
        .of('tool.end')
        .map((event) => event.data.error!.class)
        .sort(),
      ['cancelled', 'infrastructure'],
    );
    assert.ok(!kinds(one.recorder.events).includes('score'));
  });
});

describe('a failure of the model', () => {
  const expected: Record<string, [string, number | null]> = {
    infrastructure: ['infrastructure', null],
    context_overflow: ['truncated', 0],
    world_error: ['done', null],
  };
  for (const errorClass of ERROR_CLASSES) {
    if (errorClass === 'limit' || errorClass === 'cancelled') continue; // only the rollout itself sets these
    it(`of class ${errorClass}`, async () => {
      const one = kit({ model: new ScriptedModel([new ClassedError(errorClass, 'so it is')]) });
      const { status, reward, error, answer } = end(await one.run());
      const [expectedStatus, expectedReward] = expected[errorClass] ?? ['done', 0];
      assert.deepEqual([status, reward, error?.class, answer], [expectedStatus, expectedReward, errorClass, null]);
      assert.match(
        error?.message ?? '',
        errorClass === 'context_overflow' ? /^so it is There are no older steps to drop/ : /^so it is$/,
      );
      const { trainable, error: reported } = one.recorder.of('model.end')[0]!.data;
      assert.deepEqual([trainable, reported?.class], [false, errorClass]);
    });
  }

  it('without a class, or with one that only the rollout sets, is an internal error', async () => {
    for (const error of [
      new TypeError('oops'),
      new ClassedError('cancelled', 'by nobody'),
      new ClassedError('limit', 'whose?'),
    ]) {
      assert.equal(end(await kit({ model: new ScriptedModel([error]) }).run()).status, 'infrastructure');
    }
  });
});

describe('a failure outside the agent', () => {
  it('in opening a world leaves nothing to score', async () => {
    const world = new NumberWorld();
    world.open = () => Promise.reject(new Error('no such table'));
    const one = kit({ world });
    const { status, reward, passed, error } = end(await one.run());
    assert.deepEqual([status, reward, passed, error?.class], ['done', null, null, 'world_error']);
    assert.equal(one.recorder.of('score')[0]!.data.error!.class, 'world_error');
    assert.equal(one.recorder.of('world.close')[0]!.data.error!.class, 'world_error');
  });

  it('in opening tools', async () => {
    const dead = kit({
      ports: { openTools: () => Promise.reject(new ClassedError('tool_error', 'tools/x.ts does not parse')) },
    });
    const { status, reward, error } = end(await dead.run());
    assert.deepEqual([status, reward, error?.message], ['done', null, 'tools/x.ts does not parse']);
    const wrong = kit({
      ports: {
        openTools: () => Promise.reject(new StudioError('config', 'tools/x.ts is not there.', { hint: 'Write it.' })),
      },
    });
    assert.deepEqual(
      [end(await wrong.run()).status, end(wrong.stream()).error],
      ['done', { class: 'tool_error', message: 'tools/x.ts is not there. Write it.' }],
    );
    const lost = kit({ ports: { openTools: () => Promise.reject(new Error('EPIPE')) } });
    assert.equal(end(await lost.run()).status, 'infrastructure');
  });

  it('by two tools with one name', async () => {
    const { error } = end(
      await kit({ world: new NumberWorld(), tools: new ScriptedTools({ add: { run: () => 1 } }) }).run(),
    );
    assert.match(error!.message, /Two tools are named "add": one from module kit, one from world numbers/);
  });

  it('in a scorer leaves its error instead of a score', async () => {
    const one = kit({
      scorer: { name: 's', score: () => Promise.reject(new ClassedError('infrastructure', 'the judge is away')) },
    });
    const { status, reward, passed } = end(await one.run());
    assert.deepEqual([status, reward, passed], ['done', null, null]);
    assert.deepEqual(one.recorder.of('score')[0]!.data, {
      scorer: 's',
      value: null,
      passed: null,
      error: { class: 'infrastructure', message: 'the judge is away' },
    });
  });

  it('by a prompt that the task cannot fill', async () => {
    const { status, error, reward } = end(
      await kit({ job: { submission: submission({ prompt: { text: 'Hi {{task.meta.name}}' } }) } }).run(),
    );
    assert.deepEqual([status, error?.class, reward], ['done', 'invalid_arguments', 0]);
  });

  it('always closes everything it opened', async () => {
    for (const model of [
      new ScriptedModel([{ text: '42' }]),
      new ScriptedModel([new ClassedError('infrastructure', 'x')]),
      new ScriptedModel([new ClassedError('model_error', 'x')]),
    ]) {
      const world = new NumberWorld();
      const tools = new ScriptedTools({});
      await kit({ model, world, tools }).run();
      assert.deepEqual([world.closed, tools.closed], [1, 1]);
    }
  });

  it('by an unreadable record writes nothing', async () => {
    const one = kit({ job: { how: 'resumed', last: 5 } });
    await assert.rejects(one.run(), /should end at event 5/);
    assert.equal(one.recorder.events.length, 0);
  });
});
