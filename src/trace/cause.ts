/**
 * Why an attempt did not pass, as one short line. Computed where the summary row is computed, so that the grid, trees,
 * reports, the command line, and exports show the same cause.
 */
import type { Check, ErrorClass, EventData, LimitKind } from './schema.ts';
import type { Cause, FailedCall, RolloutRow } from './summary.ts';

/** Part of an explanation that fits in a list. */
const MAX_TEXT = 60;
const UNKNOWN: Cause = { kind: 'unknown', text: 'No cause recorded' };
const LIMITS: Readonly<Record<LimitKind, string>> = {
  steps: 'step limit',
  seconds: 'time limit',
  tokens: 'token limit',
  condition: 'stop condition',
};

/** Labels of error classes, as they follow the name of a tool or stand alone. */
export const ERROR_LABELS: Readonly<Record<ErrorClass, string>> = {
  invalid_arguments: 'invalid arguments',
  unknown_tool: 'unknown tool',
  tool_error: 'tool error',
  world_error: 'world error',
  timeout: 'timeout',
  cancelled: 'cancelled',
  limit: 'limit',
  model_error: 'model error',
  malformed_output: 'malformed reply',
  context_overflow: 'context full',
  infrastructure: 'infrastructure',
};

/** Returns why the attempt of a row did not pass; undefined while it runs and if it passed. */
export function causeOf({ state, progress }: Pick<RolloutRow, 'state' | 'progress'>): Cause | undefined {
  if (state !== 'ended' || progress.passed === true) return undefined;
  if (progress.cause !== undefined) return progress.cause;
  // Rows from before causes were recorded.
  if (progress.status === 'cancelled' || progress.status === 'infrastructure')
    return { kind: progress.status, text: progress.status, class: progress.status };
  return progress.error_class === undefined ? UNKNOWN : causeOfEnding({ class: progress.error_class });
}

/** Returns the cause in a score that is not a pass. `failed`: a call that failed before and never succeeded. */
export function causeOfScore(
  { passed, outcome, checks = [], parts = {}, explanation, error }: EventData['score'],
  seq: number,
  failed: FailedCall | undefined,
): Cause | undefined {
  if (passed === true) return undefined;
  const check = checks.find((one) => !one.passed);
  if (passed === null) {
    const text = unscoredText(error);
    return { kind: 'unscored', text: outcome === 'environment_error' ? environmentText(check) : text, seq };
  }
  if (check !== undefined && check.name !== ANSWER_CHECK) return { kind: 'check', text: failureText(check), seq };
  // That the answer is wrong only says what follows from a call that never worked.
  if (failed !== undefined) return causeOfCall(failed);
  if (check !== undefined) return { kind: 'answer', text: failureText(check), seq };
  const part = Object.keys(parts).find((name) => (parts[name] ?? 0) <= 0);
  if (part !== undefined) return { kind: 'check', text: `${part} failed`, seq };
  const [sentence = ''] = (explanation ?? '').split(/(?<=[.!?])\s|\n/);
  if (sentence !== '') return { kind: 'check', text: shortened(sentence.replace(/\.$/, '')), seq };
  return undefined;
}

function unscoredText(error: EventData['score']['error']): string {
  if (error === undefined) return 'not scored';
  // A limit of time says which scorer reached it.
  const { class: of, message } = error;
  return `scoring failed: ${of === 'timeout' ? shortened(message.replace(/\.$/, ''), 2 * MAX_TEXT) : ERROR_LABELS[of]}`;
}

/** Returns how the world failed, or its verifier. */
function environmentText(check: Check | undefined): string {
  return check === undefined ? 'environment: not judged' : failureText(check);
}

/** Returns the cause in the error that ended a rollout. */
export function causeOfEnding(error: { readonly class: ErrorClass; readonly limit?: LimitKind | undefined }): Cause {
  switch (error.class) {
    case 'limit':
      return { kind: 'limit', text: error.limit === undefined ? 'limit' : LIMITS[error.limit], class: error.class };
    case 'context_overflow':
      return { kind: 'limit', text: ERROR_LABELS[error.class], class: error.class };
    case 'infrastructure':
    case 'cancelled':
      return { kind: error.class, text: ERROR_LABELS[error.class], class: error.class };
    default:
      return { kind: 'error', text: ERROR_LABELS[error.class], class: error.class };
  }
}

/** Returns the cause of a rollout that ended without a score or error that explains it. */
export function causeWithoutScore(answer: unknown, failed: FailedCall | undefined): Cause {
  if (failed !== undefined) return causeOfCall(failed);
  return answer === null ? { kind: 'answer', text: 'no answer' } : UNKNOWN;
}

/** Name of the check that compares the answer with the expected one. */
export const ANSWER_CHECK = 'answer';

/** Returns the line that says what failed in a check. */
export function failureText({ name, cause: text, actual }: Check): string {
  if (text !== undefined) return shortened(text);
  if (name !== ANSWER_CHECK) return `${shortened(name)} failed`;
  return actual === null ? 'no answer' : 'answer wrong';
}

function causeOfCall({ seq, tool, class: of, of_world: ofWorld }: FailedCall): Cause {
  const refused = of === 'tool_error' && ofWorld === true;
  const text = of === 'unknown_tool' ? `unknown tool ${tool}` : `${tool}: ${refused ? 'refused' : ERROR_LABELS[of]}`;
  return { kind: 'call', text, seq, tool, class: of };
}

function shortened(text: string, max = MAX_TEXT): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}
