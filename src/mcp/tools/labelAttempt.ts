import { z } from 'zod';
import { attemptReference, LABELS, labelText, labelAttempt as recordLabel } from '../../client/commands/label.ts';
import { personName } from '../../client/person.ts';
import { defineTool } from '../tool.ts';

/** Agents label under a name of their own, so that no label of a person is replaced, or taken for one. */
function agentName(env: NodeJS.ProcessEnv): string {
  return `${personName(env)} (agent)`;
}

export const labelAttempt = defineTool({
  name: 'label_attempt',
  title: 'Label an attempt',
  description:
    'Records your verdict on an attempt, next to its reward and the verdicts of other scorers, under a name that ' +
    'says that it is an agent’s. `none` withdraws it.',
  input: z.strictObject({
    attempt: z.string().describe('BATCH/TASK/ATTEMPT or a rollout ID'),
    verdict: z.enum(LABELS),
    note: z.string().max(1000).optional().describe('Why'),
  }),
  output: z.object({ batch: z.string(), rollout: z.string(), passed: z.boolean().nullable(), by: z.string() }),
  effect: 'run',
  idempotent: true,
  async run({ attempt, verdict, note }, { api, session, signal }) {
    const by = agentName(session.env);
    const labeled = await recordLabel(api, attemptReference(attempt), { label: verdict, note, by }, signal);
    const { batch, rollout, passed } = labeled;
    return { data: { batch, rollout, passed, by }, text: labelText(labeled) };
  },
});
