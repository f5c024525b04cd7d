/** Filter, outcomes (their legend and counts), sort and group. */
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { OUTCOMES, type Outcome } from '../../../src/trace/outcome.ts';
import { Button, Dropdown, TextField } from '../../components/controls.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';
import { count } from '../../format.ts';
import type { BatchView } from '../batchView.ts';
import { FILTER_FIELDS } from '../model/filter.ts';
import { GROUP_NAMES, GROUPS, SORT_NAMES, SORTS, type Group, type Sort } from '../model/arrange.ts';
import './filterBar.css';

interface FilterBarProps {
  readonly view: BatchView;
  readonly page: number;
  readonly pane: boolean | undefined;
  readonly onPane: () => void;
  readonly inputRef: RefObject<HTMLElement | null>;
}

/** Width of a letter, and of all beside the chips. */
const LETTER = 7;
const OTHERS = 640;
const HINT = `Words, fields (${FILTER_FIELDS.join(', ')}) as field:value or field>number, or an expression such as usage.output_tokens > 500 && status == "done"`;
/** Typing is not interrupted by a grid that is put in order anew. */
const AFTER_MS = 150;

export function FilterBar({ view, page, pane, onPane, inputRef }: FilterBarProps) {
  const [text, setText] = useFilterText(view);
  const groups = GROUPS.filter((group) => group !== 'level' || view.hasLevels);
  return (
    <div class="batch-filter" role="search" aria-label="Attempts">
      <div class="batch-filter-text" title={HINT}>
        <TextField value={text} label="Filter" placeholder={page <= 640 ? 'Filter tasks and attempts' : 'Filter, e.g. error:timeout'} icon="filter" inputRef={inputRef}
          invalid={view.problem !== undefined} onInput={setText} onEscape={() => view.setFilter('')} onEnter={() => view.setFilter(text)} />
        {text === '' && <kbd aria-hidden="true">/</kbd>}
      </div>
      {view.problem !== undefined ? <span class="batch-filter-hint batch-filter-problem" role="alert" title={view.problem}>{view.problem}</span>
        : view.filtered && <span class="batch-filter-hint">{count(view.left)} of {count(view.attempts)}</span>}
      <Chips view={view} page={page} />
      <span class="batch-grow" />
      <span class="batch-choice"><span aria-hidden="true">Sort</span><Dropdown label="Sort" value={view.sort} options={SORTS.map((sort) => ({ value: sort, text: SORT_NAMES[sort] }))} onChange={(sort: string) => view.arrangeBy({ sort: sort as Sort })} /></span>
      <span class="batch-choice"><span aria-hidden="true">Group</span><Dropdown label="Group" value={view.group} options={groups.map((group) => ({ value: group, text: GROUP_NAMES[group] }))} onChange={(group: string) => view.arrangeBy({ group: group as Group })} /></span>
      {pane !== undefined && <Button kind="icon" icon="layout-sidebar-right" label="Detail pane" title="Detail pane (I)" pressed={pane} onClick={onPane} />}
    </div>
  );
}

/** What is typed stands at once; the filter follows when typing rests. */
function useFilterText(view: BatchView): [string, (text: string) => void] {
  const [text, setText] = useState(view.filter);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => setText(view.filter), [view.filter]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return [text, (typed) => {
    setText(typed);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => view.setFilter(typed), AFTER_MS);
  }];
}

function Chips({ view, page }: { readonly view: BatchView; readonly page: number }) {
  const shown = OUTCOMES.filter((outcome) => view.counts[outcome] > 0 || view.hidden.has(outcome));
  const needed = shown.reduce((sum, outcome) => sum + 36 + LETTER * (outcome.length + count(view.counts[outcome]).length), 0);
  const names = page >= 1180 && needed < page - OTHERS - (view.filtered ? 100 : 0);
  return (
    <div class="batch-chips" role="group" aria-label="Outcomes">
      {shown.map((outcome) => <Chip key={outcome} view={view} outcome={outcome} all={shown} name={names} />)}
    </div>
  );
}

function Chip({ view, outcome, all, name }: { readonly view: BatchView; readonly outcome: Outcome; readonly all: readonly Outcome[]; readonly name: boolean }) {
  const on = !view.hidden.has(outcome);
  const number = count(view.counts[outcome]);
  const click = (event: MouseEvent): void => {
    if (event.altKey) view.onlyOutcome(outcome, all);
    else view.toggleOutcome(outcome);
  };
  return (
    <button type="button" class="batch-chip" aria-pressed={on} title={`${outcome}: click to hide or show, Alt+click for only this`} onClick={click}>
      <Glyph outcome={outcome} /><span class={name ? undefined : 'only-read'}>{outcome} </span><span class="batch-chip-count">{number}</span>
    </button>
  );
}
