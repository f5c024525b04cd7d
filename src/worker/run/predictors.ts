import type { SubmittedWorld } from '../../config/submission.ts';
import type { RolloutPorts } from '../../rollout/job.ts';
import { markPrediction } from '../../scoring/judge/worldMarks.ts';
import type { ToolEnvironment } from '../../tools/environment.ts';
import { openWorld } from '../../worlds/open.ts';

/** Under which the judge's calls are recorded. */
const SIDE = 'judge';

/** Returns what predicts the tool calls of a rollout. */
export function predictorsOf(
  world: SubmittedWorld | undefined,
  environment: ToolEnvironment,
): Pick<RolloutPorts, 'shadow' | 'lookahead'> {
  const { shadow, lookahead } = world?.worlds ?? {};
  const ahead = lookahead === undefined ? {} : { lookahead: openWorld(lookahead, environment) };
  if (shadow === undefined) return ahead;
  const { when, how, judge: model } = world?.shadow ?? {};
  const domain = shadow.kind === 'simulated' ? shadow.domain : 'mcp';
  return {
    ...ahead,
    shadow: {
      world: openWorld(shadow, environment),
      when,
      ...(how === undefined ? {} : { how }),
      ...(model === undefined
        ? {}
        : { judge: (judged, ask) => markPrediction({ ...judged, domain }, { side: SIDE, model }, ask) }),
    },
  };
}
