/** Lists the tasks of both batches: how many attempts passed before and after, and whether that is a change. */

import type { ComparedTask, TaskChange, TaskSide } from '../../../src/trace/align/batches.ts';
import { VirtualList } from '../../components/virtualList.tsx';
import { signed } from './differences.tsx';

const ROW = 26;

/** Sign and text of each change, in the page's order. */
export const CHANGES: Readonly<Record<TaskChange, readonly [sign: string, words: string]>> = {
  lost: ['✗', 'no longer passes'],
  gained: ['✓', 'passes now'],
  worse: ['↓', 'passes less often'],
  better: ['↑', 'passes more often'],
  same: ['=', 'as before'],
  unknown: ['?', 'not scored on one side'],
};

interface TaskRowsProps {
  readonly tasks: readonly ComparedTask[];
  readonly selected: number;
  readonly onSelect: (index: number) => void;
  readonly onOpen: (index: number) => void;
}

export function TaskRows({ tasks, selected, onSelect, onOpen }: TaskRowsProps) {
  return (
    <VirtualList
      count={tasks.length}
      rowHeight={ROW}
      label="Tasks"
      role="listbox"
      selected={selected}
      keyOf={(index) => tasks[index]?.task ?? index}
      onSelect={onSelect}
      onOpen={onOpen}
      row={(index) => {
        const one = tasks[index];
        if (one === undefined) return null;
        const { task, before, after, change } = one;
        const [sign, words] = CHANGES[change];
        const difference = before.rate === null || after.rate === null ? '' : signed(after.rate - before.rate);
        return (
          <div class={`batches-row is-${change}`} title={`${task}: ${words}`}>
            <span class="batches-sign" aria-hidden="true">
              {sign}
            </span>
            <span class="batches-task">{task}</span>
            <span class="batches-words">{words}</span>
            <Side side={before} name="before" />
            <span class="batches-arrow" aria-hidden="true">
              →
            </span>
            <Side side={after} name="after" />
            <span class="batches-difference">{difference}</span>
          </div>
        );
      }}
    />
  );
}

function Side({ side: { passed, scored, rate }, name }: { readonly side: TaskSide; readonly name: string }) {
  return (
    <span class="batches-side">
      <span class="only-read">{name} </span>
      <span class="compare-bar" aria-hidden="true">
        <i style={{ width: `${(rate ?? 0) * 100}%` }} />
      </span>
      {scored === 0 ? '–' : `${passed}/${scored}`}
    </span>
  );
}
