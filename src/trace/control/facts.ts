/** Reads the things in the results and arguments of calls, each identified by an ID. */
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { identified, isVolatile, thingOf } from './words.ts';

/** Texts and numbers of a thing, by key. */
export type Fields = ReadonlyMap<string, string>;

export interface Thing {
  /** What it is and its ID, as one text. */
  readonly key: string;
  /** What it is, e.g. `loan`. */
  readonly kind: string;
  readonly id: string;
  readonly fields: Fields;
}

/** Returns all things in a result. `kind`: what the tool returns, for objects whose ID does not say what they are. */
export function thingsIn(value: Json, kind: string): Thing[] {
  if (Array.isArray(value)) return value.flatMap((item) => thingsIn(item, kind));
  if (!isJsonObject(value)) return [];
  const own = thingOfObject(value, kind);
  const inside = Object.entries(value).flatMap(([key, member]) =>
    typeof member === 'object' && member !== null ? thingsIn(member, thingOf(key) === '' ? kind : thingOf(key)) : [],
  );
  return own === undefined ? inside : [own, ...inside];
}

/** The first ID of an object is its own; further ones are of things that it refers to. */
function thingOfObject(value: JsonObject, kind: string): Thing | undefined {
  for (const [key, member] of Object.entries(value)) {
    const named = identified(key);
    const id = scalarText(member);
    if (named === undefined || id === undefined || id === '') continue;
    const what = named === '' ? kind : named;
    return what === '' ? undefined : { key: `${what} ${id}`, kind: what, id, fields: fieldsOf(value, key) };
  }
  return undefined;
}

/** Returns the texts and numbers of an object that change only by calls. */
export function fieldsOf(value: JsonObject, own?: string): Fields {
  return new Map(
    Object.entries(value).flatMap(([key, member]) => {
      const text = scalarText(member);
      return text === undefined || key === own || isVolatile(key) ? [] : [[key, text] as const];
    }),
  );
}

/** Returns the things that arguments name. */
export function namedIn(args: Json, kind: string): Omit<Thing, 'fields'>[] {
  if (!isJsonObject(args)) return [];
  return Object.entries(args).flatMap(([key, member]) => {
    const named = identified(key);
    const id = scalarText(member);
    if (named === undefined || id === undefined || id === '') return [];
    const what = named === '' ? kind : named;
    return what === '' ? [] : [{ key: `${what} ${id}`, kind: what, id }];
  });
}

/** Returns all texts and numbers in a value. */
export function valuesIn(value: Json, into = new Set<string>()): Set<string> {
  if (Array.isArray(value)) for (const item of value) valuesIn(item, into);
  else if (isJsonObject(value)) for (const member of Object.values(value)) valuesIn(member, into);
  else {
    const text = scalarText(value);
    if (text !== undefined) into.add(text);
  }
  return into;
}

/** A number and its text are the same value. null is a value; true and false are, too. */
function scalarText(value: Json | undefined): string | undefined {
  return value === undefined || typeof value === 'object'
    ? value === null
      ? 'null'
      : undefined
    : String(value).trim();
}

/** IDs in a text, such as `L-3001`. */
const ID = /\b[A-Za-z]{1,6}[-_]?\d{2,}\b/g;

export function idsIn(text: string): string[] {
  return text.match(ID) ?? [];
}

/** Returns the form of an ID: `L-0000` for `L-3001`. */
export function formOf(id: string): string {
  return id.replace(/\d/g, '0');
}
