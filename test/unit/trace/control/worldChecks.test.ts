// What the calls of a trajectory say about its world: the real desk and its faithful simulation always hold.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../../../src/common/json.ts';
import { type ErrorRates, FAULTY } from '../../../../src/demo/policy/deskWorld/seededErrors.ts';
import { type RateCase, WorldChecks } from '../../../../src/trace/control/worldChecks.ts';
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import { predict, type Row, randomCall, stateText } from '../../../support/deskWorld.ts';
import { Random } from '../../../support/random.ts';
import { OpenSample, sampleTasks } from '../../../support/sampleWorkspace.ts';

/** Writes the events of calls, as a rollout records them. */
class Calls {
  readonly checks = new WorldChecks();
  #seq = 0;
  #m = 0;

  constructor(state?: string) {
    this.#add({ kind: 'rollout.start', data: {} });
    this.#add({ kind: 'world.open', data: { world: 'w', kind: 'module' } });
    if (state === undefined) return;
    const parts = [{ type: 'text', content: state }];
    this.#add({ kind: 'message', data: { m: ++this.#m, role: 'system', side: 'world', origin: 'given', parts } });
  }

  #add(event: object): number {
    const seq = ++this.#seq;
    this.checks.add({ v: 1, at: seq, agent: 'a', seq, ...event } as unknown as TraceEvent);
    return seq;
  }

  /** Returns the cases that the call decided. */
  call(name: string, args: Json, response: Json, more: object = {}): RateCase[] {
    const before = this.checks.cases.length;
    const start = { call: `c${this.#seq}`, name, arguments: args, effect: 'restorable' };
    const span = this.#add({ kind: 'tool.start', data: start });
    const parts = [{ type: 'tool_call_response', id: 'c', response }];
    this.#add({ kind: 'message', data: { m: ++this.#m, role: 'tool', origin: 'tool', parts } });
    const failed = typeof response === 'string' && response.startsWith('Error (tool_error)');
    const error = failed ? { error: { class: 'tool_error', message: response }, status: 'error' } : { status: 'ok' };
    this.#add({ kind: 'tool.end', span, data: { source: 'live', m: this.#m, ...error, ...more } });
    return this.checks.cases.slice(before);
  }
}

const wrong = (checks: WorldChecks): RateCase[] => checks.cases.filter(({ held }) => !held);

/** Reads what the previous call may have changed. */
function readAfter(random: Random, [name, args]: readonly [string, Row], rows: Record<string, Row[]>): [string, Row] {
  const loan = rows['loans']?.find(({ id }) => id === args['loan_id']);
  const fine = rows['fines']?.find(({ id }) => id === args['fine_id']);
  const member = args['member_id'] ?? loan?.['member_id'] ?? fine?.['member_id'];
  if (member === undefined || random.next() < 0.3) return randomCall(random, rows);
  return [name === 'pay_fine' || random.next() < 0.2 ? 'list_fines' : 'list_loans', { member_id: member }];
}

/** Plays the desk. `errors`: of its simulation; undefined: the real desk. */
async function play(random: Random, errors?: ErrorRates) {
  const library = await OpenSample.open(sampleTasks()[0]!);
  const rows = (): Record<string, Row[]> =>
    JSON.parse(new TextDecoder().decode(library.snapshot())) as Record<string, Row[]>;
  const state = stateText(rows());
  const calls = new Calls(errors === undefined ? undefined : state);
  const turns: [string, string][] = [];
  const planted = new Map<number, string>();
  /** Turns whose calls show that the world is wrong, and turns that forget a write. */
  const wrongTurns = new Set<number>();
  const forgotten: number[] = [];
  let last: [string, Row] | undefined;
  for (let n = 0; n < 60; n++) {
    const [name, args] = last === undefined ? randomCall(random, rows()) : readAfter(random, last, rows());
    last = last === undefined || n % 3 !== 2 ? [name, args] : undefined;
    const action = JSON.stringify({ name, arguments: args });
    const seed = Math.floor(random.next() * 2 ** 31);
    const made = await library.call(name, args);
    let answer = 'ok' in made ? JSON.stringify(made.ok) : `Error (tool_error): ${made.error}`;
    if (errors !== undefined) {
      const reply = predict(state, turns, action, { seed, errors });
      answer = reply.content;
      const kind = /Planted error: (\w+)/.exec(reply.reasoning)?.[1];
      if (kind !== undefined) planted.set(n, kind);
    }
    turns.push([action, answer]);
    const isWrong = calls.call(name, args, answer).some(({ held }) => !held);
    if (isWrong) wrongTurns.add(n);
    if (planted.get(n) === 'forgotten' && name.startsWith('list_')) forgotten.push(n);
  }
  library.close();
  return { checks: calls.checks, planted, wrongTurns, forgotten };
}

