/** stop_batch, pause_batch, resume_batch: commands to a batch or one of its rollouts. */
import { z } from 'zod';
import { type ControlVerb, control, controlText } from '../../client/commands/control.ts';
import { defineTool, type Effect, type StudioTool } from '../tool.ts';

const RELEASE = z
  .boolean()
  .optional()
  .describe(
    'Of a batch: keep no pods (on this machine: no worker processes) while it is paused. They end once nothing ' +
      'runs; resume_batch starts them again',
  );
const REASON = z.string().max(1000).optional().describe('Why; told in the record');

interface Words {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly effect: Effect;
}

function controlTool(verb: ControlVerb, words: Words): StudioTool {
  return defineTool({
    ...words,
    input: z.strictObject({
      target: z.string().describe('A batch, BATCH/TASK/ATTEMPT or a rollout’s id'),
      ...(verb === 'cancel' ? { reason: REASON } : {}),
      ...(verb === 'pause' ? { release_pods: RELEASE } : {}),
    }),
    output: z.object({
      kind: z.enum(['batch', 'rollout']),
      id: z.string(),
      changed: z.number().int().optional().describe('How many rollouts it concerned'),
    }),
    idempotent: true,
    async run(given, { api, signal }) {
      const reason = REASON.parse(given['reason']);
      const release = RELEASE.parse(given['release_pods']) === true;
      const done = await control(api, given.target, verb, { reason, release, by: 'rollout mcp' }, signal);
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
  description: 'Ends what is queued or running of a batch, or one rollout, as cancelled. What is recorded stays.',
  effect: 'end',
});
export const pauseBatch = controlTool('pause', {
  name: 'pause_batch',
  title: 'Pause a batch',
  description:
    'Holds each rollout of a batch, or one of them, at its next gate (before or after a model or tool call).',
  effect: 'run',
});
export const resumeBatch = controlTool('resume', {
  name: 'resume_batch',
  title: 'Resume a batch',
  description: 'Goes on with a batch or rollout that was paused.',
  effect: 'run',
});
