/** The trajectory page in all its states. */
import type { PageVerb } from '../../../src/protocol/page.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { TrajectoryPage } from '../../trajectory/trajectoryPage.tsx';
import { story } from '../index.ts';
import { desk, held, hostOf, imported, long, ROLLOUT, running, team, values } from './someRollout.ts';

const CAN: ReadonlySet<PageVerb> = new Set(['open', 'source', 'document', 'copy', 'external', 'link', 'batch', 'save']);

interface Given {
  readonly seq?: number;
  readonly tab?: string;
  readonly readOnly?: boolean;
  readonly lost?: boolean;
  readonly live?: string;
}

function page(name: string, events: () => readonly TraceEvent[], { seq, tab, readOnly = false, lost = false, live }: Given = {}): void {
  story('trajectory', name, () => {
    const host = hostOf(events(), { readOnly });
    if (lost) host.server.set({ state: 'stopped', text: 'The rollout server stopped. What is shown is what came before.' });
    if (live !== undefined) setTimeout(() => host.delta(ROLLOUT, events().at(-1)?.seq ?? 0, 0, live), 300);
    return <TrajectoryPage host={host} readOnly={readOnly} can={CAN} onNavigate={() => undefined} place={{ page: 'trajectory', rollout: ROLLOUT, ...(seq === undefined ? {} : { seq }), ...(tab === undefined ? {} : { tab }) }} />;
  });
}

/** seq of the n-th event of a kind. */
function at(events: readonly TraceEvent[], kind: TraceEvent['kind'], n = 0): number {
  return events.filter((event) => event.kind === kind)[n]?.seq ?? 0;
}

page('failed-call', team, { seq: at(team(), 'tool.start', 2) });
page('repeated-call', team, { seq: at(team(), 'tool.start', 3) });
page('messages', team, { seq: at(team(), 'tool.start', 2), tab: 'messages' });
page('world', team, { seq: at(team(), 'tool.start', 1), tab: 'world' });
page('tokens', team, { seq: at(team(), 'tool.start', 1), tab: 'tokens' });
page('timing', team, { seq: at(team(), 'tool.start', 1), tab: 'timing' });
page('raw', team, { seq: at(team(), 'tool.start', 1), tab: 'raw' });
page('log', team, { seq: at(team(), 'log') });
page('score', team, { seq: at(team(), 'score') });
page('agent', team, { seq: at(team(), 'agent.start') });
page('running', running, { live: 'I look at both loans and renew them, one after the ' });
page('held', held);
page('imported', imported);
page('system-message', imported, { seq: 2 });
page('markup-is-text', imported, { seq: 3 });
page('unknown-event', imported, { seq: imported().at(-1)?.seq ?? 0 });
page('table', values, { seq: at(values(), 'tool.start') });
page('many-lines', values, { seq: at(values(), 'tool.start', 1) });
page('deep-value', values, { seq: at(values(), 'tool.start', 2) });
page('picture', values, { seq: at(values(), 'tool.start', 3) });
page('empty-value', values, { seq: at(values(), 'tool.start', 4) });
page('long-message', values, { seq: 2 });
page('many-steps', () => long(1_000));
page('read-only', desk, { readOnly: true });
page('server-stopped', desk, { lost: true });
page('nothing-yet', () => []);
