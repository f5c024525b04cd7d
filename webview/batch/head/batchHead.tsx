/** The head of the batch page: name, progress, results, and controls. */

import { ownerText } from '../../../src/common/ownerText.ts';
import { count, duration } from '../../../src/common/units.ts';
import type { BatchRow } from '../../../src/protocol/client.ts';
import { attemptsText } from '../../../src/trace/outcome.ts';
import type { Report } from '../../../src/trace/statistics/schema.ts';
import { Glyph } from '../../components/marks/glyph.tsx';
import { Icon } from '../../components/marks/icon.tsx';
import type { BatchActions } from '../batchActions.ts';
import type { BatchView } from '../batchView.ts';
import { timeLeft } from '../figures/flow.ts';
import { HeadButtons } from './headButtons.tsx';
import { ParentRates } from './parentRates.tsx';
import { ProgressBar, ProgressText } from './progressBar.tsx';
import { Startup } from './startup.tsx';
import './batchHead.css';

interface BatchHeadProps {
  readonly view: BatchView;
  readonly actions: BatchActions;
  readonly page: number;
  readonly onCompare: () => void;
}

const STATES = { open: 'more tasks are coming', running: 'running', paused: 'paused', ended: 'ended' } as const;

export function BatchHead({ view, actions, page, onCompare }: BatchHeadProps) {
  const { row, definition } = view.data;
  if (row === undefined)
    return (
      <header class="batch-head">
        <h1>{view.data.batch}</h1>
      </header>
    );
  const { counts, figures } = view;
  const flow = figures?.flow;
  const { done } = view;
  const running = row.state === 'running' || row.state === 'open';
  const left = running && flow !== undefined ? timeLeft(view.attempts - done, flow.perHour) : undefined;
  return (
    <header class="batch-head">
      <span class="batch-state" title={STATES[row.state]}>
        {row.state === 'paused' ? (
          <Icon name="debug-pause" label="paused" />
        ) : running ? (
          <Glyph outcome="running" title="running" />
        ) : (
          <Icon name="check" label="ended" />
        )}
      </span>
      <h1 title={row.name}>{row.name}</h1>
      {definition !== undefined && (
        <span class="batch-agent" title={`${definition.agentFile}, model ${definition.model}`}>
          {definition.agent}@{definition.revision}
        </span>
      )}
      {row.imported && <span class="batch-mark">imported</span>}
      {row.by !== undefined && (
        <span class="batch-agent" title={`Launched by ${ownerText(row)}`}>
          by {row.by}
        </span>
      )}
      {row.parent !== undefined && <Parent actions={actions} parent={row.parent} />}
      <span class="batch-size">
        {count(row.tasks)} {row.tasks === 1 ? 'task' : 'tasks'} × {attemptsText(row)}
      </span>
      <span class="batch-line" />
      <ProgressBar counts={counts} total={view.attempts} />
      <ProgressText done={done} total={view.attempts} />
      <Startup view={view} />
      {running && flow !== undefined && flow.perHour > 0 && (
        <Stat name="rate" value={count(Math.round(flow.perHour))} unit="rollouts/h" />
      )}
      {left !== undefined && view.data.waiting === undefined && <Stat name="left" value={duration(left)} unit="left" />}
      {row.state === 'paused' && (
        <span class="batch-stat">{row.released === true ? 'paused, pods released' : 'paused'}</span>
      )}
      {row.state === 'ended' && (
        <span class="batch-stat batch-ended" title={row.reason}>
          {row.reason === undefined ? 'ended' : `${row.reason.charAt(0).toUpperCase()}${row.reason.slice(1)}`}
        </span>
      )}
      {figures !== undefined && <PassAt1 report={figures.report} />}
      {row.parent !== undefined && <ParentRates view={view} row={row} parent={row.parent} />}
      <span class="batch-grow" />
      <HeadButtons view={view} actions={actions} icons={page < 1180} onCompare={onCompare} />
    </header>
  );
}

function Stat({ name, value, unit }: { readonly name: string; readonly value: string; readonly unit: string }) {
  return (
    <span class={`batch-stat is-${name}`}>
      <b>{value}</b> <span class="batch-dim">{unit}</span>
    </span>
  );
}

/** Always shows the estimate with its interval, if there is one. */
function PassAt1({ report }: { readonly report: Report }) {
  const rate = report.pass_at?.['1'];
  if (rate === undefined || rate === null) return null;
  const interval = report.intervals.pass_at?.['1'];
  const half = interval === undefined || interval === null ? undefined : (interval[1] - interval[0]) / 2;
  const title =
    interval === undefined || interval === null
      ? `of ${report.scored} scored attempts; ${report.why['intervals'] ?? ''}`
      : `between ${interval[0].toFixed(2)} and ${interval[1].toFixed(2)} with ` +
        `${Math.round(report.intervals.level * 100)}%, of ${report.scored} scored attempts`;
  return (
    <span class="batch-stat batch-pass" title={title}>
      <span class="batch-dim">pass@1</span> <b>{rate.toFixed(2)}</b>
      {half !== undefined && <span class="batch-dim"> ±{half.toFixed(2).replace(/^0/, '')}</span>}
    </span>
  );
}

function Parent({
  actions,
  parent,
}: {
  readonly actions: BatchActions;
  readonly parent: NonNullable<BatchRow['parent']>;
}) {
  return (
    <button
      type="button"
      class="batch-parent"
      title={[
        `Fork of ${parent.rollout}, cut at ${parent.seq}`,
        ...(parent.differs === undefined ? [] : ['Differences to its parent:', ...parent.differs]),
      ].join('\n')}
      onClick={() => actions.openRollout(parent.rollout, false)}
    >
      <Icon name="repo-forked" /> fork of {parent.rollout}@{parent.seq}
      {parent.differs !== undefined && ', changed'}
    </button>
  );
}
