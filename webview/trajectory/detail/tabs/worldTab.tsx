/** Shows the world without starting it: the changes of a call, a step, or since the start, or all recorded rows. */
import { useMemo, useState } from 'preact/hooks';
import { count } from '../../../../src/common/units.ts';
import { stateAt } from '../../../../src/trace/fold.ts';
import type { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { EventOf } from '../../../../src/trace/schema.ts';
import { worldMark } from '../../../../src/trace/worldMarks.ts';
import { Dropdown } from '../../../components/controls.tsx';
import type { TrajectoryView } from '../../view.ts';
import { WorldList } from '../parts/worldList.tsx';
import type { Subject } from '../subject.ts';

const CHOICES = ['call', 'step', 'start', 'tables'] as const;
type Since = (typeof CHOICES)[number];

const NONE: Readonly<Record<Since, string>> = {
  call: 'This call changed nothing.',
  step: 'This step changed nothing.',
  start: 'Nothing changed up to here.',
  tables: 'No row of the recording exists here.',
};

export function WorldTab({ view, subject }: { readonly view: TrajectoryView; readonly subject: Subject }) {
  const { model } = view.data;
  const [chosen, setChosen] = useState<Since>();
  const own = ownDiffs(model, subject);
  const since = chosen ?? (own.length > 0 ? 'call' : 'start');
  const mark = subject.kind === 'tool' ? worldMark(model, subject.span) : undefined;
  const step = subject.step;
  const at =
    subject.kind === 'tool' ? (subject.span.end?.seq ?? subject.span.seq) : Math.max(view.seq, step?.seqs.at(-1) ?? 0);
  const reached = Math.min(Math.max(at, ...own.map((diff) => diff.seq)), model.last);
  const changes = useMemo(() => {
    if (since === 'call') return own.flatMap((diff) => diff.data.changes);
    if (since === 'step')
      return model.diffs.filter((diff) => step?.seqs.includes(diff.seq) === true).flatMap((diff) => diff.data.changes);
    if (since === 'tables') return model.worldChanges.knownAt(reached);
    return [...stateAt(model, reached).world.values()];
  }, [model, since, own.length, step, reached, model.diffs.length]);
  if (model.diffs.length === 0) {
    return (
      <p class="remark">
        {model.end === undefined ? 'Nothing has changed so far.' : 'This world does not report changes.'}
      </p>
    );
  }
  return (
    <>
      <div class="panel-tools">
        <Dropdown
          label="Changes"
          value={since}
          options={[
            { value: 'call', text: subject.kind === 'tool' ? 'This call' : 'This event' },
            { value: 'step', text: 'This step' },
            { value: 'start', text: 'Since the start' },
            { value: 'tables', text: 'Tables at this step' },
          ]}
          onChange={(value) => setChosen(CHOICES.find((choice) => choice === value) ?? 'start')}
        />
        <span class="dim">
          {count(changes.length)} {changes.length === 1 ? 'row' : 'rows'}, as of event {count(reached)}
        </span>
      </div>
      {since === 'tables' && (
        <p class="remark">Rows that some call of this trajectory changes, as they are at this step.</p>
      )}
      {mark !== undefined && (
        <p class="remark">
          {mark.kind === 'unchanged'
            ? 'This call succeeded but changed nothing.'
            : `The task does not touch ${mark.rows.join(', ')}.`}
        </p>
      )}
      {changes.length === 0 ? <p class="remark">{NONE[since]}</p> : <WorldList view={view} changes={changes} />}
    </>
  );
}

function ownDiffs(model: TrajectoryModel, subject: Subject): readonly EventOf<'world.diff'>[] {
  if (subject.kind === 'tool') return model.diffsOf(subject.span.seq);
  return subject.kind === 'event' && !('unknown' in subject.event) && subject.event.kind === 'world.diff'
    ? [subject.event]
    : [];
}
