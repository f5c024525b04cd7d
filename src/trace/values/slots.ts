/**
 * The fields of events that contain values of users, tools, and models. Only these may contain blob references, and
 * only their keys are escaped.
 */
import type { Json, JsonObject } from '../../common/json.ts';
import type { BlobRef, Change, EventOf, Part, TraceEvent, UnknownEvent } from '../schema.ts';

/** Functions that change each kind of value. They return their argument if nothing changes. */
export interface ValueChange {
  /** Any JSON: arguments, results, answers. */
  json(value: Json): Json;
  /** Text of a part or a log line. */
  text(value: string | BlobRef): string | BlobRef;
  /** Base64 of a blob part. */
  media(value: string | BlobRef, mimeType: string): string | BlobRef;
  /** An object with users' values that must stay an object. */
  record(value: JsonObject): JsonObject;
}

/** Returns the event with its values changed, or the event itself if none changed. Copies only changed objects. */
export function changeValues<E extends TraceEvent | UnknownEvent>(event: E, change: ValueChange): E {
  const parsed: TraceEvent | undefined = 'unknown' in event ? undefined : event;
  if (parsed === undefined) return event;
  const data = changedData(parsed, change);
  return data === parsed.data ? event : { ...event, data };
}

function changedData(event: TraceEvent, change: ValueChange): TraceEvent['data'] {
  switch (event.kind) {
    case 'message':
      return changeMessage(event.data, change);
    case 'model.start': {
      const sampling = change.record(event.data.sampling);
      return sampling === event.data.sampling ? event.data : { ...event.data, sampling };
    }
    case 'tool.start': {
      const value = change.json(event.data.arguments);
      return value === event.data.arguments ? event.data : { ...event.data, arguments: value };
    }
    case 'tool.end': {
      const result = event.data.result === undefined ? undefined : change.json(event.data.result);
      const real = event.data.real === undefined ? undefined : change.json(event.data.real);
      if (result === event.data.result && real === event.data.real) return event.data;
      return { ...event.data, ...(result === undefined ? {} : { result }), ...(real === undefined ? {} : { real }) };
    }
    case 'world.diff': {
      const changes = changeAll(event.data.changes, (item) => changeOfWorld(item, change));
      return changes === event.data.changes ? event.data : { ...event.data, changes };
    }
    case 'score': {
      const { prediction } = event.data;
      if (prediction?.response === undefined) return event.data;
      const response = change.json(prediction.response);
      return response === prediction.response ? event.data : { ...event.data, prediction: { ...prediction, response } };
    }
    case 'edit': {
      const value = change.json(event.data.value);
      return value === event.data.value ? event.data : { ...event.data, value };
    }
    case 'release': {
      if (event.data.value === undefined) return event.data;
      const value = change.json(event.data.value);
      return value === event.data.value ? event.data : { ...event.data, value };
    }
    case 'log': {
      const text = change.text(event.data.text);
      return text === event.data.text ? event.data : { ...event.data, text };
    }
    case 'rollout.end': {
      const answer = change.json(event.data.answer);
      return answer === event.data.answer ? event.data : { ...event.data, answer };
    }
    case 'control': {
      const args = event.data.args === undefined ? undefined : change.json(event.data.args);
      const result = event.data.result === undefined ? undefined : change.json(event.data.result);
      if (args === event.data.args && result === event.data.result) return event.data;
      return { ...event.data, ...(args === undefined ? {} : { args }), ...(result === undefined ? {} : { result }) };
    }
    default:
      return event.data;
  }
}

function changeMessage(data: EventOf<'message'>['data'], change: ValueChange): EventOf<'message'>['data'] {
  const parts = changeAll(data.parts, (part) => changePart(part, change));
  const headers = data.headers === undefined ? undefined : change.record(data.headers);
  if (parts === data.parts && headers === data.headers) return data;
  return { ...data, parts, ...(headers === undefined ? {} : { headers }) };
}

function changePart(part: Part, change: ValueChange): Part {
  switch (part.type) {
    case 'text':
    case 'reasoning': {
      const content = change.text(part.content);
      return content === part.content ? part : { ...part, content };
    }
    case 'tool_call': {
      const value = change.json(part.arguments);
      return value === part.arguments ? part : { ...part, arguments: value };
    }
    case 'tool_call_response': {
      const response = change.json(part.response);
      return response === part.response ? part : { ...part, response };
    }
    case 'blob': {
      const content = change.media(part.content, part.mime_type);
      return content === part.content ? part : { ...part, content };
    }
    case 'uri':
      return part;
  }
}

function changeOfWorld(item: Change, change: ValueChange): Change {
  const key = change.json(item.key);
  const before = item.before === undefined ? undefined : change.json(item.before);
  const after = item.after === undefined ? undefined : change.json(item.after);
  if (key === item.key && before === item.before && after === item.after) return item;
  return { ...item, key, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
}

/** Returns `items` itself if no item changed. */
export function changeAll<T>(items: T[], change: (item: T) => T): T[] {
  let changed: T[] | undefined;
  for (const [index, item] of items.entries()) {
    const next = change(item);
    if (next !== item && changed === undefined) changed = items.slice(0, index);
    changed?.push(next);
  }
  return changed ?? items;
}
