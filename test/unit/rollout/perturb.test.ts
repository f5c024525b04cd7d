// Faults by rule: which call they hit, what the agent sees, and what the record says.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json, JsonObject } from '../../../src/common/json.ts';
import type { SubmittedRule } from '../../../src/config/submission/rule.ts';
import type { Submission } from '../../../src/config/submission.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { ManualTime } from '../../support/manualTime.ts';
import {
  end,
  type Kit,
  type KitOptions,
  kit,
  NumberWorld,
  normalizedEvents,
  ScriptedModel,
  ScriptedTools,
  submission,
  worldWithUser,
} from '../../support/rolloutKit.ts';
import { responses } from '../../support/worldCalls.ts';

function perturbed(rules: readonly SubmittedRule[], more: Partial<Submission> = {}): Submission {
  const { user: _user, ...world } = worldWithUser();
  return submission({}, { world: { ...world, perturb: [...rules] }, ...more });
}

type Written<R> = R extends SubmittedRule ? Omit<R, 'p'> : never;

const rule = (written: Written<SubmittedRule>): SubmittedRule => ({ p: 1, ...written });

const ERROR = rule({
  name: 'flaky',
  when: 'tool.name == "look" && tool.repeats == 0',
  effect: 'error',
  args: { class: 'tool_error', message: '503', wait_seconds: 0 },
});

/** Calls `look` with each of the arguments, one after another. */
const looks = (...args: readonly JsonObject[]): ScriptedModel =>
  new ScriptedModel([...args.map((each) => ({ calls: [{ name: 'look', arguments: each }] })), { text: '42' }]);

const lookTool = (result: (n: number) => Json): ScriptedTools => {
  let n = 0;
  return new ScriptedTools({ look: { retry: { times: 2, waitMs: 0 }, run: () => ({ response: result(++n) }) } });
};

const ends = (one: Kit): object[] => one.recorder.of('tool.end').map(({ data: { ms: _ms, m: _m, ...data } }) => data);

async function seen(rules: readonly SubmittedRule[], result: Json, options: KitOptions = {}): Promise<[Json, object]> {
  const one = kit({
    tools: lookTool(() => result),
    model: looks({}),
    job: { submission: perturbed(rules) },
    ...options,
  });
  const events = await one.run();
  return [responses(events, 'look')[0] ?? null, ends(one)[0] ?? {}];
}

describe('a rule', () => {
  it('answers a call that is never made', async () => {
    const tools = lookTool((n) => n);
    const one = kit({ tools, model: looks({}, {}), job: { submission: perturbed([ERROR]) } });
    const events = await one.run();
    assert.deepEqual(responses(events, 'look'), ['Error (tool_error): 503', 1]);
    assert.equal(tools.calls.length, 1);
    assert.deepEqual(ends(one), [
      {
        status: 'error',
        source: 'live',
        error: { class: 'tool_error', message: '503' },
        injected: 'flaky',
        made: false,
      },
      { status: 'ok', source: 'live' },
    ]);
    assert.deepEqual(one.recorder.logs, [], 'the retries of the tool are for its own failures');
  });

  it('does not apply to a batch without rules, to another tool, or to a call that is refused', async () => {
    const [plain] = await seen([ERROR], 1, { job: { submission: perturbed([ERROR], { no_perturb: true }) } });
    assert.equal(plain, 1);
    const other = kit({
      tools: new ScriptedTools({ find: { run: () => ({ response: 2 }) } }),
      model: new ScriptedModel([{ calls: [{ name: 'find' }, { name: 'look' }] }, { text: '42' }]),
      job: { submission: perturbed([ERROR]) },
    });
    const events = await other.run();
    assert.deepEqual(responses(events, 'find'), [2]);
    assert.match(JSON.stringify(responses(events, 'look')), /Unknown tool/);
  });

  it('applies first come, first served', async () => {
    const late = rule({ name: 'late', effect: 'text', args: { text: 'later', place: 'replace' } });
    const [first] = await seen([ERROR, late], 1);
    assert.equal(first, 'Error (tool_error): 503');
    const [second] = await seen([{ ...ERROR, p: 0 }, late], 1);
    assert.equal(second, 'later');
  });

  it('hits the same calls of the same attempt, as often as it says', async () => {
    const rules = [{ ...ERROR, when: 'true', p: 0.3 }];
    const hits = async (attempt: number): Promise<boolean[]> => {
      const args = Array.from({ length: 19 }, (_, n) => [{ n }, { m: n }, { k: n }]);
      const one = kit({
        tools: lookTool(() => 1),
        model: new ScriptedModel([
          ...args.map((step) => ({ calls: step.map((each) => ({ name: 'look', arguments: each })) })),
          { text: '42' },
        ]),
        job: { attempt, submission: perturbed(rules) },
      });
      await one.run();
      return one.recorder.of('tool.end').map(({ data }) => data.injected === 'flaky');
    };
    const runs = await Promise.all(Array.from({ length: 20 }, (_, n) => hits(n + 1)));
    assert.deepEqual(await hits(1), runs[0]);
    assert.notDeepEqual(runs[1], runs[0]);
    const share = runs.flat().filter(Boolean).length / runs.flat().length;
    assert.ok(Math.abs(share - 0.3) < 0.05, `${share} of ${runs.flat().length} calls`);
  });

  it('knows the call: tool, arguments, repeats, step, agent, task, attempt', async () => {
    const when =
      'tool.name == "look" && tool.arguments.n == 2 && tool.repeats == 0 && step == 2 && agent == "desk" && ' +
      'task.id == "t1" && attempt == 1';
    const one = kit({
      tools: lookTool((n) => n),
      model: looks({ n: 1 }, { n: 2 }, { n: 2 }),
      job: { submission: perturbed([{ ...ERROR, when }]) },
    });
    const events = await one.run();
    assert.deepEqual(responses(events, 'look'), [1, 'Error (tool_error): 503', 2]);
  });
});

