import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { environmentOf, type Gate, gateEnvironment, rowEnvironment } from '../../../src/trace/query/environment.ts';
import { compileCondition, compileExpression, compileQuery } from '../../../src/trace/query.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { rowByScorer } from '../../../src/trace/verdicts.ts';
import { lendingDesk, Stream } from '../../support/stream.ts';

const desk = new TrajectoryModel();
desk.push(lendingDesk().events);

/** Kinds of the events that a query selects, with their seqs. */
function select(text: string, model = desk): string[] {
  const query = compileQuery(text);
  return model.events
    .filter((event) => query.matches(environmentOf(model, event.seq)).matched)
    .map((event) => `${event.seq} ${event.kind}`);
}

function gate(over: Partial<Gate> = {}): Gate {
  return {
    side: 'after',
    event: { seq: 12, kind: 'tool.end', data: { status: 'error' } },
    step: 3,
    agent: 'desk',
    attempt: 2,
    task: { id: 'renew-overdue', question: 'Renew', level: 2, meta: { source: 'own' } },
    tool: {
      name: 'renew_loan',
      arguments: { loan_id: 17, $ref: 'x', ids: [1, 2] },
      effect: 'restorable',
      error: { class: 'tool_error', message: 'limit reached' },
      ms: 12.4,
      repeats: 0,
    },
    usage: { input_tokens: 100, output_tokens: 20 },
    changes: [{ table: 'loans', key: 17, op: 'update', before: { due: 1 }, after: { due: 2 } }],
    ...over,
  };
}

function atGate(text: string, over?: Partial<Gate>): boolean {
  return compileCondition(text).matches(gateEnvironment(gate(over))).matched;
}

function problem(
  text: string,
  compile: (text: string) => unknown = compileQuery,
): { message: string; column: unknown } {
  try {
    compile(text);
  } catch (error) {
    assert.ok(StudioError.is(error, 'usage'), String(error));
    return { message: error.message, column: error.details?.['column'] };
  }
  return assert.fail(`\`${text}\` was accepted`);
}

describe('compileQuery: CEL and text', () => {
  const read: [string, 'cel' | 'text'][] = [
    ['tool.name == "x"', 'cel'],
    ['has(tool.error)', 'cel'],
    ['!has(tool.error)', 'cel'],
    ['world.changes.exists(c, c.op == "insert")', 'cel'],
    ['step > 3', 'cel'],
    ['(step > 3)', 'cel'],
    ['tool.name in ["a", "b"]', 'cel'],
    ['size(world.changes) > 0', 'cel'],
    ['limit reached', 'text'],
    ['"tool.name == 1"', 'text'],
    ["'limit reached'", 'text'],
    ['timeout', 'text'],
    ['tool', 'text'],
    ['step in progress', 'text'],
    ['renew-overdue', 'text'],
    ['500', 'text'],
    ['true', 'text'],
    ['', 'text'],
    ['   ', 'text'],
    ['what?', 'text'],
    ['a (b', 'text'],
    ['tools/loans.ts:41', 'text'],
  ];
  for (const [text, kind] of read)
    it(`reads ${JSON.stringify(text)} as ${kind}`, () => assert.equal(compileQuery(text).kind, kind));

  it('explains how it understood a text', () => {
    assert.equal(compileQuery('limit "by hand').explain, 'events that contain "limit" and "by hand"');
    assert.equal(compileQuery('').explain, 'everything');
    assert.match(compileQuery('step > 1').explain, /step > 1/);
  });

  it('reports broken CEL as an error instead of searching its words', () => {
    const broken: [string, number, RegExp][] = [
      ['tool.name = "x"', 11, /"=="/],
      ['tool.name == "x', 14, /string/],
      ['tool.', 6, /the expression is incomplete/],
      ['tool.nme == "x"', 6, /tool has no "nme"; it has name, arguments/],
      ['step == 1 && tool.bogus == 1', 19, /no "bogus"/],
      ['task == "x"', 1, /task is an object.*id/],
      ['error != null', 1, /no variable "error"/],
      ['tool.name.matches("(")', 19, /missing closing/],
      ['status == 3', 1, /string == int/],
      ['progress.steps >', 17, /the expression is incomplete/],
      ['progress.steps > 3', 1, /no variable "progress"/],
      ['limit >', 8, /the expression is incomplete/],
    ];
    for (const [text, column, message] of broken) {
      const found = problem(text);
      assert.match(found.message, message, text);
      assert.equal(found.column, column, text);
      assert.match(found.message, new RegExp(`^Column ${column}: `));
    }
  });

  it('accepts only true or false as a condition', () => {
    assert.match(problem('1 + 1', compileCondition).message, /evaluates to int/);
    assert.match(problem('limit reached', compileCondition).message, /^Column 7: /);
  });

  it('does not confuse a loop variable with the vocabulary', () => {
    assert.equal(compileQuery('world.changes.exists(tool, tool.table == "loans")').kind, 'cel');
  });
});

