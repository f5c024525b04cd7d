import { z } from 'zod';
import { launch } from '../../client/launch.ts';
import { readBatch } from '../../client/submitFile.ts';
import { checkTarget } from '../../client/targets/target.ts';
import { formatProblem } from '../../config/source/problem.ts';
import { newPlaces } from '../permits/places.ts';
import { overLimit, spend } from '../permits/spending.ts';
import { defineTool } from '../tool.ts';
import { workspaceFile } from '../workspaceFile.ts';

const MAX_WARNINGS = 20;

export const launchBatch = defineTool({
  name: 'launch_batch',
  title: 'Launch a batch',
  description:
    'Runs a batch file (*.batch.yaml) of the workspace: its agent on its tasks. Returns the ID of the batch at once; ' +
    'use wait_for_batch to wait for its end. Calls the model and tools in the files, which may cost money: start ' +
    'with a `limit` and few `attempts`. Asks a person before it launches many, or starts or sends something new.',
  input: z.strictObject({
    file: z.string().describe('Path of the batch file, relative to the workspace folder'),
    attempts: z.number().int().min(1).max(10_000).optional().describe('Attempts per task'),
    limit: z.number().int().min(1).optional().describe('Run only the first tasks'),
    tasks: z.array(z.string()).min(1).max(1000).optional().describe('Run only the tasks with these IDs'),
    seed: z.number().int().min(0).optional(),
    concurrency: z
      .union([z.number().int().min(1), z.literal('auto')])
      .optional()
      .describe('Number of parallel rollouts'),
  }),
  output: z.object({ batch: z.string(), warnings: z.array(z.string()) }),
  effect: 'run',
  openWorld: true,
  async run({ file, attempts, limit, tasks, seed, concurrency }, { api, session, consent, signal }) {
    const { folder } = session;
    let launched = 0;
    const { built, warnings, target } = await readBatch(
      await workspaceFile(folder, file),
      { cwd: folder, within: folder },
      session.env,
      {
        ...(attempts === undefined ? {} : { attempts }),
        ...(limit === undefined ? {} : { limit }),
        ...(tasks === undefined ? {} : { tasks }),
        ...(session.target === undefined ? {} : { target: session.target }),
        ...(seed === undefined ? {} : { seed }),
        ...(concurrency === undefined ? {} : { concurrency }),
        connect: () => Promise.resolve(api),
        signal,
        async permit(planned, planTasks) {
          for await (const _task of planTasks) launched += planned.attempts;
          const places = await newPlaces(api, planned, { parent: undefined, env: session.env }, signal);
          consent({
            reasons: [...overLimit(session, launched), ...places],
            instead: `A person can launch it with rollout run ${file}, or in the editor.`,
          });
        },
      },
    );
    checkTarget(file, target, session.target);
    const { batch } = await spend(session, launched, async () => ({ batch: await launch(api, built, { signal }) }));
    const listed = warnings.slice(0, MAX_WARNINGS).map((warning) => formatProblem(warning, folder));
    return {
      data: { batch, warnings: listed },
      text: [`Launched batch ${batch}. Use wait_for_batch to wait for its end.`, ...listed].join('\n'),
    };
  },
});
