import type { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { CommandReply, labelArgs } from '../../protocol/commands.ts';
import { PERSON } from '../../trace/verdicts.ts';
import type { Services } from '../services.ts';

/** Adds a person's verdict on a rollout to the stream of its batch. Throws StudioError `usage` without a name. */
export async function labelRollout(
  { store, secrets }: Pick<Services, 'store' | 'secrets'>,
  batch: string,
  { rollout, passed, note }: z.infer<typeof labelArgs>,
  by: string | undefined,
): Promise<CommandReply> {
  if (by === undefined || by === '')
    throw new StudioError('usage', 'A label needs the name of the person.', { hint: 'Send it as `by`.' });
  const seq = await store.addVerdict(
    batch,
    secrets.clean(batch, {
      rollout,
      scorer: `${PERSON}${by}`,
      by,
      value: passed === null ? null : passed ? 1 : 0,
      passed,
      ...(note === undefined || note === '' ? {} : { explanation: note }),
    }),
  );
  return { seq };
}
