import type { SubmittedSimulatedWorld } from '../../config/submission/world.ts';
import type { SubmittedTools } from '../../config/submission.ts';
import type { ToolHost, World, WorldSession } from '../../rollout/ports.ts';
import type { ToolEnvironment } from '../../tools/environment.ts';
import { openTools } from '../../tools/hosts.ts';

/** The real tools of a simulated world, in place of a real world: each session opens its own, as each agent does. */
export function realTools(
  { name }: Pick<SubmittedSimulatedWorld, 'name'>,
  entries: readonly SubmittedTools[],
  environment: ToolEnvironment,
): World {
  return { name, kind: 'tools', open: async () => sessionOf(await openTools(entries, environment)) };
}

function sessionOf(host: ToolHost): WorldSession {
  return {
    get specs() {
      return host.specs;
    },
    call: (call, context) => host.call(call, context),
    observed: () => undefined,
    answeredBy: () => 'tool',
    close: (onLog) => host.close(onLog),
  };
}
