/** The “Try Tool…” panel: the arguments of a tool as a form, and the outcomes of its calls. */
import { useEffect, useRef } from 'preact/hooks';
import { valueText } from '../../src/trace/text/values.ts';
import { Button } from '../components/controls.tsx';
import { ActionLink } from '../components/link.tsx';
import { announce } from '../components/notices/announcer.tsx';
import { Banner } from '../components/notices/banner.tsx';
import { Skeleton } from '../components/notices/skeleton.tsx';
import { useChanges } from '../data/observe.ts';
import { Outcome, outcomeText, RunningView } from './outcome.tsx';
import { RecordedArguments } from './recordedArguments.tsx';
import { Tries } from './tries.tsx';
import { hasFields, runTool, ToolForm } from './tryForm.tsx';
import type { TrySession } from './trySession.ts';
import { WorldChoice } from './worldChoice.tsx';
import './try.css';

export function TryPage({ session }: { readonly session: TrySession }) {
  useChanges(session.changed);
  const {
    tool,
    running,
    selected,
    problem,
    text,
    tries: [last],
  } = session;
  const main = useRef<HTMLElement>(null);
  useKeys(session);
  useEffect(
    () =>
      main.current?.querySelector<HTMLElement>('.try-form :is(.field input, .field textarea, .field select)')?.focus(),
    [tool?.name],
  );
  useEffect(() => {
    if (last !== undefined) announce(outcomeText(last.outcome));
  }, [session.tries]);
  if (tool === undefined) return <Skeleton />;
  return (
    <main class="try-page" ref={main}>
      <header class="try-head">
        <div class="try-title">
          <h1>{tool.name}</h1>
          <span class="mark" title={EFFECTS[tool.effect]}>
            {tool.effect}
          </span>
          <ActionLink label={session.file} title="Go to Definition" onClick={() => session.post({ type: 'source' })} />
        </div>
        {tool.description !== '' && <p class="try-description dim">{tool.description}</p>}
        {tool.output !== undefined && (
          <p class="try-description dim">
            Returns <code>{valueText(tool.output)}</code>
          </p>
        )}
      </header>
      {problem !== undefined && <Banner kind="warning" text={`Cannot reload the file: ${problem}`} />}
      <div class="try-columns">
        <section class="try-form" aria-label="Arguments">
          <WorldChoice session={session} />
          <RecordedArguments session={session} />
          <header class="section-head">
            <h2>Arguments</h2>
            <span class="grow" />
            {hasFields(tool) && (
              <Button
                kind="secondary"
                label={text === undefined ? 'Edit as JSON' : 'Edit as form'}
                onClick={() => session.editAsText(text === undefined)}
              />
            )}
          </header>
          <ToolForm session={session} />
          <div class="try-buttons">
            {running === undefined ? (
              <Button
                kind="primary"
                icon="play"
                label="Run"
                title="Run (Ctrl+Enter)"
                onClick={() => runTool(session)}
              />
            ) : (
              <Button
                kind="secondary"
                icon="debug-stop"
                label="Cancel"
                title="Cancel (Esc)"
                onClick={() => session.cancel()}
              />
            )}
            {running === undefined && last !== undefined && (
              <span class="dim">Last run: {outcomeText(last.outcome)}</span>
            )}
          </div>
        </section>
        <div class="try-results">
          {running !== undefined ? (
            <RunningView running={running} />
          ) : selected === undefined ? (
            <p class="try-empty dim">The result appears here.</p>
          ) : (
            <Outcome key={selected.number} run={selected} session={session} />
          )}
          {session.tries.length > 0 && <Tries session={session} />}
        </div>
      </div>
    </main>
  );
}

const EFFECTS = {
  pure: 'Changes nothing',
  restorable: 'Changes only the world, which can be restored',
  irreversible: 'May make changes that cannot be undone',
} as const;

function useKeys(session: TrySession): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) runTool(session);
      else if (event.key === 'Escape' && session.running !== undefined) session.cancel();
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
    // Capture, so that a text area does not insert a line break.
    window.addEventListener('keydown', onKeyDown, { capture: true });
    return () => window.removeEventListener('keydown', onKeyDown, { capture: true });
  }, [session]);
}
