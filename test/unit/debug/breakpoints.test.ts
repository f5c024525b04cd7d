// Breakpoints of every kind over a recording: where they stop, what they log, and their errors.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BreakpointTable } from '../../../src/debug/breakpoints/breakpointTable.ts';
import { RolloutCursor } from '../../../src/debug/cursor.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { Stops } from '../../../src/trace/stops.ts';
import { lendingDesk, Stream } from '../../support/stream.ts';
import { task } from '../../support/trajectories.ts';

function begin(stream: Stream): {
  model: TrajectoryModel;
  table: BreakpointTable;
  run: (direction?: 'forward' | 'backward') => Promise<string>;
  said: string[];
} {
  const model = new TrajectoryModel();
  model.push(stream.events);
  const table = new BreakpointTable('debug:');
  const cursor = new RolloutCursor(model, task('renew-overdue'), Stops.of(model).first ?? { seq: 0, at: 0 });
  const said: string[] = [];
  return {
    model,
    table,
    said,
    run: async (direction = 'forward') => {
      const { place, matched } = await cursor.run(
        direction,
        table.gates,
        table.stops,
        (text) => said.push(text),
        new AbortController().signal,
      );
      const span = model.span(place.seq);
      const name =
        span?.kind === 'tool'
          ? `${span.start.data.name} ${JSON.stringify(span.start.data.arguments)}`
          : span?.kind === 'model'
            ? `step ${span.start.data.step}`
            : `event ${place.seq}`;
      const none = matched.length === 0 && !table.stops.has(place.seq);
      return `${name}${place.at > place.seq ? ' after' : ''}${none ? ' (none)' : ''}`;
    },
  };
}

const RENEW_17 = 'renew_loan {"loan_id":17,"days":14}';
const RENEW_18 = 'renew_loan {"loan_id":18,"days":14}';

describe('breakpoints over a recording', () => {
  it('on a tool, with a condition, stop before the call; conditions may use the task', async () => {
    const { table, run } = begin(lendingDesk());
    const results = table.setFunctions(
      [{ name: 'renew_loan', condition: 'tool.arguments.loan_id == 18 && task.id == "renew-overdue"' }],
      new Set(['renew_loan']),
    );
    assert.deepEqual(
      results.map(({ verified }) => verified),
      [true],
    );
    assert.equal(await run(), RENEW_18);
    assert.equal(await run(), 'step 3 after (none)', 'nothing more: the end');
    assert.equal(await run('backward'), RENEW_18);
    assert.equal(await run('backward'), 'event 4 (none)', 'nothing before: the beginning');
  });

  it('apply from the n-th hit on, counted from the beginning in both directions', async () => {
    const { table, run } = begin(lendingDesk());
    table.setFunctions([{ name: 'renew_loan', hitCondition: '>= 2' }], new Set(['renew_loan']));
    assert.equal(await run(), RENEW_18);
    await run();
    assert.equal(await run('backward'), RENEW_18);
    assert.equal(await run('backward'), 'event 4 (none)');
  });

  it('stop on errors of a class, malformed calls, repeated actions, rewards, and the world', async () => {
    const s = lendingDesk();
    const { table, run } = begin(s);
    table.setExceptions([{ filter: 'class:tool_error' }]);
    assert.equal(await run(), `${RENEW_18} after`);
    table.setExceptions([{ filter: 'reward', condition: '0.5' }]);
    assert.match(await run(), /^step 3 after$/);
    table.setExceptions([{ filter: 'class:timeout' }, { filter: 'malformed' }]);
    assert.match(await run('backward'), /\(none\)$/);
    table.setExceptions([]);
    table.setData([{ dataId: JSON.stringify({ table: 'loans', key: 17 }) }]);
    assert.equal(await run(), `${RENEW_17} after`);

    const twice = new Stream();
    twice.start();
    for (const id of ['c1', 'c2', 'c3']) {
      twice.model('', [{ id, name: 'look', arguments: { n: id === 'c2' ? 2 : 1 } }]);
      twice.toolEnd(twice.toolStart(id, 'look', { n: id === 'c2' ? 2 : 1 }), id, 'seen');
    }
    twice.end();
    const again = begin(twice);
    again.table.setExceptions([{ filter: 'repeated' }]);
    assert.equal(await again.run(), 'look {"n":1}');
    assert.match(await again.run(), /\(none\)$/, 'the third call was the only repeat');
  });

  it('as log points write what is evaluated and stop nothing', async () => {
    const { table, run, said } = begin(lendingDesk());
    table.setLines('/desk/loans.ts', [{ line: 9, logMessage: 'loan {tool.arguments.loan_id}, {{as usual}}' }], () => ({
      kind: 'tools',
      names: ['renew_loan'],
      line: 8,
    }));
    assert.match(await run(), /\(none\)$/);
    assert.deepEqual(said, ['loan 17, {as usual}', 'loan 18, {as usual}']);
  });

  it('report their errors, and the others are still set', () => {
    const { table } = begin(lendingDesk());
    const results = table.setFunctions(
      [
        { name: 'renew_loan', condition: 'tool.nme ==' },
        { name: 'renew_loan', hitCondition: 'often' },
        { name: 'model' },
      ],
      new Set(['renew_loan']),
    );
    assert.deepEqual(
      results.map(({ verified }) => verified),
      [false, false, true],
    );
    assert.match(results[1]?.message ?? '', /“often” is not a hit count/);
    assert.equal(table.gates.length, 1);
    assert.deepEqual(
      table.setLines('/x.ts', [{ line: 3 }], () => undefined).map(({ verified, line }) => [verified, line]),
      [[false, 3]],
    );
    assert.equal(table.setExceptions([{ filter: 'nothing' }])[0]?.verified, false);
    assert.equal(table.setExceptions([{ filter: 'reward', condition: 'high' }])[0]?.verified, false, 'not a number');
  });

  it('of one kind replace only those of that kind', () => {
    const { table } = begin(lendingDesk());
    table.setFunctions([{ name: 'a' }, { name: 'b' }], new Set());
    table.setExceptions([{ filter: 'any' }]);
    table.setFunctions([{ name: 'c' }], new Set());
    assert.deepEqual(
      table.gates.map(({ tool, when }) => tool ?? when),
      ['c', 'has(event.data.error)'],
    );
    assert.ok(table.gates.every(({ id }) => id.startsWith('debug:')));
  });
});

it('conditions over what workers get only for scoring say so', () => {
  const { table } = begin(lendingDesk());
  const set = (condition: string): readonly [boolean, string | undefined] => {
    const [one] = table.setFunctions([{ name: 'model', condition }], new Set());
    return [one?.verified === true, one?.message];
  };
  assert.deepEqual(set('step == 1'), [true, undefined]);
  const [answerSet, answer = ''] = set('task.answer == "x"');
  assert.equal(answerSet, true);
  assert.match(answer, /`task\.answer` is null until a running rollout is scored/);
  assert.match(set('task.meta.city == "Rome"')[1] ?? '', /only the columns in `task\.meta` that prompts/);
});
