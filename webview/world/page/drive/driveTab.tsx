/** A session driven by hand: tools, the form and result of a call, what it changed, and states to return to. */
import { useEffect, useRef } from 'preact/hooks';
import { plural } from '../../../../src/common/text.ts';
import { duration } from '../../../../src/common/units.ts';
import type { KeptAs } from '../../../../src/protocol/drive.ts';
import type { ListedTool } from '../../../../src/protocol/tryPage.ts';
import type { WorldDetails, WorldTask } from '../../../../src/protocol/worldPage.ts';
import { Button, Dropdown, TextField } from '../../../components/controls.tsx';
import { ActionLink } from '../../../components/link.tsx';
import { Glyph } from '../../../components/marks/glyph.tsx';
import { Icon } from '../../../components/marks/icon.tsx';
import { Banner } from '../../../components/notices/banner.tsx';
import { EmptyState } from '../../../components/notices/emptyState.tsx';
import { Skeleton } from '../../../components/notices/skeleton.tsx';
import { MenuButton } from '../../../components/overlays/menu.tsx';
import { usePageWidth } from '../../../components/pageWidth.ts';
import { useChanges } from '../../../data/observe.ts';
import { useKeys } from '../../../keys.ts';
import { Outcome, RunningView } from '../../../try/outcome.tsx';
import { hasFields, runTool, ToolForm } from '../../../try/tryForm.tsx';
import { WorldRows } from '../../worldRows.tsx';
import { FilteredList } from '../filteredList.tsx';
import type { TabProps } from '../worldPage.tsx';
import type { DriveSession } from './driveSession.ts';
import { States } from './states.tsx';
import '../../../try/try.css';
import './drive.css';

const ROW_HEIGHT = 22;
/** Narrower pages choose the tool in a menu. */
const MIN_LIST_WIDTH = 761;

export function DriveTab({ session, details }: TabProps) {
  const { drive } = session;
  useChanges(drive.changed);
  const task = details.tasks[session.task];
  const id = task === undefined ? undefined : datasetId(task);
  useKeys(
    {
      '[': () => drive.step(-1),
      ']': () => drive.step(1),
      v: () => drive.verify(),
      'shift+b': () => drive.branch(),
    },
    drive.opened !== undefined,
  );
  if (details.cannotDrive !== undefined)
    return <EmptyState icon="debug-disconnect" title="This world cannot be driven" text={details.cannotDrive} />;
  if (drive.isOpening) return <Skeleton />;
  if (drive.opened === undefined)
    return (
      <EmptyState
        icon="play"
        title={
          drive.needsPython
            ? 'The session could not be opened'
            : drive.ended === undefined
              ? 'Drive this world'
              : 'The session has ended'
        }
        text={drive.ended ?? 'Make calls by hand, see what each changes, go back to earlier states, and judge them.'}
        actions={[
          ...(drive.needsPython ? [{ label: 'Set Up Python…', onClick: () => drive.setUpPython(id) }] : []),
          {
            label: task === undefined ? 'Open Session' : `Open for ${taskLabel(task.id)}`,
            onClick: () => drive.open(id),
          },
        ]}
      />
    );
  return <OpenDrive session={session} details={details} drive={drive} />;
}

/** Sessions are opened for tasks as datasets name them. */
function datasetId({ id, task = id }: WorldTask): string {
  return task;
}

function taskLabel(id: string): string {
  return /^\d+$/.test(id) ? `Task ${id}` : id;
}

