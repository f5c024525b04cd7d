/** The batch page in all its states. */

import type { Trimmed } from '../../../src/common/trimmed.ts';
import type { You } from '../../../src/protocol/access.ts';
import type { PageAction, ServerState } from '../../../src/protocol/page.ts';
import type { WaitingBatch } from '../../../src/protocol/shares.ts';
import { BatchPage } from '../../batch/batchPage.tsx';
import type { Group, Sort } from '../../batch/model/arrange.ts';
import { COLUMNS_KEY, type ColumnChoice } from '../../batch/model/columns.ts';
import { remember } from '../../host/memory.ts';
import { storyHost } from '../../host/story.ts';
import { story } from '../index.ts';
import { ActOnce, click, pointAt, press } from './actOnce.tsx';
import { withAttempts, withReasons } from './attempts.ts';
import { groupsBatch } from './groupSamples.ts';
import { podEvents } from './podEvents.ts';
import { BATCH, type BatchOptions, sampleBatch } from './sampleBatch.ts';

interface StoryOptions {
  readonly options?: BatchOptions;
  readonly filter?: string;
  readonly readOnly?: boolean;
  readonly you?: You;
  readonly waiting?: WaitingBatch;
  /** The server never answers. */
  readonly silent?: boolean;
  /** State of the server. */
  readonly server?: ServerState;
  /** Whether attempt 3 of each task fails at checks, and attempt 4 passes: the number of further failed checks. */
  readonly reasons?: number;
  /** Whether attempts of the first task have events. */
  readonly events?: boolean;
  /** Saved choices for this batch. */
  readonly choices?: { readonly sort: Sort; readonly group: Group };
  /** The remembered choice of columns. */
  readonly columns?: ColumnChoice;
  /** Whether the attempt pane is open. */
  readonly pane?: boolean;
  /** Whether the page shows groups: of a batch with so many versions of the weights. */
  readonly groups?: number;
  /** When and why its trajectories were dropped. */
  readonly trimmed?: Trimmed;
  /** Names of other batches of the store. */
  readonly others?: readonly string[];
  /** Runs once the rows are visible. `until`: selector of its result. */
  readonly act?: (page: HTMLElement) => void;
  /** Selector of what the action needs. */
  readonly when?: string;
  readonly until?: string;
}

/** Tests read the last action, and which trajectory a page would open. */
function showAction(action: PageAction): void {
  document.body.dataset['action'] = JSON.stringify(action);
  if (action.do === 'open' && action.place.page === 'trajectory')
    document.body.dataset['opened'] = action.place.rollout;
}

const CAN = new Set(['open', 'copy', 'external', 'link', 'batch', 'pods', 'save'] as const);
const ROWS = '[role="grid"] [role="rowheader"]';
const GROUPS = '.batch-groups .group-bars';

function page(
  name: string,
  {
    options,
    filter,
    readOnly = false,
    you,
    waiting,
    silent = false,
    server,
    events = false,
    reasons,
    groups,
    trimmed,
    others = [],
    choices,
    columns,
    pane = true,
    act,
    when = groups === undefined ? ROWS : GROUPS,
    until = when,
  }: StoryOptions = {},
): void {
  story(
    'batch',
    name,
    () => {
      const whole = groups === undefined ? sampleBatch(options) : groupsBatch(options ?? {}, groups);
      const sample =
        trimmed === undefined
          ? whole
          : {
              ...whole,
              batch: { ...whole.batch, trimmed },
              rows: whole.rows.map((row) => ({ ...row, trimmed: true as const })),
            };
      const pods = options?.pods === true ? { events: { [BATCH]: podEvents(240, sample.batch.created_at) } } : {};
      const host = storyHost({
        ...(reasons !== undefined ? withReasons(sample, reasons) : events ? withAttempts(sample) : sample),
        ...pods,
        readOnly,
        ...(you === undefined ? {} : { you }),
        ...(waiting === undefined ? {} : { shares: { rows: [], waiting: [waiting], queues: [] } }),
        silent,
        others: others.map((name, index) => ({
          ...sample,
          rows: [],
          batch: { ...sample.batch, batch: `b-${index}`, name },
        })),
      });
      if (server !== undefined) host.server.set(server);
      if (choices !== undefined) remember(`batch.${sample.batch.name}`, choices);
      if (columns !== undefined) remember(COLUMNS_KEY, columns);
      remember(`batch.groups.${sample.batch.name}`, groups !== undefined);
      if (!pane) remember('batch.pane', false);
      const content = (
        <BatchPage
          host={{ ...host, act: (action) => host.act(action).then(() => showAction(action)) }}
          readOnly={readOnly}
          can={CAN}
          place={{ page: 'batch', batch: BATCH, ...(filter === undefined ? {} : { filter }) }}
        />
      );
      return act === undefined ? (
        content
      ) : (
        <ActOnce when={when} act={act} until={until}>
          {content}
        </ActOnce>
      );
    },
    { busy: silent },
  );
}

