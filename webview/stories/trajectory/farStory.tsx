/**
 * A link to a late step, which is shown before earlier events are read. The event `story-rest` continues reading.
 */
import type { OpenSocket } from '../../../src/protocol/follow.ts';
import { TrajectoryPage } from '../../trajectory/trajectoryPage.tsx';
import { story } from '../index.ts';
import { long, ROLLOUT, rolloutHost } from './sampleRollouts.ts';

const STEPS = 3_000;
const STEP = 2_700;
/** Few enough that more than one frame remains. */
const FIRST_FRAMES = 3;

story('trajectory', 'far-step', () => {
  const host = rolloutHost(long(STEPS), {});
  return (
    <TrajectoryPage
      host={{ ...host, openSocket: holdFrames(host.openSocket) }}
      readOnly={false}
      can={new Set()}
      onNavigate={() => undefined}
      place={{ page: 'trajectory', rollout: ROLLOUT, step: STEP }}
    />
  );
});

/** Delivers the first frames and holds the others until `story-rest`. */
export function holdFrames(open: OpenSocket): OpenSocket {
  let held: (() => void)[] | undefined = [];
  window.addEventListener(
    'story-rest',
    () => {
      for (const deliver of held ?? []) deliver();
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
        if (frames++ < FIRST_FRAMES || held === undefined) events.message(text);
        else held.push(() => events.message(text));
      },
    });
  };
}
