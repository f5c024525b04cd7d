import type { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { labelArgs } from '../../protocol/commands.ts';
import type { EventData } from '../../trace/schema.ts';
import { PERSON } from '../../trace/verdicts.ts';

/** Returns a person's verdict on a rollout, for the stream of its batch. Throws StudioError `usage` without a name. */
export function personalVerdict(
  { rollout, passed, note }: z.infer<typeof labelArgs>,
  by: string | undefined,
): EventData['score'] & { readonly rollout: string } {
  if (by === undefined || by === '')
    throw new StudioError('usage', 'A label needs the name of the person.', { hint: 'Send it as `by`.' });
  return {
    rollout,
    scorer: `${PERSON}${by}`,
    by,
    value: passed === null ? null : passed ? 1 : 0,
    passed,
    ...(note === undefined || note === '' ? {} : { explanation: note }),
  };
}