describe('queries over a trajectory', () => {
  it('selects events by their tool call', () => {
    assert.deepEqual(select('tool.name == "find_member"'), ['9 tool.start', '10 message', '11 tool.end']);
    assert.deepEqual(select('tool.error != null && tool.error.class == "tool_error"'), ['18 tool.end']);
    assert.deepEqual(select('tool.arguments.loan_id == 18 && tool.result == "limit reached"'), ['18 tool.end']);
    assert.deepEqual(select('tool.result.loans.exists(l, l == 18)'), ['11 tool.end']);
    assert.deepEqual(select('event.kind == "tool.end" && tool.ms >= 12'), [
      '11 tool.end',
      '18 tool.end',
      '21 tool.end',
    ]);
  });

  it('selects by message, step, change, usage, score and place in the batch', () => {
    assert.deepEqual(select('message.role == "user"'), ['5 message']);
    assert.deepEqual(select('message.calls.exists(c, c.name == "renew_loan")'), ['13 message', '14 model.end']);
    assert.deepEqual(select('message.text.contains("limit") && event.kind == "message"'), ['23 message']);
    assert.deepEqual(select('world.changes.exists(c, c.table == "loans" && c.after.due > c.before.due)'), [
      '19 world.diff',
      '20 message',
      '21 tool.end',
    ]);
    assert.deepEqual(select('usage.input_tokens + usage.output_tokens > 300'), [
      '24 model.end',
      '25 score',
      '26 rollout.end',
    ]);
    assert.deepEqual(select('reward == 0'), ['25 score', '26 rollout.end']);
    assert.deepEqual(select('status == "done"'), ['26 rollout.end']);
    assert.deepEqual(select('step == 0 && attempt == 1 && task.id == "renew-overdue" && agent == ""'), [
      '1 rollout.start',
      '2 rollout.lease',
      '3 world.open',
      '4 message',
      '5 message',
    ]);
    assert.deepEqual(select('step % 2 == 1 && event.kind == "model.start"'), ['6 model.start', '22 model.start']);
  });

  it('does not match where a variable is undefined, in either sense, and says why', () => {
    assert.deepEqual(select('tool.name != "find_member" && event.kind == "message"'), ['17 message', '20 message']);
    const match = compileQuery('tool.name == "x"').matches(environmentOf(desk, 1));
    assert.deepEqual(match, { matched: false, why: 'there is no "name" here' });
    assert.deepEqual(compileCondition('reward > 0.5').matches(environmentOf(desk, 1)), {
      matched: false,
      why: 'null > double is not supported',
    });
  });

  it('loads what it needs before it evaluates, without an effect on the selection', () => {
    const all = desk.last;
    assert.equal(select('has(tool.error) || step >= 0').length, all);
    assert.equal(select('event.kind == "tool.end" ? tool.ms > 0.0 : true').length, all);
    assert.deepEqual(select('step > 90 && tool.name == "x"'), []);
    assert.equal(select('!(step > 90 && tool.name == "x")').length, all);
    assert.equal(select('(step > 90 && tool.name == "x") == false').length, all);
    assert.deepEqual(select('[1].exists(x, x == 2 && tool.name == "x") || true').length, all);
    assert.deepEqual(select('size(tool.name) == 11 && message.role == "tool"'), ['10 message', '11 tool.end']);
  });

  it('finds words anywhere, in any case, and phrases literally', () => {
    assert.deepEqual(select('LIMIT reached'), ['17 message', '18 tool.end', '23 message', '26 rollout.end']);
    assert.deepEqual(select('"limit reached"'), ['17 message', '18 tool.end']);
    assert.deepEqual(select('ada overdue'), ['5 message']);
    assert.deepEqual(select('loan_id 18 days').at(0), '13 message');
    assert.equal(select('').length, desk.last);
    assert.deepEqual(select('(.*)'), []);
  });

  it("searches a blob's beginning, not its hash", () => {
    const s = new Stream();
    s.add('log', {
      stream: 'out',
      text: { $blob: 'a'.repeat(64), bytes: 9, media: 'text/plain', head: 'the Beginning' },
    });
    const model = new TrajectoryModel();
    model.push(s.events);
    assert.deepEqual(select('beginning', model), ['1 log']);
    assert.deepEqual(select('aaaa', model), []);
  });

  it('sees keys as the user wrote them', () => {
    const s = new Stream();
    s.toolStart('a', 'f', { $$ref: 'x' });
    const model = new TrajectoryModel();
    model.push(s.events);
    assert.deepEqual(select('tool.arguments["$ref"] == "x"', model), ['1 tool.start']);
  });
});

