/** Two attempts side by side: which steps are equal, differ, or exist on one side only, and what differs in them. */
import { isJsonObject, isSameJson, type Json } from '../../common/json.ts';
import type { Change } from '../schema.ts';
import { inline, valueText } from '../text/values.ts';
import { isBlobRef } from '../values/keys.ts';
import type { Action, ActionCall } from './actions.ts';
import { pairwise } from './pairwise.ts';

export interface SideRow {
  readonly state: 'same' | 'differs' | 'left' | 'right';
  readonly left?: Action;
  readonly right?: Action;
}

/** Aligns two attempts. The text of a final answer counts; other words do not. */
export function sideRows(left: readonly Action[], right: readonly Action[]): SideRow[] {
  return pairwise(left, right).map(({ a, b }): SideRow => {
    const [x, y] = [a === undefined ? undefined : left[a], b === undefined ? undefined : right[b]];
    if (x === undefined || y === undefined)
      return x === undefined
        ? { state: 'right', ...(y === undefined ? {} : { right: y }) }
        : { state: 'left', left: x };
    const last = a === left.length - 1 || b === right.length - 1;
    return { state: isSame(x, y, last) ? 'same' : 'differs', left: x, right: y };
  });
}

function isSame(a: Action, b: Action, last: boolean): boolean {
  if (a.key !== b.key) return false;
  if (a.kind === 'text') return !last || a.text === b.text;
  return a.calls.every((call, index) => sideFields(call, b.calls[index]).length === 0);
}

/** A row, or a run of equal rows on one line. */
export type SideItem =
  | { readonly row: number; readonly until?: undefined }
  | { readonly row: number; readonly until: number };

/** Shortest run of equal rows that is folded. */
const MIN_RUN = 2;

/** Folds runs of equal rows. `open`: first rows of the runs that are not folded. */
export function foldedRows(rows: readonly SideRow[], open: ReadonlySet<number> | 'all'): SideItem[] {
  const items: SideItem[] = [];
  for (let row = 0; row < rows.length; ) {
    const until = runEnd(rows, row);
    if (until - row >= MIN_RUN && open !== 'all' && !open.has(row)) items.push({ row, until });
    else for (let at = row; at < Math.max(until, row + 1); at++) items.push({ row: at });
    row = Math.max(until, row + 1);
  }
  return items;
}

/** Returns the first row of the run of equal rows that contains a row; undefined where no run can be folded. */
export function runAt(rows: readonly SideRow[], row: number): number | undefined {
  let start = row;
  while (rows[start]?.state === 'same' && rows[start - 1]?.state === 'same') start -= 1;
  return runEnd(rows, start) - start >= MIN_RUN ? start : undefined;
}

function runEnd(rows: readonly SideRow[], row: number): number {
  let until = row;
  while (rows[until]?.state === 'same') until += 1;
  return until;
}

/** What a call shows under its name. Equal parts are left out if both sides made the same call. */
export interface SideField {
  readonly name: 'arguments' | 'result' | 'world';
  readonly left?: string;
  readonly right?: string;
}

/** Returns the fields of two calls that differ; with a call on one side only, all of its fields. */
export function sideFields(left: ActionCall | undefined, right: ActionCall | undefined): SideField[] {
  const paired = left !== undefined && right !== undefined && left.name === right.name;
  const texts = (name: SideField['name'], a: string | undefined, b: string | undefined): SideField[] =>
    (a === undefined && b === undefined) || (paired && a === b)
      ? []
      : [{ name, ...(a === undefined ? {} : { left: a }), ...(b === undefined ? {} : { right: b }) }];
  const of = (name: SideField['name'], a: Json | undefined, b: Json | undefined): SideField[] =>
    paired && a !== undefined && b !== undefined && isSameJson(a, b)
      ? []
      : texts(name, ...(paired ? differingTexts(a, b) : ([whole(a), whole(b)] as const)));
  const [world, otherWorld] = [worldText(left), worldText(right)];
  const none = (text: string, call: ActionCall | undefined): string | undefined =>
    text !== '' ? text : call === undefined || !paired ? undefined : 'no changes';
  return [
    ...of('arguments', left?.arguments, right?.arguments),
    ...of('result', parsed(left?.result), parsed(right?.result)),
    ...(world === '' && otherWorld === '' ? [] : texts('world', none(world, left), none(otherWorld, right))),
  ];
}

/** Returns the arguments that both calls share, as text. */
export function sharedArguments(left: ActionCall, right: ActionCall | undefined): string {
  if (right === undefined || !isJsonObject(left.arguments) || !isJsonObject(right.arguments)) return '';
  const { arguments: a } = left;
  const b = right.arguments;
  return Object.keys(a)
    .filter((key) => Object.hasOwn(b, key) && isSameJson(a[key], b[key]))
    .map((key) => member(key, a[key]))
    .join(', ');
}

/** Changes of the world by a call on one line each; '' if none. */
function worldText(call: ActionCall | undefined): string {
  return (call?.changes ?? []).map(changeText).join('\n');
}

function changeText({ table, file, key, op, before, after }: Change): string {
  const row = [table ?? file, table === undefined ? undefined : valueText(key)].filter(Boolean).join(' ');
  if (op === 'insert') return `${row} added ${whole(after) ?? ''}`.trimEnd();
  if (op === 'delete') return `${row} removed`;
  const [a, b] = [before, after];
  if (a === undefined || b === undefined || !isJsonObject(a) || !isJsonObject(b))
    return `${row} ${whole(a) ?? 'nothing'} → ${whole(b) ?? 'nothing'}`;
  const fields = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((name) => !isSameJson(a[name], b[name]));
  return `${row} ${fields
    .map((name) => `${name} ${whole(a[name]) ?? 'nothing'} → ${whole(b[name]) ?? 'nothing'}`)
    .join(', ')}`;
}

/** Texts of two values without the members that are equal. */
function differingTexts(a: Json | undefined, b: Json | undefined): [string | undefined, string | undefined] {
  if (a === undefined || b === undefined || !isRecord(a) || !isRecord(b)) return [whole(a), whole(b)];
  const text = (of: { readonly [key: string]: Json }, other: { readonly [key: string]: Json }): string =>
    Object.keys(of)
      .filter((key) => !Object.hasOwn(other, key) || !isSameJson(of[key], other[key]))
      .map((key) => member(key, of[key]))
      .join(', ');
  return [text(a, b) || undefined, text(b, a) || undefined];
}

function isRecord(value: Json): value is { [key: string]: Json } {
  return isJsonObject(value) && !isBlobRef(value);
}

function member(key: string, value: Json | undefined): string {
  return `${key}: ${value === undefined ? 'nothing' : inline(value)}`;
}

function whole(value: Json | undefined): string | undefined {
  if (value === undefined) return undefined;
  if (!isRecord(value)) return valueText(value);
  return Object.entries(value)
    .map(([key, one]) => member(key, one))
    .join(', ');
}

/** Many tools return JSON as text; its members compare better than its letters. */
function parsed(value: Json | undefined): Json | undefined {
  if (typeof value !== 'string' || !/^\s*[{[]/.test(value)) return value;
  try {
    return JSON.parse(value) as Json;
  } catch {
    return value; // it only looks like JSON
  }
}
