/** What a user asks for most, as prompts with the facts to begin with. */
import { completable, type GetPromptResult, type McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { resolveBatch } from '../client/reference.ts';
import { batchesLike } from './resources.ts';
import type { Session } from './session.ts';
import { batchAnswer } from './tools/showBatch.ts';

export function registerPrompts(server: McpServer, session: Session): void {
  const batch = completable(z.string().default('last').describe('Id of the batch; `last` is the newest'), (value) =>
    batchesLike(session, value ?? ''),
  );

  server.registerPrompt(
    'why_did_this_batch_fail',
    {
      title: 'Why did this batch fail?',
      description: 'Finds what the failed attempts of a batch have in common, and what to change.',
      argsSchema: z.object({ batch }),
    },
    async (given, context) =>
      about(
        session,
        given.batch,
        context,
        (id) => `Find out why attempts of batch ${id} failed. Its report is below.

1. Sort the failures: list_attempts (by outcome and error_class), then read_trajectory of a few attempts of each sort. Read the task, the calls and the end, not only the error.
2. Look for what they share: a tool called wrongly, a tool that fails, a limit, a misread question, a scorer that is too strict. Count it with search_trajectories over the batch, in failed and in passed attempts.
3. Say for each cause: how many attempts, two references as evidence (BATCH/TASK/ATTEMPT:STEP), and whether the agent’s file, a tool, the world, the task or the scorer should change, and how.
Where a change can be tried cheaply, propose a fork_rollout from the step before things went wrong.`,
      ),
  );

  server.registerPrompt(
    'what_differs_between_passing_and_failing',
    {
      title: 'What differs between passing and failing attempts?',
      description: 'Compares attempts of the same tasks that passed with those that failed.',
      argsSchema: z.object({ batch, task: z.string().optional().describe('Only this task') }),
    },
    async (given, context) =>
      about(
        session,
        given.batch,
        context,
        (
          id,
        ) => `Find out what differs between the attempts of batch ${id} that passed and those that failed${given.task === undefined ? '' : `, of task ${given.task}`}. Its report is below.

1. ${given.task === undefined ? 'Choose up to five tasks that both passed and failed (hardest tasks with at least one pass)' : 'List its attempts'} with list_attempts.
2. For each task compare a passed with a failed attempt: compare_attempts tells where their calls first differ; read_trajectory around that step in both.
3. Say what the passing attempts do at that point that the failing ones do not, with references (BATCH/TASK/ATTEMPT:STEP) for each claim, whether it is chance or a pattern (search_trajectories counts it), and what change to the agent would make the passing behaviour the usual one.`,
      ),
  );
}

async function about(
  session: Session,
  batch: string,
  { mcpReq: { signal } }: ServerContext,
  say: (id: string) => string,
): Promise<GetPromptResult> {
  const { api } = await session.connection(signal);
  const id = await resolveBatch(api, batch, signal);
  const { text } = await batchAnswer(api, id, [], signal);
  return { messages: [{ role: 'user', content: { type: 'text', text: `${say(id)}\n\n${text}` } }] };
}
