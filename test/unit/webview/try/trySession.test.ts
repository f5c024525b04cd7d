/** Trying a tool: what its panel requests from the extension, and what it keeps. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  ChosenWorld,
  ListedTool,
  PageToTry,
  TriedCall,
  TryToPage,
  TryWorld,
} from '../../../../src/protocol/tryPage.ts';
import { TrySession } from '../../../../webview/try/trySession.ts';

const TOOL: ListedTool = {
  name: 'count',
  description: '',
  effect: 'pure',
  from: { kind: 'module', name: 'words.ts' },
  parameters: {
    type: 'object',
    required: ['text', 'n'],
    properties: { text: { type: 'string' }, n: { type: 'integer' } },
  },
};
const CALL: TriedCall = { status: 'ok', result: 1, ms: 2, log: '' };

function session(): {
  readonly session: TrySession;
  readonly posted: PageToTry[];
  readonly send: (message: TryToPage) => void;
} {
  const posted: PageToTry[] = [];
  let take: (data: unknown) => void = () => assert.fail('nobody listens');
  const created = new TrySession({
    post: (message) => posted.push(message),
    listen: (listener) => {
      take = listener;
    },
  });
  take({ type: 'tool', tool: TOOL, file: 'words.ts', worlds: [] });
  return { session: created, posted, send: (message) => take(message) };
}

test('missing values prevent a run, and are reported only then', () => {
  const { session: one, posted } = session();
  assert.deepEqual([one.members, one.problems], [{ text: '', n: undefined }, []]);
  assert.deepEqual(one.run()?.path, ['n']);
  assert.equal(one.problems.length, 1);
  one.setMembers({ text: 'a', n: 1 });
  assert.equal(one.run(), undefined);
  assert.equal(one.run(), undefined, 'one call at a time');
  assert.deepEqual(posted, [{ type: 'ready' }, { type: 'run', arguments: { text: 'a', n: 1 } }]);
});

test('a field is validated once the user left it, and all of them before a run', () => {
  const { session: one } = session();
  const texts = (): string[] => one.problems.map(({ path, text }) => `${path.join('.')}: ${text}`);
  one.setMembers({ text: 1, n: 'two' });
  assert.deepEqual(texts(), [], 'while it is typed');
  one.touch(['n']);
  assert.deepEqual(texts(), ['n: Must be a number.']);
  one.setMembers({ text: 1, n: 2 });
  assert.deepEqual(texts(), [], 'live from then on');
  one.run();
  assert.deepEqual(texts(), ['text: Must be text.']);
});

test('an empty form is filled with the newest recorded arguments; other arguments stay', () => {
  const recorded = [
    { text: 'newest', n: 2 },
    { text: 'older', n: 1 },
  ];
  const { session: one, send } = session();
  send({ type: 'tool', tool: TOOL, file: 'words.ts', recorded });
  assert.deepEqual(one.members, recorded[0]);
  one.setMembers({ text: 'own', n: 3 });
  send({ type: 'tool', tool: TOOL, file: 'words.ts', recorded });
  assert.deepEqual([one.members, one.recorded], [{ text: 'own', n: 3 }, recorded]);
  const { session: other, send: sendOther } = session();
  sendOther({ type: 'tool', tool: TOOL, file: 'words.ts', arguments: { text: 'of the last call', n: 1 } });
  sendOther({ type: 'tool', tool: TOOL, file: 'words.ts', recorded });
  assert.deepEqual(other.members, { text: 'of the last call', n: 1 });
});

test('the last twenty tries are kept; one is viewed, and its arguments are restored', () => {
  const { session: one, send } = session();
  for (let n = 1; n <= 22; n++) {
    one.setMembers({ text: 'a', n });
    one.run();
    send({ type: 'output', text: `line ${n}` });
    assert.deepEqual(one.running?.printed, [`line ${n}`]);
    send(n === 22 ? { type: 'noResult', why: 'cancelled', text: 'Cancelled.' } : { type: 'result', call: CALL });
  }
  assert.deepEqual([one.tries.length, one.tries.at(-1)?.number, one.selected?.number], [20, 3, 22]);
  one.select(5);
  assert.deepEqual(one.selected?.arguments, { text: 'a', n: 5 });
  one.restoreArguments(one.selected);
  assert.deepEqual(one.members, { text: 'a', n: 5 });
});

test('output stays with a call that was cancelled or could not run', () => {
  const { session: one, send } = session();
  one.setMembers({ text: 'a', n: 1 });
  const ended = (lines: readonly string[], end: TryToPage): readonly string[] | undefined => {
    one.run();
    for (const text of lines) send({ type: 'output', text });
    send(end);
    const [last] = one.tries;
    return last !== undefined && 'printed' in last.outcome ? last.outcome.printed : undefined;
  };
  assert.deepEqual(
    ended(['counting', '1 of 3', 'rollout: interrupted'], {
      type: 'noResult',
      why: 'cancelled',
      text: 'Cancelled.',
    }),
    ['counting', '1 of 3'],
  );
  assert.deepEqual(
    ended(['loading', '', 'words.ts:1:1: the MCP server "it" exited; its last lines were:', 'no key'], {
      type: 'noResult',
      why: 'failed',
      text: 'words.ts:1:1: the MCP server "it" exited; its last lines were:\nno key',
    }),
    ['loading'],
  );
  assert.deepEqual(
    ended(['rollout: There is no folder x.'], { type: 'noResult', why: 'failed', text: 'There is no folder x.' }),
    [],
  );
  assert.equal(
    ended(['counting'], { type: 'result', call: { ...CALL, log: 'counting\n' } }),
    undefined,
    'a call that ran has it in its log',
  );
  one.select(1);
  assert.ok(
    one.selected !== undefined && 'printed' in one.selected.outcome && one.selected.outcome.printed.length === 2,
    'also when it is looked at again',
  );
});

test('arguments are edited as text and as fields, one after the other', () => {
  const { session: one, send } = session();
  one.setMembers({ text: 'a', n: 1 });
  one.editAsText(true);
  one.setText('{"text": "b", "n": ');
  one.editAsText(false);
  assert.equal(one.problems[0]?.text, 'Must be a JSON object.', 'a text that is no object stays one');
  one.setText('{"text": "b", "n": 2}');
  one.editAsText(false);
  assert.deepEqual([one.text, one.members], [undefined, { text: 'b', n: 2 }]);
  send({ type: 'tool', tool: { ...TOOL, description: 'new' }, file: 'words.ts', worlds: [] });
  assert.deepEqual(
    [one.tool?.description, one.members],
    ['new', { text: 'b', n: 2 }],
    'what was filled in stays when the tool is read again',
  );
});

test('it is called in the first world, or the selected one, while that exists', () => {
  const desk: TryWorld = { batch: '/w/desk.batch.yaml', name: 'desk.batch.yaml', tasks: ['one', 'two'], more: false };
  const large: TryWorld = { batch: '/w/large.batch.yaml', name: 'large.batch.yaml', tasks: ['one'], more: true };
  const { session: one, posted, send } = session();
  const offer = (worlds: TryWorld[], world?: ChosenWorld): ChosenWorld => {
    send({ type: 'tool', tool: TOOL, file: 'words.ts', worlds, ...(world === undefined ? {} : { world }) });
    return one.world;
  };
  assert.equal(one.world, null);
  assert.deepEqual(offer([desk, large]), { batch: desk.batch, task: 'one' }, 'the first one');
  one.chooseTask('two');
  assert.deepEqual(offer([large, desk], null), { batch: desk.batch, task: 'two' }, 'what was chosen here stays');
  assert.deepEqual(offer([{ ...desk, tasks: ['three'] }]), { batch: desk.batch, task: 'three' }, 'a task that is gone');
  assert.deepEqual(offer([large]), { batch: large.batch, task: 'one' }, 'a batch that is gone');
  one.chooseTask('far down');
  assert.deepEqual(offer([large]), { batch: large.batch, task: 'far down' });
  one.setMembers({ text: 'a', n: 1 });
  one.run();
  send({ type: 'result', call: CALL });
  one.chooseWorld(undefined);
  assert.equal(offer([large]), null, 'none is a choice');
  send({ type: 'tool', tool: TOOL, file: 'words.ts' });
  assert.deepEqual(one.worlds, [large], 'what is not sent again stays as it was');
  one.run();
  assert.deepEqual(
    posted.filter(({ type }) => type === 'run').map((message) => 'world' in message && message.world),
    [{ batch: large.batch, task: 'far down' }, null],
  );
});

test('the last selection of an earlier panel is kept', () => {
  const desk: TryWorld = { batch: '/w/desk.batch.yaml', name: 'desk.batch.yaml', tasks: ['one', 'two'], more: false };
  for (const world of [null, { batch: desk.batch, task: 'two' }]) {
    let take: (data: unknown) => void = () => assert.fail('nobody listens');
    const created = new TrySession({
      post: () => undefined,
      listen: (listener) => {
        take = listener;
      },
    });
    take({ type: 'tool', tool: TOOL, file: 'words.ts', worlds: [desk], world });
    assert.deepEqual(created.world, world);
  }
});
