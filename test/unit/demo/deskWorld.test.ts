/** The demo model as the world model of the sample's desk: it answers as the desk does. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { predict, type Row, randomCall, stateText, TABLES } from '../../support/deskWorld.ts';
import { Random } from '../../support/random.ts';
import { OpenSample, sampleTasks } from '../../support/sampleWorkspace.ts';

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
      assert.equal(predict(system, turns, action).content, real, `call ${n}: ${action}`);
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
      (JSON.parse(predict(stateText(rows), turns, renew).content) as { renewals: number }).renewals;
    assert.equal(renewed([]), 1);
    assert.equal(renewed([[renew, 'Error (timeout): too slow']]), 1);
    assert.equal(renewed([[renew, '{"renewals":1}']]), 2);
  });

  it('says what is no call', () => {
    const rows = Object.fromEntries(TABLES.map((table) => [table, []]));
    assert.match(predict(stateText(rows), [], 'renew it').content, /^Error \(tool_error\): The action is no call/);
    assert.match(predict(stateText(rows), [], '{"name":"burn"}').content, /^Error \(unknown_tool\)/);
    assert.match(predict(stateText(rows), [], '{"name":"pay_fine"}').content, /fine_id is missing/);
  });

  it('plays no other world', () => {
    assert.match(predict('A desk.', [], '{"name":"find_member"}').content, /I am the demo model/);
    assert.match(
      predict('Today is 2026-03-16.\n## members\n{broken', [], '{"name":"x"}').content,
      /I am the demo model/,
    );
  });
});
