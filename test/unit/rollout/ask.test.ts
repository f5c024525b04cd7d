/** Code of tools that asks side models: the calls are inside the tool call, and go wherever it goes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../src/common/json.ts';
import type { Submission } from '../../../src/config/submission.ts';
import type { ModelCallContext, ToolCallContext, World, WorldSession } from '../../../src/rollout/ports.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { heldAt } from '../../support/gateKit.ts';
import { ManualTime } from '../../support/manualTime.ts';
import {
  end,
  type Kit,
  type KitOptions,
  kit,
  normalizedEvents,
  plain,
  ScriptedModel,
  ScriptedTools,
  submission,
  type ToolScript,
  USER,
} from '../../support/rolloutKit.ts';

const MODEL = { ...USER.model, name: 'judge-model', price: { input: 10, output: 20 } };
const LIMITS = { steps: 20, seconds: 60, tool_seconds: 10, tokens: 100_000 };

function submitted(limits: Partial<Submission['agent']['limits']> = {}): Submission {
  const module = { file: 'grade.ts', bundle: '0'.repeat(64), map: '0'.repeat(64) };
  return submission({
    limits: { ...LIMITS, ...limits },
    tools: [{ kind: 'module', module, models: { judge: MODEL } }],
  });
}

const question = (text: string): Parameters<NonNullable<ToolCallContext['ask']>>[0] => ({
  side: 'judge',
  model: MODEL,
  messages: [
    { role: 'system', text: 'You grade.' },
    { role: 'user', text },
  ],
});

const ask = (context: ToolCallContext, text: string): Promise<string> => context.ask!(question(text));

/** Replies with the question, in capitals. */
class Judge extends ScriptedModel {
  constructor(reply?: (text: string, context: ModelCallContext) => Promise<string> | string) {
    super([
      async ({ messages }, context) => {
        const last = messages.at(-1)!.parts[0]!;
        const text = last.type === 'text' ? plain(last.content) : '';
        return { text: reply === undefined ? text.toUpperCase() : await reply(text, context) };
      },
    ]);
  }

  get asked(): string[] {
    return this.requests.map(({ messages }) => {
      const part = messages.at(-1)!.parts[0]!;
      return part.type === 'text' ? plain(part.content) : '';
    });
  }
}

interface Run extends Kit {
  readonly judge: Judge;
}

function run(
  tools: Record<string, ToolScript>,
  calls: readonly (readonly { name: string; arguments?: JsonObject }[])[],
  options: KitOptions = {},
  judge = new Judge(),
  limits: Partial<Submission['agent']['limits']> = {},
): Run {
  const one = kit({
    model: new ScriptedModel([...calls.map((turn) => ({ calls: turn })), { text: '42' }]),
    tools: new ScriptedTools(tools),
    ...options,
    job: { submission: submitted(limits), ...options.job },
    ports: {
      modelOf: ({ name }) => (name === MODEL.name ? judge : assert.fail(`no model ${name}`)),
      ...options.ports,
    },
  });
  return { ...one, judge };
}

/** Asks twice, one after the other, and once more next to the second question. */
const GRADE: ToolScript = {
  run: async ({ of }, context) => {
    const first = await ask(context, `is ${plain(of)} good`);
    const others = await Promise.all([ask(context, `why ${first}`), ask(context, `how ${first}`)]);
    return [first, ...others];
  },
};
const GRADED = [{ name: 'grade', arguments: { of: 'a' } }];

function resumed(events: readonly TraceEvent[], from: Kit, more: Partial<Kit['job']> = {}): KitOptions {
  return {
    job: { submission: submitted(), how: 'resumed', epoch: 2, ...more },
    after: { events, blobs: new Map(from.recorder.blobs) },
  };
}

/** What happened, without answers that were recorded again when a later worker made the same call. */
function withoutCopies(events: readonly TraceEvent[]): unknown[] {
  return normalizedEvents(events).flatMap((one) => {
    const { kind, agent, data } = one as { kind: string; agent?: string; data: JsonObject };
    return agent === 'judge' && (kind === 'message' || data['source'] === 'recorded') ? [] : [one];
  });
}

