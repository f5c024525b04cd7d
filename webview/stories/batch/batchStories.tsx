/** The batch page in all its states. */

import type { ServerState } from '../../../src/protocol/page.ts';
import { BatchPage } from '../../batch/batchPage.tsx';
import type { Group, Sort } from '../../batch/model/arrange.ts';
import { remember } from '../../host/memory.ts';
import { storyHost } from '../../host/story.ts';
import { story } from '../index.ts';
import { ActOnce, click, pointAt, press } from './actOnce.tsx';
import { withAttempts } from './attempts.ts';
import { podEvents } from './podEvents.ts';
import { BATCH, someBatch, type Wishes } from './someBatch.ts';

interface StoryOptions {
  readonly wishes?: Wishes;
  readonly filter?: string;
  readonly readOnly?: boolean;
  /** The server never answers. */
  readonly silent?: boolean;
  /** What the server says of itself. */
  readonly server?: ServerState;
  /** Attempts of the first task that have something to tell. */
  readonly told?: boolean;
  /** What was chosen for this batch before, and whether the pane is open. */
  readonly chosen?: { readonly sort: Sort; readonly group: Group };
  readonly pane?: boolean;
  /** Names of other batches of the store. */
  readonly others?: readonly string[];
  /** Done once the rows are there; `then` comes of it. */
  readonly does?: (page: HTMLElement) => void;
  readonly then?: string;
}

const CAN = new Set(['open', 'copy', 'external', 'link', 'batch', 'save'] as const);
const ROWS = '[role="grid"] [role="rowheader"]';

function page(
  name: string,
  {
    wishes,
    filter,
    readOnly = false,
    silent = false,
    server,
    told = false,
    others = [],
    chosen,
    pane = true,
    does,
    then = ROWS,
  }: StoryOptions = {},
): void {
  story(
    'batch',
    name,
    () => {
      const made = someBatch(wishes);
      const events = wishes?.pods === true ? { events: { [BATCH]: podEvents(240, made.batch.created_at) } } : {};
      const host = storyHost({
        ...(told ? withAttempts(made) : made),
        ...events,
        readOnly,
        silent,
        others: others.map((name, index) => ({
          ...made,
          rows: [],
          batch: { ...made.batch, batch: `b-${index}`, name },
        })),
      });
      if (server !== undefined) host.server.set(server);
      if (chosen !== undefined) remember(`batch.${made.batch.name}`, chosen);
      if (!pane) remember('batch.pane', false);
      const shown = (
        <BatchPage
          host={host}
          readOnly={readOnly}
          can={CAN}
          place={{ page: 'batch', batch: BATCH, ...(filter === undefined ? {} : { filter }) }}
        />
      );
      return does === undefined ? (
        shown
      ) : (
        <ActOnce there={ROWS} does={does} then={then}>
          {shown}
        </ActOnce>
      );
    },
    { busy: silent },
  );
}

/** An attempt of the first task at the cursor, with its steps where there is a pane. */
function selected(name: string, attempt: number, given: StoryOptions = {}): void {
  page(name, {
    told: true,
    ...given,
    does: press('[role="grid"]', ...Array.from({ length: attempt - 1 }, () => 'ArrowRight')),
    then: '.attempt-steps ol, .attempt-sheet',
  });
}

