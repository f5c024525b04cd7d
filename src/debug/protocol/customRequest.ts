/** Requests that the Debug Adapter Protocol does not have: commands to a held rollout, and moves of the cursor. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import type { DebuggedRollout } from '../debuggedRollout.ts';
import type { LiveControl } from '../debuggee.ts';
import type { DebugSession } from '../session.ts';

const json = z.unknown() as unknown as z.ZodType<Json>;
/** Default: the only rollout. */
const rollout = z.string().optional();

export const customRequest = z.discriminatedUnion('command', [
  /**
   * Restarts a frame, optionally with permission to repeat irreversible calls, and with other files, another agent, or
   * another model.
   */
  z.object({
    command: z.literal('fork'),
    frameId: z.number().int(),
    acceptIrreversible: z.boolean().default(false),
    file: z.string().optional(),
    agent: z.string().optional(),
    model: z.string().optional(),
    endpoint: z.string().optional(),
  }),
  /** Adds a message to the context of the held agent. */
  z.object({
    command: z.literal('inject'),
    rollout,
    role: z.enum(['user', 'system']).default('user'),
    text: z.string().min(1),
  }),
  /** Answers a held tool call without making it. */
  z.object({ command: z.literal('skip'), rollout, result: json }),
  /** Answers a question to a person. */
  z.object({ command: z.literal('answer'), rollout, value: json }),
  /** Moves the cursor to a message or a start. */
  z.object({ command: z.literal('goTo'), rollout, seq: z.number().int().min(1) }),
  /** Returns where the cursor is. */
  z.object({ command: z.literal('place'), rollout }),
  /** Returns the text of a trajectory. */
  z.object({ command: z.literal('text'), rollout }),
]);

type RolloutRequest = Exclude<z.infer<typeof customRequest>, { command: 'fork' }>;

/** Runs a custom request on a rollout. Returns the response's body. */
export function runRolloutRequest(
  request: RolloutRequest,
  rollout: DebuggedRollout,
  session: DebugSession,
): Promise<void> | { text: string } | { rollout: string; seq: number } | undefined {
  const { live, head } = rollout.debuggee;
  switch (request.command) {
    case 'inject':
      return requireLive(live).inject({ role: request.role, parts: [{ type: 'text', content: request.text }] });
    case 'skip':
      return requireLive(live).skip(request.result);
    case 'answer':
      return requireLive(live).answer(request.value);
    case 'goTo':
      if (head !== undefined && rollout.cursor?.place.seq !== request.seq) session.moves.goTo(rollout, request.seq);
      return undefined;
    case 'place':
      return { rollout: rollout.debuggee.rollout, seq: (rollout.place ?? rollout.cursor?.place)?.seq ?? 0 };
    case 'text':
      return { text: rollout.document.text };
  }
}

/** Throws `conflict` for a recorded rollout. */
function requireLive(live: LiveControl | undefined): LiveControl {
  if (live === undefined)
    throw new StudioError('conflict', 'This rollout has ended and cannot be changed.', {
      hint: 'Restart a frame to fork it from there.',
    });
  return live;
}
