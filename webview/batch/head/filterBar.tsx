/** Filter, outcomes (their legend and counts), sort and group. */
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { count } from '../../../src/common/units.ts';
import { OUTCOMES, type Outcome } from '../../../src/trace/outcome.ts';
import { personOf, REWARD } from '../../../src/trace/verdicts.ts';
import { Button, TextField } from '../../components/controls.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';
import { Icon } from '../../components/marks/icon.tsx';
import { MenuButton } from '../../components/overlays/menu.tsx';
import type { BatchView } from '../batchView.ts';
import { EstimatorChoice, SignalChips } from '../groups/groupChoices.tsx';
import { GROUP_NAMES, GROUPS, SORT_NAMES, SORTS } from '../model/arrange.ts';
import { ALL_COLUMNS, COLUMN_NAMES, COLUMNS, toggled } from '../model/columns.ts';
import { FILTER_FIELDS, splitParts, togglePart } from '../model/filter.ts';
import { Choice } from './choice.tsx';
import './filterBar.css';

interface FilterBarProps {
  readonly view: BatchView;
  readonly page: number;
  readonly pane: boolean | undefined;
  readonly onPane: () => void;
  readonly inputRef: RefObject<HTMLElement | null>;
  /** Moves the focus from the field to the grid. */
  readonly onLeave: () => void;
}

/** Estimated width of a letter, and of everything except the chips. */
const LETTER = 7;
const OTHERS = 640;
const HINT =
  `Words, fields (${FILTER_FIELDS.join(', ')}) as field:value or field>number, or an expression such as ` +
  'usage.output_tokens > 500 && status == "done"';
const DISAGREE = 'verdicts:disagree';
/** The filter is applied after this pause, so that typing stays smooth. */
const AFTER_MS = 150;

export function FilterBar({ view, page, pane, onPane, inputRef, onLeave }: FilterBarProps) {
  const { text, type, apply } = useFilterText(view);
  const narrow = page <= 640;
  const { hasLevels, hasScenarios } = view.data;
  const groups = GROUPS.filter((group) => (group !== 'level' || hasLevels) && (group !== 'scenario' || hasScenarios));
  return (
    <div class="batch-filter" role="search" aria-label="Attempts">
      <div
        class="batch-filter-text"
        title={HINT}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown') return;
          event.preventDefault();
          onLeave();
        }}
      >
        <TextField
          value={text}
          label="Filter"
          placeholder={narrow ? 'Filter tasks and attempts' : 'Filter, e.g. cause:answer'}
          icon="filter"
          inputRef={inputRef}
          invalid={view.problem !== undefined}
          onInput={type}
          onEscape={() => {
            if (text === '') onLeave();
            else apply('');
          }}
          onEnter={() => {
            apply(text);
            onLeave();
          }}
        />
        {text === '' && <kbd aria-hidden="true">/</kbd>}
      </div>
      {view.problem !== undefined ? (
        <span class="batch-filter-hint batch-filter-problem" role="alert" title={view.problem}>
          {view.problem}
        </span>
      ) : (
        view.filtered && (
          <span class="batch-filter-hint">
            {count(view.left)} of {count(view.attempts)}
          </span>
        )
      )}
      {view.groups.shown ? <SignalChips view={view} /> : <Chips view={view} page={page} />}
      <span class="batch-grow" />
      {view.groups.shown && <EstimatorChoice view={view} narrow={narrow} />}
      <Choice
        name="Sort"
        icon="sort-precedence"
        narrow={narrow}
        value={view.sort}
        options={SORTS.map((sort) => ({ value: sort, text: SORT_NAMES[sort] }))}
        onChange={(sort) => view.arrangeBy({ sort })}
      />
      <Choice
        name="Group"
        icon="group-by-ref-type"
        narrow={narrow}
        value={view.group}
        options={groups.map((group) => ({ value: group, text: GROUP_NAMES[group] }))}
        onChange={(group) => view.arrangeBy({ group })}
      />
      {view.data.scorers.length > 0 && (
        <Choice
          name="Verdict"
          icon="person"
          narrow={page <= 1180}
          value={view.data.scorer}
          options={[REWARD, ...view.data.scorers].map((scorer) => ({
            value: scorer,
            text: personOf(scorer) ?? scorer,
          }))}
          onChange={(scorer) => view.judgeBy(scorer)}
        />
      )}
      {!narrow && !view.groups.shown && <Columns view={view} labeled={page >= 1180} />}
      {view.width > 1 && (
        <Button
          kind="icon"
          icon="layers"
          label="Groups"
          title="Groups of attempts and their advantages (V)"
          pressed={view.groups.shown}
          onClick={() => view.groups.show(!view.groups.shown)}
        />
      )}
      {pane !== undefined && (
        <Button
          kind="icon"
          icon="layout-sidebar-right"
          label="Detail pane"
          title="Detail pane (I)"
          pressed={pane}
          onClick={onPane}
        />
      )}
    </div>
  );
}

