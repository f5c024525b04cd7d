/** The arguments of a tool as a form, or as JSON. */
import { useEffect } from 'preact/hooks';
import type { ListedTool } from '../../src/protocol/tryPage.ts';
import { announce } from '../components/notices/announcer.tsx';
import { MemberFields } from './form/field.tsx';
import { focusOn, idOf } from './form/focus.ts';
import { describe } from './form/shape.ts';
import type { TrySession } from './trySession.ts';

/** Whether a tool has a form; otherwise, its arguments are entered as JSON. */
export function hasFields({ parameters }: ListedTool): boolean {
  return describe(parameters, parameters).shape.kind === 'object';
}

export function ToolForm({ session }: { readonly session: TrySession }) {
  const { tool, text, problems, members } = session;
  if (tool === undefined) return null;
  const { parameters } = tool;
  const described = describe(parameters, parameters);
  if (text !== undefined || described.shape.kind !== 'object') return <JsonForm session={session} />;
  if (described.shape.members.length === 0 && Object.keys(members).length === 0)
    return <p class="try-empty dim">This tool takes no arguments.</p>;
  const general = problems.filter(({ path }) => path.length === 0);
  return (
    <>
      <MemberFields
        context={{ root: parameters, problems, onTouch: (path) => session.touch(path) }}
        path={[]}
        described={described}
        shape={described.shape}
        members={members}
        onChange={(next) => session.setMembers(next)}
      />
      {general.map((problem) => (
        <p class="field-problem" role="alert" key={problem.text}>
          {problem.text}
        </p>
      ))}
    </>
  );
}

function JsonForm({ session }: { readonly session: TrySession }) {
  const { text = '', problems } = session;
  useEffect(() => {
    if (session.text === undefined) session.editAsText(true); // the schema has no form
  }, [session.text]);
  return (
    <div class="field">
      <textarea
        class="input is-area"
        id={idOf([])}
        aria-label="Arguments as JSON"
        aria-describedby="arguments-problems"
        aria-invalid={problems.length > 0}
        rows={Math.min(24, Math.max(6, text.split('\n').length + 1))}
        value={text}
        spellcheck={false}
        onInput={(event) => session.setText(event.currentTarget.value)}
      />
      <div id="arguments-problems">
        {problems.map((problem, index) => (
          <p class="field-problem" key={index}>
            {problem.path.length > 0 && <code>{problem.path.join('.')}</code>} {problem.text}
          </p>
        ))}
      </div>
    </div>
  );
}

/** Runs the tool, or moves the focus to the first problem. */
export function runTool(session: TrySession): void {
  const problem = session.run();
  if (problem === undefined) return;
  announce(`${problem.path.join('.')}: ${problem.text}`);
  focusOn(session.text === undefined ? idOf(problem.path) : idOf([]));
}
