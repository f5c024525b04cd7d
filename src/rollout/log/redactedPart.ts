import { isJsonObject, type Json } from '../../common/json.ts';
import type { Part } from '../../trace/schema.ts';

/** Returns a part with `redact` applied to its texts; the same object if nothing changed. */
export function redactedPart(part: Part, redact: (text: string) => string): Part {
  switch (part.type) {
    case 'text':
    case 'reasoning': {
      const content = typeof part.content === 'string' ? redact(part.content) : part.content;
      return content === part.content ? part : { ...part, content };
    }
    case 'tool_call': {
      const value = redactedJson(part.arguments, redact);
      return value === part.arguments ? part : { ...part, arguments: value };
    }
    case 'tool_call_response': {
      const response = redactedJson(part.response, redact);
      return response === part.response ? part : { ...part, response };
    }
    case 'blob':
    case 'uri':
      return part;
  }
}

function redactedJson(value: Json, redact: (text: string) => string): Json {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) {
    const items = value.map((item) => redactedJson(item, redact));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([key, member]): [string, Json] => [
    redact(key),
    redactedJson(member, redact),
  ]);
  return members.every(([key, member]) => value[key] === member) ? value : Object.fromEntries(members);
}