describe('a time-out by rule', () => {
  const timeout = (wait: number | 'limit'): SubmittedRule =>
    rule({ name: 'slow', effect: 'timeout', args: { wait_seconds: wait } });

  it('is immediate', async () => {
    const [response, data] = await seen([timeout(0)], 1);
    assert.equal(response, 'Error (timeout): look did not finish within 10 s.');
    assert.deepEqual((data as { made?: boolean }).made, false);
  });

  it('waits by the clock of the rollout if it has to', async () => {
    const time = new ManualTime();
    const one = kit({
      tools: lookTool(() => 1),
      model: looks({}),
      job: { submission: perturbed([timeout('limit')]) },
      ports: { time },
    });
    const running = one.run();
    await one.recorder.when(({ kind }) => kind === 'tool.start');
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(one.recorder.of('tool.end').length, 0);
    time.advance(10_000);
    const events = await running;
    assert.deepEqual(responses(events, 'look'), ['Error (timeout): look did not finish within 10 s.']);
    assert.equal(one.recorder.of('tool.end')[0]?.data.ms, 10_000);
  });
});

describe('a delay by rule', () => {
  const delay = rule({ name: 'slow', effect: 'delay', args: { wait_seconds: 5 } });
  const delayed = (time: ManualTime): { one: Kit; tools: ScriptedTools } => {
    const tools = lookTool(() => 1);
    return { tools, one: kit({ tools, model: looks({}), job: { submission: perturbed([delay]) }, ports: { time } }) };
  };

  it('makes the call late', async () => {
    const time = new ManualTime();
    const { one, tools } = delayed(time);
    const running = one.run();
    await one.recorder.when(({ kind }) => kind === 'tool.start');
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(tools.calls.length, 0);
    time.advance(5_000);
    assert.deepEqual(responses(await running, 'look'), [1]);
    assert.deepEqual(ends(one), [{ status: 'ok', source: 'live', injected: 'slow' }]);
    assert.equal(one.recorder.of('tool.end')[0]?.data.ms, 5_000);
  });

  it('ends with the rollout', async () => {
    const { one, tools } = delayed(new ManualTime());
    const running = one.run();
    await one.recorder.when(({ kind }) => kind === 'tool.start');
    await one.command('cancel');
    assert.equal(end(await running).status, 'cancelled');
    assert.equal(tools.calls.length, 0);
  });
});

