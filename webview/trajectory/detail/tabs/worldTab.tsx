/** What changed in the world: by this call, in this step, or since the start. */
import { useMemo, useState } from 'preact/hooks';
import { stateAt } from '../../../../src/trace/fold.ts';
import { Dropdown } from '../../../components/controls.tsx';
import type { TrajectoryView } from '../../view.ts';
import type { Subject } from '../subject.ts';
import { WorldRows } from '../parts/worldRows.tsx';

type Since = 'call' | 'step' | 'start';

export function WorldTab({ view, subject }: { readonly view: TrajectoryView; readonly subject: Subject }) {
  const { model } = view.data;
  const [chosen, setChosen] = useState<Since>();
  const own = subject.kind === 'tool' ? model.diffsOf(subject.span.seq) : [];
  const since = chosen ?? (own.length > 0 ? 'call' : 'start');
  const step = subject.step;
  const at = subject.kind === 'tool' ? (subject.span.end?.seq ?? subject.span.seq) : Math.max(view.seq, step?.seqs.at(-1) ?? 0);
  const reached = Math.min(Math.max(at, ...own.map((diff) => diff.seq)), model.last);
  const changes = useMemo(() => {
    if (since === 'call') return own.flatMap((diff) => diff.data.changes);
    if (since === 'step') return model.diffs.filter((diff) => step?.seqs.includes(diff.seq) === true).flatMap((diff) => diff.data.changes);
    return [...stateAt(model, reached).world.values()];
  }, [model, since, own.length, step, reached, view.data.model.last]);
  if (model.diffs.length === 0) {
    return <p class="remark">{model.end === undefined ? 'Nothing changed in the world so far.' : 'Nothing changed in the world, or the world does not tell its changes.'}</p>;
  }
  return (
    <>
      <div class="panel-tools">
        <Dropdown label="Changes" value={since} options={[{ value: 'call', text: 'of this call' }, { value: 'step', text: 'of this step' }, { value: 'start', text: 'since the start' }]} onChange={(value) => setChosen(value === 'call' || value === 'step' ? value : 'start')} />
        <span class="dim">{changes.length} {changes.length === 1 ? 'row' : 'rows'}, as of event {reached}</span>
      </div>
      {changes.length === 0 ? <p class="remark">None.</p> : <WorldRows changes={changes} />}
      <Checks view={view} />
    </>
  );
}

/** What the scorer found at the end. */
function Checks({ view }: { readonly view: TrajectoryView }) {
  const score = view.data.model.scores.at(-1);
  if (score === undefined) return null;
  const { scorer, value, explanation, parts } = score.data;
  return (
    <section class="detail-section" aria-label="Score">
      <header class="section-head"><h3>Score</h3><span class="dim">{scorer}, at the end</span></header>
      <dl class="fields">
        <div><dt>value</dt><dd>{value === null ? 'cannot be scored' : value}</dd></div>
        {Object.entries(parts ?? {}).map(([name, part]) => <div key={name}><dt>{name}</dt><dd>{part}</dd></div>)}
        {explanation !== undefined && <div><dt>explanation</dt><dd>{explanation}</dd></div>}
      </dl>
    </section>
  );
}
