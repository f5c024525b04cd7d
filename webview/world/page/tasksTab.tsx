/** The tasks of a world: a list, and the selected one with what judges it. */
import { useState } from 'preact/hooks';
import { oneLine } from '../../../src/common/text.ts';
import type { WorldTask } from '../../../src/protocol/worldPage.ts';
import { Button } from '../../components/controls.tsx';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { VirtualList } from '../../components/virtualList.tsx';
import { FilterField, hasWords } from './filterField.tsx';
import type { TabProps } from './worldPage.tsx';

const ROW_HEIGHT = 24;

export function TasksTab({ session, details }: TabProps) {
  const [words, setWords] = useState('');
  const { tasks } = details;
  if (tasks.length === 0)
    return (
      <EmptyState
        icon="list-selection"
        title="No tasks"
        text={
          details.kind === 'code'
            ? 'The published files have no tasks for this scenario.'
            : 'No batch of this workspace uses this world. Its tasks are those of the datasets of such batches.'
        }
      />
    );
  const shown = [...tasks.entries()].filter(([, { id, text }]) => hasWords(words, `${id} ${text}`));
  const at = shown.findIndex(([index]) => index === session.task);
  const selected = tasks[session.task];
  return (
    <div class="world-columns">
      <section class="world-list" aria-label="Tasks">
        <FilterField label="Filter tasks" value={words} onInput={setWords} matches={shown.length} of={tasks.length} />
        <div class="world-list-rows">
          <VirtualList
            count={shown.length}
            rowHeight={ROW_HEIGHT}
            label="Tasks"
            role="listbox"
            selected={at}
            keyOf={(index) => shown[index]?.[1].id ?? index}
            row={(index) => row(shown[index]?.[1])}
            onSelect={(index) => session.select({ task: shown[index]?.[0] ?? 0 })}
            onOpen={() => session.select({ tab: 'verifiers' })}
          />
        </div>
      </section>
      <section class="world-detail" aria-label="Selected task">
        {selected !== undefined && (
          <>
            <header class="section-head">
              <h2>Task {selected.id}</h2>
              <span class="grow" />
              <Button
                kind="icon"
                icon="copy"
                label="Copy the text of the task"
                onClick={() => session.post({ type: 'copy', text: selected.text })}
              />
            </header>
            <p class="world-text">{selected.text}</p>
            <p class="world-remark">
              {selected.verifiers.length === 0
                ? 'Nothing judges this task.'
                : `Judged by ${selected.verifiers.join(' and ')}.`}{' '}
              {details.kind === 'code' && selected.verifiers.length > 0 && (
                <button type="button" class="link is-link" onClick={() => session.select({ tab: 'verifiers' })}>
                  Show verifiers
                </button>
              )}
            </p>
          </>
        )}
      </section>
    </div>
  );
}

function row(task: WorldTask | undefined) {
  if (task === undefined) return null;
  return (
    <div class="world-row" title={task.text}>
      <code class="world-row-id">{task.id}</code>
      <span class="world-row-text">{oneLine(task.text, 300)}</span>
      <span class="dim">{task.verifiers.join(', ')}</span>
    </div>
  );
}
