/** Prompts for common questions, with the relevant report included. */
import { completable, type GetPromptResult, type McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { resolveBatch } from '../client/reference.ts';
import { batchesLike } from './resources.ts';
import type { Session } from './session.ts';
import { batchAnswer } from './tools/showBatch.ts';

export function registerPrompts(server: McpServer, session: Session): void {
  const batch = completable(z.string().default('last').describe('ID of the batch; `last` is the newest'), (value) =>
    batchesLike(session, value ?? ''),
  );

  server.registerPrompt(
    'why_did_this_batch_fail',
    {
      title: 'Why did this batch fail?',
      description: 'Find what the failed attempts of a batch have in common, and what to change.',
      argsSchema: z.object({ batch }),
    },
    async (args, context) =>
      about(session, args.batch, context, (id) =>
        [
          `Find out why attempts of batch ${id} failed. Its report is below.`,
          '',
          '1. Group the failures with the causes below and list_attempts (by cause), then read some attempts of each ' +
            'group with read_trajectory. Read the task, calls, and end, not only the error.',
          '2. Look for common causes: a tool called incorrectly, a failing tool, a limit, a misread question, or a ' +
            'scorer that is too strict. Count each with search_trajectories in failed and passed attempts.',
          '3. For each cause, state how many attempts it affects, two references as evidence ' +
            '(BATCH/TASK/ATTEMPT:STEP), and whether and how the agent file, a tool, the world, the task, or the ' +
            'scorer should change.',
          'If a change can be tested cheaply, propose a fork_rollout from the step before things went wrong.',
        ].join('\n'),
      ),
  );

  server.registerPrompt(
    'what_differs_between_passing_and_failing',
    {
      title: 'What differs between passing and failing attempts?',
      description: 'Compare passed and failed attempts of the same tasks.',
      argsSchema: z.object({ batch, task: z.string().optional().describe('Only this task') }),
    },
    async (args, context) =>
      about(session, args.batch, context, (id) =>
        [
          `Find out what differs between the passed and failed attempts of batch ${id}` +
            `${args.task === undefined ? '' : `, task ${args.task}`}. Its report is below.`,
          '',
          args.task === undefined
            ? '1. Choose up to five tasks with both passed and failed attempts (the hardest ones) with list_attempts.'
            : '1. List its attempts with list_attempts.',
          '2. For each task, compare a passed with a failed attempt: find where their calls first differ with ' +
            'compare_attempts, then read both around that step with read_trajectory.',
          '3. State what the passing attempts do at that point that the failing ones do not, with references ' +
            '(BATCH/TASK/ATTEMPT:STEP) for each claim; whether it is chance or a pattern (count it with ' +
            'search_trajectories); and which change to the agent would make the passing behavior more likely.',
        ].join('\n'),
      ),
  );
}

async function about(
  session: Session,
  batch: string,
  { mcpReq: { signal } }: ServerContext,
  introduction: (id: string) => string,
): Promise<GetPromptResult> {
  const { api } = await session.connection(signal);
  const id = await resolveBatch(api, batch, signal);
  const { text } = await batchAnswer(api, id, [], signal);
  return { messages: [{ role: 'user', content: { type: 'text', text: `${introduction(id)}\n\n${text}` } }] };
}
