import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { Json, JsonObject } from '../../common/json.ts';
import { type Part, part } from '../../trace/schema.ts';
import { replaceAt } from '../../trace/values/pointer.ts';
import type { LoggedMessage } from '../log/messages.ts';

/** An edit of a request. */
interface StartEdit {
  readonly path: string;
  readonly value: Json;
  readonly by: string | undefined;
}

/**
 * The edits in a log. An edit applies to everything that starts after it, and to nothing that started before. So a
 * prefix is matched with its original requests, and everything after it uses the edits.
 */
export class Edits {
  readonly #replaced: { readonly seq: number; readonly m: number; readonly by: LoggedMessage }[] = [];
  readonly #starts = new Map<number, StartEdit[]>();

  /** From `seq` on, `message` replaces the message with ordinal `m`. */
  replace(seq: number, m: number, message: LoggedMessage): void {
    this.#replaced.push({ seq, m, by: message });
  }

  /** Returns `message` as seen by a call that starts at `before`. */
  resolve(message: LoggedMessage, before = Infinity): LoggedMessage {
    let current = message;
    for (const edit of this.#replaced) if (edit.seq < before && edit.m === current.m) current = edit.by;
    return current;
  }

  get replacesAny(): boolean {
    return this.#replaced.length > 0;
  }

  addToStart(span: number, edit: StartEdit): void {
    const edits = this.#starts.get(span);
    if (edits === undefined) this.#starts.set(span, [edit]);
    else edits.push(edit);
  }

  /** Returns the edits of the start with this seq, in order. */
  ofStart(span: number): readonly StartEdit[] {
    return this.#starts.get(span) ?? [];
  }
}

/** Editable parts of a start, by kind. */
const EDITABLE = { model: ['sampling', 'model'], tool: ['arguments'], world: [] } as const;

/**
 * Returns `value` with the value at the JSON pointer replaced. Throws StudioError `usage` if the path does not exist.
 */
function setAt(value: Json, pointer: string, replacement: Json): Json {
  const changed = replaceAt(value, pointer, replacement);
  if (changed === undefined)
    throw new StudioError('usage', `The path ${pointer} does not exist.`, {
      hint: 'Use a path in the recorded event.',
    });
  return changed;
}

/**
 * Returns the data of a start after an edit. Throws StudioError `usage` for a path that does not exist or cannot be
 * edited.
 */
export function editStart<T extends object>(kind: keyof typeof EDITABLE, data: T, path: string, value: Json): T {
  const member = path.split('/')[1] ?? '';
  const allowed: readonly string[] = EDITABLE[kind];
  if (!path.startsWith('/') || !allowed.includes(member)) {
    throw new StudioError('usage', `${path === '' ? 'The whole start' : path} of a ${kind} call cannot be edited.`, {
      hint:
        allowed.length === 0
          ? 'Continue, and edit at a later gate.'
          : `Editable: ${allowed.map((name) => `/${name}`).join(', ')}.`,
    });
  }
  // Event data is JSON; relevant shapes are checked where they are used.
  const edited = setAt(data as unknown as JsonObject, path, value) as unknown as T;
  if (
    path === `/${member}` &&
    member !== 'model' &&
    (typeof value !== 'object' || value === null || Array.isArray(value))
  ) {
    throw new StudioError('usage', `${path} must be an object.`);
  }
  if (path === '/model' && typeof value !== 'string') throw new StudioError('usage', '/model must be a string.');
  return edited;
}

/**
 * Returns the parts of a message after an edit. `path` refers to the data of the message (`/parts/0/content`) or, for a
 * tool message, to its result (`/result`, `/result/…`). Throws StudioError `usage`.
 */
export function editParts(message: LoggedMessage, path: string, value: Json): Part[] {
  const parts = [...message.parts];
  if (path === '/result' || path.startsWith('/result/')) {
    const index = parts.findIndex((candidate) => candidate.type === 'tool_call_response');
    const response = parts[index];
    if (response?.type !== 'tool_call_response')
      throw new StudioError('usage', `Message ${message.m} is not a tool message and has no result.`);
    parts[index] = { ...response, response: setAt(response.response, path.slice('/result'.length), value) };
    return parts;
  }
  if (path !== '/parts' && !path.startsWith('/parts/')) {
    throw new StudioError('usage', `${path === '' ? 'A whole message' : path} cannot be edited.`, {
      hint: 'Edit /parts or a path below it, or the /result of a tool.',
    });
  }
  const edited = setAt({ parts: parts as unknown as Json }, path, value) as { parts: unknown };
  const checked = z.array(part).safeParse(edited.parts);
  if (!checked.success)
    throw new StudioError(
      'usage',
      `The edit makes the message invalid: ${checked.error.issues[0]?.message ?? 'wrong parts'} at ` +
        `/parts/${(checked.error.issues[0]?.path ?? []).join('/')}.`,
    );
  return checked.data;
}
