/** The demo model as a world model that errs on purpose, and that obeys instructions. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFaults } from '../../../src/demo/faults.ts';
import { readConversation } from '../../../src/demo/policy/conversation.ts';
import { observe, playedLibrary } from '../../../src/demo/policy/deskWorld/deskWorld.ts';
import { FAULTY, WORLD_ERRORS } from '../../../src/demo/policy/deskWorld/seededErrors.ts';
import { predict, type Row, randomCall, stateText } from '../../support/deskWorld.ts';
import { Random } from '../../support/random.ts';
import { OpenSample, sampleTasks } from '../../support/sampleWorkspace.ts';

const open = async () => {
  const library = await OpenSample.open(sampleTasks()[0]!);
  const rows = () => JSON.parse(new TextDecoder().decode(library.snapshot())) as Record<string, Row[]>;
  return { library, rows };
};

describe('the faulty world of the demo model', () => {
  it('plants errors of each kind, names them, and is right otherwise', async (test) => {
    const random = new Random();
    test.diagnostic(`TEST_SEED=${random.seed}`);
    const kinds = WORLD_ERRORS.filter((kind) => kind !== 'disobeyed'); // there is no instruction
    const seen = new Map<string, number>();
    // Some kinds need a rare order of calls.
    for (let conversation = 0; conversation < 12 || (seen.size < kinds.length && conversation < 200); conversation++) {
      const { library, rows } = await open();
      const system = stateText(rows());
      const turns: [string, string][] = [];
      for (let n = 0; n < 25; n++) {
        const [name, args] = randomCall(random, rows());
        const action = JSON.stringify({ name, arguments: args });
        const made = await library.call(name, args);
        const real = 'ok' in made ? JSON.stringify(made.ok) : `Error (tool_error): ${made.error}`;
        const how = { seed: Math.floor(random.next() * 2 ** 31), errors: FAULTY };
        const { content, reasoning } = predict(system, turns, action, how);
        assert.deepEqual(predict(system, turns, action, how).content, content, 'the seed decides');
        const kind = /this world errs on purpose\. Planted error: (\w+) \(.+\)\.$/.exec(reasoning)?.[1];
        assert.equal(content !== real, kind !== undefined, `${action}: ${content} for ${real}: ${reasoning}`);
        if (kind !== undefined) seen.set(kind, (seen.get(kind) ?? 0) + 1);
        turns.push([action, real]);
      }
      library.close();
    }
    assert.deepEqual([...seen.keys()].sort(), [...kinds].sort(), JSON.stringify([...seen]));
  });

  it('has a list of its errors that others can compute from the request', async () => {
    const { library, rows } = await open();
    const system = `You are the environment of an agent.\n${stateText(rows())}`;
    const messages = [
      { role: 'system', content: system },
      { role: 'user', content: '```json\n{"name":"find_member","arguments":{"name":"Mira"}}\n```' },
    ];
    library.close();
    const played = playedLibrary(system)!;
    assert.equal(observe(readConversation(messages), played, 1, {}).planted, undefined);
    const { planted, text } = observe(readConversation(messages), played, 1, { fails: 1 });
    assert.deepEqual([planted?.kind, planted?.detail], ['fails', 'it must succeed']);
    assert.match(text, /^Error \(tool_error\): /);
  });

  it('forgets a write at one read, and knows it at the next', async () => {
    const { library, rows } = await open();
    const state = stateText(rows());
    library.close();
    const renew = '{"name":"renew_loan","arguments":{"loan_id":"L-3001"}}';
    const turns: [string, string][] = [[renew, predict(state, [], renew).content]];
    const list = '{"name":"list_loans","arguments":{"member_id":"M-1001"}}';
    const read = (errors: Parameters<typeof parseFaults>[0]) =>
      predict(state, turns, list, { errors: parseFaults(errors).worldErrors });
    const forgotten = read('world=forgotten:1');
    assert.match(forgotten.content, /"L-3001","book_id":"B-201",[^}]*"renewals":0/);
    assert.match(forgotten.reasoning, /Planted error: forgotten \(it does not show the renew_loan of turn 1\)/);
    assert.match(read('world=faithful').content, /"L-3001","book_id":"B-201",[^}]*"renewals":1/);
    assert.match(read('world=faithful').reasoning, /a program that plays the desk by its rules, not a language model/);
  });

  it('has settings with hints', () => {
    assert.deepEqual(parseFaults('world=faulty').worldErrors, FAULTY);
    assert.deepEqual(parseFaults('world=forgotten:0.5,fails:.1').worldErrors, { forgotten: 0.5, fails: 0.1 });
    for (const wrong of ['world=lazy', 'world=lazy:0.5', 'world=fails:2', 'world='])
      assert.throws(() => parseFaults(wrong), /`faithful`, `faulty`, or errors .*\(forgotten, disobeyed, /);
  });
});

describe('instructions to the world that the demo model plays', () => {
  const call = (name: string, args: Row): string => JSON.stringify({ name, arguments: args });
  const renew = (loan: string): string => call('renew_loan', { loan_id: loan });

  it('are obeyed: failures of certain calls, shorter lists, and missing keys', async () => {
    const { library, rows } = await open();
    const state = stateText(rows());
    library.close();
    const ask = (instruction: string, action: string, turns: [string, string][] = []): string =>
      predict(state, turns, action, { instruction }).content;
    const second = '- The second renewal of a day fails with "limit reached".';
    const first: [string, string] = [renew('L-3001'), ask(second, renew('L-3001'))];
    assert.match(first[1], /"renewals":1/);
    assert.equal(ask(second, renew('L-3002'), [first]), 'Error (tool_error): limit reached');
    assert.match(ask(second, renew('L-3002'), [first, [renew('L-3002'), 'Error (tool_error): limit reached']]), /"ren/);
    const books = call('find_books', { text: 'or' });
    assert.equal(ask('Every call of `find_books` fails with "503".', books), 'Error (tool_error): 503');
    assert.match(ask('Every 2nd call of find_books fails with "503".', books), /book_id/);
    assert.equal((JSON.parse(ask('find_books returns at most 2 items.', books)) as Row[]).length, 2);
    assert.equal(ask('find_books returns an empty list.', books), '[]');
    const member = ask('Results of find_member lack address.', call('find_member', { name: 'Mira' }));
    assert.match(member, /"name":"Mira Okafor","card_expires"/);
    assert.match(ask('The desk is busy.', books), /book_id/);
  });

  it('are ignored by the faulty world, by seed', async () => {
    const { library, rows } = await open();
    const state = stateText(rows());
    library.close();
    const instruction = 'Every renewal fails with "limit reached".';
    const how = { instruction, errors: { disobeyed: 1 } };
    const { content, reasoning } = predict(state, [], renew('L-3001'), how);
    assert.match(content, /"renewals":1/);
    assert.match(reasoning, /Planted error: disobeyed/);
    assert.doesNotMatch(predict(state, [], call('find_books', { text: 'or' }), how).reasoning, /Planted/);
  });
});
