import type { SubmittedRecordedWorld } from '../../config/submission/world.ts';
import type { World } from '../../rollout/ports.ts';
import type { ToolEnvironment } from '../../tools/environment.ts';
import type { RecordedTool } from '../../trace/recordedCalls/schema.ts';
import { RecordedCallsCache } from './recordedCalls.ts';
import { RecordedSession } from './session.ts';

/**
 * A world that answers from recorded calls. Like that of a simulated world, its state is what the agents saw.
 * `otherwise`: answers the calls that no recorded attempt has.
 */
export function recordedWorld(
  world: SubmittedRecordedWorld,
  environment: ToolEnvironment,
  otherwise: World | undefined,
): World {
  return {
    name: world.name,
    kind: world.kind,
    open: async (input, signal) => {
      const recorded = await environment.pools.only(RecordedCallsCache).get(world.calls, environment);
      const attempts = await recorded.attemptsFor(input.task);
      const tools = toolsOf(world, recorded.index.tools);
      return new RecordedSession({
        world,
        tools,
        attempts,
        readBlob: (sha, end) => environment.readBlob(sha, end),
        otherwise: await otherwise?.open(input, signal),
      });
    },
  };
}

function toolsOf({ tools }: SubmittedRecordedWorld, recorded: readonly RecordedTool[]): readonly RecordedTool[] {
  return tools === undefined ? recorded : recorded.filter(({ name }) => tools.includes(name));
}
