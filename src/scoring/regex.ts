import { StudioError } from '../common/errors.ts';
import type { Match, Scorer, UntrustedWork } from '../rollout/ports.ts';
import { ClassedError } from '../trace/classedError.ts';
import { NO_ANSWER, textOf, verdict } from './expected.ts';

/**
 * Searches the answer with a regular expression. Passes if its first group (the whole match if there is none) equals
 * the expected text, both trimmed; without an expected text, any match passes.
 *
 * Throws StudioError `config` for an invalid pattern or invalid flags. `score` throws if the search takes too long.
 */
export function regexScorer(
  { pattern, flags }: { readonly pattern: string; readonly flags: string },
  work: UntrustedWork,
): Scorer {
  checkPattern(pattern, flags);
  return {
    name: 'regex',
    async score({ task, answer, signal }) {
      const text = textOf(answer);
      if (text === null) return NO_ANSWER;
      const match = await work.search({ pattern, flags, text, which: 'first' }, signal).catch(tooSlow);
      if (match === null) return verdict(false, 'The pattern does not match the answer.');
      const matched = (match.length > 1 ? match[1] : match[0]) ?? '';
      const expected = textOf(task.answer ?? null);
      if (expected === null || matched.trim() === expected.trim()) return verdict(true);
      return verdict(false, `The pattern found ${JSON.stringify(matched)}, expected ${JSON.stringify(expected)}.`);
    },
  };
}

function checkPattern(pattern: string, flags: string): void {
  try {
    new RegExp(pattern, flags);
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
}

function tooSlow(thrown: unknown): Promise<Match> {
  if (!(thrown instanceof ClassedError) || thrown.class !== 'malformed_output') throw thrown;
  throw new StudioError('config', thrown.message, { hint: 'Avoid nested repetitions in the pattern.', cause: thrown });
}
