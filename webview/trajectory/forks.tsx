/** Shows the forks of this rollout: on the time axis at their cut, and in the list where they continue. */

import type { TrajectoryModel } from '../../src/trace/model.ts';
import { Icon } from '../components/marks/icon.tsx';
import type { ForkRow } from '../data/forks.ts';
import type { TrajectorySession } from './session.ts';
import './forks.css';

/** Estimated width of a letter, so that labels do not overlap. */
const CHAR = 7;
const PADDING = 34;
/** Maximum rows of labels; further forks overlap in the last row. */
const MAX_ROWS = 3;
const ROW = 20;

/** Returns `4 × 2/3`: continuations, and how many of the scored ones passed. */
function forkText({ attempts, counts }: ForkRow): string {
  return `${attempts} × ${counts.passed}/${counts.passed + counts.failed}`;
}

function forkTitle(fork: ForkRow): string {
  const { name, attempts, counts, state, parent } = fork;
  const open = counts.running + counts.held + counts.queued;
  const scored = counts.passed + counts.failed;
  const rate = scored === 0 ? 'none scored yet' : `${counts.passed} of ${scored} passed`;
  return (
    `${name}: ${attempts} ${attempts === 1 ? 'continuation' : 'continuations'} from event ${parent.seq}, ` +
    `${rate}${state === 'ended' ? '' : `, ${open} not ended`}`
  );
}

/** Returns the seq of the first model or tool call after the cut, which a fork repeats. */
function firstRepeated(model: TrajectoryModel, cut: number): number {
  const event = model.event(cut);
  if (event?.kind === 'tool.start') return cut;
  return model.event(cut + 1)?.kind === 'model.start' ? cut + 1 : cut;
}

interface ForkLaneProps {
  readonly session: TrajectorySession;
  /** Returns the position of an event in pixels from the left; undefined if it is not visible. */
  readonly placeOf: (seq: number) => number | undefined;
  /** Width of the lane's name. */
  readonly gutter: number;
  readonly width: number;
}

export function ForkLane({ session, placeOf, gutter, width }: ForkLaneProps) {
  const { all } = session.data.forks;
  if (all.length === 0) return null;
  const ends: number[] = [];
  const placed = all.flatMap((fork) => {
    const x = placeOf(fork.parent.seq);
    if (x === undefined) return [];
    const wide = forkText(fork).length * CHAR + PADDING;
    const left = Math.max(gutter, Math.min(x, width - wide));
    const free = ends.findIndex((end) => end <= left);
    const row = free >= 0 ? free : Math.min(ends.length, MAX_ROWS - 1);
    ends[row] = left + wide;
    return [{ fork, left, row }];
  });
  return (
    <div
      class="fork-lane"
      role="group"
      aria-label="Forks"
      style={{ height: `${Math.max(1, ends.length) * ROW + 2}px` }}
    >
      <span class="fork-lane-name" style={{ width: `${gutter}px` }}>
        <Icon name="repo-forked" {...(gutter > 60 ? {} : { label: 'forks' })} />
        {gutter > 60 && ' forks'}
      </span>
      {placed.map(({ fork, left, row }) => (
        <button
          key={fork.batch}
          type="button"
          class="fork-chip"
          style={{ left: `${left}px`, top: `${row * ROW + 1}px` }}
          title={forkTitle(fork)}
          onClick={() => open(session, fork)}
        >
          <Icon name="repo-forked" /> {forkText(fork)}
          {fork.state !== 'ended' && ' …'}
          <span class="only-read">, {forkTitle(fork)}</span>
        </button>
      ))}
    </div>
  );
}

/** Shows the forks that continue from a row of the list. */
export function ForkMarks({
  session,
  seqs,
}: {
  readonly session: TrajectorySession;
  readonly seqs: readonly number[];
}) {
  const { forks, model } = session.data;
  const here = forks.all.filter(({ parent }) => seqs.includes(firstRepeated(model, parent.seq)));
  const [first] = here;
  if (first === undefined) return null;
  const text = here.length === 1 ? forkText(first) : `${here.length} forks`;
  const onClick = (event: MouseEvent): void => {
    event.stopPropagation();
    open(session, first);
  };
  return (
    <span
      class="step-mark is-fork"
      title={`${here.map(forkTitle).join('\n')}\nClick to open ${here.length === 1 ? 'it' : 'the first'}.`}
      onClick={onClick}
    >
      <Icon name="repo-forked" label="forked" /> {text}
    </span>
  );
}

function open(session: TrajectorySession, { batch }: ForkRow): void {
  session.act({ do: 'open', place: { page: 'batch', batch } });
}
