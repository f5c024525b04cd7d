/** Details and actions of the attempt under the pointer, or else at the cursor. */

import { useState } from 'preact/hooks';
import { nounFor, plural } from '../../../src/common/text.ts';
import { compact, count, duration, percent } from '../../../src/common/units.ts';
import { causeOf } from '../../../src/trace/cause.ts';
import type { SideUsage } from '../../../src/trace/schema.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { errorLabel } from '../../../src/trace/text/labels.ts';
import { Button, refusedProps, TextField } from '../../components/controls.tsx';
import { useChanges } from '../../data/observe.ts';
import { clock } from '../../format.ts';
import type { BatchActions } from '../batchActions.ts';
import type { BatchView, CellAt } from '../batchView.ts';
import { stateText } from '../model/cellText.ts';
import './attempt.css';
import { AttemptKeys, AttemptTitle, Divergence, Reason, Times } from './attemptParts.tsx';
import { AttemptVerdicts } from './attemptVerdicts.tsx';
import { recordSource, useRecord } from './record/useRecord.ts';
import { StepsSection } from './steps/stepsSection.tsx';

/** More checks appear on request. */
const MAX_CHECKS = 8;

interface PaneProps {
  readonly view: BatchView;
  readonly actions: BatchActions;
}

export function AttemptPane({ view, actions }: PaneProps) {
  useChanges(view.pointed);
  const cell = view.shown;
  if (cell === undefined) {
    return (
      <aside class="attempt-pane" aria-label="Attempt">
        <p class="attempt-none">Hover over an attempt, or move to one with the arrow keys.</p>
      </aside>
    );
  }
  return <Attempt view={view} actions={actions} cell={cell} />;
}

function Attempt({ view, actions, cell }: PaneProps & { readonly cell: CellAt }) {
  const row = view.row(cell.index, cell.attempt);
  const record = useRecord(recordSource(view, cell), row);
  const { reader } = record;
  return (
    <aside class="attempt-pane" aria-label="Attempt">
      <section class="attempt-top">
        <AttemptTitle view={view} cell={cell} />
        <Question text={view.data.records[cell.index]?.question} />
      </section>
      <Reason view={view} row={row} reader={reader} maxRows={MAX_CHECKS} expandable />
      {row !== undefined && (
        <AttemptVerdicts
          row={row}
          outline={reader?.outline}
          onOpen={(rollout) => actions.openRollout(rollout, false)}
        />
      )}
      {row !== undefined && row.state !== 'queued' && <Times row={row} outline={reader?.outline} />}
      <Divergence reader={reader} onOpen={(rollout, seq) => actions.openRollout(rollout, false, seq)} />
      {row !== undefined && <Facts view={view} row={row} />}
      {row !== undefined && (
        <StepsSection record={record} row={row} onOpen={({ seq }) => actions.openRollout(row.rollout, false, seq)} />
      )}
      <Tries view={view} cell={cell} actions={actions} />
      {row !== undefined && <Notes key={row.rollout} view={view} rollout={row.rollout} actions={actions} />}
      <Buttons view={view} cell={cell} actions={actions} />
      <AttemptKeys view={view} cell={cell} actions={actions} />
    </aside>
  );
}

function Facts({ view, row }: { readonly view: BatchView; readonly row: RolloutRow }) {
  const { progress } = row;
  const { input_tokens: input, cached_tokens: cached, side } = progress;
  return (
    <section>
      <dl class="attempt-facts">
        <Fact name="Tool calls" value={count(progress.tool_calls)} />
        <Fact name="Cached" value={input === 0 ? undefined : percent(cached / input)} />
        <Fact
          name="Cost"
          value={progress.cost === undefined ? undefined : `$${progress.cost.toFixed(progress.cost < 0.1 ? 4 : 2)}`}
        />
        <Fact name="Side models" value={side === undefined ? undefined : sideText(side)} />
        <Fact name="Level" value={view.level(row.task_index)} />
        <Fact name="Scenario" value={view.scenario(row.task_index)} />
        <Fact name="Part" value={progress.part} />
        <Fact name="Worker" value={row.worker} />
        <Fact name="Started" value={progress.started_at === undefined ? undefined : clock(progress.started_at)} />
        <Fact name="Try" value={row.try > 1 ? String(row.try) : undefined} />
        <Fact name="Not counted" value={progress.touched ? 'edited while it ran' : undefined} />
      </dl>
      {row.duplicate_of !== undefined && (
        <p class="attempt-small">Same trajectory as an earlier attempt of this task.</p>
      )}
    </section>
  );
}

