/** Shows where and why the rollout is held, for how long, and the possible actions. */

import { duration } from '../../../src/common/units.ts';
import { heldText as heldBy, holdSummary } from '../../../src/trace/holder.ts';
import type { Hold } from '../../../src/trace/model/holds.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import { Banner, type BannerAction } from '../../components/notices/banner.tsx';
import { useNow } from '../../components/useNow.ts';
import { answerTarget, heldTargets, injectTarget, skipTarget } from '../debug/edits.ts';
import { canPredict, predict } from '../detail/prediction/predict.ts';
import { heldFor } from '../heldFor.ts';
import type { TrajectorySession } from '../session.ts';

export function HeldBanner({ session, hold }: { readonly session: TrajectorySession; readonly hold: Hold }) {
  const { model } = session.data;
  const now = useNow(true);
  const seq = hold.event.span ?? hold.seq;
  const condition = session.debug.breakpoints.all.find(({ ids }) =>
    ids.includes(hold.event.data.breakpoint ?? ''),
  )?.when;
  const there: readonly BannerAction[] =
    seq === session.seq ? [] : [{ label: 'Go to position', icon: 'debug-stackframe', onClick: () => session.go(seq) }];
  return (
    <Banner
      kind="held"
      text={heldText(model, hold, now)}
      {...(condition === undefined ? {} : { code: condition })}
      actions={[...there, ...(session.debug.editable ? controlsOf(session, hold) : [])]}
    />
  );
}

/** Returns the actions for a hold, disabled for a user who may not control the rollout. */
function controlsOf(session: TrajectorySession, hold: Hold): BannerAction[] {
  const refused = session.debug.refused('control');
  return actionsOf(session, hold).map((action) => ({ ...action, refused }));
}

/** Returns the actions for a hold. */
function actionsOf(session: TrajectorySession, hold: Hold): BannerAction[] {
  if (hold.event.data.why === 'lost_server') return [];
  const answer = answerTarget(hold);
  if (answer !== undefined)
    return [
      { label: 'Answer…', icon: 'edit', primary: true, onClick: () => session.debug.edit(answer) },
      stop(session),
    ];
  const part = heldTargets(session.data.model, hold)[0];
  const skip = skipTarget(session.data.model, hold);
  const call = session.data.model.span(hold.event.span ?? 0);
  const predictable = hold.event.data.side === 'before' && call?.kind === 'tool' && canPredict(session);
  return [
    ...(predictable
      ? [
          {
            label: 'Predict',
            icon: 'lightbulb',
            title: 'Predict what the call returns with a simulated world (W)',
            onClick: () => {
              session.show('call');
              session.go(call.seq);
              predict(session, call.seq);
            },
          } as const,
        ]
      : []),
    ...(part === undefined
      ? []
      : [
          {
            label: `Edit ${part.kind}…`,
            icon: 'edit',
            title: 'Edit the call at which the rollout is paused (A)',
            onClick: () => session.debug.edit(part),
          } as const,
        ]),
    ...(skip === undefined
      ? []
      : [{ label: 'Skip…', title: 'Skip the call and return a result', onClick: () => session.debug.edit(skip) }]),
    {
      label: 'Add message…',
      icon: 'comment',
      title: 'Add a message that the agent reads next',
      onClick: () => session.debug.edit(injectTarget(hold)),
    },
    {
      label: 'Resume',
      icon: 'debug-continue',
      primary: true,
      title: 'Resume (R)',
      onClick: () => session.debug.command('release'),
    },
    {
      label: 'Step',
      icon: 'debug-step-over',
      title: 'Resume and pause at the next call (S)',
      onClick: () => session.debug.command('step'),
    },
    stop(session),
  ];
}

function stop(session: TrajectorySession): BannerAction {
  return { label: 'Cancel rollout', icon: 'debug-stop', bare: true, onClick: () => session.debug.command('cancel') };
}

/** Returns `Paused before renew_loan (step 5): held by a person on the page, for 42.0 s`. */
function heldText(model: TrajectoryModel, hold: Hold, now: number): string {
  const { event } = hold;
  const span = model.span(event.span ?? 0);
  const what =
    span?.kind === 'tool'
      ? span.start.data.name
      : span?.kind === 'model'
        ? 'the model call'
        : span?.kind === 'agent'
          ? span.agent
          : 'the next step';
  const step = span === undefined ? '' : ` (step ${span.step})`;
  return (
    `Paused ${event.data.side} ${what}${step}: ${heldBy(holdSummary(event), now)}` +
    (model.timed ? `, for ${duration(heldFor(hold, now))}` : '')
  );
}
