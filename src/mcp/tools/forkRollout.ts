import { z } from 'zod';
import { launchFork, planFork } from '../../client/commands/fork.ts';
import { differsText } from '../../client/text/forkText.ts';
import { forkEdit } from '../../config/submission.ts';
import { defineTool } from '../tool.ts';
import { workspaceFile } from '../workspaceFile.ts';

export const forkRollout = defineTool({
  name: 'fork_rollout',
  title: 'Fork a rollout',
  description:
    'Continues an attempt from one of its steps, some times over, as a batch of its own; what came before is ' +
    'answered from the record and costs nothing. With edits it shows what would have happened had a message, an ' +
    'argument or a result been another. Gives the batch’s id at once. The continuations call the model and the ' +
    'tools.',
  input: z.strictObject({
    from: z
      .string()
      .describe(
        'BATCH/TASK/ATTEMPT:STEP or ROLLOUT:STEP (before that step’s model call), or with @SEQ (behind that event)',
      ),
    attempts: z.number().int().min(1).max(1000).default(1).describe('Continuations'),
    edit: z
      .array(forkEdit)
      .min(1)
      .max(100)
      .optional()
      .describe(
        'What is changed first: `of` names a message by its ordinal m or a start or end by its seq, `path` is a ' +
          'JSON pointer into its data (e.g. /parts/0/content, /arguments/query, /result), `value` what stands ' +
          'there instead',
      ),
    batch_file: z
      .string()
      .optional()
      .describe(
        'Go on with agent, world and scorer of this batch file as they are now, from the workspace’s folder; ' +
          'without it with what the parent ran',
      ),
    agent_file: z.string().optional().describe('Go on with another agent: its file'),
    model: z.string().optional().describe('Go on with another model: its name'),
    endpoint: z.string().optional().describe('Where that model is'),
    dry_run: z.boolean().default(false).describe('Only tell what would differ from the parent; nothing is launched'),
    accept_irreversible: z.boolean().default(false).describe('Go on although irreversible calls may be made again'),
  }),
  output: z.object({
    batch: z.string().optional().describe('The fork; absent of a dry run'),
    rollout: z.string().describe('The parent'),
    seq: z.number().int().describe('The last event they share'),
    differs: z
      .array(z.string())
      .describe('What of code and configuration is other than the parent’s; also kept in the fork’s record'),
    notes: z.array(z.string()),
  }),
  effect: 'run',
  openWorld: true,
  async run(
    {
      from,
      attempts,
      edit,
      batch_file: file,
      agent_file: agent,
      model,
      endpoint,
      dry_run: dry,
      accept_irreversible: acceptIrreversible,
    },
    { api, session, signal },
  ) {
    const inside = (name: string | undefined): string | undefined =>
      name === undefined ? undefined : workspaceFile(session.folder, name);
    const planned = await planFork(
      api,
      from,
      { file: inside(file), agent: inside(agent), model, endpoint },
      { cwd: session.folder, env: session.env },
      signal,
    );
    const {
      rollout,
      seq,
      runs: { differs, notes },
    } = planned;
    const told = [differsText(differs), ...notes].filter((text) => text !== '');
    if (dry)
      return {
        data: { rollout, seq, differs: [...differs], notes: [...notes] },
        text: [`Nothing was launched. It would go on behind event ${seq} of rollout ${rollout}.`, ...told].join('\n'),
      };
    const batch = await launchFork(
      api,
      planned,
      { attempts, edit, acceptIrreversible, by: 'rollout mcp' },
      session.env,
      signal,
    );
    return {
      data: { batch, rollout, seq, differs: [...differs], notes: [...notes] },
      text: [
        `Batch ${batch} continues rollout ${rollout} behind event ${seq}, ${attempts} x. wait_for_batch waits ` +
          'for its end; show_batch tells its pass rate beside the parent’s.',
        ...told,
      ].join('\n'),
    };
  },
});
