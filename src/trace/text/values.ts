/** Formats values of users, tools, and models as text. */
import { isJsonObject, type Json } from '../../common/json.ts';
import { plural } from '../../common/text.ts';
import { compact } from '../../common/units.ts';
import type { Change, Part, SideUsage, TraceError } from '../schema.ts';
import { isBlobRef, unescapeKeys } from '../values/keys.ts';

/**
 * Formats a value: a string unchanged, anything else as JSON on one line. `pretty`: with indentation, also for strings
 * that contain a JSON object or array.
 */
export function valueText(stored: Json, pretty = false): string {
  if (isBlobRef(stored)) return `${stored.head}… (${compact(stored.bytes)} bytes, ${stored.media})`;
  const value = unescapeKeys(stored);
  if (typeof value === 'string') return value === '' ? '(empty)' : pretty ? (prettyJson(value) ?? value) : value;
  return pretty ? JSON.stringify(value, null, 2) : inline(value);
}

function prettyJson(text: string): string | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return undefined; // it only looked like JSON
  }
}

/** Formats JSON on one line with spaces after commas and colons, so that it wraps well. */
export function inline(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  if (isBlobRef(value)) return `<${compact(value.bytes)} bytes ${value.media}>`;
  return `{${Object.entries(value)
    .map(([key, member]) => `${/^[\w$]+$/.test(key) ? key : JSON.stringify(key)}: ${inline(member)}`)
    .join(', ')}}`;
}

/** Formats message parts: text, and placeholders for media. Omits reasoning and tool calls. */
export function partsText(parts: readonly Part[]): string {
  return parts
    .flatMap((part): string[] => {
      switch (part.type) {
        case 'text':
          return [valueText(part.content)];
        case 'blob': {
          const size = typeof part.content === 'string' ? Math.floor(part.content.length * 0.75) : part.content.bytes;
          return [`[${part.modality ?? part.mime_type}, ${compact(size)} bytes]`];
        }
        case 'uri':
          return [`[${part.uri}]`];
        case 'tool_call_response':
          return [valueText(part.response)];
        case 'reasoning':
        case 'tool_call':
          return [];
      }
    })
    .join('\n');
}

export function errorText(error: TraceError): string {
  return `${error.class}: ${error.message}`;
}

export function placeText(error: TraceError): string | undefined {
  return error.place === undefined ? undefined : `${error.place.file}:${error.place.line}:${error.place.column}`;
}

/** Formats a change: `update loans 17  due: "2026-05-01" → "2026-05-15"`. For an update, only the changed fields. */
export function changeText(change: Pick<Change, 'op' | 'table' | 'file' | 'key' | 'before' | 'after'>): string {
  const location = change.table ?? change.file ?? '';
  const key =
    change.file !== undefined && change.file === change.key
      ? ''
      : ` ${typeof change.key === 'string' ? change.key : inline(unescapeKeys(change.key))}`;
  const head = `${change.op} ${location}${key}`.replace(/ {2,}/g, ' ').trimEnd();
  const before = change.before === undefined ? undefined : unescapeKeys(change.before);
  const after = change.after === undefined ? undefined : unescapeKeys(change.after);
  if (isJsonObject(before) && isJsonObject(after) && !isBlobRef(before) && !isBlobRef(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
      (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
    );
    return `${head}  ${names.map((name) => `${name}: ${display(before[name])} → ${display(after[name])}`).join(', ')}`;
  }
  if (before !== undefined && after !== undefined) return `${head}  ${inline(before)} → ${inline(after)}`;
  const only = after ?? before;
  return only === undefined ? head : `${head}  ${inline(only)}`;
}

function display(value: Json | undefined): string {
  return value === undefined ? 'nothing' : inline(value);
}

/** Returns `side models: 2 calls, 1.2k tokens in, 80 out, cost 0.01`. */
export function sideUsageText({ calls, input_tokens, output_tokens, cost }: SideUsage): string {
  return (
    `side models: ${plural(calls, 'call')}, ${compact(input_tokens)} tokens in, ${compact(output_tokens)} out` +
    (cost === undefined ? '' : `, cost ${cost.toPrecision(3)}`)
  );
}
