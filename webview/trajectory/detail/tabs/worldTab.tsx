/** Shows the changes of the world: by this call, in this step, or since the start. */
import { useMemo, useState } from 'preact/hooks';
import { count } from '../../../../src/common/units.ts';
import { stateAt } from '../../../../src/trace/fold.ts';
import type { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { EventOf } from '../../../../src/trace/schema.ts';
import { Dropdown } from '../../../components/controls.tsx';
import type { TrajectoryView } from '../../view.ts';
import { WorldList } from '../parts/worldList.tsx';
import type { Subject } from '../subject.ts';

type Since = 'call' | 'step' | 'start';

const NONE: Readonly<Record<Since, string>> = {
  call: 'This call changed nothing.',
  step: 'This step changed nothing.',
  start: 'Nothing changed up to here.',
};

export function WorldTab({ view, subject }: { readonly view: TrajectoryView; readonly subject: Subject }) {
  const { model } = view.data;
  const [chosen, setChosen] = useState<Since>();
  const own = ownDiffs(model, subject);
  const since = chosen ?? (own.length > 0 ? 'call' : 'start');
  const step = subject.step;
  const at =
    subject.kind === 'tool' ? (subject.span.end?.seq ?? subject.span.seq) : Math.max(view.seq, step?.seqs.at(-1) ?? 0);
  const reached = Math.min(Math.max(at, ...own.map((diff) => diff.seq)), model.last);
  const changes = useMemo(() => {
    if (since === 'call') return own.flatMap((diff) => diff.data.changes);
    if (since === 'step')
      return model.diffs.filter((diff) => step?.seqs.includes(diff.seq) === true).flatMap((diff) => diff.data.changes);
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
          ]}
          onChange={(value) => setChosen(value === 'call' || value === 'step' ? value : 'start')}
        />
        <span class="dim">
          {count(changes.length)} {changes.length === 1 ? 'row' : 'rows'}, as of event {count(reached)}
        </span>
      </div>
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
