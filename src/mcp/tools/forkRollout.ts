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
    'Continues an attempt from one of its steps, one or more times, as a new batch. Earlier steps are replayed from ' +
    'the recording at no cost. With edits, it shows what would have happened with a different message, argument, or ' +
    'result. Returns the ID of the batch at once. The continuations call the model and the ' +
    'tools.',
  input: z.strictObject({
    from: z
      .string()
      .describe(
        'BATCH/TASK/ATTEMPT:STEP or ROLLOUT:STEP (before that step’s model call), or with @SEQ (after that event)',
      ),
    attempts: z.number().int().min(1).max(1000).default(1).describe('Continuations'),
    edit: z
      .array(forkEdit)
      .min(1)
      .max(100)
      .optional()
      .describe(
        'Edits to apply first: `of` selects a message by its ordinal m, or a start or end event by its seq; `path` ' +
          'is a JSON pointer into its data (e.g. /parts/0/content, /arguments/query, /result); `value` is the new ' +
          'value',
      ),
    batch_file: z
      .string()
      .optional()
      .describe(
        'Use the current agent, world, and scorer of this batch file (relative to the workspace folder) instead of ' +
          'those of the parent',
      ),
    agent_file: z.string().optional().describe('Use this agent file'),
    model: z.string().optional().describe('Use the model with this name'),
    endpoint: z.string().optional().describe('Endpoint of that model'),
    dry_run: z.boolean().default(false).describe('Only report what would differ from the parent, without launching'),
    accept_irreversible: z.boolean().default(false).describe('Continue even if irreversible calls may be repeated'),
  }),
  output: z.object({
    batch: z.string().optional().describe('The fork; absent for a dry run'),
    rollout: z.string().describe('The parent'),
    seq: z.number().int().describe('The last shared event'),
    differs: z
      .array(z.string())
      .describe('Differences from the parent in code and configuration; also recorded in the fork'),
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
    const notices = [differsText(differs), ...notes].filter((text) => text !== '');
    if (dry)
      return {
        data: { rollout, seq, differs: [...differs], notes: [...notes] },
        text: [
          `Dry run: nothing was launched. The fork would continue after event ${seq} of rollout ${rollout}.`,
          ...notices,
        ].join('\n'),
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
        `Batch ${batch} continues rollout ${rollout} after event ${seq}, ${attempts} x. Use wait_for_batch to wait ` +
          'for its end, and show_batch to compare its pass rate with the parent’s.',
        ...notices,
      ].join('\n'),
    };
  },
});