const responses = (events: readonly TraceEvent[]): unknown[] =>
  events.flatMap((event) =>
    event.kind === 'message' && event.data.role === 'tool'
      ? event.data.parts.flatMap((part) => (part.type === 'tool_call_response' ? [part.response] : []))
      : [],
  );
const starts = (events: readonly TraceEvent[]): Extract<TraceEvent, { kind: 'model.start' }>[] =>
  events.filter((event) => event.kind === 'model.start' && event.data.side === 'judge') as never;
const ends = (events: readonly TraceEvent[]): Extract<TraceEvent, { kind: 'model.end' }>['data'][] =>
  events.flatMap((event) => (event.kind === 'model.end' && event.agent === 'judge' ? [event.data] : []));

describe('a tool that asks a model', () => {
  it('records its calls inside its own, in its step, and apart from the calls of the agent', async () => {
    const one = run({ grade: GRADE }, [GRADED, GRADED]);
    const events = await one.run();
    assert.deepEqual(responses(events)[0], ['IS A GOOD', 'WHY IS A GOOD', 'HOW IS A GOOD']);
    const tools = events.filter((event) => event.kind === 'tool.start').map(({ seq }) => seq);
    assert.deepEqual(
      starts(events).map(({ agent, parent, data }) => [agent, parent, data.step, data.model]),
      [tools[0], tools[0], tools[0], tools[1], tools[1], tools[1]].map((parent, at) => [
        'judge',
        parent,
        at < 3 ? 1 : 2,
        'judge-model',
      ]),
    );
    const seeds = one.judge.requests.map(({ seed }) => seed);
    assert.equal(new Set(seeds).size, 6, 'every question has its own seed');
    const again = run({ grade: GRADE }, [GRADED, GRADED]);
    await again.run();
    assert.deepEqual(
      again.judge.requests.map(({ seed }) => seed),
      seeds,
    );
    assert.deepEqual(ends(events).map(({ source, trainable, why_not: why }) => [source, trainable, why])[0], [
      'live',
      false,
      'it is a call of the side model judge',
    ]);
    const { totals } = end(events);
    assert.deepEqual([totals.steps, totals.tool_calls, totals.input_tokens], [3, 2, 30]);
    assert.deepEqual(
      { ...totals.side, cost: totals.side!.cost!.toFixed(6) },
      { calls: 6, input_tokens: 60, output_tokens: 30, cached_tokens: 0, cost: '0.001200' },
    );
  });

  it('sends no request twice that is recorded, wherever its workers are lost', async () => {
    const whole = run({ grade: GRADE }, [GRADED, [{ name: 'grade', arguments: { of: 'b' } }]]);
    const events = await whole.run();
    const total = end(events).totals;
    for (const boundary of whole.recorder.boundaries.slice(0, -1)) {
      const before = events.slice(0, boundary);
      // The second worker is lost, too: everywhere in what it adds.
      const second = run(
        { grade: GRADE },
        [GRADED, [{ name: 'grade', arguments: { of: 'b' } }]],
        resumed(before, whole),
      );
      const lengthened = await second.run();
      assert.deepEqual(withoutCopies(lengthened), withoutCopies(events), `resumed after ${boundary}`);
      assert.equal(second.judge.requests.length, 6 - ends(before).length, `requests after ${boundary}`);
      assert.deepEqual(end(lengthened).totals.side, total.side);
      for (const later of second.recorder.boundaries.slice(0, -1)) {
        const both = lengthened.slice(0, later);
        const third = run(
          { grade: GRADE },
          [GRADED, [{ name: 'grade', arguments: { of: 'b' } }]],
          resumed(both, second, { epoch: 3 }),
        );
        const last = await third.run();
        assert.deepEqual(withoutCopies(last), withoutCopies(events), `resumed after ${boundary} and ${later}`);
        const asked = ends(both).filter(({ source, error }) => source === 'live' && error === undefined).length;
        assert.equal(third.judge.requests.length, 6 - asked, `requests after ${boundary} and ${later}`);
        assert.deepEqual(end(last).totals.side, total.side);
      }
    }
  });

  it('asks again what it asks differently when it is made again', async () => {
    let runs = 0;
    const moody: ToolScript = { run: async (_, context) => ask(context, `question ${runs++}`) };
    const whole = run({ moody }, [[{ name: 'moody' }]]);
    const events = await whole.run();
    const cut = events.find(({ kind, agent }) => kind === 'model.end' && agent === 'judge')!.seq;
    const again = run({ moody }, [[{ name: 'moody' }]], resumed(events.slice(0, cut), whole));
    assert.equal(end(await again.run()).status, 'done');
    assert.deepEqual(again.judge.asked, ['question 1']);
  });

  it('is answered from the record of a fork that is cut in its call, with the edits of the reply', async () => {
    const parent = run({ grade: GRADE }, [GRADED]);
    const events = await parent.run();
    const first = events.find(({ kind, agent }) => kind === 'model.end' && agent === 'judge')!;
    const fork = (edits: Kit['job']['edits']): Run =>
      run({ grade: GRADE }, [GRADED], {
        job: {
          submission: submitted(),
          rollout: 'r2',
          fork: { rollout: 'r1', seq: first.seq },
          edits,
        },
        after: { events: events.slice(0, first.seq), blobs: new Map(parent.recorder.blobs) },
      });
    const same = fork([]);
    await same.run();
    assert.deepEqual(same.judge.asked, ['why IS A GOOD', 'how IS A GOOD']);
    assert.deepEqual(end(same.stream()).totals.side?.calls, 2, "the parent's call is counted there");
    const m = first.kind === 'model.end' ? first.data.m! : 0;
    const other = fork([{ of: { m }, path: '/parts/0/content', value: 'NO' }]);
    assert.deepEqual(responses(await other.run()).at(-1), ['NO', 'WHY NO', 'HOW NO']);
  });

  it('is held, edited, and held again by the next worker', async () => {
    const breakpoints = [{ id: 'bp', side: 'after', kind: 'model', when: 'side == "judge"' }] as const;
    const one = run({ grade: GRADE }, [GRADED], { job: { breakpoints } });
    const done = one.run();
    const hold = await heldAt(one);
    assert.equal(hold.agent, 'judge');
    const cut = one.recorder.events.at(-1)!.seq;
    const again = run({ grade: GRADE }, [GRADED], resumed(one.recorder.events.slice(0, cut), one, { held: true }));
    const resumedRun = again.run();
    const second = await heldAt(again);
    assert.deepEqual([second.agent, second.data.side, again.judge.requests.length], ['judge', 'after', 0]);
    const reply = again.stream().findLast((event) => event.kind === 'model.end' && event.agent === 'judge')!;
    await again.command('edit', { of: { seq: reply.seq }, path: '/parts/0/content', value: 'NO' });
    await again.command('release');
    const events = await resumedRun;
    assert.deepEqual(responses(events), [['NO', 'WHY NO', 'HOW NO']]);
    assert.equal(end(events).touched, true);
    one.rollout.abort('enough');
    await done;
  });

  it('is entered by a step into its call, and skipped by a step over it', async () => {
    const breakpoints = [{ id: 'bp', side: 'before', tool: 'grade' }] as const;
    const one = run({ grade: GRADE }, [GRADED], { job: { breakpoints } });
    const done = one.run();
    const at = async (nth: number): Promise<unknown[]> => {
      const { agent, data } = await heldAt(one, nth);
      return [agent, data.side, data.why];
    };
    assert.deepEqual(await at(1), ['desk', 'before', 'breakpoint']);
    await one.command('step', { into: true });
    assert.deepEqual(await at(2), ['judge', 'before', 'step']);
    await one.command('step');
    assert.deepEqual(await at(3), ['judge', 'after', 'step']);
    await one.command('step');
    assert.deepEqual(await at(4), ['judge', 'before', 'step'], 'the next question of the same call');
    await one.command('release');
    assert.equal(end(await done).status, 'done');
    assert.equal(one.recorder.of('hold').length, 4);

    const over = run({ grade: GRADE }, [GRADED], { job: { breakpoints } });
    const overDone = over.run();
    await heldAt(over);
    await over.command('step');
    const hold = await heldAt(over, 2);
    assert.deepEqual([hold.agent, hold.data.side, over.judge.requests.length], ['desk', 'after', 3]);
    await over.command('release');
    await overDone;
  });

  it('is left by a step after its last question, to the gate of the agent', async () => {
    const once: ToolScript = { run: async (_, context) => ask(context, 'x') };
    const breakpoints = [{ id: 'bp', side: 'after', when: 'side == "judge"' }] as const;
    const one = run({ once }, [[{ name: 'once' }]], { job: { breakpoints } });
    const done = one.run();
    await heldAt(one);
    await one.command('step');
    const hold = await heldAt(one, 2);
    assert.deepEqual([hold.agent, hold.data.side, hold.data.why], ['desk', 'after', 'step']);
    await one.command('step');
    assert.equal((await heldAt(one, 3)).agent, 'desk', 'only one step is in progress');
    await one.command('release');
    await done;
  });

  it('has its time limit stopped until it has its reply, also if the model falls silent amid it', async () => {
    const time = new ManualTime();
    const waiting = Promise.withResolvers<ModelCallContext>();
    const reply = Promise.withResolvers<string>();
    const judge = new Judge((_, context) => {
      waiting.resolve(context);
      return reply.promise;
    });
    const stuck = Promise.withResolvers<undefined>();
    const tool: ToolScript = {
      run: async (_, context) => {
        await ask(context, 'slow');
        stuck.resolve(undefined);
        return new Promise((_resolve, reject) => {
          context.signal.addEventListener('abort', () => reject(context.signal.reason as Error), { once: true });
        });
      },
    };
    const one = run({ tool }, [[{ name: 'tool' }]], { ports: { time } }, judge, { tool_seconds: 1, seconds: 3600 });
    const done = one.run();
    const context = await waiting.promise;
    for (let step = 0; step < 30; step++) time.advance(100);
    context.onDelta!('a');
    for (let step = 0; step < 30; step++) time.advance(100);
    assert.equal(context.signal.aborted, false);
    reply.resolve('late');
    await stuck.promise;
    time.advance(999);
    assert.equal(one.recorder.of('tool.end').length, 0);
    for (let step = 0; step < 3; step++) time.advance(100);
    const events = await done;
    assert.deepEqual(one.recorder.of('tool.end')[0]?.data.error?.message, 'tool did not finish within 1 s.');
    assert.equal(ends(events)[0]?.status, 'ok');
  });

  it('ends its open questions when it ends, times out, or is cancelled', async () => {
    const never = new Judge((_, { signal }) => {
      signal.addEventListener('abort', () => signals.push('aborted'), { once: true });
      return new Promise(() => undefined);
    });
    const signals: string[] = [];
    const careless: ToolScript = {
      run: async (_, context) => {
        ask(context, 'nobody waits').catch(() => undefined);
        await one.recorder.when((event) => event.kind === 'model.start' && event.agent === 'judge');
        return 'done';
      },
    };
    const one = run({ careless }, [[{ name: 'careless' }]], {}, never);
    const events = await one.run();
    assert.deepEqual(
      [ends(events)[0]?.error?.class, ends(events)[0]?.error?.message],
      ['cancelled', 'careless ended without waiting for it.'],
    );
    const order = events.filter(({ kind }) => kind === 'model.end' || kind === 'tool.end').map(({ kind }) => kind);
    assert.deepEqual(order, ['model.end', 'model.end', 'tool.end', 'model.end']);
    assert.deepEqual([responses(events), signals], [['done'], ['aborted']]);

    const asking: ToolScript = { run: async (_, context) => ask(context, 'never') };
    const cancelled = run({ asking }, [[{ name: 'asking' }]], {}, new Judge(() => new Promise(() => undefined)));
    const cancelledDone = cancelled.run();
    await cancelled.recorder.when((event) => event.kind === 'model.start' && event.agent === 'judge');
    await cancelled.command('cancel', { reason: 'enough' });
    assert.equal(end(await cancelledDone).status, 'cancelled');
    assert.equal(ends(cancelled.stream())[0]?.error?.class, 'cancelled');

    const limited = run({ asking }, [[{ name: 'asking' }]], {}, new Judge(() => new Promise(() => undefined)), {
      seconds: 0.05,
    });
    const limitedEvents = await limited.run();
    assert.equal(end(limitedEvents).status, 'truncated');
    assert.equal(ends(limitedEvents)[0]?.error?.class, 'limit');
  });

  it('that ends while its question is held ends the hold', async () => {
    const over = Promise.withResolvers<string>();
    const leaving: ToolScript = {
      run: (_, context) => {
        ask(context, 'held').catch(() => undefined);
        return over.promise;
      },
    };
    const breakpoints = [{ id: 'bp', side: 'before', when: 'side == "judge"' }] as const;
    const one = run({ leaving }, [[{ name: 'leaving' }]], { job: { breakpoints } });
    const done = one.run();
    await heldAt(one);
    over.resolve('gone');
    const events = await done;
    assert.deepEqual([end(events).status, responses(events), one.judge.requests.length], ['done', ['gone'], 0]);
    assert.equal(ends(events)[0]?.error?.class, 'cancelled');
    assert.deepEqual([one.slot.released, one.slot.acquired], [1, 1]);
    assert.equal(events.filter(({ kind }) => kind === 'release').length, 1);
  });

  it('gets the error of a failed call, but an endpoint that is down ends the attempt', async () => {
    const asking: ToolScript = {
      run: async (_, context) => ask(context, 'x').catch((error: unknown) => `caught ${(error as Error).message}`),
    };
    const refused = run(
      { asking },
      [[{ name: 'asking' }]],
      {},
      new Judge(() => {
        throw new ClassedError('model_error', 'no such model');
      }),
    );
    assert.deepEqual(responses(await refused.run()), ['caught no such model']);
    const down = run(
      { asking },
      [[{ name: 'asking' }]],
      {},
      new Judge(() => {
        throw new ClassedError('infrastructure', 'The endpoint is down.');
      }),
    );
    const { status, error } = end(await down.run());
    assert.deepEqual([status, error?.message], ['infrastructure', 'The endpoint is down.']);
  });

  it('may ask 256 times, over all tries of its call', async () => {
    let rejected = 0;
    const greedy: ToolScript = {
      retry: { times: 1, waitMs: 0 },
      run: async (_, context) => {
        for (let n = 0; n < 200; n++) {
          await ask(context, `question ${n}`).catch((error: unknown) => {
            rejected++;
            assert.equal((error as Error).message, 'greedy asked models 256 times, which is the maximum of one call.');
          });
        }
        throw new ClassedError('tool_error', 'again');
      },
    };
    const one = run({ greedy }, [[{ name: 'greedy' }]]);
    await one.run();
    assert.deepEqual([one.judge.requests.length, rejected], [256, 144]);
  });

  it('asks nothing again when its call is moved to another thread', async () => {
    const moved: ToolScript = {
      run: async (_, context) => {
        const first = await ask(context, 'one');
        void ask(context, 'two');
        context.onAgain!();
        return [first, await ask(context, 'one'), await ask(context, 'two'), await ask(context, 'three')];
      },
    };
    const one = run({ moved }, [[{ name: 'moved' }]]);
    assert.deepEqual(responses(await one.run()), [['ONE', 'ONE', 'TWO', 'THREE']]);
    assert.deepEqual(one.judge.asked, ['one', 'two', 'three']);
  });
});

