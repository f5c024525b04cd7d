/**
 * Estimates the number of tokens for endpoints that cannot count them. Splits like common byte-pair vocabularies: a
 * common word with its space is one token, a long one several; digits are grouped in threes; symbols and characters of
 * scripts without spaces count individually.
 */
const TOKEN = new RegExp(
  [
    String.raw`(?<dense>[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}])`,
    String.raw`(?<word>\p{L}[\p{L}\p{M}]*)`,
    String.raw`(?<digits>\p{N}{1,3})`,
    String.raw`(?<line>\n+)`,
    String.raw`(?<sign>[^\s\p{L}\p{N}]{1,2})`,
  ].join('|'),
  'gu',
);
/** Longer words are split. */
const WHOLE_WORD = 8;
const WORD_PART = 5;

export function estimateTokens(text: string): number {
  let count = 0;
  for (const { groups } of text.matchAll(TOKEN)) {
    const word = groups?.['word'];
    count += word === undefined || word.length <= WHOLE_WORD ? 1 : Math.ceil(word.length / WORD_PART);
  }
  return count;
}
