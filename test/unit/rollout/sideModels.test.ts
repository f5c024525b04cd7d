/** Calls of side models: the simulated user and a judge. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Submission } from '../../../src/config/submission.ts';
import type { Breakpoint } from '../../../src/protocol/commands.ts';
import { judgeScorer } from '../../../src/scoring/judge/judge.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { heldAt } from '../../support/gateKit.ts';
import {
  end,
  type Kit,
  type KitOptions,
  kit,
  normalizedEvents,
  ScriptedModel,
  ScriptedTools,
  submission,
  USER,
  worldWithUser,
} from '../../support/rolloutKit.ts';

const JUDGE = { ...USER.model, name: 'judge-model', price: { input: 10, output: 10 } };
const SCORER = { kind: 'judge', model: JUDGE, rubric: 'Is it right?', pass: 0.5 } as const;

interface Run extends Kit {
  readonly agent: ScriptedModel;
  readonly user: ScriptedModel;
  readonly judge: ScriptedModel;
}

/** An agent that asks, calls, and answers; its user replies twice; a judge scores. */
function run(
  options: KitOptions = {},
  more: Partial<Submission> = {},
  agentMore: Partial<Submission['agent']> = {},
): Run {
  const agent = new ScriptedModel([
    { text: 'Which one?' },
    { calls: [{ name: 'f' }] },
    { text: 'It is 42.', usage: { input_tokens: 100, output_tokens: 50 } },
  ]);
  const user = new ScriptedModel([{ text: 'The product.' }, { text: '###STOP###' }]);
  const judge = new ScriptedModel([{ text: '{"score": 1, "explanation": "yes"}' }]);
  const one = kit({
    model: agent,
    user,
    tools: new ScriptedTools({ f: { run: () => 1 } }),
    scorer: judgeScorer(SCORER),
    ...options,
    ports: { modelOf: ({ name }) => (name === JUDGE.name ? judge : agent), ...options.ports },
    job: { submission: submission(agentMore, { world: worldWithUser(), scorer: SCORER, ...more }), ...options.job },
  });
  return { ...one, agent, user, judge };
}

/** agent, step, and side of each model call. */
function calls(events: readonly TraceEvent[]): unknown[] {
  return events.flatMap((event) =>
    event.kind === 'model.start' ? [[event.agent, event.data.step, event.data.side]] : [],
  );
}

function resumed(events: readonly TraceEvent[], from: Kit, more: Partial<Kit['job']> = {}): KitOptions {
  return { job: { how: 'resumed', epoch: 2, ...more }, after: { events, blobs: new Map(from.recorder.blobs) } };
}

