/** Values in SQL: literals, and expressions that only a database can evaluate. */
import type { SqlToken } from './tokens.ts';

/** `sql`: an expression as written, such as `datetime('now')`. */
export type SqlValue = string | number | null | { readonly sql: string };

/** `sql`: the text that the tokens are from, for expressions. */
export function valueOf(tokens: readonly SqlToken[], sql?: string): SqlValue {
  const [first, second] = tokens;
  if (first === undefined) return null;
  if (tokens.length === 1) {
    if (first.kind === 'text') return first.text;
    if (first.kind === 'number') return Number(first.text);
    if (first.kind === 'word') {
      const word = first.text.toUpperCase();
      if (word === 'NULL') return null;
      if (word === 'TRUE' || word === 'FALSE') return word === 'TRUE' ? 1 : 0;
    }
  }
  if (tokens.length === 2 && second?.kind === 'number' && (first.text === '-' || first.text === '+'))
    return Number(first.text + second.text);
  const text = sql?.slice(first.from, tokens.at(-1)?.to) ?? tokens.map((token) => quoted(token)).join(' ');
  return { sql: text };
}

function quoted({ kind, text }: SqlToken): string {
  return kind === 'text' ? `'${text.replaceAll("'", "''")}'` : text;
}
