/** A tool that is tried: what its panel asks of the extension, and what it keeps. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListedTool, PageToTry, TriedCall, TryToPage } from '../../../../src/protocol/tryPage.ts';
import { TrySession } from '../../../../webview/try/trySession.ts';

const TOOL: ListedTool = { name: 'count', description: '', effect: 'pure', from: { kind: 'module', name: 'words.ts' }, parameters: { type: 'object', required: ['text', 'n'], properties: { text: { type: 'string' }, n: { type: 'integer' } } } };
const CALL: TriedCall = { status: 'ok', result: 1, ms: 2, log: '' };

function session(): { readonly session: TrySession; readonly posted: PageToTry[]; readonly told: (message: TryToPage) => void } {
  const posted: PageToTry[] = [];
  let take: (data: unknown) => void = () => assert.fail('nobody listens');
  const made = new TrySession({ post: (message) => posted.push(message), listen: (listener) => { take = listener; } });
  take({ type: 'tool', tool: TOOL, file: 'words.ts' });
  return { session: made, posted, told: (message) => take(message) };
}

test('what is missing keeps it from being run, and is told only then', () => {
  const { session: one, posted } = session();
  assert.deepEqual([one.members, one.problems], [{ text: '', n: undefined }, []]);
  assert.deepEqual(one.run()?.path, ['n']);
  assert.equal(one.problems.length, 1);
  one.write({ text: 'a', n: 1 });
  assert.equal(one.run(), undefined);
  assert.equal(one.run(), undefined, 'one call at a time');
  assert.deepEqual(posted, [{ type: 'ready' }, { type: 'run', arguments: { text: 'a', n: 1 } }]);
});

test('the last twenty tries are kept; one is looked at, its arguments are put back', () => {
  const { session: one, told } = session();
  for (let n = 1; n <= 22; n++) {
    one.write({ text: 'a', n });
    one.run();
    told({ type: 'told', text: `line ${n}` });
    assert.deepEqual(one.running?.told, [`line ${n}`]);
    told(n === 22 ? { type: 'unmade', why: 'cancelled', text: 'It was cancelled.' } : { type: 'made', call: CALL });
  }
  assert.deepEqual([one.tries.length, one.tries.at(-1)?.number, one.shown?.number], [20, 3, 22]);
  one.pick(5);
  assert.deepEqual(one.shown?.arguments, { text: 'a', n: 5 });
  one.putBack(one.shown);
  assert.deepEqual(one.members, { text: 'a', n: 5 });
});

test('arguments are edited as text and as fields, one after the other', () => {
  const { session: one, told } = session();
  one.write({ text: 'a', n: 1 });
  one.asText(true);
  one.writeText('{"text": "b", "n": ');
  one.asText(false);
  assert.equal(one.problems[0]?.text, 'This is not a JSON object.', 'a text that is no object stays one');
  one.writeText('{"text": "b", "n": 2}');
  one.asText(false);
  assert.deepEqual([one.text, one.members], [undefined, { text: 'b', n: 2 }]);
  told({ type: 'tool', tool: { ...TOOL, description: 'new' }, file: 'words.ts' });
  assert.deepEqual([one.tool?.description, one.members], ['new', { text: 'b', n: 2 }], 'what was filled in stays when the tool is read anew');
});