describe('a call of a side model', () => {
  it('is recorded in the step that contains it, and is not a step', async () => {
    const one = run();
    const events = await one.run();
    assert.deepEqual(calls(events), [
      ['desk', 1, undefined],
      ['user', 1, 'user'],
      ['desk', 2, undefined],
      ['desk', 3, undefined],
      ['user', 3, 'user'],
      ['judge', 3, 'judge'],
    ]);
    const { totals, reward } = end(events);
    assert.equal(reward, 1);
    assert.deepEqual([totals.steps, totals.input_tokens, totals.output_tokens], [3, 120, 60]);
    // Two calls of the user at 1 and 2 per million, and one of the judge at 10.
    const { cost, ...side } = totals.side!;
    assert.deepEqual(side, { calls: 3, input_tokens: 30, output_tokens: 15, cached_tokens: 0 });
    assert.equal(cost?.toFixed(9), ((20 * 1 + 10 * 2 + 10 * 10 + 5 * 10) / 1e6).toFixed(9));
    assert.equal(totals.cost, (120 * 1 + 60 * 2) / 1e6);
    const model = new TrajectoryModel();
    model.push(events);
    assert.equal(model.steps.length, 4);
    assert.deepEqual(
      model.steps.map(({ agent, tools, sides }) => [agent, tools.length, sides.map(({ start }) => start.data.side)]),
      [
        ['', 0, []],
        ['desk', 0, ['user']],
        ['desk', 1, []],
        ['desk', 0, ['user', 'judge']],
      ],
    );
    assert.deepEqual(
      model.agents.map(({ path, side }) => [path, side]),
      [
        ['desk', undefined],
        ['user', 'user'],
        ['judge', 'judge'],
      ],
    );
  });

  it('shows its prompt, its reply, and why nobody trains on it', async () => {
    const one = run();
    const events = await one.run();
    const messages = one.recorder.of('message').filter(({ agent }) => agent === 'judge');
    assert.deepEqual(
      messages.map(({ data }) => [data.role, data.origin, data.side, data.from, data.to]),
      [
        ['system', 'given', 'judge', undefined, 'judge'],
        ['user', 'given', 'judge', undefined, 'judge'],
        ['assistant', 'given', 'judge', 'judge', undefined],
      ],
    );
    assert.match(JSON.stringify(messages[1]!.data.parts), /Is it right\?.*It is 42\./);
    const ends = events.filter((event) => event.kind === 'model.end' && event.agent !== 'desk');
    assert.deepEqual(
      ends.map((event) => event.kind === 'model.end' && [event.data.trainable, event.data.why_not]),
      [
        [false, "it is the simulated user's"],
        [false, "it is the simulated user's"],
        [false, 'it is a call of the side model judge'],
      ],
    );
  });

  it('is never sent twice once it is recorded, wherever the worker is lost', async () => {
    const whole = run();
    const events = await whole.run();
    for (const boundary of whole.recorder.boundaries.slice(0, -1)) {
      const before = events.slice(0, boundary);
      const recorded = (side: string): number => {
        const spans = new Set(before.flatMap((e) => (e.kind === 'model.start' && e.data.side === side ? [e.seq] : [])));
        return before.filter((e) => e.kind === 'model.end' && spans.has(e.span ?? 0)).length;
      };
      const again = run(resumed(before, whole));
      assert.deepEqual(normalizedEvents(await again.run()), normalizedEvents(events), `resumed after ${boundary}`);
      const scored = before.some(({ kind }) => kind === 'score');
      assert.deepEqual(
        [again.user.requests.length, again.judge.requests.length],
        [2 - recorded('user'), scored ? 0 : 1 - recorded('judge')],
        `requests after ${boundary}`,
      );
    }
  });

  it('streams', async () => {
    const one = run({
      ports: {
        modelOf: () => ({
          complete: (request, context) => {
            context.onDelta?.('{"score":');
            return new ScriptedModel([{ text: '{"score": 0, "explanation": "no"}' }]).complete(request, context);
          },
        }),
      },
    });
    await one.run();
    assert.deepEqual(one.recorder.deltas, ['{"score":']);
  });

  it('is held and edited like any other, but only by a condition that names the side model', async () => {
    const bp = (when?: string): Breakpoint => ({
      id: 'bp',
      side: 'before',
      kind: 'model',
      ...(when === undefined ? {} : { when }),
    });
    const plain = run({ job: { breakpoints: [bp('step == 3')] } });
    const plainDone = plain.run();
    assert.equal((await heldAt(plain)).agent, 'desk');
    await plain.command('release');
    assert.equal(
      (await plainDone).filter(({ kind }) => kind === 'hold').length,
      1,
      "the judge's call is no model call",
    );

    const one = run({ job: { breakpoints: [bp('side == "judge"')] } });
    const done = one.run();
    const hold = await heldAt(one);
    assert.equal(hold.agent, 'judge');
    assert.equal(one.judge.requests.length, 0);
    await one.command('edit', { of: { seq: hold.span! }, path: '/sampling/temperature', value: 0.5 });
    await one.command('release');
    assert.equal(end(await done).touched, true);
    assert.equal(one.judge.requests[0]!.sampling.temperature, 0.5);
  });

  it('is entered by a step into from the gate of an agent', async () => {
    const one = run({ job: { breakpoints: [{ id: 'bp', side: 'after', kind: 'model', when: 'step == 3' }] } });
    const done = one.run();
    assert.equal((await heldAt(one)).agent, 'desk');
    await one.command('step', { into: true });
    const user = await heldAt(one, 2);
    assert.deepEqual([user.agent, user.data.side, user.data.why], ['user', 'before', 'step']);
    await one.command('step', { into: true });
    await heldAt(one, 3);
    await one.command('step', { into: true });
    const judge = await heldAt(one, 4);
    assert.deepEqual([judge.agent, judge.data.side], ['judge', 'before']);
    await one.command('release');
    assert.equal(end(await done).reward, 1);
  });

  it('holds for a command at the end of the agent, and ends with a cancellation', async () => {
    const one = run({
      user: new ScriptedModel([
        { text: 'The product.' },
        async () => {
          held = one.command('hold');
          await Promise.resolve();
          return { text: '###STOP###' };
        },
      ]),
    });
    let held: ReturnType<Kit['command']> | undefined;
    const done = one.run();
    const first = await heldAt(one);
    assert.equal(first.agent, 'user');
    assert.equal((await held!).seq, first.seq);
    await one.command('step');
    const stepped = one.recorder.when(({ kind }) => kind === 'rollout.end' || kind === 'score');
    await stepped;
    assert.equal(end(await done).reward, 1);

    const cancelled = run({ job: { breakpoints: [{ id: 'bp', side: 'before', when: 'side == "judge"' }] } });
    const cancelledDone = cancelled.run();
    await heldAt(cancelled);
    await cancelled.command('cancel', { reason: 'enough' });
    const events = await cancelledDone;
    assert.deepEqual([end(events).status, end(events).reward], ['cancelled', null]);
    assert.equal(cancelled.judge.requests.length, 0);
  });

  it('of a judge is made after a limit of the agent, and can be held then', async () => {
    const limits = { steps: 20, seconds: 0.05, tool_seconds: 10, tokens: 100_000 };
    const one = run(
      {
        model: new ScriptedModel([{ text: 'It is 42.' }, () => new Promise(() => undefined)]),
        user: new ScriptedModel([{ text: 'Sure?' }]),
        job: { breakpoints: [{ id: 'bp', side: 'before', when: 'side == "judge"' }] },
      },
      {},
      { limits },
    );
    const done = one.run();
    assert.equal((await heldAt(one)).agent, 'judge');
    await one.command('release');
    const { status, reward } = end(await done);
    assert.deepEqual([status, reward], ['truncated', 1]);
  });

  it("does not count for the agent's limits", async () => {
    const limits = { steps: 3, seconds: 60, tool_seconds: 10, tokens: 165 };
    const { status, totals } = end(await run({}, {}, { limits }).run());
    assert.deepEqual([status, totals.steps], ['done', 3], '3 steps and 180 tokens, of which the last step used 150');
  });

  it('that fails is the error of the score', async () => {
    const failing = new ScriptedModel([new ClassedError('model_error', 'no such model')]);
    const one = run({ ports: { modelOf: () => failing } });
    await one.run();
    const [score] = one.recorder.of('score');
    assert.deepEqual([score!.data.value, score!.data.error?.class], [null, 'model_error']);
    assert.equal(one.recorder.of('model.end').at(-1)!.data.error!.message, 'no such model');
  });
});

