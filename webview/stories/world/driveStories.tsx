/** The Drive tab of the World page in each of its states. */
import type { DriveMessage, DriveState } from '../../../src/protocol/drive.ts';
import type { ListedTool, TriedCall } from '../../../src/protocol/tryPage.ts';
import { WorldPage } from '../../world/page/worldPage.tsx';
import { WorldSession } from '../../world/page/worldSession.ts';
import { story } from '../index.ts';
import { MODULE, WORLD } from './sampleWorld.ts';

const tool = (name: string, effect: ListedTool['effect'], properties: Record<string, object> = {}): ListedTool => ({
  name,
  effect,
  description: `${name.replace('_', ' ')} of the library, for members who have a card.`,
  parameters: { type: 'object', required: Object.keys(properties).slice(0, 1), properties } as ListedTool['parameters'],
  from: { kind: 'world', name: 'library' },
});
const OPENED: DriveMessage = {
  ...{ type: 'opened', world: 'library', batch: 'batches/desk.batch.yaml', task: 'renew-one', seed: 1 },
  question: 'Mira Okafor would like to keep “The Salt Road” longer. Renew it for her. Answer with the new due date.',
  ...{ canVerify: true, canSnapshot: true },
  tools: [
    tool('renew_loan', 'restorable', { loan_id: { type: 'string', description: 'ID of a loan, from list_loans' } }),
    tool('find_member', 'pure', { name: { type: 'string' } }),
    tool('list_loans', 'pure'),
    tool('place_hold_for_a_member_of_the_library', 'restorable'),
  ],
};
const STATES: DriveState[] = [
  { state: 0, rows: 0 },
  { state: 1, parent: 0, tool: 'find_member', arguments: { name: 'Mira' }, rows: 0 },
  { state: 2, parent: 1, tool: 'renew_loan', arguments: { loan_id: 'L-3001' }, rows: 2 },
  { state: 3, parent: 2, tool: 'place_hold_for_a_member_of_the_library', arguments: {}, rows: 1 },
  { state: 4, parent: 1, tool: 'list_loans', arguments: {}, rows: 0 },
  { state: 5, parent: 4, tool: 'renew_loan', arguments: { loan_id: 'L-3001' }, rows: 2 },
];
const LOAN = { id: 'L-3001', member_id: 'M-1001', due: '2026-03-20', renewals: 0 };
const CALL: TriedCall = {
  status: 'ok',
  result: { loan_id: 'L-3001', due: '2026-04-03' },
  ms: 6.2,
  log: '',
  changes: [
    { table: 'loans', key: 'L-3001', op: 'update', before: LOAN, after: { ...LOAN, due: '2026-04-03', renewals: 1 } },
    { table: 'desk_log', key: 12, op: 'insert', after: { id: 12, event: 'renewed' } },
  ],
};
const called = (call: TriedCall, state = 5): DriveMessage => ({ type: 'called', id: 1, state, states: STATES, call });
const FAILED: TriedCall = {
  status: 'error',
  ms: 3,
  log: '',
  error: {
    class: 'tool_error',
    message: 'L-3001 was renewed twice.',
    place: { file: 'loans.ts', line: 21, column: 3 },
  },
};

/** Shows the tab after these messages and actions. */
function page(...steps: readonly (DriveMessage | ((session: WorldSession) => void))[]) {
  let receive: (data: unknown) => void = () => undefined;
  const session = new WorldSession({
    post: () => undefined,
    listen: (listener) => {
      receive = listener;
    },
  });
  receive({ type: 'world', details: MODULE });
  session.select({ tab: 'drive' });
  for (const step of steps) {
    if (typeof step === 'function') step(session);
    else receive({ type: 'drive', message: step });
  }
  return <WorldPage session={session} />;
}
const run = ({ drive }: WorldSession): void => {
  drive.form?.setMembers({ loan_id: 'L-3001' });
  drive.form?.run();
};

story('world', 'drive', () => page());
story('world', 'drive-opening', () => page(({ drive }) => drive.open('renew-one')), { busy: true });
story('world', 'drive-ended', () => page(({ drive }) => drive.end('Cannot open the world library: no such file.')));
story('world', 'drive-python', () =>
  page(({ drive }) =>
    drive.end(
      'Worlds of kind code need Python 3.10 or later, which is missing. Install Python 3, then run `rollout world ' +
        'setup`.',
      true,
    ),
  ),
);
story('world', 'drive-start', () => page(OPENED));
story('world', 'drive-running', () => page(OPENED, run), { busy: true });
story('world', 'drive-called', () =>
  page(OPENED, run, called(CALL), {
    ...{ type: 'verdict', id: 2 },
    verdict: {
      ...{ state: 5, value: 0, passed: false, explanation: 'The answer is missing.' },
      checks: [
        { name: 'loans L-3001', passed: true },
        { name: 'answer', passed: false },
      ],
    },
  }),
);
story('world', 'drive-unscored', () =>
  page(OPENED, run, called(CALL), {
    ...{ type: 'verdict', id: 2 },
    verdict: {
      ...{ state: 5, value: null, passed: null },
      explanation: 'This verdict needs a judge: name a model `judge` in `models` of the world file.',
    },
  }),
);
story('world', 'drive-failed', () => page(OPENED, run, called(FAILED, 1)));
story('world', 'drive-kept', () =>
  page(OPENED, run, called(CALL), { type: 'kept', id: 3, as: 'demonstration', file: '/w/demonstrations/library.json' }),
);
story('world', 'drive-refused', () =>
  page(OPENED, { type: 'failed', id: 1, message: 'pay_fine cannot be repeated: it is irreversible.', hint: 'Fix it.' }),
);
story('world', 'drive-cannot', () => {
  let receive: (data: unknown) => void = () => undefined;
  const session = new WorldSession({
    post: () => undefined,
    listen: (listener) => {
      receive = listener;
    },
  });
  receive({
    type: 'world',
    details: { ...WORLD, cannotDrive: 'Only TypeScript worlds and published worlds on disk can be driven.' },
  });
  session.select({ tab: 'drive' });
  return <WorldPage session={session} />;
});
