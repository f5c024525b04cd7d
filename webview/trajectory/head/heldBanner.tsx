/** That the rollout is held: at what, why, and for how long by now. */
import type { Hold } from '../../../src/trace/model/holds.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import { Banner } from '../../components/notices/banner.tsx';
import { duration } from '../../format.ts';
import type { TrajectorySession } from '../session.ts';
import { heldFor, useNow } from '../useNow.ts';

const WHY = { breakpoint: 'a breakpoint', pause: 'asked to pause', step: 'one step was asked for', input: 'it waits for an answer', lost_server: 'its server is gone' } as const;

export function HeldBanner({ session, hold }: { readonly session: TrajectorySession; readonly hold: Hold }) {
  const { model } = session.data;
  const now = useNow(true);
  const seq = hold.event.span ?? hold.seq;
  return (
    <Banner kind="held" text={heldText(model, hold, now)}
      {...(seq === session.seq ? {} : { actions: [{ label: 'Go there', onClick: () => session.go(seq) }] })} />
  );
}

/** `Held before renew_loan, step 5: a breakpoint, for 42.0 s`. */
export function heldText(model: TrajectoryModel, hold: Hold, now: number): string {
  const { event } = hold;
  const span = model.span(event.span ?? 0);
  const what = span?.kind === 'tool' ? span.start.data.name : span?.kind === 'model' ? 'the model call' : span?.kind === 'agent' ? span.agent : 'what comes next';
  const step = span === undefined ? '' : `, step ${span.step}`;
  return `Held ${event.data.side} ${what}${step}: ${WHY[event.data.why]}${model.timed ? `, for ${duration(heldFor(hold, now))}` : ''}`;
}
