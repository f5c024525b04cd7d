/** The tasks of a world: a list, and the selected one with what judges it. */
import { oneLine } from '../../../src/common/text.ts';
import type { WorldTask } from '../../../src/protocol/worldPage.ts';
import { Button } from '../../components/controls.tsx';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { FilteredList } from './filteredList.tsx';
import type { TabProps } from './worldPage.tsx';

const ROW_HEIGHT = 24;

export function TasksTab({ session, details }: TabProps) {
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
  const selected = tasks[session.task];
  return (
    <div class="world-columns">
      <FilteredList
        label="Tasks"
        filterLabel="Filter tasks"
        items={tasks}
        rowHeight={ROW_HEIGHT}
        keyOf={({ id }) => id}
        textOf={({ id, text }) => `${id} ${text}`}
        row={row}
        isSelected={(_task, index) => index === session.task}
        onSelect={(_task, index) => session.select({ task: index })}
        onOpen={() => session.select({ tab: 'verifiers' })}
      />
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

function row(task: WorldTask) {
  return (
    <div class="world-row" title={task.text}>
      <code class="world-row-id">{task.id}</code>
      <span class="world-row-text">{oneLine(task.text, 300)}</span>
      <span class="dim">{task.isSetAside === true ? 'set aside' : task.verifiers.join(', ')}</span>
    </div>
  );
}
