/** A link to a far step: shown before what comes before it is read, which a test lets go on with `story-rest`. */

import type { OpenSocket } from '../../../src/protocol/follow.ts';
import { TrajectoryPage } from '../../trajectory/trajectoryPage.tsx';
import { story } from '../index.ts';
import { hostOf, long, ROLLOUT } from './someRollout.ts';

const STEPS = 3_000;
const STEP = 2_700;
/** Long enough that the rest comes in more than one piece. */
const FRAMES_AT_FIRST = 3;

story('trajectory', 'far-step', () => {
  const host = hostOf(long(STEPS), {});
  return (
    <TrajectoryPage
      host={{ ...host, openSocket: holding(host.openSocket) }}
      readOnly={false}
      can={new Set()}
      onNavigate={() => undefined}
      place={{ page: 'trajectory', rollout: ROLLOUT, step: STEP }}
    />
  );
});

/** Hands over the first frames; the others wait. */
function holding(open: OpenSocket): OpenSocket {
  let held: (() => void)[] | undefined = [];
  window.addEventListener(
    'story-rest',
    () => {
      for (const say of held ?? []) say();
      held = undefined;
    },
    { once: true },
  );
  return (events) => {
    let frames = 0;
    return open({
      open: () => events.open(),
      close: () => events.close(),
      message: (text) => {
        if (frames++ < FRAMES_AT_FIRST || held === undefined) events.message(text);
        else held.push(() => events.message(text));
      },
    });
  };
}
