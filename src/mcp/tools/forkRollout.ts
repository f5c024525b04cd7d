import { z } from 'zod';
import { forkAt } from '../../client/commands/fork.ts';
import { forkEdit } from '../../config/submission.ts';
import { defineTool } from '../tool.ts';

export const forkRollout = defineTool({
  name: 'fork_rollout',
  title: 'Fork a rollout',
  description: 'Continues an attempt from one of its steps, some times over, as a batch of its own; what came before is answered from the record and costs nothing. With edits it shows what would have happened had a message, an argument or a result been another. Gives the batch’s id at once. The continuations call the model and the tools.',
  input: z.strictObject({
    from: z.string().describe('BATCH/TASK/ATTEMPT:STEP or ROLLOUT:STEP (before that step’s model call), or with @SEQ (behind that event)'),
    attempts: z.number().int().min(1).max(1000).default(1).describe('Continuations'),
    edit: z.array(forkEdit).min(1).max(100).optional().describe('What is changed first: `of` names a message by its ordinal m or a start or end by its seq, `path` is a JSON pointer into its data (e.g. /parts/0/content, /arguments/query, /result), `value` what stands there instead'),
    accept_irreversible: z.boolean().default(false).describe('Go on although irreversible calls may be made again'),
  }),
  output: z.object({ batch: z.string(), rollout: z.string().describe('The parent'), seq: z.number().int().describe('The last event they share') }),
  effect: 'run',
  openWorld: true,
  async run({ from, attempts, edit, accept_irreversible: acceptIrreversible }, { api, signal }) {
    const forked = await forkAt(api, from, { attempts, edit, acceptIrreversible, by: 'rollout mcp' }, signal);
    return { data: forked, text: `Batch ${forked.batch} continues rollout ${forked.rollout} behind event ${forked.seq}, ${attempts} x. wait_for_batch waits for its end.` };
  },
});