/** A world whose tools write down what the model said: `note` asks, `stall` never ends, `notes` reads. */
class NoteWorld implements World {
  readonly name = 'notes';
  readonly kind = 'module';
  readonly state: string[] = [];
  opened = 0;
  readonly #word: string;
  constructor(word = 'note') {
    this.#word = word;
  }

  open(): Promise<WorldSession> {
    this.opened++;
    const notes = this.state;
    notes.length = 0;
    const tools: Record<string, ToolScript> = {
      note: {
        effect: 'restorable',
        run: async ({ text }, context) => {
          notes.push(await ask(context, `${this.#word} ${plain(text)}`));
          return { response: notes.length, changes: [{ table: 'notes', key: notes.length, op: 'insert' }] };
        },
      },
      stall: {
        effect: 'restorable',
        timeoutSeconds: 0.02,
        run: async (_, context) => {
          notes.push(await ask(context, 'stall'));
          return new Promise((_resolve, reject) => {
            context.signal.addEventListener('abort', () => reject(context.signal.reason as Error), { once: true });
          });
        },
      },
      notes: { run: () => [...notes] },
    };
    const host = new ScriptedTools(tools, 'world');
    return Promise.resolve({
      specs: host.specs,
      call: (call, context) => host.call(call, context),
      verify: async (_, { ask: asks }) => ({ value: (await asks(question(notes.join(' ')))).length, passed: true }),
      close: () => Promise.resolve(),
    });
  }
}

