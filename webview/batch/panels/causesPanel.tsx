/** Why attempts did not pass: the most frequent causes. A click filters by one, a double-click opens an attempt. */
import { useState } from 'preact/hooks';
import { count } from '../../../src/common/units.ts';
import { Glyph } from '../../components/marks/glyph.tsx';
import type { BatchView, CellAt } from '../batchView.ts';
import { type CauseCount, type Causes, tasksText } from '../figures/causes.ts';
import { causesIn, toggleCause } from '../model/causeFilter.ts';
import { unquoted } from '../model/quoted.ts';
import { Panel } from './panel.tsx';

interface CausesPanelProps {
  readonly view: BatchView;
  readonly causes: Causes;
  readonly onOpen: (cell: CellAt) => void;
}

const MAX_ROWS = 5;

export function CausesPanel({ view, causes, onOpen }: CausesPanelProps) {
  const [expanded, setExpanded] = useState(false);
  const { all, notPassed, ended } = causes;
  const most = all[0]?.count ?? 1;
  const chosen = causesIn(view.filter);
  const more = all.length - MAX_ROWS;
  return (
    <Panel
      name="causes"
      title="Causes"
      note={ended === 0 ? undefined : `${count(notPassed)} of ${count(ended)} not passed`}
    >
      {all.length === 0 ? (
        <p class="batch-panel-none">{ended === 0 ? 'No attempt has ended yet.' : 'All attempts passed'}</p>
      ) : (
        <div class={`cause-rows${more > 0 ? ' is-full' : ''}`} onPointerLeave={() => view.pointCause(undefined)}>
          {(expanded ? all : all.slice(0, MAX_ROWS)).map((cause) => (
            <Row
              key={cause.text}
              view={view}
              cause={cause}
              most={most}
              on={chosen.includes(unquoted(cause.text))}
              onOpen={onOpen}
            />
          ))}
          {more > 0 && (
            <button type="button" class="cause-more" aria-expanded={expanded} onClick={() => setExpanded(!expanded)}>
              {expanded ? 'Show fewer causes' : `${count(more)} more ${more === 1 ? 'cause' : 'causes'}`}
            </button>
          )}
        </div>
      )}
    </Panel>
  );
}

interface RowProps extends Pick<CausesPanelProps, 'view' | 'onOpen'> {
  readonly cause: CauseCount;
  readonly most: number;
  readonly on: boolean;
}

function Row({ view, cause: { text, outcome, count: attempts, tasks, first }, most, on, onOpen }: RowProps) {
  return (
    <button
      type="button"
      class="cause-row"
      aria-pressed={on}
      title={`${text}\n${tasks
        .slice(0, 12)
        .map((task) => `${task.name} ${task.count}`)
        .join(', ')}\nClick to filter, Ctrl+click to add, double-click to open the first attempt`}
      onPointerEnter={() => view.pointCause(text)}
      onClick={(event) => view.setFilter(toggleCause(view.filter, text, event.ctrlKey || event.metaKey))}
      onDblClick={() => onOpen(first)}
    >
      <Glyph outcome={outcome} />
      <span class="cause-name">{text} </span>
      <span class="cause-bar">
        <i class={`of-${outcome}`} style={{ width: `${(100 * attempts) / most}%` }} />
      </span>
      <span class="cause-count">
        {count(attempts)}
        <span class="only-read"> attempts, </span>
      </span>
      <span class="cause-tasks">{tasksText(tasks)}</span>
    </button>
  );
}
