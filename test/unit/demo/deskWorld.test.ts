/** The demo model as the world model of the sample's desk: it answers as the desk does. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../../src/demo/policy/decide.ts';
import { chatRequest } from '../../../src/demo/request.ts';
import { Random } from '../../support/random.ts';
import { OpenSample, sampleTasks } from '../../support/sampleWorkspace.ts';

type Row = Record<string, string | number | null>;

const TABLES = ['members', 'books', 'copies', 'loans', 'holds', 'fines'];

function stateText(rows: Readonly<Record<string, readonly Row[]>>): string {
  const tables = TABLES.map((table) => [`## ${table}`, ...(rows[table] ?? []).map((row) => JSON.stringify(row))]);
  return ['Today is 2026-03-16.', ...tables.flat()].join('\n');
}

function predict(system: string, turns: readonly (readonly [action: string, observation: string])[], action: string) {
  const user = (text: string) => ({ role: 'user', content: `**Action:**\n\`\`\`json\n${text}\n\`\`\`` });
  const messages = [
    { role: 'system', content: `# Task\nYou are the environment of an agent.\n\n# Initial State\n${system}` },
    ...turns.flatMap(([made, seen]) => [user(made), { role: 'assistant', content: seen }]),
    user(action),
  ];
  return decide(chatRequest.parse({ messages }), 1, 1).content;
}

/** A call that the desk may accept or refuse. */
function randomCall(random: Random, rows: Readonly<Record<string, readonly Row[]>>): [string, Row] {
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random.next() * of.length)]!;
  const idOf = (table: string, unknown: string): string =>
    random.next() < 0.05 ? unknown : String(pick(rows[table] ?? [{ id: unknown }])['id']);
  const member = idOf('members', 'M-9999');
  const book = idOf('books', 'B-999');
  const loan = idOf('loans', 'L-9999');
  return pick([
    ['find_member', { name: pick(['an', 'Keller', 'Okafor', 'zz', ' demir ']) }],
    ['find_books', { text: pick(['or', 'Salt', 'Wren', 'the', 'zz']) }],
    ['list_loans', { member_id: member }],
    ['list_fines', { member_id: member }],
    ['renew_loan', { loan_id: loan }],
    ['check_out', { member_id: member, book_id: book }],
    ['return_book', { loan_id: loan }],
    ['place_hold', { member_id: member, book_id: book }],
    ['pay_fine', { fine_id: idOf('fines', 'F-999') }],
  ] as [string, Row][]);
}

describe('the demo model as the desk of the library', () => {
  it('answers each call as the desk does, with all changes so far', async (test) => {
    const random = new Random();
    test.diagnostic(`TEST_SEED=${random.seed}`);
    const library = await OpenSample.open(sampleTasks()[0]!, { seed: random.seed });
    const rowsNow = () =>
      JSON.parse(new TextDecoder().decode(library.snapshot())) as Readonly<Record<string, readonly Row[]>>;
    const system = stateText(rowsNow());
    const turns: [string, string][] = [];
    const answers = { ok: 0, refused: 0 };
    for (let n = 0; n < 150; n++) {
      const [name, args] = randomCall(random, rowsNow());
      const action = JSON.stringify({ name, arguments: args });
      const made = await library.call(name, args);
      const real = 'ok' in made ? JSON.stringify(made.ok) : `Error (tool_error): ${made.error}`;
      assert.equal(predict(system, turns, action), real, `call ${n}: ${action}`);
      turns.push([action, real]);
      answers['ok' in made ? 'ok' : 'refused']++;
    }
    library.close();
    assert.ok(answers.ok > 20 && answers.refused > 5, JSON.stringify(answers));
  });

  it('leaves out what the agent saw fail before it reached the desk', async () => {
    const library = await OpenSample.open(sampleTasks()[0]!);
    const rows = JSON.parse(new TextDecoder().decode(library.snapshot())) as Record<string, Row[]>;
    library.close();
    const renew = '{"name":"renew_loan","arguments":{"loan_id":"L-3001"}}';
    const renewed = (turns: [string, string][]) =>
      (JSON.parse(predict(stateText(rows), turns, renew)) as { renewals: number }).renewals;
    assert.equal(renewed([]), 1);
    assert.equal(renewed([[renew, 'Error (timeout): too slow']]), 1);
    assert.equal(renewed([[renew, '{"renewals":1}']]), 2);
  });

  it('says what is no call', () => {
    const rows = Object.fromEntries(TABLES.map((table) => [table, []]));
    assert.match(predict(stateText(rows), [], 'renew it'), /^Error \(tool_error\): The action is no call/);
    assert.match(predict(stateText(rows), [], '{"name":"burn"}'), /^Error \(unknown_tool\)/);
    assert.match(predict(stateText(rows), [], '{"name":"pay_fine"}'), /fine_id is missing/);
  });

  it('plays no other world', () => {
    assert.match(predict('A desk.', [], '{"name":"find_member"}'), /I am the demo model/);
    assert.match(predict('Today is 2026-03-16.\n## members\n{broken', [], '{"name":"x"}'), /I am the demo model/);
  });
});
