/** What is known of the things in a world, and of the calls that concerned them. */
import { canonicalJson, isJsonObject, type Json } from '../../common/json.ts';
import type { EventOf } from '../schema.ts';
import { isBlobRef } from '../values/keys.ts';
import type { Fields, Thing } from './facts.ts';
import type { Verb } from './words.ts';

/** Longer results are not read; texts of this length are in the record itself, so that every reader sees the same. */
const MAX_CHARS = 16 * 1024;
/** Members of a result that has more pages. */
const PAGED = /^(?:next|more|cursor|has_more|next_\w+|page|total_pages)$/i;
/** Shorter texts are in results by chance. */
const MIN_TEXT = 4;

export interface Made {
  readonly seq: number;
  readonly nth: number;
}

export interface Call extends Made {
  readonly tool: string;
  readonly args: Json;
  readonly verb: Verb;
  readonly isRead: boolean;
}

export interface ThingRecord {
  readonly thing: Omit<Thing, 'fields'>;
  /** Texts by which calls may mean it. */
  readonly texts: Set<string>;
  /** The last call that concerned it, and what it wrote; undefined if that cannot be known. */
  written: { readonly by: Made; readonly fields: Fields } | undefined;
  /** The call that created it, with its arguments. */
  created: { readonly by: Made; readonly args: Json } | undefined;
  /** The call that ended it, and how lists showed it before, by tool. */
  ended:
    | { readonly by: Made; readonly isDeleted: boolean; readonly before: ReadonlyMap<string, ShownBefore> }
    | undefined;
  /** How reads have shown it, by tool. */
  shown: Map<string, ShownBefore>;
}

export interface ShownBefore {
  readonly args: string;
  readonly fields: Fields;
}

export function responseIn(message: EventOf<'message'> | undefined): Json | undefined {
  if (message === undefined || message.data.origin === 'edited') return undefined;
  const part = message.data.parts.find(({ type }) => type === 'tool_call_response');
  if (part?.type !== 'tool_call_response' || isBlobRef(part.response)) return undefined;
  const { response } = part;
  const length = typeof response === 'string' ? response.length : JSON.stringify(response).length;
  return length > MAX_CHARS ? undefined : response;
}

export function keyOf({ tool, args }: Call): string {
  return canonicalJson([tool, args]);
}

export function isMeant({ texts }: ThingRecord, values: ReadonlySet<string>): boolean {
  for (const text of texts) if (values.has(text)) return true;
  return false;
}

export function forget(known: ThingRecord): void {
  known.written = undefined;
  known.created = undefined;
  known.ended = undefined;
}

/** A thing can be meant by its texts, such as a title, but not by a day or a number. */
export function learn({ texts }: ThingRecord, fields: Fields): void {
  for (const value of fields.values())
    if (value.length >= MIN_TEXT && /\p{L}/u.test(value) && value !== 'null' && value !== 'true' && value !== 'false')
      texts.add(value);
}

export function withoutIds(fields: Fields): Fields {
  return new Map([...fields].filter(([key]) => !/id$/i.test(key)));
}

/** Whether a list was asked for with arguments that all are those with which a thing was created. */
export function isListFor(asked: Json, created: Json): boolean {
  if (!isJsonObject(asked) || !isJsonObject(created)) return false;
  const entries = Object.entries(asked);
  return (
    entries.length > 0 && entries.every(([key, value]) => canonicalJson(created[key] ?? null) === canonicalJson(value))
  );
}

/** Whether a result is a list, or has one, without more pages. */
export function isWholeList(json: Json): boolean {
  const lists = Array.isArray(json) ? [json] : isJsonObject(json) ? Object.values(json).filter(Array.isArray) : [];
  const [list] = lists;
  if (list === undefined || lists.length > 1 || (list.length >= 10 && list.length % 5 === 0)) return false;
  return Array.isArray(json) || (isJsonObject(json) && !Object.keys(json).some((key) => PAGED.test(key)));
}

export function isSameFields(a: Fields, b: Fields): boolean {
  return a.size === b.size && [...a].every(([key, value]) => b.get(key) === value);
}