/** Chooses the columns after the cells. */
function Columns({ view, labeled }: { readonly view: BatchView; readonly labeled: boolean }) {
  const absent = view.absentColumns;
  const choice = view.columns;
  const entries = COLUMNS.filter((id) => !absent.has(id)).map((id) => ({
    label: COLUMN_NAMES[id].name,
    checked: !choice.hidden.includes(id),
    several: true,
    onClick: () => view.arrangeColumns(toggled(choice, id)),
  }));
  const reset = { label: 'Reset columns', onClick: () => view.arrangeColumns(ALL_COLUMNS) };
  return <MenuButton label="Columns" icon="list-selection" labeled={labeled} entries={[...entries, reset]} />;
}

interface FilterText {
  readonly text: string;
  /** Takes typed text, and applies it when typing pauses. */
  readonly type: (text: string) => void;
  /** Applies a text at once. */
  readonly apply: (text: string) => void;
}

/**
 * Shows typed text immediately, and applies the filter when typing pauses. The field follows the filter only when
 * something else changed it: writing an applied text back would undo the letters that were typed since.
 */
function useFilterText(view: BatchView): FilterText {
  const [text, setText] = useState(view.filter);
  const own = useRef(view.filter);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const apply = (next: string): void => {
    clearTimeout(timer.current);
    own.current = next;
    setText(next);
    view.setFilter(next);
  };
  useEffect(() => {
    if (view.filter === own.current) return;
    clearTimeout(timer.current);
    own.current = view.filter;
    setText(view.filter);
  }, [view.filter]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return {
    text,
    apply,
    type: (typed) => {
      setText(typed);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => apply(typed), AFTER_MS);
    },
  };
}

function Chips({ view, page }: { readonly view: BatchView; readonly page: number }) {
  const visible = OUTCOMES.filter((outcome) => view.counts[outcome] > 0 || view.hidden.has(outcome));
  const needed = visible.reduce(
    (sum, outcome) => sum + 36 + LETTER * (outcome.length + count(view.counts[outcome]).length),
    0,
  );
  const names = page >= 1180 && needed < page - OTHERS - (view.filtered ? 100 : 0);
  return (
    <div class="batch-chips" role="group" aria-label="Outcomes">
      {visible.map((outcome) => (
        <Chip key={outcome} view={view} outcome={outcome} all={visible} name={names} />
      ))}
      <Disputed view={view} name={names} />
    </div>
  );
}

/** Filters by attempts whose verdicts contradict each other. */
function Disputed({ view, name }: { readonly view: BatchView; readonly name: boolean }) {
  const disputed = view.figures?.disputed ?? 0;
  const on = splitParts(view.filter).includes(DISAGREE);
  if (disputed === 0 && !on) return null;
  const click = (): void => view.setFilter(view.parts.length === 0 ? DISAGREE : togglePart(view.filter, DISAGREE));
  return (
    <button
      type="button"
      class="batch-chip is-filter"
      aria-pressed={on}
      title="Show only attempts whose verdicts disagree"
      onClick={click}
    >
      <Icon name="warning" />
      <span class={name ? undefined : 'only-read'}>disagree </span>
      <span class="batch-chip-count">{count(disputed)}</span>
    </button>
  );
}

function Chip({
  view,
  outcome,
  all,
  name,
}: {
  readonly view: BatchView;
  readonly outcome: Outcome;
  readonly all: readonly Outcome[];
  readonly name: boolean;
}) {
  const on = !view.hidden.has(outcome);
  const number = count(view.counts[outcome]);
  const click = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) view.toggleOutcome(outcome);
    else view.onlyOutcome(outcome, all);
  };
  return (
    <button
      type="button"
      class="batch-chip"
      aria-pressed={on}
      title={`Show only ${outcome} attempts. Ctrl+click or Shift+click to show or hide them`}
      onClick={click}
    >
      <Glyph outcome={outcome} />
      <span class={name ? undefined : 'only-read'}>{outcome} </span>
      <span class="batch-chip-count">{number}</span>
    </button>
  );
}