function OpenDrive({ session, details, drive }: TabProps & { readonly drive: DriveSession }) {
  const { opened, form, failure, kept, verdict } = drive;
  const hasList = usePageWidth() >= MIN_LIST_WIDTH;
  const columns = useRef<HTMLDivElement>(null);
  // The button that opened the session is gone: without this, the next key would do nothing.
  useEffect(() => {
    if (document.activeElement === document.body)
      columns.current?.querySelector<HTMLElement>('[role="listbox"], [role="combobox"]')?.focus();
  }, []);
  if (opened === undefined) return null;
  const { tasks, kind } = details;
  return (
    <div class="drive">
      <div class="world-tools drive-head">
        <Dropdown
          label="Task"
          value={opened.task}
          options={[
            ...(tasks.some((task) => datasetId(task) === opened.task)
              ? []
              : [{ value: opened.task, text: taskLabel(opened.task) }]),
            ...tasks.map((task) => ({ value: datasetId(task), text: taskLabel(task.id) })),
          ]}
          onChange={(id) => {
            session.select({
              task: Math.max(
                0,
                tasks.findIndex((each) => datasetId(each) === id),
              ),
            });
            drive.open(id);
          }}
        />
        <span class="drive-question dim" title={opened.question}>
          {opened.question}
        </span>
        <span class="grow" />
        <span class="drive-answer">
          <TextField
            label="Answer"
            placeholder="Final answer"
            value={drive.answer}
            onInput={(answer) => drive.setAnswer(answer)}
            onEnter={() => drive.verify()}
          />
        </span>
        <VerdictMark drive={drive} />
        {opened.canVerify && (
          <Button
            kind="secondary"
            icon="check"
            label="Verify"
            title="Judge this state (V)"
            onClick={() => drive.verify()}
          />
        )}
        <Button
          kind="secondary"
          icon="save"
          label="Keep as Demonstration"
          title="Saves the path from the start to this state as a trajectory"
          disabled={drive.state === 0}
          onClick={() => drive.keep('demonstration')}
        />
        <MenuButton
          label="More"
          icon="ellipsis"
          entries={[
            { label: 'Keep as Reference Solution', onClick: () => drive.keep('solution') },
            // Tests run with Node.js, which has no published worlds.
            ...(kind === 'module' ? [{ label: 'Keep as Test', onClick: () => drive.keep('test') }] : []),
            { label: 'Close Session', onClick: () => drive.close() },
          ]}
        />
      </div>
      {failure !== undefined && <Banner kind="warning" text={`${failure.message} ${failure.hint ?? ''}`.trim()} />}
      {verdict?.state === drive.state && verdict.passed === null && verdict.explanation !== undefined && (
        <Banner kind="info" text={verdict.explanation} />
      )}
      {kept !== undefined && (
        <p class="drive-kept" role="status">
          Kept as {KEPT[kept.as]}.{' '}
          <ActionLink
            label="Open File"
            title={kept.file}
            onClick={() => session.post({ type: 'kept', file: kept.file, how: 'open' })}
          />
          {kept.as === 'demonstration' && (
            <ActionLink
              label="Show Trajectory"
              title="Imports the file and opens the trajectory"
              onClick={() => session.post({ type: 'kept', file: kept.file, how: 'import' })}
            />
          )}
        </p>
      )}
      <div class="drive-columns" ref={columns}>
        <ToolChoice session={session} details={details} tools={opened.tools} hasList={hasList} />
        <section class="drive-call" aria-label="Call">
          {form === undefined ? (
            <p class="try-empty dim">Choose a tool.</p>
          ) : (
            <CallForm key={drive.tool} drive={drive} />
          )}
        </section>
        <Changes drive={drive} />
      </div>
      <States drive={drive} />
    </div>
  );
}

const KEPT: Readonly<Record<KeptAs, string>> = {
  demonstration: 'demonstration',
  solution: 'reference solution',
  test: 'test',
};

function VerdictMark({ drive: { verdict, state, pending } }: { readonly drive: DriveSession }) {
  if (pending === 'verify')
    return (
      <span class="drive-verdict dim" role="status">
        Verifying…
      </span>
    );
  if (verdict === undefined || verdict.state !== state) return null;
  const { passed, value, checks = [], explanation } = verdict;
  const done = checks.filter((check) => check.passed).length;
  const text =
    (passed === true ? 'passed' : passed === false ? 'failed' : 'not scored') +
    (checks.length === 0 ? (value === null ? '' : ` ${value}`) : ` ${done} of ${checks.length} checks`);
  return (
    <span class="drive-verdict" role="status" title={explanation ?? text}>
      <Glyph outcome={passed === true ? 'passed' : passed === false ? 'failed' : 'unscored'} /> {text}
    </span>
  );
}

interface ToolChoiceProps extends TabProps {
  readonly tools: readonly ListedTool[];
  readonly hasList: boolean;
}

function ToolChoice({ session, details, tools, hasList }: ToolChoiceProps) {
  const { drive } = session;
  if (!hasList)
    return (
      <section class="drive-tools" aria-label="Tools">
        <div class="world-tools">
          <Dropdown
            label="Tool"
            value={drive.tool ?? ''}
            options={tools.map(({ name }) => ({ value: name, text: name }))}
            onChange={(name) => drive.select(name)}
          />
        </div>
      </section>
    );
  return (
    <FilteredList
      class="drive-tools"
      label="Tools"
      filterLabel="Search tools"
      items={tools}
      rowHeight={ROW_HEIGHT}
      keyOf={({ name }) => name}
      textOf={({ name, description }) => `${name} ${description}`}
      row={(tool) => {
        const writes = isWriting(tool, session, details);
        return (
          <div class="world-row" title={tool.description}>
            <Icon name={writes ? 'edit' : 'tools'} />
            <code class="world-row-text">{tool.name}</code>
            {writes && <span class="dim">writes</span>}
          </div>
        );
      }}
      isSelected={({ name }) => name === drive.tool}
      onSelect={({ name }) => drive.select(name)}
      onOpen={focusForm}
    />
  );
}

