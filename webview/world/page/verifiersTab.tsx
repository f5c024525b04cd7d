/** What judges each task: code and SQL with their criteria, rubrics, and answers. */
import { oneLine } from '../../../src/common/text.ts';
import type { TaskVerifier } from '../../../src/protocol/worldPage.ts';
import { Button } from '../../components/controls.tsx';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { Skeleton } from '../../components/notices/skeleton.tsx';
import { VirtualList } from '../../components/virtualList.tsx';
import type { TabProps } from './worldPage.tsx';

const ROW_HEIGHT = 24;
const KINDS: Readonly<Record<TaskVerifier['kind'], string>> = {
  code: 'Code',
  SQL: 'SQL evidence for a judge',
  rubric: 'Rubric for a judge',
  answer: 'Reference answer',
};

export function VerifiersTab({ session, details }: TabProps) {
  const { tasks } = details;
  if (details.kind !== 'code' || tasks.length === 0)
    return (
      <EmptyState
        icon="check"
        title={tasks.some(({ verifiers }) => verifiers.length > 0) ? 'Judged by its module' : 'No verifiers'}
        text={
          tasks.some(({ verifiers }) => verifiers.length > 0)
            ? 'The function `verify` in the module of this world judges the final state of every task.'
            : 'Return `verify` from the `open` function of the world, or use a scorer in the batch file.'
        }
        actions={
          details.code.lines === 0
            ? []
            : [{ label: 'Open Module', onClick: () => session.post({ type: 'open', part: 'code' }) }]
        }
      />
    );
  const verifiers = session.verifiersOf(session.task);
  return (
    <div class="world-columns">
      <section class="world-list" aria-label="Tasks">
        <div class="world-list-rows">
          <VirtualList
            count={tasks.length}
            rowHeight={ROW_HEIGHT}
            label="Tasks"
            role="listbox"
            selected={session.task}
            keyOf={(index) => tasks[index]?.id ?? index}
            row={(index) => {
              const task = tasks[index];
              return task === undefined ? null : (
                <div class="world-row" title={task.text}>
                  <code class="world-row-id">{task.id}</code>
                  <span class="world-row-text">{oneLine(task.text, 200)}</span>
                  <span class="dim">{task.verifiers.length === 0 ? 'none' : task.verifiers.join(', ')}</span>
                </div>
              );
            }}
            onSelect={(index) => session.select({ task: index })}
          />
        </div>
      </section>
      <section class="world-detail" aria-label="Verifiers of the task">
        {verifiers === undefined ? (
          <Skeleton />
        ) : verifiers.length === 0 ? (
          <p class="world-remark">Nothing judges this task. A batch on it needs another scorer.</p>
        ) : (
          verifiers.map((verifier) => <Verifier key={verifier.kind} session={session} verifier={verifier} />)
        )}
      </section>
    </div>
  );
}

function Verifier({ session, verifier }: Pick<TabProps, 'session'> & { readonly verifier: TaskVerifier }) {
  const { kind, text, part, function: name, reasoning, success, failure } = verifier;
  return (
    <section class="world-verifier">
      <header class="section-head">
        <h2>{KINDS[kind]}</h2>
        {name !== undefined && <code class="dim">{name}</code>}
        <span class="grow" />
        {part !== undefined && (
          <Button
            kind="secondary"
            icon="go-to-file"
            label="Open in Editor"
            onClick={() => session.post({ type: 'open', part, task: session.task })}
          />
        )}
      </header>
      <dl class="world-criteria">
        <Criterion name="Success" text={success} />
        <Criterion name="Failure" text={failure} />
        <Criterion name="Reasoning" text={reasoning} />
      </dl>
      {text !== '' && (
        <pre class="world-verifier-text" tabIndex={0} aria-label={`${KINDS[kind]} as text`}>
          {text}
        </pre>
      )}
    </section>
  );
}

function Criterion({ name, text }: { readonly name: string; readonly text: string | undefined }) {
  if (text === undefined || text === '') return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{text}</dd>
    </>
  );
}
