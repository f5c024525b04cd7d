/** The world to call a tool in: that of a batch, opened for one of its tasks, or none. */
import { Dropdown, TextField } from '../components/controls.tsx';
import type { TrySession } from './trySession.ts';

export function WorldChoice({ session }: { readonly session: TrySession }) {
  const { worlds, world } = session;
  if (worlds.length === 0) return null;
  const current = worlds.find(({ batch }) => batch === world?.batch);
  return (
    <div class="try-world" role="group" aria-label="World">
      <div class="try-choice" title="The tool is called in the world that this batch file names">
        <span class="field-name">World of batch</span>
        <Dropdown
          label="World of batch"
          value={world?.batch ?? ''}
          onChange={(batch) => session.chooseWorld(batch === '' ? undefined : batch)}
          options={[
            ...worlds.map(({ batch, name }) => ({ value: batch, text: name })),
            { value: '', text: 'No world' },
          ]}
        />
      </div>
      {world !== null && current !== undefined && (
        <div class="try-choice" title="The world is opened as for this task">
          <span class="field-name">for task</span>
          {current.more ? (
            <TextField
              label="Task"
              placeholder="First task"
              value={world.task}
              onInput={(task) => session.chooseTask(task.trim())}
            />
          ) : (
            <Dropdown
              label="Task"
              value={world.task}
              onChange={(task) => session.chooseTask(task)}
              options={current.tasks.map((task) => ({ value: task, text: task }))}
            />
          )}
        </div>
      )}
    </div>
  );
}
