import { z } from 'zod';
import { launchRescore, planRescore } from '../../client/commands/rescore.ts';
import { resolveBatch } from '../../client/reference.ts';
import { plural } from '../../common/text.ts';
import { sideModelsOf } from '../../config/submission.ts';
import { compileCondition } from '../../trace/query.ts';
import { newPlaces } from '../permits/places.ts';
import { overLimit, spend } from '../permits/spending.ts';
import { defineTool } from '../tool.ts';
import { workspaceFile } from '../workspaceFile.ts';

export const rescoreBatch = defineTool({
  name: 'rescore_batch',
  title: 'Rescore a batch',
  description:
    'Scores recorded attempts of a batch again, without running their agent, as a new batch. Its verdicts are kept ' +
    'next to the rewards, which do not change. Returns the ID of the new batch at once; use wait_for_batch to wait ' +
    'for its end. A scorer that asks a model costs what its calls cost.',
  input: z.strictObject({
    batch: z.string().describe('ID of the batch, or last'),
    scorer: z
      .string()
      .optional()
      .describe(
        'File with the scorer, relative to the workspace folder: a batch file, a world file, a verifier of an ' +
          'extracted scenario, or a YAML file with a `scorer` section. Default: the batch’s own scorer with its ' +
          'current code',
      ),
    tasks: z.array(z.string()).min(1).max(1000).optional().describe('Score only the tasks with these IDs'),
    attempts: z.array(z.number().int().min(1)).min(1).max(1000).optional().describe('Score only these of each task'),
    where: z.string().optional().describe('Score only attempts that match this condition in CEL'),
  }),
  output: z.object({
    batch: z.string(),
    rescores: z.string().describe('The batch whose attempts are scored again'),
    attempts: z.number().int(),
    notes: z.array(z.string()),
  }),
  effect: 'run',
  openWorld: true,
  async run({ batch: word, scorer, tasks = [], attempts = [], where }, { api, session, consent, signal }) {
    const { folder, env } = session;
    if (where !== undefined) compileCondition(where); // fail early
    const id = await resolveBatch(api, word, signal);
    const file = scorer === undefined ? undefined : await workspaceFile(folder, scorer);
    const place = { cwd: folder, within: folder, env };
    const plan = await planRescore(api, id, { scorer: file, tasks, attempts, where }, place, signal);
    const places = await newPlaces(api, plan.submission, { parent: plan.original, env }, signal);
    // Without a model, scoring costs nothing.
    const spent = sideModelsOf(plan.submission).length === 0 ? 0 : plan.attempts;
    const costs = `It scores ${plural(spent, 'attempt')} again with a scorer that asks a model.`;
    consent({
      reasons: [...overLimit(session, spent, costs), ...places],
      instead: `A person can score it with rollout rescore ${id}${scorer === undefined ? '' : ` --scorer ${scorer}`}.`,
    });
    const launched = await spend(session, spent, () => launchRescore(api, plan, 'rollout mcp', signal));
    const { batch, rescores, attempts: scored, notes } = launched;
    return {
      data: { batch, rescores, attempts: scored, notes: [...notes] },
      text: [
        `Batch ${batch} scores ${plural(scored, 'attempt')} of batch ${rescores} again. Use wait_for_batch to wait ` +
          'for its end.',
        ...notes,
      ].join('\n'),
    };
  },
});
