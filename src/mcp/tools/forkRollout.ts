import { z } from 'zod';
import { launchFork, planFork } from '../../client/commands/fork.ts';
import { withModel } from '../../client/commands/forkSubmission.ts';
import { differsText } from '../../client/text/forkText.ts';
import { StudioError } from '../../common/errors.ts';
import { envNamesIn } from '../../config/env.ts';
import { type ForkEdit, forkEdit } from '../../config/submission/forkEdit.ts';
import { type Submission, sourcesOf } from '../../config/submission.ts';
import { requireModel } from '../permits/models.ts';
import { newPlaces } from '../permits/places.ts';
import { overLimit, spend } from '../permits/spending.ts';
import { defineTool } from '../tool.ts';
import { workspaceFile } from '../workspaceFile.ts';

/** Values of variables come from the user's files only. */
function refuseVariables(edit: readonly ForkEdit[]): void {
  const [name] = envNamesIn(JSON.stringify(edit));
  if (name === undefined) return;
  throw new StudioError('forbidden', `An edit cannot contain \${env:${name}}.`, {
    hint: 'Write the text without it. A person can edit and fork the rollout in the debugger.',
  });
}

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
    model: z.string().optional().describe('Use the model with this name, which an agent file must contain'),
    dry_run: z.boolean().default(false).describe('Only report what would differ from the parent, without launching'),
    accept_irreversible: z
      .boolean()
      .default(false)
      .describe('Ask a person to let it continue even if irreversible calls may be repeated'),
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
      dry_run: dry,
      accept_irreversible: acceptIrreversible,
    },
    { api, session, consent, signal },
  ) {
    const { folder, env } = session;
    if (edit !== undefined) refuseVariables(edit);
    const inside = async (name: string | undefined): Promise<string | undefined> =>
      name === undefined ? undefined : workspaceFile(folder, name);
    const changes = { file: await inside(file), agent: await inside(agent) };
    const permit = async (submission: Submission): Promise<void> => {
      if (sourcesOf(submission).length === 0) return;
      const [text] = await newPlaces(api, submission, { parent: undefined, env }, signal);
      if (text !== undefined)
        throw new StudioError('forbidden', `A person must allow this. ${text}`, {
          hint: `A person can fork it with rollout fork ${from}, or in the editor.`,
        });
    };
    const place = { cwd: folder, within: folder, env, permit };
    const { runs, ...cut } = await planFork(api, from, changes, place, signal);
    if (model !== undefined) await requireModel(session, model, runs);
    const planned = { ...cut, runs: withModel(runs, { model }) };
    const { rollout, seq } = cut;
    const { differs, notes, original, submission } = planned.runs;
    const notices = [differsText(differs), ...notes].filter((text) => text !== '');
    if (dry)
      return {
        data: { rollout, seq, differs: [...differs], notes: [...notes] },
        text: [
          `Dry run: nothing was launched. The fork would continue after event ${seq} of rollout ${rollout}.`,
          ...notices,
        ].join('\n'),
      };
    const places = await newPlaces(api, submission, { parent: original, env }, signal);
    consent({
      reasons: [
        ...overLimit(session, attempts),
        ...places,
        ...(acceptIrreversible ? ['It may repeat calls whose effects cannot be undone.'] : []),
      ],
      instead:
        `A person can fork it with rollout fork ${from}${acceptIrreversible ? ' --accept-irreversible' : ''}, or in ` +
        'the editor.',
    });
    const { batch, warnings } = await spend(session, attempts, () =>
      launchFork(api, planned, { attempts, edit, acceptIrreversible, by: 'rollout mcp' }, env, signal),
    );
    return {
      data: { batch, rollout, seq, differs: [...differs], notes: [...notes, ...warnings] },
      text: [
        `Batch ${batch} continues rollout ${rollout} after event ${seq}, ${attempts} x. Use wait_for_batch to wait ` +
          'for its end, and show_batch to compare its pass rate with the parent’s.',
        ...notices,
        ...warnings,
      ].join('\n'),
    };
  },
});
