/** The effects of rules that change the result of a tool. Pure. */
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { SubmittedRule } from '../../config/submission/rule.ts';

type Alteration = Extract<SubmittedRule, { effect: 'empty' | 'drop' | 'truncate' | 'stale' | 'text' }>;

/** Draws numbers from 0 up to 1, the same for the same call. */
export type Random = () => number;

/**
 * Returns the result that the agent sees. `previous`: the real result of the previous call with the same arguments.
 * Text that is a JSON object or list, as tools of MCP servers return it, is changed as such.
 */
export function alteredResult(rule: Alteration, result: Json, previous: Json | undefined, random: Random): Json {
  switch (rule.effect) {
    case 'stale':
      return previous ?? result;
    case 'text':
      return withText(rule.args, result);
    default:
      return inJson(result, (value) => altered(rule, value, random));
  }
}

function altered(
  rule: Extract<Alteration, { effect: 'empty' | 'drop' | 'truncate' }>,
  value: Json,
  random: Random,
): Json {
  switch (rule.effect) {
    case 'empty':
      return emptied(value);
    case 'drop': {
      const { fields, items } = rule.args;
      const left = fields.length === 0 ? value : withoutFields(value, new Set(fields));
      return items === 0 ? left : inLongestList(left, (list) => sampled(list, list.length - items, random));
    }
    case 'truncate':
      return truncated(rule.args, value);
  }
}

function inJson(result: Json, change: (value: Json) => Json): Json {
  const inner = typeof result === 'string' ? structureIn(result) : undefined;
  if (inner === undefined || typeof result !== 'string') return change(result);
  const next = change(inner);
  return next === inner ? result : JSON.stringify(next, undefined, result.includes('\n') ? 2 : undefined);
}

function structureIn(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function emptied(value: Json): Json {
  if (typeof value === 'string') return '';
  if (Array.isArray(value)) return [];
  return isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, Array.isArray(member) ? [] : null]))
    : null;
}

function withoutFields(value: Json, fields: ReadonlySet<string>): Json {
  if (Array.isArray(value)) return value.map((item) => withoutFields(item, fields));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => (fields.has(key) ? [] : [[key, withoutFields(member, fields)]])),
  );
}

function truncated({ items, chars, more }: Extract<Alteration, { effect: 'truncate' }>['args'], value: Json): Json {
  if (typeof value === 'string') return chars === undefined ? value : value.slice(0, chars);
  if (items === undefined) return value;
  return inLongestList(value, (list) => list.slice(0, items), more === undefined ? undefined : { [more]: items });
}

/** Changes the longest list: the value itself, or a member of it. `note` is added to an object whose list changed. */
function inLongestList(value: Json, change: (list: readonly Json[]) => Json[], note: JsonObject = {}): Json {
  if (Array.isArray(value)) return changedList(value, change);
  if (!isJsonObject(value)) return value;
  let longest: { readonly key: string; readonly list: Json[] } | undefined;
  for (const [key, list] of Object.entries(value))
    if (Array.isArray(list) && list.length > (longest?.list.length ?? 0)) longest = { key, list };
  if (longest === undefined) return value;
  const list = changedList(longest.list, change);
  return list === longest.list ? value : { ...value, [longest.key]: list, ...note };
}

function changedList(list: Json[], change: (list: readonly Json[]) => Json[]): Json[] {
  const next = change(list);
  return next.length === list.length ? list : next;
}

/** Returns `count` items in their order. */
function sampled(list: readonly Json[], count: number, random: Random): Json[] {
  const left = [...list.keys()];
  while (left.length > Math.max(0, count)) left.splice(Math.floor(random() * left.length), 1);
  return left.flatMap((index) => list[index] ?? []);
}

function withText({ text, place }: Extract<Alteration, { effect: 'text' }>['args'], result: Json): Json {
  if (place === 'replace') return text;
  const own = typeof result === 'string' ? result : JSON.stringify(result);
  return place === 'before' ? `${text}\n${own}` : `${own}\n${text}`;
}
