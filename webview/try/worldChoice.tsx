/** In which world a tool is called: that of a batch, opened for one of its tasks, or none. */
import { Dropdown, TextField } from '../components/controls.tsx';
import type { TrySession } from './trySession.ts';

export function WorldChoice({ session }: { readonly session: TrySession }) {
  const { worlds, world } = session;
  if (worlds.length === 0) return null;
  const offered = worlds.find(({ batch }) => batch === world?.batch);
  return (
    <div class="try-world" role="group" aria-label="World">
      <div class="try-choice" title="Calls the tool in the world of this batch">
        <span class="field-name">World</span>
        <Dropdown
          label="World"
          value={world?.batch ?? ''}
          onChange={(batch) => session.chooseWorld(batch === '' ? undefined : batch)}
          options={[...worlds.map(({ batch, name }) => ({ value: batch, text: name })), { value: '', text: 'none' }]}
        />
      </div>
      {world !== null && offered !== undefined && (
        <div class="try-choice" title="The task to open the world for">
          <span class="field-name">Task</span>
          {offered.more ? (
            <TextField
              label="Task"
              placeholder="the first"
              value={world.task}
              onInput={(task) => session.chooseTask(task.trim())}
            />
          ) : (
            <Dropdown
              label="Task"
              value={world.task}
              onChange={(task) => session.chooseTask(task)}
              options={offered.tasks.map((task) => ({ value: task, text: task }))}
            />
          )}
        </div>
      )}
    </div>
  );
}
