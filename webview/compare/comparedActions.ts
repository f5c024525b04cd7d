/** What both views of the compare page do with an attempt: they name it, open it, and copy its reference. */
import type { PageAction } from '../../src/protocol/page.ts';
import type { ComparedAttempts } from './compareData.ts';
import type { ComparePlace } from './comparePage.tsx';

interface ComparedActions {
  readonly nameOf: (index: number) => string;
  /** `seq`: the step to open it at; default: chosen by its page. */
  readonly open: (index: number, seq: number | undefined, beside: boolean) => void;
  /** `step`: the step that the reference is to; default: the attempt. */
  readonly copy: (index: number, step: number | undefined) => void;
}

/** Attempts are given by their index in `compared`. */
export function comparedActions(
  { attempts, batches }: ComparedAttempts,
  place: ComparePlace,
  act: (action: PageAction) => void,
): ComparedActions {
  return {
    nameOf: (index) => {
      const batch = batches[index] === place.batch ? 'before' : 'after';
      return `${place.with === undefined ? 'attempt' : batch} ${attempts[index]?.attempt ?? ''}`;
    },
    open: (index, seq, beside) => {
      const attempt = attempts[index];
      if (attempt !== undefined)
        act({
          do: 'open',
          place: { page: 'trajectory', rollout: attempt.rollout, ...(seq === undefined ? {} : { seq }) },
          ...(beside ? { beside } : {}),
        });
    },
    copy: (index, step) => {
      const attempt = attempts[index];
      if (attempt !== undefined)
        act({
          do: 'copy',
          text:
            `${batches[index] ?? place.batch}/${place.task}/${attempt.attempt}` +
            (step === undefined ? '' : `:${step}`),
        });
    },
  };
}
