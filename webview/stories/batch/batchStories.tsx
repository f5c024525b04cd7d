/** The batch page in all its states. */
import { BatchPage } from '../../batch/batchPage.tsx';
import { storyHost } from '../../host/story.ts';
import { story } from '../index.ts';
import { BATCH, someBatch, type Wishes } from './someBatch.ts';

interface Given {
  readonly wishes?: Wishes;
  readonly filter?: string;
  readonly readOnly?: boolean;
  /** The server never answers. */
  readonly silent?: boolean;
  /** What the server says of itself. */
  readonly server?: { readonly state: 'lost' | 'stopped'; readonly text: string };
}

function page(name: string, { wishes, filter, readOnly = false, silent = false, server }: Given = {}): void {
  story('batch', name, () => {
    const host = storyHost({ ...someBatch(wishes), readOnly, silent });
    if (server !== undefined) host.server.set(server);
    const can = new Set(['open', 'copy', 'external', 'link', 'batch', 'save'] as const);
    return <BatchPage host={host} readOnly={readOnly} can={can} place={{ page: 'batch', batch: BATCH, ...(filter === undefined ? {} : { filter }) }} />;
  }, { busy: silent });
}

page('running');
page('paused', { wishes: { state: 'paused' } });
page('ended', { wishes: { state: 'ended', tasks: 40, attempts: 8 } });
page('imported', { wishes: { state: 'ended', tasks: 50, attempts: 4, imported: true, levels: false, name: 'gpt-4o-airline' } });
page('one-task', { wishes: { tasks: 1, attempts: 32 } });
page('fork', { wishes: { tasks: 1, attempts: 8, parent: { rollout: 'r17x3', seq: 42 }, name: 'nightly, edited' } });
page('wide', { wishes: { tasks: 120, attempts: 100 } });
page('long', { wishes: { tasks: 5_000, attempts: 1, levels: false } });
page('long-names', { wishes: { longNames: true, name: 'nightly-with-a-name-that-somebody-made-from-all-the-settings-of-the-run' } });
page('all-failed', { wishes: { state: 'ended', tasks: 20, attempts: 8, passes: () => 0 } });
page('all-passed', { wishes: { state: 'ended', tasks: 20, attempts: 8, passes: () => 1, trouble: 0 } });
page('infrastructure-storm', { wishes: { tasks: 40, attempts: 16, trouble: 0.7 } });
page('not-begun', { wishes: { begun: 0 } });
page('stopped-by-hand', { wishes: { state: 'ended', begun: 0.5, tasks: 30, attempts: 16, reason: 'Cancelled by a client.' } });
page('server-stopped', { server: { state: 'stopped', text: 'The rollout server stopped: it ran out of memory (exit code 137). Nothing that was acknowledged is lost.' } });
page('empty', { wishes: { state: 'open', tasks: 0, attempts: 4 } });
page('read-only', { wishes: { state: 'ended', tasks: 30, attempts: 8 }, readOnly: true });
page('filtered', { filter: 'error:tool_error steps>5' });
page('no-match', { filter: 'error:timeout tool:renew_loan steps>30' });
page('broken-filter', { filter: 'status == ' });
page('loading', { silent: true });
