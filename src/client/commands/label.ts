/** Records the verdict of a person, or of an agent, on an attempt. */
import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import type { Api } from '../../protocol/api.ts';
import { parseReference, type Reference, resolveRollout } from '../reference.ts';

/** `none` withdraws a label. */
export const LABELS = ['passed', 'failed', 'none'] as const;
type Label = (typeof LABELS)[number];

type AttemptReference = Exclude<Reference, { readonly kind: 'batch' }>;

interface LabelOptions {
  readonly label: Label;
  /** Why. */
  readonly note: string | undefined;
  /** Whose verdict it is. */
  readonly by: string;
}

interface Labeled {
  readonly batch: string;
  readonly rollout: string;
  /** null: the label was withdrawn. */
  readonly passed: boolean | null;
  readonly by: string;
  readonly seq?: number | undefined;
}

/** Parses the reference of an attempt. Throws StudioError `usage`. */
export function attemptReference(word: string): AttemptReference {
  const reference = parseReference(word);
  if (reference.kind !== 'batch') return reference;
  throw new StudioError('usage', 'A label belongs to an attempt, not to a batch.', {
    hint: 'Use ROLLOUT or BATCH/TASK/ATTEMPT.',
  });
}

export async function labelAttempt(
  api: Api,
  reference: AttemptReference,
  { label, note, by }: LabelOptions,
  signal: AbortSignal,
): Promise<Labeled> {
  const rollout = await resolveRollout(api, reference, signal);
  const { batch } = (await api.rollout(rollout, signal)).row;
  const passed = label === 'none' ? null : label === 'passed';
  const args = { rollout, passed, ...(note === undefined ? {} : { note }) };
  const { seq } = await api.commandBatch(batch, { command: newId('c'), verb: 'label', by, args }, signal);
  return { batch, rollout, passed, by, seq };
}

/** Says what was recorded. */
export function labelText({ rollout, passed, by }: Labeled): string {
  return passed === null
    ? `Withdrew the label of ${by} on rollout ${rollout}.`
    : `Labeled rollout ${rollout} as ${passed ? 'passed' : 'failed'} by ${by}.`;
}