page('running');
page('paused', { wishes: { state: 'paused' } });
page('pods', { wishes: { pods: true } });
page('pods-released', { wishes: { pods: true, state: 'paused', released: true } });
page('ended', { wishes: { state: 'ended', tasks: 40, attempts: 8 } });
page('imported', {
  wishes: { state: 'ended', tasks: 50, attempts: 4, imported: true, levels: false, name: 'gpt-4o-airline' },
});
page('one-task', { wishes: { tasks: 1, attempts: 32 } });
page('fork', { wishes: { tasks: 1, attempts: 8, parent: { rollout: 'r17x3', seq: 42 }, name: 'nightly, edited' } });
page('wide', { wishes: { tasks: 120, attempts: 100 } });
page('long', { wishes: { tasks: 5_000, attempts: 1, levels: false } });
page('long-names', {
  wishes: { longNames: true, name: 'nightly-with-a-name-that-somebody-made-from-all-the-settings-of-the-run' },
});
page('all-failed', { wishes: { state: 'ended', tasks: 20, attempts: 8, passes: () => 0 } });
page('all-passed', { wishes: { state: 'ended', tasks: 20, attempts: 8, passes: () => 1, trouble: 0 } });
page('infrastructure-storm', { wishes: { tasks: 40, attempts: 16, trouble: 0.7 } });
page('not-begun', { wishes: { begun: 0 } });
page('stopped-by-hand', {
  wishes: { state: 'ended', begun: 0.5, tasks: 30, attempts: 16, reason: 'Cancelled by a client.' },
});
page('server-stopped', {
  server: {
    state: 'stopped',
    text: 'The rollout server stopped: it ran out of memory (exit code 137). Nothing that was acknowledged is lost.',
  },
});
page('empty', { wishes: { state: 'open', tasks: 0, attempts: 4 } });
page('read-only', { wishes: { state: 'ended', tasks: 30, attempts: 8 }, readOnly: true });
page('filtered', { filter: 'error:tool_error steps>5' });
page('no-match', { filter: 'error:timeout tool:renew_loan steps>30' });
page('broken-filter', { filter: 'status == ' });
page('loading', { silent: true });
page('loading-lost', { silent: true, server: { state: 'lost' } });
page('server-lost', { server: { state: 'lost' } });
page('server-elsewhere', {
  server: {
    state: 'ok',
    elsewhere: { text: 'This page shows the target local, but the window uses gpu-cluster.', target: 'local' },
  },
});
page('found', { filter: 'renew' });
page('expression', { filter: 'usage.output_tokens > 500 && status == "done"' });
page('expression-no-match', { filter: 'usage.output_tokens > 5000000 && status == "done"' });
page('token-limit', { wishes: { tokenLimit: 30_000_000 } });
page('token-limit-soon', { wishes: { tokenLimit: 21_000_000 } });
page('token-limit-reached', {
  wishes: {
    state: 'ended',
    begun: 0.6,
    tokenLimit: 15_000_000,
    reason: 'stop.tokens: 15004120 tokens were used (limit 15000000).',
  },
});
page('huge-numbers', {
  wishes: { tasks: 1_000, attempts: 4, times: 250_000, tokenLimit: 9_000_000_000_000, name: 'everything' },
});
page('grouped', { chosen: { sort: 'rate', group: 'level' } });
page('grouped-folded', {
  chosen: { sort: 'failures', group: 'outcome' },
  does: press('[role="grid"]', 'ArrowUp', 'ArrowLeft'),
  then: '[aria-expanded="false"]',
});
page('outcomes-hidden', { does: click('.batch-chip:nth-child(2n)'), then: '.batch-chip[aria-pressed="false"]' });
page('nothing-shown', { does: click('.batch-chip'), then: '.batch-no-match' });
page('keys', { does: press('[role="grid"]', '?'), then: '[role="dialog"]' });
page('compare-with', {
  others: [
    'nightly',
    'nightly, edited',
    'gpt-4o-airline',
    'nightly-with-a-name-that-somebody-made-from-all-the-settings-of-the-run',
  ],
  does: click('vscode-button[aria-label="Compare with…"]'),
  then: '.compare-with .list-row',
});
page('compare-with-none', {
  does: click('vscode-button[aria-label="Compare with…"]'),
  then: '.compare-with [role="status"]:not(.skeleton)',
});
page('card', { told: true, pane: false, does: pointAt('#cell-0-1'), then: '.attempt-card, .attempt-sheet' });
selected('attempt', 1);
selected('attempt-long', 2);
selected('attempt-running', 3);
selected('attempt-held', 4);
selected('attempt-tries', 5, { wishes: { longNames: true } });
selected('attempt-read-only', 5, { readOnly: true });
page('attempt-not-begun', { does: press('[role="grid"]', 'End'), then: '.attempt-top, .attempt-sheet' });
