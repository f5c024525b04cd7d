/** Splits SQL as SQLite reads it into tokens: enough to read the schemas and rows of published worlds. */

export interface SqlToken {
  readonly kind: 'word' | 'name' | 'text' | 'number' | 'sign';
  /** A name or text without its quotes. */
  readonly text: string;
  /** Offset of its first character, and of the character after it. */
  readonly from: number;
  readonly to: number;
}

const SPACE = /\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/;
const NAME = /"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]/;
const TEXT = /'((?:[^']|'')*)'/;
const NUMBER = /\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+/;
const WORD = /[\p{L}_$][\p{L}\p{N}_$]*/u;
const SIGN = /\|\||<>|[<>=!]=|./;
const TOKEN = new RegExp(
  `${SPACE.source}|(${NAME.source})|${TEXT.source}|(${NUMBER.source})|(${WORD.source})|(${SIGN.source})`,
  'giu',
);

/** Returns the tokens without spaces and comments. */
export function sqlTokens(sql: string): SqlToken[] {
  const tokens: SqlToken[] = [];
  for (const match of sql.matchAll(TOKEN)) {
    const [whole, name, text, number, word, sign] = match;
    const at = { from: match.index, to: match.index + whole.length };
    if (name !== undefined)
      tokens.push({ kind: 'name', text: name.slice(1, -1).replaceAll('""', '"').replaceAll('``', '`'), ...at });
    else if (text !== undefined) tokens.push({ kind: 'text', text: text.replaceAll("''", "'"), ...at });
    else if (number !== undefined) tokens.push({ kind: 'number', text: number, ...at });
    else if (word !== undefined) tokens.push({ kind: 'word', text: word, ...at });
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign, ...at });
  }
  return tokens;
}

/** Whether a token is this keyword or sign. */
export function isSql(token: SqlToken | undefined, text: string): boolean {
  return (token?.kind === 'word' || token?.kind === 'sign') && token.text.toUpperCase() === text;
}

/**
 * Returns the content of the parentheses that open at `at`, split at commas outside of inner ones, and the index after
 * the closing one. undefined: none open there.
 */
export function parenthesized(
  tokens: readonly SqlToken[],
  at: number,
): { readonly items: readonly (readonly SqlToken[])[]; readonly next: number } | undefined {
  if (!isSql(tokens[at], '(')) return undefined;
  const items: SqlToken[][] = [[]];
  let depth = 0;
  for (let index = at; index < tokens.length; index++) {
    const token = tokens[index];
    if (token === undefined) break;
    if (isSql(token, '(') && depth++ === 0) continue;
    if (isSql(token, ')') && --depth === 0) return { items: items.filter((item) => item.length > 0), next: index + 1 };
    if (depth === 1 && isSql(token, ',')) items.push([]);
    else items.at(-1)?.push(token);
  }
  return { items: items.filter((item) => item.length > 0), next: tokens.length };
}
