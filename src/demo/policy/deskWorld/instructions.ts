/**
 * The instructions that the demo model obeys as a world model, one sentence each, below `# Simulation Instruction`:
 *
 *     The second renewal of a day fails with "limit reached".
 *     Every call of find_books fails with "503".               also: every third call, the 2nd call
 *     find_books returns at most 3 items.
 *     list_loans returns an empty list.
 *     Results of find_member lack address.
 *
 * It ignores other sentences. Names of tools and keys may be in backquotes.
 */
import { isJsonObject, type Json } from '../../../common/json.ts';
import type { WorldTurn } from './turns.ts';

/** What an instruction makes of the answer to a call. */
export interface Instructed {
  /** The sentence that it obeys. */
  readonly sentence: string;
  readonly answer: { readonly error: string } | { readonly ok: Json };
}

const HEADING = '# Simulation Instruction\n';
/** Words of the desk for calls of its tools. */
const WORDS: Readonly<Record<string, string>> = {
  renewal: 'renew_loan',
  checkout: 'check_out',
  return: 'return_book',
  hold: 'place_hold',
  payment: 'pay_fine',
};
const ORDINALS = ['first', 'second', 'third', 'fourth', 'fifth'];
const FAILS = new RegExp(
  '^(the|each|every|any)(?: (first|second|third|fourth|fifth|\\d+(?:st|nd|rd|th)))? ' +
    '(?:call of (\\w+)|(\\w+))(?: of a day)? fails with "([^"]+)"$',
  'i',
);
const AT_MOST = /^(\w+) returns at most (\d+) items$/i;
const EMPTY = /^(\w+) returns an empty list$/i;
const LACKS = /^results of (\w+) lack (\w+)$/i;

/** Returns the first instruction that applies to the last turn. `answer`: by the desk's rules. */
export function instructed(
  system: string,
  turns: readonly WorldTurn[],
  answer: Instructed['answer'],
): Instructed | undefined {
  const start = system.indexOf(HEADING);
  const name = turns.at(-1)?.action?.name;
  if (start === -1 || name === undefined) return undefined;
  const nth = turns.filter(({ action }) => action?.name === name).length;
  for (const written of system.slice(start + HEADING.length).split(/\.(?=\s|$)|\n/)) {
    const sentence = written
      .replaceAll('`', '')
      .replace(/^[-*\s]+/, '')
      .trim();
    const changed = failure(sentence, name, nth) ?? ('ok' in answer ? result(sentence, name, answer.ok) : undefined);
    if (changed !== undefined) return { sentence, answer: changed };
  }
  return undefined;
}

function failure(sentence: string, name: string, nth: number): { readonly error: string } | undefined {
  const [, which = '', ordinal, tool, word = '', message = ''] = FAILS.exec(sentence) ?? [];
  if (message === '' || (tool ?? WORDS[word.toLowerCase()]) !== name) return undefined;
  return isMeant(which.toLowerCase(), ordinal, nth) ? { error: message } : undefined;
}

function isMeant(which: string, ordinal: string | undefined, nth: number): boolean {
  if (ordinal === undefined) return which !== 'the';
  const place = ORDINALS.indexOf(ordinal.toLowerCase()) + 1 || Number.parseInt(ordinal, 10);
  return which === 'the' ? nth === place : nth % place === 0;
}

function result(sentence: string, name: string, value: Json): { readonly ok: Json } | undefined {
  if (Array.isArray(value)) {
    const [, limited, most = ''] = AT_MOST.exec(sentence) ?? [];
    if (limited === name && value.length > Number(most)) return { ok: value.slice(0, Number(most)) };
    if (EMPTY.exec(sentence)?.[1] === name && value.length > 0) return { ok: [] };
  }
  const [, tool, key = ''] = LACKS.exec(sentence) ?? [];
  if (tool !== name) return undefined;
  const rows = Array.isArray(value) ? value : [value];
  if (!rows.some((row) => isJsonObject(row) && Object.hasOwn(row, key))) return undefined;
  const without = rows.map((row) => (isJsonObject(row) ? omit(row, key) : row));
  return { ok: Array.isArray(value) ? without : (without[0] ?? null) };
}

function omit(row: Readonly<Record<string, Json>>, key: string): Json {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== key));
}