describe('conditions at a gate', () => {
  it('have all of the vocabulary', () => {
    assert.ok(
      atGate(
        'tool.name == "renew_loan" && tool.arguments.loan_id == 17 && tool.ms > 12 && tool.error.class == "tool_error"',
      ),
    );
    assert.ok(atGate('task.id == "renew-overdue" && task.level >= 2 && task.meta.source == "own" && attempt == 2'));
    assert.ok(
      atGate(
        'step == 3 && agent.startsWith("desk") && usage.input_tokens == 100 && status == "running" && reward == null',
      ),
    );
    assert.ok(atGate('world.changes.exists(c, c.key == 17) && event.kind == "tool.end"'));
    assert.ok(atGate('tool.arguments["$ref"] == "x"'));
    assert.ok(
      atGate('message.text == "hi" && message.calls[0].name == "f"', {
        message: {
          m: 1,
          role: 'assistant',
          origin: 'sampled',
          parts: [
            { type: 'text', content: 'hi' },
            { type: 'tool_call', id: 'c', name: 'f', arguments: {} },
          ],
        },
      }),
    );
  });

  it('have no result before there is one', () => {
    const before: Partial<Gate> = { side: 'before', tool: { name: 'f', arguments: {}, effect: 'pure', repeats: 0 } };
    assert.ok(atGate('tool.name == "f" && tool.result == null && tool.error == null && tool.ms == null', before));
    assert.ok(atGate('tool.effect == "pure" && tool.prediction == null', before));
    assert.ok(!atGate('tool.error.class == "x"', before));
  });

  it('say where the result of a call comes from, once it has one', () => {
    const played: Partial<Gate> = {
      tool: { name: 'f', arguments: {}, effect: 'pure', repeats: 0, source: 'overlay' },
    };
    assert.ok(atGate('tool.source == "overlay"', played));
    assert.ok(atGate('tool.source == ""', { tool: { name: 'f', arguments: {}, effect: 'pure', repeats: 0 } }));
    assert.deepEqual(
      select('tool.source == "live"'),
      desk.events.flatMap(({ seq, kind, span }) => {
        const call = [seq, span].map((one) => (one === undefined ? undefined : desk.span(one)));
        const ended = call.find((one) => one?.kind === 'tool')?.end;
        return ended !== undefined && seq >= ended.seq ? [`${seq} ${kind}`] : [];
      }),
    );
    assert.deepEqual(select('tool.source == "simulated"'), []);
  });

  it('mix integers and floats as people do', () => {
    for (const text of [
      'step + 1 == 4',
      'step * 2 == 6',
      'step / 2 == 1.5',
      '7 - step == 4',
      'step % 2 == 1',
      '1.5 * size(tool.arguments.ids) == 3',
      '5 / 2 == 2',
      '1.5 + 1.5 == 3',
      '3 != 2.5',
      '!(2.0 != 2)',
    ])
      assert.ok(atGate(text), text);
  });

  it('stay cheap', () => {
    const xs = Array.from({ length: 3_000 }, (_, i) => i);
    const big: Partial<Gate> = { event: { seq: 1, kind: 'x', data: { xs, text: 'a'.repeat(50_000) } } };
    assert.ok(atGate('event.data.xs.exists(a, event.data.xs.exists(b, a == b + 1))', big));
    const match = compileCondition('event.data.xs.exists(a, event.data.xs.exists(b, a == b + 5000))').matches(
      gateEnvironment(gate(big)),
    );
    assert.ok(!match.matched && /too long/.test(match.why ?? ''));
    const inside = compileCondition('event.data.xs.all(a, a in event.data.xs)').matches(gateEnvironment(gate(big)));
    assert.ok(!inside.matched && /too long/.test(inside.why ?? ''));
    assert.ok(!atGate('event.data.text.matches("(a+)+$b")', big)); // would never end with a backtracking engine
    assert.match(problem(`step == ${'1 + '.repeat(600)}1`).message, /2000 characters/);
    assert.match(problem(`${'('.repeat(100)}step == 1${')'.repeat(100)}`).message, /depth/i);
  });

  it('limit an expression without changing its meaning', () => {
    const texts = [
      'tool.arguments.ids.exists(i, tool.arguments.ids.exists(j, i != j && tool.name.matches("^renew")))',
      '(tool.arguments.ids + [3]).exists(i, [i].exists(j, j == 3))',
      'tool.arguments.ids.map(x, x * 2).exists(y, tool.arguments.ids.map(x, x + 2).exists(z, y == z))',
      '[[1, 2], [3]].exists(l, l.exists(x, x in l))',
      'tool.name . matches ( "loan$" ) && "matches(" != tool.name',
    ];
    for (const text of texts) assert.ok(atGate(text), text);
  });
});