describe('a fork', () => {
  it('after the call of a judge uses its answer, but asks it again if the agent answers otherwise', async () => {
    const parent = run();
    const events = await parent.run();
    const cut = events.findLast(({ kind }) => kind === 'model.end')!.seq;
    const fork = (edits: Kit['job']['edits']): Run =>
      run({
        job: { rollout: 'r2', fork: { rollout: 'r1', seq: cut }, edits },
        after: { events: events.slice(0, cut), blobs: new Map(parent.recorder.blobs) },
      });
    const same = fork([]);
    assert.equal(end(await same.run()).reward, 1);
    assert.deepEqual([same.user.requests.length, same.judge.requests.length], [0, 0]);
    const { m } = parent.recorder.of('message').findLast(({ data }) => data.origin === 'sampled')!.data;
    const other = fork([{ of: { m }, path: '/parts/0/content', value: 'It is 41.' }]);
    await other.run();
    assert.deepEqual([other.user.requests.length, other.judge.requests.length], [0, 1]);
    assert.match(JSON.stringify(other.judge.requests[0]!.messages), /It is 41/);
  });

  it("of a recording whose user's calls are steps is matched with it", async () => {
    const parent = run();
    const events = (await parent.run()).map((event) => {
      // As before side models: a call of the user is the next step.
      const old = structuredClone(event);
      if (old.kind === 'message') delete old.data.side;
      if (old.kind === 'model.start') {
        delete old.data.side;
        old.data.step = steps.get(old.seq) ?? steps.size + 1;
        steps.set(old.seq, old.data.step);
      }
      return old;
    });
    const cut = events.find(({ kind }) => kind === 'tool.end')!.seq;
    const child = run({
      job: { rollout: 'r2', fork: { rollout: 'r1', seq: cut } },
      after: { events: events.slice(0, cut), blobs: new Map(parent.recorder.blobs) },
    });
    const stream = await child.run();
    assert.deepEqual(calls(stream), [
      ['desk', 1, undefined],
      ['user', 2, undefined],
      ['desk', 3, undefined],
      ['desk', 4, undefined],
      ['user', 4, 'user'],
      ['judge', 4, 'judge'],
    ]);
    assert.deepEqual([child.agent.requests.length, child.user.requests.length], [1, 1]);
  });
  const steps = new Map<number, number>();
});
