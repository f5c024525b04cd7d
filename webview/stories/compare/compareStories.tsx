/** The compare page in each of its states. */
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { EMPTY_PROGRESS } from '../../../src/trace/summary.ts';
import { Stream } from '../../../test/support/stream.ts';
import { storyHost } from '../../host/story.ts';
import { ComparePage } from '../../compare/comparePage.tsx';
import { someBatch } from '../batch/someBatch.ts';
import { story } from '../index.ts';

/** How many days each attempt renews for: what they part over. */
const DAYS = [14, 7, 14, 7, 21, 14];

function attempt(number: number, days: number): readonly TraceEvent[] {
  const s = new Stream();
  s.start({ attempt: number });
  s.message('user', 'Renew everything overdue for Ada.');
  const calls: [string, { [name: string]: string | number }, string][] = [['find_member', { name: 'Ada' }, 'member 3'], ...(number % 3 === 0 ? [['loans_of', { member: 3 }, '17'] as [string, { member: number }, string]] : []), ['renew_loan', { loan_id: 17, days }, `due in ${days} days`]];
  for (const [index, [name, args, result]] of calls.entries()) {
    s.model('', [{ id: `c${index}`, name, arguments: args }]);
    s.toolEnd(s.toolStart(`c${index}`, name, args), `c${index}`, result);
  }
  s.model(`The loan runs ${days} days longer.`);
  s.end({ passed: days === 14 });
  return s.events;
}

function add(name: string, attempts: number, over: { silent?: boolean; broken?: boolean } = {}): void {
  story('compare', name, () => {
    const made = someBatch({ tasks: 1, attempts: Math.max(1, attempts), state: 'ended' });
    const rows = attempts === 0 ? [] : made.rows.map((row) => {
      const passed = DAYS[(row.attempt - 1) % DAYS.length] === 14;
      return { ...row, state: 'ended' as const, settles: true, progress: { ...EMPTY_PROGRESS, status: 'done' as const, passed, reward: passed ? 1 : 0 } };
    });
    const events = Object.fromEntries(rows.map((row) => [row.rollout, attempt(row.attempt, DAYS[(row.attempt - 1) % DAYS.length] ?? 14)]));
    const host = storyHost({ ...made, rows, events: over.broken === true ? {} : events, ...(over.silent === true ? { silent: true } : {}) });
    return <ComparePage host={host} batch={over.broken === true ? 'b-none' : made.batch.batch} task={made.tasks[0]?.id ?? ''} />;
  }, over.silent === true ? { busy: true } : {});
}

add('six', 6);
add('many', 32);
add('one', 1);
add('none', 0);
add('loading', 2, { silent: true });
add('failed', 2, { broken: true });
