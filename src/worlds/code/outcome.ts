/** What a rollout of a published world came to. */
import type { Json } from '../../common/json.ts';
import type { SubmittedCodeWorld } from '../../config/submission/world.ts';
import type { Verdict } from '../../rollout/ports.ts';
import type { CallTroubles, TroubledCall } from '../../trace/callTroubles.ts';
import type { Check, WorldOutcome } from '../../trace/schema.ts';

/** What verifiers and judges say, and the outcome that it stands for: the names of Agent World Model and of OpenEnv. */
export const SAID = {
  complete: 'complete',
  partial: 'partial',
  incomplete: 'partial',
  agent_error: 'agent_error',
  environment_error: 'environment_error',
  server_error: 'environment_error',
} as const satisfies Readonly<Record<string, WorldOutcome>>;

/** Returns the outcome that a verifier names. Anything else (Agent World Model: `others`) is an error of the agent. */
export function outcomeSaid(said: string): WorldOutcome {
  return isSaid(said) ? SAID[said] : 'agent_error';
}

function isSaid(said: string): said is keyof typeof SAID {
  return Object.hasOwn(SAID, said);
}

/**
 * Returns the outcome of a final state that was `judged`, given what the record says about the calls:
 *
 * - A complete task is complete, whatever happened on the way.
 * - `environment_error` if the world failed in a call: its code threw (HTTP 5xx), ran too long, or took too much.
 *   Agent World Model ends a rollout there (arXiv 2602.10090, appendix A.5: server error or timeout). Ours goes on, but
 *   what the agent then left undone is not known to be its own fault.
 * - `format` instead of `agent_error` if the last call was refused for its form: the tool is unknown, or the arguments
 *   cannot be read or do not match the schema (OpenEnv: tool_not_found, invalid_action, invalid_args). Agent World
 *   Model ends a rollout at the first such call; ours lets the agent try again, so only one that it never corrected
 *   counts.
 */
export function outcomeWith(judged: WorldOutcome, { refused, fault }: CallTroubles): WorldOutcome {
  if (judged === 'complete') return judged;
  if (fault !== undefined) return 'environment_error';
  return judged === 'agent_error' && refused !== undefined ? 'format' : judged;
}

/** What a verdict is made of. */
export interface Judged {
  readonly outcome: WorldOutcome;
  readonly checks: readonly Check[];
  /** What the verifier returned. */
  readonly evidence?: Json;
  /** More to say, as a sentence. */
  readonly because?: string;
}

/** Returns the verdict, with each check as a part of the score. */
export function verdictOf(
  { outcome: judged, checks, evidence, because }: Judged,
  rewards: SubmittedCodeWorld['rewards'],
  troubles: CallTroubles,
): Verdict {
  const outcome = outcomeWith(judged, troubles);
  const value = rewards[outcome];
  const troubled = outcome === judged ? undefined : outcome === 'environment_error' ? troubles.fault : troubles.refused;
  const all = troubled === undefined ? checks : [checkOf(outcome, troubled), ...checks];
  const sentences = [
    `Outcome: ${outcome}.`,
    ...(troubled === undefined ? [] : [sentenceOf(outcome, troubled)]),
    ...(evidence === undefined ? [] : [`The verifier returned ${JSON.stringify(evidence)}.`]),
    ...(because === undefined ? [] : [because]),
  ];
  return {
    value,
    passed: outcome === 'environment_error' || value === null ? null : outcome === 'complete',
    outcome,
    parts: Object.fromEntries(all.map(({ name, passed }) => [name, passed ? 1 : 0])),
    checks: all,
    explanation: sentences.join(' '),
  };
}

/** The call that decided the outcome, as a check that failed: the cause in lists. */
function checkOf(outcome: WorldOutcome, { tool, error }: TroubledCall): Check {
  const name = outcome === 'format' ? 'form of the last call' : 'world';
  const cause =
    error.class === 'unknown_tool' ? `unknown tool ${tool}` : `${tool}: ${error.class.replaceAll('_', ' ')}`;
  return { name, passed: false, cause: `${outcome === 'format' ? 'format' : 'environment'}: ${cause}` };
}

function sentenceOf(outcome: WorldOutcome, { tool, error: { message, place } }: TroubledCall): string {
  const at = place === undefined ? '' : ` (${place.file}:${place.line})`;
  return outcome === 'format'
    ? `The last call, to ${tool}, was refused for its form: ${message}`
    : `The world failed in a call to ${tool}${at}: ${message}`;
}