/** Focuses the first field, or the button of a tool without arguments. */
function focusForm(): void {
  const [first] = document.querySelectorAll<HTMLElement>(
    '.drive-call :is(input, textarea, select, vscode-dropdown), .drive-call .try-buttons vscode-button',
  );
  first?.focus();
}

/** Focuses the tools, from where the other keys work. */
function focusTools(): void {
  document.querySelector<HTMLElement>('.drive-tools :is([role="listbox"], vscode-dropdown)')?.focus();
}

/** Whether a tool is known to change rows. The effect of published tools is not declared: each may change some. */
function isWriting({ name, effect }: ListedTool, { health }: TabProps['session'], details: WorldDetails): boolean {
  if (details.kind !== 'code') return effect !== 'pure';
  const request = details.tools.find((tool) => tool.name === name)?.request;
  if (request !== undefined) return !/^GET /i.test(request);
  return health?.health.pure?.includes(name) === false;
}

function CallForm({ drive }: { readonly drive: DriveSession }) {
  const { form } = drive;
  useKeys({
    'mod+Enter': () => {
      if (form !== undefined) runTool(form);
    },
  });
  if (form?.tool === undefined) return null;
  const { tool, running, selected, text } = form;
  return (
    <>
      <div
        class="try-form"
        onKeyDown={(event) => {
          if (event.key === 'Escape' && !event.defaultPrevented) focusTools();
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          event.stopPropagation();
          runTool(form);
        }}
      >
        <header class="section-head">
          <h2>
            <code>{tool.name}</code>
          </h2>
          <span class="dim" title={tool.description}>
            {tool.description}
          </span>
          <span class="grow" />
          {hasFields(tool) && (
            <ActionLink
              label={text === undefined ? 'Edit as JSON' : 'Edit as Form'}
              onClick={() => form.editAsText(text === undefined)}
            />
          )}
        </header>
        <ToolForm session={form} />
        <div class="try-buttons">
          <Button
            kind="primary"
            icon="play"
            label="Run Call"
            title="Run Call (Ctrl+Enter)"
            onClick={() => runTool(form)}
          />
        </div>
      </div>
      <div class="drive-result">
        {running !== undefined ? (
          <RunningView running={running} />
        ) : selected === undefined ? (
          <p class="try-empty dim">The result appears here.</p>
        ) : (
          <Outcome key={selected.number} run={withoutChanges(selected)} session={form} />
        )}
      </div>
    </>
  );
}

type Run = Parameters<typeof Outcome>[0]['run'];

/** The changes are next to the result. */
function withoutChanges(run: Run): Run {
  if (!('call' in run.outcome)) return run;
  const { changes: _changes, ...call } = run.outcome.call;
  return { ...run, outcome: { call } };
}

function Changes({ drive }: { readonly drive: DriveSession }) {
  const { last, current } = drive;
  const changes = last?.changes ?? [];
  const tables = new Set(changes.map(({ table, file }) => table ?? file ?? 'world')).size;
  return (
    <section class="drive-changes" aria-label="Changes of the last call">
      <header class="section-head">
        <h2>Changes</h2>
        <span class="dim">
          {changes.length === 0 ? '' : `${plural(changes.length, 'row')} in ${plural(tables, 'table')}`}
        </span>
        <span class="grow" />
        {last !== undefined && <span class="dim">{duration(last.ms)}</span>}
      </header>
      {last === undefined ? (
        <p class="try-empty dim">
          {current?.state === 0 ? 'What a call changes appears here.' : 'Make a call to see what it changes.'}
        </p>
      ) : changes.length === 0 ? (
        <p class="try-empty dim">
          {last.error === undefined ? 'This call changed nothing.' : 'The call failed, so the state stays.'}
        </p>
      ) : (
        <WorldRows changes={changes} all="the trajectory" onAll={() => drive.keep('demonstration')} />
      )}
    </section>
  );
}
