/** The compare page in each of its states. */
import type { PageAction, PagePlace, PageVerb } from '../../../src/protocol/page.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { EMPTY_PROGRESS } from '../../../src/trace/summary.ts';
import { Stream } from '../../../test/support/stream.ts';
import { App } from '../../app.tsx';
import { storyHost, type StoryHost } from '../../host/story.ts';
import { ComparePage } from '../../compare/comparePage.tsx';
import { someBatch } from '../batch/someBatch.ts';
import { story } from '../index.ts';

const CAN: ReadonlySet<PageVerb> = new Set(['open', 'copy', 'link', 'save']);

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

interface Over {
  readonly silent?: boolean;
  readonly broken?: boolean;
  /** Attempts that have not ended. */
  readonly running?: number;
}

function hostOf(attempts: number, over: Over = {}): { readonly host: StoryHost; readonly place: PagePlace & { page: 'compare' } } {
  const made = someBatch({ tasks: 1, attempts: Math.max(1, attempts), state: 'ended' });
  const rows = attempts === 0 ? [] : made.rows.map((row) => {
    if (row.attempt > attempts - (over.running ?? 0)) return { ...row, state: 'running' as const, settles: false, progress: EMPTY_PROGRESS };
    const passed = DAYS[(row.attempt - 1) % DAYS.length] === 14;
    return { ...row, state: 'ended' as const, settles: true, progress: { ...EMPTY_PROGRESS, status: 'done' as const, passed, reward: passed ? 1 : 0 } };
  });
  const events = Object.fromEntries(rows.map((row) => [row.rollout, attempt(row.attempt, DAYS[(row.attempt - 1) % DAYS.length] ?? 14)]));
  const host = storyHost({ ...made, rows, events: over.broken === true ? {} : events, ...(over.silent === true ? { silent: true } : {}) });
  return { host, place: { page: 'compare', batch: over.broken === true ? 'b-none' : made.batch.batch, task: made.tasks[0]?.id ?? '' } };
}

function add(name: string, attempts: number, over: Over = {}): void {
  story('compare', name, () => <ComparePage can={CAN} {...hostOf(attempts, over)} />, over.silent === true ? { busy: true } : {});
}

add('six', 6);
add('many', 32);
add('running', 4, { running: 2 });
add('one', 1);
add('none', 0);
add('loading', 2, { silent: true });
add('failed', 2, { broken: true });
// From page to page, as in an editor: what is opened comes in the place of what was there.
story('compare', 'from-batch', () => {
  const { host } = hostOf(6);
  const act = (action: PageAction): Promise<void> => {
    if (action.do === 'open') host.go(action.place);
    return host.act(action);
  };
  return <App host={{ ...host, act }} />;
});
