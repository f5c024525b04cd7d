import type { ParsedFile, Path } from '../source/parse.ts';
import type { Reading } from './reading.ts';

/** Reports a pattern that is not a JavaScript regular expression. */
export function checkPattern(reading: Reading, parsed: ParsedFile, at: Path, pattern: string, flags: string): void {
  try {
    new RegExp(pattern, flags);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    const what = reason.replace(/^Invalid regular expression: /, '').replace(/^\/.*\/\w*: /s, '');
    reading.report(parsed, at, {
      code: 'value',
      message: `invalid regular expression: ${what.charAt(0).toLowerCase()}${what.slice(1)}`,
      hint:
        'Escape special characters with a backslash, and put the pattern in single quotes so that YAML keeps the ' +
        'backslashes.',
    });
  }
}