const REASONS: BatchOptions = { state: 'ended', tasks: 12, attempts: 8, failureRate: 0 };

/** Shows an attempt of the first task at the cursor, with its steps if there is a pane. */
function selected(name: string, attempt: number, options: StoryOptions = {}): void {
  page(name, {
    events: true,
    act: press('[role="grid"]', ...Array.from({ length: attempt - 1 }, () => 'ArrowRight')),
    until: '.attempt-steps ol, .attempt-sheet',
    ...options,
  });
}

const TRIMMED = { at: Date.UTC(2026, 10, 2, 12), rule: 'rule 2: ended more than 30 d ago, name nightly-*' };
selected('trimmed', 2, {
  options: REASONS,
  trimmed: TRIMMED,
  until: '.attempt-steps .attempt-small, .attempt-sheet',
});

page('running');
page('paused', { options: { state: 'paused' } });
page('pods', { options: { pods: true } });
page('incidents', {
  options: { pods: true },
  act: click('.batch-foot [popovertarget]'),
  when: '.batch-foot [popovertarget]',
  until: '.batch-incidents:popover-open',
});
page('pods-released', { options: { pods: true, state: 'paused', released: true } });
page('faults', { options: { state: 'ended', tasks: 40, attempts: 8, faults: true } });
page('faults-running', { options: { faults: true } });
page('outcomes', { options: { state: 'ended', tasks: 40, attempts: 8, outcomes: true } });
page('mix', { options: { state: 'ended', tasks: 40, attempts: 8, mix: true } });
page('rates', { options: { state: 'ended', tasks: 40, attempts: 8, rates: true } });
page('bench', { options: { state: 'ended', tasks: 42, attempts: 1, bench: true } });
page('all-panels', {
  options: { state: 'ended', tasks: 40, attempts: 8, faults: true, outcomes: true, rates: true, predictions: true },
});
page('predictions', { options: { state: 'ended', tasks: 40, attempts: 8, predictions: true } });
page('ended', { options: { state: 'ended', tasks: 40, attempts: 8 } });
page('verdicts', { options: { state: 'ended', tasks: 40, attempts: 8, verdicts: true } });
page('verdicts-of-attempt', {
  options: { state: 'ended', tasks: 12, attempts: 8, verdicts: true },
  act: press('[role="grid"]', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowRight'),
  until: '.attempt-verdicts, .attempt-sheet',
});
page('imported', {
  options: { state: 'ended', tasks: 50, attempts: 4, imported: true, levels: false, name: 'gpt-4o-airline' },
});
page('one-task', { options: { tasks: 1, attempts: 32 } });
page('columns', {
  options: { state: 'ended', tasks: 40, attempts: 8 },
  pane: false,
  columns: { hidden: ['steps', 'time'], widths: { question: 160 } },
});
page('columns-menu', {
  options: { state: 'ended', tasks: 40, attempts: 8 },
  act: click('vscode-button[aria-label="Columns"]'),
  until: '[role="menu"], .attempt-sheet',
});
page('fork', { options: { tasks: 1, attempts: 8, parent: { rollout: 'r17x3', seq: 42 }, name: 'nightly, edited' } });
page('wide', { options: { tasks: 120, attempts: 100 } });
page('long', { options: { tasks: 5_000, attempts: 1, levels: false } });
page('long-names', {
  options: { longNames: true, name: 'nightly-with-a-name-that-somebody-made-from-all-the-settings-of-the-run' },
});
page('all-failed', { options: { state: 'ended', tasks: 20, attempts: 8, passes: () => 0 } });
page('all-passed', { options: { state: 'ended', tasks: 20, attempts: 8, passes: () => 1, failureRate: 0 } });
page('infrastructure-storm', { options: { tasks: 40, attempts: 16, failureRate: 0.7 } });
page('not-begun', { options: { started: 0 } });
page('stopped-by-hand', {
  options: { state: 'ended', started: 0.5, tasks: 30, attempts: 16, reason: 'Cancelled by a client.' },
});
page('server-stopped', {
  server: {
    state: 'stopped',
    text: 'The rollout server stopped: it ran out of memory (exit code 137). Acknowledged events are saved.',
  },
});
page('empty', { options: { state: 'open', tasks: 0, attempts: 4 } });
const QUEUE: WaitingBatch = {
  batch: BATCH,
  why: 'queue',
  position: 2,
  of: 3,
  text: 'queue research is at its limit.',
};
page('waiting', { options: { state: 'running', tasks: 12, attempts: 8, started: 0 }, waiting: QUEUE });
page('waiting-partly', { waiting: { ...QUEUE, why: 'share', position: 1, text: 'alice uses more than her share.' } });
page('may-not-control', { you: { user: 'alice', namespace: 'rollouts', rights: ['read'] } });
page('may-not-launch', {
  options: { state: 'ended', tasks: 30, attempts: 8 },
  you: { user: 'alice', namespace: 'rollouts', rights: ['read'] },
});
page('read-only', { options: { state: 'ended', tasks: 30, attempts: 8 }, readOnly: true });
page('filtered', { filter: 'error:tool_error steps>5' });
page('no-match', { filter: 'error:timeout tool:renew_loan steps>30' });
page('broken-filter', { filter: 'status == ' });
page('broken-filter-path', { filter: 'progress.steps >' });
page('broken-filter-field', { filter: 'steps>' });
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
page('token-limit', { options: { tokenLimit: 30_000_000 } });
page('token-limit-soon', { options: { tokenLimit: 21_000_000 } });
page('token-limit-reached', {
  options: {
    state: 'ended',
    started: 0.6,
    tokenLimit: 15_000_000,
    reason: 'stop.tokens: 15004120 tokens were used (limit 15000000).',
  },
});
page('huge-numbers', {
  options: { tasks: 1_000, attempts: 4, scale: 250_000, tokenLimit: 9_000_000_000_000, name: 'everything' },
});
page('grouped', { choices: { sort: 'rate', group: 'level' } });
page('grouped-folded', {
  choices: { sort: 'failures', group: 'outcome' },
  act: press('[role="grid"]', 'Control+Home', 'ArrowLeft'),
  until: '[aria-expanded="false"]',
});
page('outcomes-hidden', {
  act: click('.batch-chip:nth-child(2n)', { ctrlKey: true }),
  until: '.batch-chip[aria-pressed="false"]',
});
page('nothing-shown', {
  when: '.batch-panels:not([aria-busy]), .batch-numbers:not([aria-busy])', // all outcomes have their chips
  act: click('.batch-chip', { ctrlKey: true }),
  until: '.batch-no-match',
});
page('keys', { act: press('[role="grid"]', '?'), until: '[role="dialog"]' });
page('compare-with', {
  others: [
    'nightly',
    'nightly, edited',
    'gpt-4o-airline',
    'nightly-with-a-name-that-somebody-made-from-all-the-settings-of-the-run',
  ],
  act: click('vscode-button[aria-label="Compare with…"]'),
  until: '.compare-with .list-row',
});
page('compare-with-none', {
  act: click('vscode-button[aria-label="Compare with…"]'),
  until: '.compare-with [role="status"]:not(.skeleton)',
});
page('card', { events: true, pane: false, act: pointAt('#cell-0-1'), until: '.attempt-card, .attempt-sheet' });
for (const [name, cell, reasons] of [
  ['reason', '#cell-0-3', 0],
  ['reason-low', '#cell-11-3', 0],
  ['reason-checks', '#cell-1-3', 5],
] as const)
  page(`card-${name}`, {
    options: REASONS,
    reasons,
    pane: false,
    act: pointAt(cell),
    until: '.attempt-card .attempt-split, .attempt-sheet',
  });
page('card-passed', {
  options: REASONS,
  reasons: 0,
  pane: false,
  act: pointAt('#cell-0-4'),
  until: '.attempt-card .attempt-bar, .attempt-sheet',
});
page('attempt-reason', {
  options: REASONS,
  reasons: 0,
  act: press('[role="grid"]', 'ArrowRight', 'ArrowRight'),
  until: '.attempt-pane .attempt-split, .attempt-sheet',
});
selected('attempt', 1);
selected('attempt-long', 2);
selected('attempt-running', 3);
selected('attempt-held', 4);
selected('attempt-tries', 5, { options: { longNames: true } });
selected('attempt-read-only', 5, { readOnly: true });
page('attempt-not-begun', { act: press('[role="grid"]', 'End'), until: '.attempt-top, .attempt-sheet' });

/** Moves to a member of a group. */
function groupAt(...keys: readonly string[]): Pick<StoryOptions, 'act' | 'until'> {
  return {
    act: press('.batch-groups .virtual-list', ...keys),
    until: '.group-pane .member-row:not(.member-head), .group-sheet',
  };
}

page('groups', {
  groups: 3,
  options: { state: 'ended', tasks: 40, attempts: 8 },
  ...groupAt('ArrowDown', 'ArrowDown', 'ArrowRight', 'ArrowRight'),
});
page('groups-running', { groups: 0, options: { tasks: 60, attempts: 16 }, ...groupAt('ArrowDown', 'ArrowRight') });
page('groups-pair', { groups: 0, options: { state: 'ended', tasks: 30, attempts: 2 }, ...groupAt('ArrowDown') });
page('groups-large', {
  groups: 12,
  options: { state: 'ended', tasks: 30, attempts: 128, longNames: true },
  ...groupAt('ArrowDown'),
});
page('groups-many', { groups: 0, options: { state: 'ended', tasks: 4_000, attempts: 4, levels: false } });
page('groups-by-level', {
  groups: 2,
  options: { state: 'ended', tasks: 40, attempts: 8 },
  choices: { sort: 'signal', group: 'level' },
  pane: false,
  ...groupAt('ArrowDown'),
  until: '.batch-groups .list-row.is-selected',
});
page('groups-lost', {
  groups: 0,
  options: { state: 'ended', tasks: 20, attempts: 8, failureRate: 0.3 },
  ...groupAt('ArrowDown'),
});
page('groups-all-lost', {
  groups: 0,
  options: { state: 'ended', tasks: 20, attempts: 8, failureRate: 1 },
  until: '.batch-groups .empty-state',
});
page('groups-not-begun', { groups: 0, options: { started: 0 }, until: '.batch-groups .empty-state' });
page('groups-without-signal', {
  groups: 0,
  options: { state: 'ended', tasks: 40, attempts: 8 },
  when: '.batch-chip.is-filter',
  act: click('.batch-chip:nth-child(2)'),
  until: '.batch-chip[aria-pressed="true"]',
});
page('groups-no-match', {
  groups: 0,
  options: { state: 'ended', tasks: 20, attempts: 8, passes: () => 1, failureRate: 0 },
  when: '.batch-chip.is-filter',
  act: click('.batch-chip:nth-child(1)'),
  until: '.batch-groups .empty-state',
});