describe('the checks of a world', () => {
  it('hold in each case that they decide for the real desk and its faithful simulation', async (test) => {
    const random = new Random();
    test.diagnostic(`TEST_SEED=${random.seed}`);
    const rules = new Map<string, number>();
    for (let rollout = 0; rollout < 20; rollout++)
      for (const errors of [undefined, {}]) {
        const { checks } = await play(random, errors);
        assert.deepEqual(wrong(checks), []);
        for (const { rule } of checks.cases) rules.set(rule, (rules.get(rule) ?? 0) + 1);
      }
    test.diagnostic(JSON.stringify([...rules]));
    for (const rule of ['written', 'created', 'ended', 'failed_before', 'unknown_id'])
      assert.ok((rules.get(rule) ?? 0) > 3, `${rule}: ${JSON.stringify([...rules])}`);
  });

  it('find the writes that a simulation forgets, and nothing else', async (test) => {
    const random = new Random();
    test.diagnostic(`TEST_SEED=${random.seed}`);
    let [planted, found] = [0, 0];
    for (let rollout = 0; rollout < 15; rollout++) {
      const one = await play(random, { forgotten: 0.5 });
      for (const turn of one.wrongTurns) assert.equal(one.planted.get(turn), 'forgotten');
      planted += one.forgotten.length;
      found += one.forgotten.filter((turn) => one.wrongTurns.has(turn)).length;
    }
    test.diagnostic(`${found} of ${planted} found`);
    // Others cannot be decided: the list was not read before.
    assert.ok(planted > 15 && found / planted > 0.2, `${found} of ${planted}`);
  });

  it('find each kind of write that a simulation forgets, once a list has shown what it concerns', async () => {
    const library = await OpenSample.open(sampleTasks()[0]!);
    const state = stateText(JSON.parse(new TextDecoder().decode(library.snapshot())) as Record<string, Row[]>);
    library.close();
    const loans: [string, Row] = ['list_loans', { member_id: 'M-1001' }];
    const fines: [string, Row] = ['list_fines', { member_id: 'M-1012' }];
    const writes: [write: [string, Row], read: [string, Row], rule: string][] = [
      [['renew_loan', { loan_id: 'L-3001' }], loans, 'written'],
      [['return_book', { loan_id: 'L-3001' }], loans, 'ended'],
      [['check_out', { member_id: 'M-1001', book_id: 'B-203' }], loans, 'created'],
      [['pay_fine', { fine_id: 'F-506' }], fines, 'ended'],
    ];
    for (const errors of [{}, { forgotten: 1 }])
      for (const [write, read, rule] of writes) {
        const calls = new Calls(state);
        const turns: [string, string][] = [];
        const ask = ([name, args]: [string, Row]): RateCase[] => {
          const action = JSON.stringify({ name, arguments: args });
          const answer = predict(state, turns, action, { errors }).content;
          turns.push([action, answer]);
          return calls.call(name, args, answer);
        };
        ask(read);
        ask(write);
        const one = ask(read).find((found) => found.rule === rule);
        assert.deepEqual([one?.held, one?.turns], [!('forgotten' in errors), 1], JSON.stringify([write, errors]));
      }
  });

  it('rate the faulty simulation lower', async (test) => {
    const random = new Random();
    test.diagnostic(`TEST_SEED=${random.seed}`);
    const sums = { error_handling: [0, 0], consistency: [0, 0] };
    for (let rollout = 0; rollout < 15; rollout++) {
      const counts = (await play(random, FAULTY)).checks.counts();
      for (const rate of ['error_handling', 'consistency'] as const) {
        sums[rate][0]! += counts[rate]?.held ?? 0;
        sums[rate][1]! += counts[rate]?.checked ?? 0;
      }
    }
    test.diagnostic(JSON.stringify(sums));
    for (const [held, checked] of Object.values(sums)) assert.ok(held! / checked! < 0.9, JSON.stringify(sums));
  });

  it('say which call decides, how much later, and what is wrong', () => {
    const calls = new Calls();
    calls.call('create_note', { text: 'milk' }, { note_id: 7, text: 'milk' });
    calls.call('list_notes', {}, [{ note_id: 7, text: 'milk' }]);
    assert.deepEqual(calls.call('get_note', { note_id: 7 }, '{"note_id":7,"text":"bread"}'), [
      {
        rate: 'consistency',
        rule: 'written',
        call: 9,
        earlier: 3,
        turns: 2,
        held: false,
        text: 'text of note 7 is bread, not milk',
      },
    ]);
    calls.call('update_note', { note_id: 7, text: 'tea' }, { ok: true });
    assert.equal(calls.call('get_note', { note_id: 7 }, { note_id: 7, text: 'tea' })[0]?.held, true);
    calls.call('delete_note', { note_id: 7 }, { deleted: true });
    assert.deepEqual(
      calls.call('get_note', { note_id: 7 }, { note_id: 7, text: 'tea' }).map(({ rule, held }) => [rule, held]),
      [['deleted', false]],
    );
    assert.deepEqual(calls.checks.counts(), { consistency: { checked: 4, held: 2 } });
  });

  it('decide nothing that another call may have changed, or that nobody can know', () => {
    const calls = new Calls();
    const due = (day: string): object => ({ loan_id: 'L-1', title: 'Emma', due: day });
    calls.call('renew_loan', { loan_id: 'L-1' }, due('2026-04-01') as Json);
    calls.call('remind_reader', { title: 'Emma' }, { reminder_id: 1 });
    assert.deepEqual(calls.call('list_loans', {}, [due('2026-03-01') as Json]), [], 'a call named its title');
    calls.call('renew_loan', { loan_id: 'L-1' }, due('2026-05-01') as Json);
    calls.call('close_year', {}, 'done');
    assert.deepEqual(calls.call('list_loans', {}, [due('2026-03-01') as Json]), [], 'a call may concern everything');
    calls.call('renew_loan', { loan_id: 'L-1' }, due('2026-06-01') as Json);
    calls.call('list_loans', {}, [], { injected: 'flaky', result: [] });
    assert.equal(
      calls.call('list_loans', {}, [due('2026-06-01') as Json])[0]?.held,
      true,
      'a rule changed only the view',
    );
    calls.call('search', { text: 'x' }, 'Error (tool_error): 503 Service Unavailable');
    assert.deepEqual(calls.call('search', { text: 'x' }, 'Error (tool_error): 503 Service Unavailable'), []);
  });
});