describe('expressions', () => {
  const value = (text: string): unknown => compileExpression(text).evaluate(gateEnvironment(gate()));

  it('return any value as JSON', () => {
    assert.deepEqual(value('tool.arguments'), { ok: true, value: { loan_id: 17, $ref: 'x', ids: [1, 2] } });
    assert.deepEqual(value('size(world.changes)'), { ok: true, value: 1 });
    assert.deepEqual(value('{"a": [step, 2.5, null, true, "x"]}'), {
      ok: true,
      value: { a: [3, 2.5, null, true, 'x'] },
    });
    assert.deepEqual(value('timestamp("2024-01-01T00:00:00Z")'), { ok: true, value: '2024-01-01T00:00:00.000Z' });
    assert.deepEqual(value('duration("5s")'), { ok: true, value: '5s' });
    assert.deepEqual(value('9007199254740993'), { ok: true, value: '9007199254740993' });
  });

  it('report why there is none', () => {
    assert.deepEqual(value('message.text'), { ok: false, why: 'there is no "text" here' });
    assert.equal(problem('tool.', compileExpression).column, 6);
  });
});

describe('rowEnvironment', () => {
  it('has a rollout as a whole', () => {
    const row: RolloutRow = {
      rollout: 'r1',
      batch: 'b1',
      task: 't',
      task_index: 0,
      attempt: 4,
      try: 1,
      state: 'ended',
      epoch: 1,
      last: 9,
      settles: true,
      rev: 1,
      progress: {
        steps: 5,
        tool_calls: 1,
        input_tokens: 10,
        output_tokens: 5,
        cached_tokens: 0,
        tools: ['renew_loan'],
        touched: false,
        world_outcome: 'format',
        verdicts: { strict: { value: 0, passed: false, outcome: 'partial', at: 1 } },
        status: 'truncated',
        reward: 0.5,
        error_class: 'limit',
      },
    };
    const matches = (text: string): boolean => compileQuery(text).matches(rowEnvironment(row)).matched;
    assert.ok(matches('world.outcome == "format"'));
    assert.equal(
      compileQuery('world.outcome == "partial"').matches(rowEnvironment(rowByScorer(row, 'strict'))).matched,
      true,
    );
    assert.equal(rowByScorer(row, 'nobody').progress.world_outcome, undefined);
    assert.ok(
      matches(
        'status == "truncated" && reward >= 0.5 && step == 5 && attempt > 3 && task.id == "t" && ' +
          'usage.output_tokens == 5',
      ),
    );
    assert.ok(matches('renew_loan'));
    assert.ok(!matches('tool.name == "renew_loan"'));
    assert.ok(compileQuery('status == "running"').matches(rowEnvironment({ ...row, state: 'running' })).matched);
  });
});