describe('a world whose tools ask a model', () => {
  const CALLS = [
    [{ name: 'note', arguments: { text: 'a' } }],
    [{ name: 'note', arguments: { text: 'b' } }],
    [{ name: 'notes' }],
  ];

  it('is restored without a request, after a loss of the worker anywhere', async () => {
    const whole = run({}, CALLS, { world: new NoteWorld() });
    const events = await whole.run();
    assert.deepEqual(responses(events).at(-1), ['NOTE A', 'NOTE B']);
    assert.deepEqual(whole.judge.asked, ['note a', 'note b', 'NOTE A NOTE B'], 'the verifier asks, too');
    const verifying = starts(events).at(-1)!;
    assert.deepEqual([verifying.parent, verifying.data.step], [undefined, 4]);
    for (const boundary of whole.recorder.boundaries.slice(0, -1)) {
      const before = events.slice(0, boundary);
      const again = run({}, CALLS, { world: new NoteWorld(), ...resumed(before, whole) });
      const after = await again.run();
      assert.deepEqual(responses(after).at(-1), ['NOTE A', 'NOTE B'], `resumed after ${boundary}`);
      const scored = before.some(({ kind }) => kind === 'score');
      assert.equal(again.judge.requests.length, scored ? 0 : 3 - ends(before).length, `requests after ${boundary}`);
    }
  });

  it('is restored without a request when a call is undone', async () => {
    const world = new NoteWorld();
    const one = run({}, [CALLS[0]!, [{ name: 'stall' }], [{ name: 'notes' }]], { world });
    const events = await one.run();
    assert.deepEqual(responses(events).at(-1), ['NOTE A']);
    assert.deepEqual([world.opened, one.judge.asked.slice(0, 2)], [2, ['note a', 'stall']]);
    assert.equal(one.judge.requests.length, 3, 'and the verifier');
  });

  it('cannot be restored by code that asks something else; a fork uses the recorded reply', async () => {
    const parent = run({}, CALLS, { world: new NoteWorld() });
    const events = await parent.run();
    const cut = events.filter(({ kind }) => kind === 'tool.end')[1]!.seq;
    const changed = run({}, CALLS, { world: new NoteWorld('other'), ...resumed(events.slice(0, cut), parent) });
    const { status, error } = end(await changed.run());
    assert.equal(status, 'infrastructure');
    assert.match(error!.message, /Cannot restore the world: repeating note failed: It asked the model judge something/);
    assert.equal(changed.judge.requests.length, 0);
    const world = new NoteWorld('other');
    const fork = run({}, CALLS, {
      world,
      job: { rollout: 'r2', fork: { rollout: 'r1', seq: cut }, submission: submitted() },
      after: { events: events.slice(0, cut), blobs: new Map(parent.recorder.blobs) },
    });
    await fork.run();
    assert.deepEqual(world.state, ['NOTE A', 'NOTE B']);
    assert.deepEqual(fork.judge.asked, ['NOTE A NOTE B']);
  });
});