describe('a rule that changes the result', () => {
  const LOANS = { loans: [{ id: 1, due: 'May' }, { id: 2, due: 'June' }, { id: 3 }], total: 3 };
  const cases: readonly [name: string, written: SubmittedRule, result: Json, expected: Json][] = [
    ['empties text', rule({ name: 'r', effect: 'empty' }), 'some text', ''],
    ['empties a list', rule({ name: 'r', effect: 'empty' }), [1, 2], []],
    ['empties an object', rule({ name: 'r', effect: 'empty' }), LOANS, { loans: [], total: null }],
    ['empties JSON in text', rule({ name: 'r', effect: 'empty' }), '[1, 2]', '[]'],
    [
      'drops fields wherever they are',
      rule({ name: 'r', effect: 'drop', args: { fields: ['due', 'total'], items: 0 } }),
      LOANS,
      { loans: [{ id: 1 }, { id: 2 }, { id: 3 }] },
    ],
    [
      'keeps the first items and says where to go on',
      rule({ name: 'r', effect: 'truncate', args: { items: 1, more: 'next_cursor' } }),
      LOANS,
      { loans: [{ id: 1, due: 'May' }], total: 3, next_cursor: 1 },
    ],
    ['keeps the first items of a list', rule({ name: 'r', effect: 'truncate', args: { items: 2 } }), [1, 2, 3], [1, 2]],
    ['cuts text', rule({ name: 'r', effect: 'truncate', args: { chars: 4 } }), 'some text', 'some'],
    [
      'replaces the result by text',
      rule({ name: 'r', effect: 'text', args: { text: 'closed', place: 'replace' } }),
      LOANS,
      'closed',
    ],
    ['adds text before', rule({ name: 'r', effect: 'text', args: { text: 'Note', place: 'before' } }), 'a', 'Note\na'],
    ['adds text after', rule({ name: 'r', effect: 'text', args: { text: 'Note', place: 'after' } }), [1], '[1]\nNote'],
  ];
  for (const [name, written, result, expected] of cases) {
    it(name, async () => {
      const [response, data] = await seen([written], result);
      assert.deepEqual(response, expected);
      assert.deepEqual(data, { status: 'ok', source: 'live', injected: 'r', result });
    });
  }

  it('drops items at random, by the seed of the call', async () => {
    const drop = rule({ name: 'r', effect: 'drop', args: { fields: [], items: 3 } });
    const items = [1, 2, 3, 4, 5, 6, 7, 8];
    const [first, second] = [await seen([drop], items), await seen([drop], items)];
    assert.deepEqual(first, second);
    const left = first[0] as number[];
    assert.equal(left.length, 5);
    assert.deepEqual(left.toSorted(), left);
  });

  it('shows the previous result of the same call again', async () => {
    const stale = rule({ name: 'old', when: 'tool.repeats > 0', effect: 'stale' });
    const one = kit({
      tools: lookTool((n) => n),
      model: looks({ a: 1 }, { a: 2 }, { a: 1 }, { a: 1 }),
      job: { submission: perturbed([stale]) },
    });
    assert.deepEqual(responses(await one.run(), 'look'), [1, 2, 1, 3]);
  });

  for (const [name, written] of [
    ['nothing to change', rule({ name: 'r', effect: 'truncate', args: { items: 5 } })],
    ['no previous call', rule({ name: 'r', effect: 'stale' })],
  ] as const)
    it(`injects nothing with ${name}`, async () => {
      const [response, data] = await seen([written], LOANS);
      assert.deepEqual([response, data], [LOANS, { status: 'ok', source: 'live' }]);
    });

  it('leaves a failed call as it is', async () => {
    const tools = new ScriptedTools({
      look: { run: () => Promise.reject(new ClassedError('tool_error', 'its own')) },
    });
    const [response, data] = await seen([rule({ name: 'r', effect: 'empty' })], null, { tools });
    assert.equal(response, 'Error (tool_error): its own');
    assert.equal('injected' in data, false);
  });
});

