import { createContext, Script } from 'node:vm';
import { StudioError } from '../common/errors.ts';
import type { Scorer } from '../rollout/ports.ts';
import { NO_ANSWER, textOf, verdict } from './expected.ts';

/** Time limit of a search: nested repetitions can backtrack extremely long, and answers come from a model. */
const LIMIT_MS = 1000;

/**
 * Searches the answer with a regular expression. Passes if its first group (the whole match if there is none) equals
 * the expected text, both trimmed; without an expected text, any match passes.
 *
 * Throws StudioError `config` for an invalid pattern or invalid flags. `score` throws if the search takes over a
 * second.
 */
export function regexScorer(options: { readonly pattern: string; readonly flags: string }): Scorer {
  const search = boundedSearch(options.pattern, options.flags);
  return {
    name: 'regex',
    score({ task, answer }) {
      return Promise.resolve().then(() => {
        const text = textOf(answer);
        if (text === null) return NO_ANSWER;
        const matched = search(text);
        if (matched === null) return verdict(false, 'The pattern does not match the answer.');
        const expected = textOf(task.answer ?? null);
        if (expected === null || matched.trim() === expected.trim()) return verdict(true);
        return verdict(false, `The pattern found ${JSON.stringify(matched)}, expected ${JSON.stringify(expected)}.`);
      });
    },
  };
}

/** The search runs in its own context, because V8 can only interrupt a match there. */
function boundedSearch(pattern: string, flags: string): (text: string) => string | null {
  let expression: RegExp;
  try {
    // these two flags keep a position from one search to the next
    expression = new RegExp(pattern, flags.replace(/[gy]/g, ''));
  } catch (thrown) {
    throw new StudioError(
      'config',
      `The pattern of the regex scorer is invalid: ` + `${thrown instanceof Error ? thrown.message : String(thrown)}.`,
      {
        hint: 'Fix `pattern` or `flags` of the scorer. In YAML, single quotes keep backslashes.',
        cause: thrown,
      },
    );
  }
  const scope: { expression: RegExp; text: string; match: RegExpExecArray | null } = {
    expression,
    text: '',
    match: null,
  };
  createContext(scope);
  const script = new Script('match = expression.exec(text)');
  return (text) => {
    scope.text = text;
    try {
      script.runInContext(scope, { timeout: LIMIT_MS });
    } catch (thrown) {
      throw new StudioError('config', `The pattern of the regex scorer took more than ${LIMIT_MS} ms for one answer.`, {
        hint: 'Avoid nested repetitions in the pattern.',
        cause: thrown,
      });
    }
    const match = scope.match;
    return match === null ? null : match.length > 1 ? (match[1] ?? '') : match[0];
  };
}