/** Shows a fact, or nothing if its value is unknown. */
function Fact({ name, value }: { readonly name: string; readonly value: string | undefined }) {
  if (value === undefined) return null;
  return (
    <div class="attempt-fact">
      <dt>{name}</dt>
      <dd title={value}>{value}</dd>
    </div>
  );
}

/** Lists tries that do not count: they ended with an infrastructure failure, or were edited. */
function Tries({ view, cell, actions }: PaneProps & { readonly cell: CellAt }) {
  const others = [...view.data.otherTries.values()]
    .filter((row) => row.task_index === cell.index && row.attempt === cell.attempt)
    .sort((a, b) => a.try - b.try);
  if (others.length === 0) return null;
  return (
    <section>
      <h2>Other tries</h2>
      <ul class="attempt-tries">
        {others.map((row) => (
          <li key={row.rollout}>
            <button type="button" onClick={() => actions.openRollout(row.rollout, false)}>
              Try {row.try}
            </button>
            <span>{errorLabel(row.progress.error_class ?? row.progress.status ?? row.state)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Question({ text }: { readonly text: string | undefined }) {
  if (text === undefined || text.trim() === '') return null;
  return (
    <p class="attempt-question" tabIndex={0} role="group" aria-label="Question">
      {text}
    </p>
  );
}

function Notes({ view, rollout, actions }: PaneProps & { readonly rollout: string }) {
  const [text, setText] = useState('');
  const notes = view.data.notes.of(rollout).filter(({ data }) => data.label === 'note');
  if (notes.length === 0 && actions.readOnly) return null;
  const add = (): void => {
    if (text.trim() === '') return;
    actions.note(rollout, text.trim());
    setText('');
  };
  return (
    <section>
      <h2>Notes</h2>
      {notes.map((note) => (
        <p key={note.seq} class="attempt-note">
          {note.data.text}
        </p>
      ))}
      {!actions.readOnly && (
        <TextField value={text} label="Add a note" placeholder="Add a note" onInput={setText} onEnter={add} />
      )}
    </section>
  );
}

function Buttons({ view, cell, actions }: PaneProps & { readonly cell: CellAt }) {
  const row = view.row(cell.index, cell.attempt);
  const compare = view.width > 1 && actions.can.has('open') && (
    <Button
      kind="secondary"
      label="Compare attempts"
      title="Compare all attempts of this task (C)"
      {...refusedProps(actions.trimmed())}
      onClick={() => actions.compare(cell)}
    />
  );
  if (row === undefined) return compare === false ? null : <div class="attempt-buttons">{compare}</div>;
  return (
    <div class="attempt-buttons">
      <Button kind="primary" label="Open" onClick={() => actions.open(cell, false)} />
      <Button kind="secondary" label="Open to the side" onClick={() => actions.open(cell, true)} />
      {compare}
      <Button kind="secondary" label="Copy reference" onClick={() => actions.copy(cell)} />
    </div>
  );
}

/** The summary below a narrow grid, in three lines. */
export function AttemptSheet({ view, actions }: PaneProps) {
  useChanges(view.pointed);
  const cell = view.shown;
  if (cell === undefined) return null;
  const row = view.row(cell.index, cell.attempt);
  const why = stateText(row)?.head ?? (row === undefined ? undefined : causeOf(row)?.text);
  return (
    <aside class="attempt-sheet" aria-label="Attempt">
      <div class="attempt-sheet-line">
        <AttemptTitle view={view} cell={cell} />
        {view.width > 1 && actions.can.has('open') && (
          <Button
            kind="icon"
            icon="diff"
            label="Compare attempts"
            {...refusedProps(actions.trimmed())}
            onClick={() => actions.compare(cell)}
          />
        )}
        {row !== undefined && (
          <Button kind="icon" icon="copy" label="Copy reference" onClick={() => actions.copy(cell)} />
        )}
        {row !== undefined && <Button kind="secondary" label="Open" onClick={() => actions.open(cell, false)} />}
      </div>
      {why !== undefined && <div class="attempt-sheet-why">{why}</div>}
      {row !== undefined && (
        <div class="attempt-small">
          {[
            `${count(row.progress.steps)} ${nounFor(row.progress.steps, 'step')}`,
            row.progress.ms === undefined ? undefined : duration(row.progress.ms),
            `${compact(row.progress.input_tokens + row.progress.output_tokens)} tokens`,
            row.progress.part === undefined ? undefined : `part ${row.progress.part}`,
          ]
            .filter((each) => each !== undefined)
            .join(' · ')}
        </div>
      )}
    </aside>
  );
}

function sideText({ calls, input_tokens: input, output_tokens: output }: SideUsage): string {
  return `${plural(calls, 'call')}, ${compact(input + output)} tokens`;
}
