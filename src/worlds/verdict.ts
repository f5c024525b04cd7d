import type { Json } from '../common/json.ts';
import type { Verdict } from '../rollout/ports.ts';
import { compactVerdict, verdict } from '../rollout/verdict.ts';
import { ClassedError } from '../trace/classedError.ts';

/** Validates the result of a user's verifier. `what` names the function. Throws ClassedError `world_error`. */
export function verdictOf(value: Json, what: string): Verdict {
  const parsed = verdict.safeParse(value);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const path = issue === undefined || issue.path.length === 0 ? '' : ` (${issue.path.join('.')}: ${issue.message})`;
    throw new ClassedError(
      'world_error',
      `${what} must return {value: number or null, passed: boolean or null, parts?, checks?, explanation?}${path}.`,
    );
  }
  return compactVerdict(parsed.data);
}
