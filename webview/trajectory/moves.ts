/** Moves of the page's cursor from where it is: by row, by step, to errors, and to differences. */
import { difference, into, out, sameTool, step } from '../../src/trace/cursor.ts';
import { say } from '../components/notices/notice.tsx';
import type { Split } from '../data/split.ts';
import { laterDifferences } from './differences.ts';
import { redMark } from './redMarks.ts';
import type { TrajectorySession } from './session.ts';

export class Moves {
  readonly #session: TrajectorySession;
  /** Seqs of differences after the split, once they were requested. */
  #differences: { readonly split: Split; readonly seqs: Promise<readonly number[]> } | undefined;

  constructor(session: TrajectorySession) {
    this.#session = session;
  }

  row(distance: number): void {
    const session = this.#session;
    const { shown, index } = session;
    const { skipped, last } = session.data.model;
    const to = index + distance;
    // Beyond a part that was loaded first, the page loads the next one.
    if (skipped !== undefined && (to < 0 || to >= shown.length)) {
      session.go(to < 0 ? skipped.to : last + 1);
      return;
    }
    const row = shown[Math.max(0, Math.min(shown.length - 1, to))];
    if (row !== undefined) session.goToRow(row);
  }

  end(which: 'first' | 'last'): void {
    const session = this.#session;
    const { last } = session.data;
    if (which === 'first') session.data.showWhole();
    else if (!session.has(last)) {
      session.go(last);
      return;
    }
    const row = which === 'first' ? session.shown[0] : session.shown.at(-1);
    if (row !== undefined) session.goToRow(row);
  }

  readonly into = (): void => {
    const session = this.#session;
    if (session.fold(true)) return;
    const first = session.current?.kind === 'score' ? session.shown[session.index + 1] : undefined;
    if (first?.kind === 'check') session.goToRow(first);
    else
      this.#to(
        session.check === undefined ? into(session.data.model, session.seq) : undefined,
        'There is nothing inside.',
      );
  };
  readonly out = (): void => {
    const { model } = this.#session.data;
    if (!this.#session.fold(false)) this.#to(out(model, this.#session.seq), 'Already at the top.');
  };
  readonly step = (distance: 1 | -1): void =>
    this.#to(
      step(this.#session.data.model, this.#session.seq, distance),
      distance === 1 ? 'This is the last step.' : 'This is the first step.',
    );
  readonly failure = (distance: 1 | -1): void => {
    const mark = redMark(this.#session.data.model, this.#session, distance);
    this.#to(mark?.seq, distance === 1 ? 'No more errors.' : 'No earlier errors.', mark?.check);
  };
  readonly sameTool = (): void =>
    this.#to(sameTool(this.#session.data.model, this.#session.seq, 1), 'This is the last call of this tool.');
  readonly changedCall = (): void =>
    this.#to(difference(this.#session.data.model, this.#session.seq), 'No more changed calls.');

  /** Goes to the divergence from the nearest passed attempt, then to later differences from it. */
  readonly difference = (distance: 1 | -1): void => {
    const { data, seq, debug } = this.#session;
    const { split } = data;
    const none = distance === 1 ? 'No more differences.' : 'No earlier differences.';
    if (split === undefined) say(data.ended ? 'No passed attempt to compare with.' : none);
    else if (distance === 1 && seq < split.seq) this.#session.go(split.seq);
    else {
      if (this.#differences?.split !== split) this.#differences = { split, seqs: laterDifferences(data, split) };
      debug.run(
        this.#differences.seqs.then((later) => {
          const all = [split.seq, ...later];
          const { seq: here, current, look } = this.#session;
          const next = distance === 1 ? all.find((at) => at > here) : all.findLast((at) => at < here);
          // Behind the last one, for example on the check at which a failed attempt opens: back to the divergence.
          const onOne = all.some((at) => look.rowOf(at)?.seq === current?.seq);
          this.#to(next ?? (distance === 1 && !onOne ? split.seq : undefined), none);
        }),
      );
    }
  };

  #to(seq: number | undefined, otherwise: string, check?: number): void {
    if (seq !== undefined) this.#session.go(seq, check);
    else say(this.#session.data.loading === 'loading' ? 'Not found in the events loaded so far.' : otherwise);
  }
}
