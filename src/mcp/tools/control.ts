/** The tools stop_batch, pause_batch, and resume_batch. */
import { z } from 'zod';
import { type ControlVerb, control, controlText } from '../../client/commands/control.ts';
import { batchId, parseReference, resolveRollout } from '../../client/reference.ts';
import type { Api } from '../../protocol/api.ts';
import { defineTool, type Effect, type StudioTool } from '../tool.ts';

const RELEASE = z
  .boolean()
  .optional()
  .describe('For a batch: end its pods (locally: worker processes) once nothing runs. resume_batch starts them again');
const REASON = z.string().max(1000).optional().describe('Reason to record');

/** What only a person decides about work that the agent did not launch. Pausing loses nothing. */
const EFFECTS: Readonly<Partial<Record<ControlVerb, string>>> = {
  cancel: 'irreversibly ends the running attempts of',
  resume: 'continues the paused attempts of',
};

interface Words {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly effect: Effect;
}

/** Returns the ID of a batch, or of the rollout of an attempt, and its batch. */
async function resolve(
  api: Api,
  target: string,
  signal: AbortSignal,
): Promise<{ readonly id: string; readonly batch: string }> {
  const reference = parseReference(target);
  if (reference.kind === 'batch') {
    const batch = await batchId(api, reference.batch, signal);
    return { id: batch, batch };
  }
  const id = await resolveRollout(api, reference, signal);
  return { id, batch: (await api.rollout(id, signal)).row.batch };
}

function controlTool(verb: ControlVerb, words: Words): StudioTool {
  return defineTool({
    ...words,
    input: z.strictObject({
      target: z.string().describe('A batch, BATCH/TASK/ATTEMPT, or a rollout ID'),
      ...(verb === 'cancel' ? { reason: REASON } : {}),
      ...(verb === 'pause' ? { release_pods: RELEASE } : {}),
    }),
    output: z.object({
      kind: z.enum(['batch', 'rollout']),
      id: z.string(),
      changed: z.number().int().optional().describe('Number of affected rollouts'),
    }),
    idempotent: true,
    async run(args, { api, session, consent, signal }) {
      // `last` can mean another batch later: a person allows, and the command reaches, what it means now.
      const target = await resolve(api, args.target, signal);
      const effect = session.ownBatches.has(target.batch) ? undefined : EFFECTS[verb];
      consent({
        reasons: effect === undefined ? [] : [`It ${effect} ${target.id}, which it did not launch itself.`],
        instead: `A person can use rollout ${verb} ${target.id}, or the editor.`,
      });
      const reason = REASON.parse(args['reason']);
      const release = RELEASE.parse(args['release_pods']) === true;
      const done = await control(api, target.id, verb, { reason, release, by: 'rollout mcp' }, signal);
      const { kind, id, reply } = done;
      return {
        data: { kind, id, ...(reply.changed === undefined ? {} : { changed: reply.changed }) },
        text: controlText(verb, done),
      };
    },
  });
}

export const stopBatch = controlTool('cancel', {
  name: 'stop_batch',
  title: 'Stop a batch',
  description: 'Cancels the queued and running rollouts of a batch, or one rollout. Recorded events are kept.',
  effect: 'end',
});
export const pauseBatch = controlTool('pause', {
  name: 'pause_batch',
  title: 'Pause a batch',
  description:
    'Holds the rollouts of a batch, or one rollout, at the next gate (before or after a model or tool call).',
  effect: 'run',
});
export const resumeBatch = controlTool('resume', {
  name: 'resume_batch',
  title: 'Resume a batch',
  description: 'Resumes a paused batch or rollout.',
  effect: 'run',
});