describe('a rule with a function', () => {
  const own = rule({
    name: 'own',
    effect: 'function',
    module: { file: 'faults.ts', bundle: '0'.repeat(64), map: '0'.repeat(64) },
    export: 'stale_rows',
    args: { rows: 2 },
  });

  it('shows what the function returns', async () => {
    const inputs: JsonObject[] = [];
    const one = kit({
      tools: lookTool((n) => n),
      model: looks({ a: 1 }, { a: 1 }),
      job: { submission: perturbed([own]) },
      ports: {
        callRule: (_rule, input) => {
          inputs.push(input);
          return Promise.resolve({ was: input['result'] ?? null });
        },
      },
    });
    assert.deepEqual(responses(await one.run(), 'look'), [{ was: 1 }, { was: 2 }]);
    assert.deepEqual(
      inputs.map(({ tool, result, previous, args, step, attempt }) => [tool, result, previous, args, step, attempt]),
      [
        [{ name: 'look', arguments: { a: 1 }, repeats: 0 }, 1, null, { rows: 2 }, 1, 1],
        [{ name: 'look', arguments: { a: 1 }, repeats: 1 }, 2, 1, { rows: 2 }, 2, 1],
      ],
    );
    assert.equal('answer' in (inputs[0]?.['task'] as JsonObject), false);
  });

  it('leaves nothing to score if the function fails', async () => {
    const one = kit({
      tools: lookTool(() => 1),
      model: looks({}),
      job: { submission: perturbed([own]) },
      ports: { callRule: () => Promise.reject(new ClassedError('tool_error', 'rows is undefined')) },
    });
    const { status, reward, error } = end(await one.run());
    assert.deepEqual(
      [status, reward, error?.class, error?.message],
      ['done', null, 'world_error', 'The rule own failed: rows is undefined'],
    );
  });
});

describe('a perturbed rollout of a world', () => {
  const rules: SubmittedRule[] = [
    rule({
      name: 'refused',
      when: 'tool.name == "add" && tool.arguments.n == 2 && tool.repeats == 0',
      effect: 'error',
      args: { class: 'world_error', message: 'locked', wait_seconds: 0 },
    }),
    rule({
      name: 'late',
      when: 'tool.name == "add" && tool.arguments.n == 4',
      effect: 'timeout',
      args: { wait_seconds: 0 },
    }),
    rule({
      name: 'wrong',
      when: 'tool.name == "add" && tool.arguments.n == 3',
      effect: 'text',
      args: { text: 'added nothing', place: 'replace' },
    }),
    rule({ name: 'old', when: 'tool.name == "peek" && tool.repeats > 1', effect: 'stale' }),
  ];
  const call = (name: string, n?: number) => ({ name, arguments: n === undefined ? {} : { n } });
  const options = (): KitOptions => ({
    world: new NumberWorld(),
    model: new ScriptedModel([
      { calls: [call('add', 1), call('peek'), call('add', 2), call('add', 4)] },
      { calls: [call('add', 2), call('peek'), call('add', 3)] },
      { calls: [call('peek'), call('peek')] },
      { text: '42' },
    ]),
  });
  const job = { submission: perturbed(rules) };
  const peeks = [{ value: 1 }, { value: 3 }, { value: 3 }, { value: 6 }];
  const happened = (events: readonly TraceEvent[]): unknown =>
    normalizedEvents(events.filter(({ kind }) => kind !== 'log'));

  it('continues in the state of the calls that were made, however it is resumed or forked', async () => {
    const whole = kit({ ...options(), job });
    const undisturbed = await whole.run();
    assert.deepEqual(responses(undisturbed, 'peek'), peeks);
    assert.equal(end(undisturbed).reward, 6);
    for (const boundary of whole.recorder.boundaries.slice(0, -1)) {
      const after = { events: undisturbed.slice(0, boundary), blobs: new Map(whole.recorder.blobs) };
      const resumed = kit({ ...options(), after, job: { ...job, how: 'resumed', epoch: 2 } });
      assert.deepEqual(happened(await resumed.run()), happened(undisturbed), `resumed after event ${boundary}`);
      assert.deepEqual(resumed.recorder.logs, [], 'the real results are compared');
      const fork = { rollout: 'r1', seq: boundary };
      const branch = await kit({ ...options(), after, job: { ...job, rollout: 'r2', fork } }).run();
      assert.deepEqual(responses(branch, 'peek'), peeks, `forked after event ${boundary}`);
    }
  });
});
