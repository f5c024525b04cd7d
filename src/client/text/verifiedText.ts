import { plural } from '../../common/text.ts';
import type { RatedPair } from '../../trace/agreement/pairs.ts';

/** Which stored verdicts a verifier contradicts. */
export interface VerdictFlips {
  readonly verdicts: number;
  /** Verdicts that would be “passed”, and were not. */
  readonly passes: number;
  readonly fails: number;
  /** Verdicts that the verifier could not give. */
  readonly errors: number;
}

/** Returns e.g. `2 of 12 stored verdicts change: 1 passes, 1 fails`. */
export function flipsText({ verdicts, passes, fails, errors }: VerdictFlips): string {
  const flipped = passes + fails;
  const parts = [
    ...(passes === 0 ? [] : [`${passes} ${passes === 1 ? 'passes' : 'pass'}`]),
    ...(fails === 0 ? [] : [`${fails} ${fails === 1 ? 'fails' : 'fail'}`]),
    ...(errors === 0 ? [] : [`${errors} cannot be judged`]),
  ];
  const change = flipped === 1 ? 'changes' : 'change';
  const counted =
    flipped === 0
      ? `None of ${plural(verdicts, 'stored verdict')} changes`
      : `${flipped} of ${plural(verdicts, 'stored verdict')} ${change}`;
  return parts.length === 0 ? counted : `${counted}: ${parts.join(', ')}`;
}

/** Returns e.g. `code – judge: 11 of 12 agree, kappa 0.82`. */
export function pairText({ raters, compared, agreed, kappa }: RatedPair): string {
  const measured = kappa === null ? '' : `, kappa ${kappa.toFixed(2)}`;
  return `${raters.join(' – ')}: ${agreed} of ${compared} agree${measured}`;
}
