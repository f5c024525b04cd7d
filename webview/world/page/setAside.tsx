/** Tasks that batches leave out because their world is broken. The world file names them. */
import type { ComponentChildren } from 'preact';
import { oneLine, plural } from '../../../src/common/text.ts';
import type { WorldTask } from '../../../src/protocol/worldPage.ts';
import { Button } from '../../components/controls.tsx';
import { ActionLink } from '../../components/link.tsx';
import type { TabProps } from './worldPage.tsx';
import './setAside.css';

/** Sets a task aside, or stops doing so. */
export function AsideLink({ session, task }: Pick<TabProps, 'session'> & { readonly task: WorldTask }) {
  const { id, isSetAside = false } = task;
  return (
    <ActionLink
      label={isSetAside ? `Include Task ${id} Again` : `Set Task ${id} Aside`}
      title={isSetAside ? 'Batches run this task again' : 'Batches leave this task out'}
      onClick={() => session.setAside(task, !isSetAside)}
    />
  );
}

/** Lists the tasks that are set aside, and those that the attempts of the last batch suggest. */
export function SetAside({ session, details }: TabProps) {
  const { blamed, isBlaming } = session;
  const { last, kind } = details;
  if (kind !== 'code') return null;
  const aside = details.tasks.filter(({ isSetAside }) => isSetAside === true);
  const suggested = (blamed?.tasks ?? []).flatMap(({ task: wanted, attempts, reasons }) => {
    const task = details.tasks.find(({ id, task: full = id }) => full === wanted);
    return task === undefined || task.isSetAside === true ? [] : [{ task, attempts, reasons }];
  });
  return (
    <section class="world-aside" aria-label="Set aside">
      <header class="section-head">
        <h2>Set aside</h2>
        <span class="dim">
          {aside.length === 0 ? 'no task' : `${plural(aside.length, 'task')}, which batches leave out`}
        </span>
        <span class="grow" />
        {last !== undefined && (
          <Button
            kind="secondary"
            icon="search"
            label="Check Runs"
            title={`Finds tasks of ${last.name} whose failed attempts all blame the world`}
            disabled={isBlaming}
            onClick={() => session.blame(last.batch)}
          />
        )}
      </header>
      {isBlaming && (
        <p class="world-remark" role="status">
          Reading the attempts…
        </p>
      )}
      {!isBlaming && blamed !== undefined && suggested.length === 0 && (
        <p class="world-remark" role="status">
          No further task of the batch blames the world in all its failed attempts.
        </p>
      )}
      {suggested.length + aside.length > 0 && (
        <ul class="world-aside-list">
          {suggested.map(({ task, attempts, reasons }) => (
            <AsideItem key={task.id} session={session} task={task}>
              None of {plural(attempts, 'attempt')} passed: {reasons.join('; ')}
            </AsideItem>
          ))}
          {aside.map((task) => (
            <AsideItem key={task.id} session={session} task={task}>
              {oneLine(task.text, 300)}
            </AsideItem>
          ))}
        </ul>
      )}
    </section>
  );
}

interface AsideItemProps extends Pick<TabProps, 'session'> {
  readonly task: WorldTask;
  readonly children: ComponentChildren;
}

function AsideItem({ session, task, children }: AsideItemProps) {
  return (
    <li>
      <code class="world-row-id">{task.id}</code>
      <span class="world-aside-text" title={task.text}>
        {children}
      </span>
      <AsideLink session={session} task={task} />
    </li>
  );
}
