/** Shows the world without starting it: whole tables at a step, or changes of a call, a step, or since the start. */
import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { z } from 'zod';
import { count } from '../../../../src/common/units.ts';
import { stateAt } from '../../../../src/trace/fold.ts';
import type { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { EventOf } from '../../../../src/trace/schema.ts';
import { worldMark } from '../../../../src/trace/worldMarks.ts';
import { Dropdown } from '../../../components/controls.tsx';
import { Switch } from '../../../components/switch.tsx';
import { recall, remember } from '../../../host/memory.ts';
import type { TrajectoryView } from '../../view.ts';
import { WorldList } from '../parts/worldList.tsx';
import type { Subject } from '../subject.ts';
import { templateAt } from '../world/template.ts';
import { WholeTables } from '../world/wholeTables.tsx';

const CHOICES = ['call', 'step', 'start'] as const;
type Since = (typeof CHOICES)[number];

const NONE: Readonly<Record<Since, string>> = {
  call: 'This call changed nothing.',
  step: 'This step changed nothing.',
  start: 'Nothing changed up to here.',
};

const SHOWN_KEY = 'world.rows';
const shownRows = z.enum(['all', 'changes']);
type ShownRows = z.infer<typeof shownRows>;
const ROWS = [
  { value: 'all', text: 'All rows', title: 'Show whole tables as they are at this step' },
  { value: 'changes', text: 'Changes', title: 'Show the rows that changed' },
] as const;

export function WorldTab({ view, subject }: { readonly view: TrajectoryView; readonly subject: Subject }) {
  const { model } = view.data;
  const [shown, setShown] = useState<ShownRows>(() => recall(SHOWN_KEY, shownRows) ?? 'changes');
  const own = ownDiffs(model, subject);
  const mark = subject.kind === 'tool' ? worldMark(model, subject.span) : undefined;
  const reached = reachedBy(view, subject, own);
  const template = useMemo(() => templateAt(model, reached), [model, reached]);
  if (model.diffs.length === 0 && template === undefined) {
    return (
      <p class="remark">
        {model.end === undefined ? 'Nothing has changed so far.' : 'This world does not report changes.'}
      </p>
    );
  }
  const show = (rows: ShownRows): void => {
    setShown(rows);
    remember(SHOWN_KEY, rows);
  };
  const props = {
    view,
    subject,
    own,
    reached,
    rows: <Switch label="Rows" options={ROWS} value={shown} onChange={show} />,
    mark: <Mark mark={mark} />,
  };
  return shown === 'all' ? <WholeTables {...props} template={template} /> : <Changes {...props} />;
}

interface ChangesProps {
  readonly view: TrajectoryView;
  readonly subject: Subject;
  /** Changes of the selected call or event. */
  readonly own: readonly EventOf<'world.diff'>[];
  /** The last event whose changes count. */
  readonly reached: number;
  readonly rows: VNode;
  readonly mark: VNode;
}

function Changes({ view, subject, own, reached, rows, mark }: ChangesProps) {
  const { model } = view.data;
  const [chosen, setChosen] = useState<Since>();
  const since = chosen ?? (own.length > 0 ? 'call' : 'start');
  const { step } = subject;
  const changes = useMemo(() => {
    if (since === 'call') return own.flatMap((diff) => diff.data.changes);
    if (since === 'step')
      return model.diffs.filter((diff) => step?.seqs.includes(diff.seq) === true).flatMap((diff) => diff.data.changes);
    return [...stateAt(model, reached).world.values()];
  }, [model, since, own.length, step, reached, model.diffs.length]);
  return (
    <>
      <div class="panel-tools">
        {rows}
        <Dropdown
          label="Changes"
          value={since}
          options={[
            { value: 'call', text: subject.kind === 'tool' ? 'This call' : 'This event' },
            { value: 'step', text: 'This step' },
            { value: 'start', text: 'Since the start' },
          ]}
          onChange={(value) => setChosen(CHOICES.find((choice) => choice === value) ?? 'start')}
        />
        <span class="dim">
          {count(changes.length)} {changes.length === 1 ? 'row' : 'rows'}, as of event {count(reached)}
        </span>
      </div>
      {mark}
      {changes.length === 0 ? <p class="remark">{NONE[since]}</p> : <WorldList view={view} changes={changes} />}
    </>
  );
}

function Mark({ mark }: { readonly mark: ReturnType<typeof worldMark> }) {
  if (mark === undefined) return <></>;
  return (
    <p class="remark">
      {mark.kind === 'unchanged'
        ? 'This call succeeded but changed nothing.'
        : `The task does not touch ${mark.rows.join(', ')}.`}
    </p>
  );
}

/** Returns the last event whose changes count: the selected one, with what belongs to it. */
function reachedBy(view: TrajectoryView, subject: Subject, own: readonly EventOf<'world.diff'>[]): number {
  const at =
    subject.kind === 'tool'
      ? (subject.span.end?.seq ?? subject.span.seq)
      : Math.max(view.seq, subject.step?.seqs.at(-1) ?? 0);
  return Math.min(Math.max(at, ...own.map((diff) => diff.seq)), view.data.model.last);
}

function ownDiffs(model: TrajectoryModel, subject: Subject): readonly EventOf<'world.diff'>[] {
  if (subject.kind === 'tool') return model.diffsOf(subject.span.seq);
  return subject.kind === 'event' && !('unknown' in subject.event) && subject.event.kind === 'world.diff'
    ? [subject.event]
    : [];
}
