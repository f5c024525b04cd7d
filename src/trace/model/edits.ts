/** Edits, by the seq of the start or end that they change. */
import type { Json } from '../../common/json.ts';
import type { AnyEvent } from '../model.ts';
import type { EventOf } from '../schema.ts';
import { replaceAt } from '../values/pointer.ts';

/** A value, and whether an edit changed it. */
export interface EditedValue {
  readonly value: Json;
  readonly edited: boolean;
}

export class EditLog {
  readonly #edits = new Map<number, EventOf<'edit'>[]>();

  add(seq: number, event: EventOf<'edit'>): void {
    const list = this.#edits.get(seq);
    if (list === undefined) this.#edits.set(seq, [event]);
    else list.push(event);
  }

  of(seq: number): readonly EventOf<'edit'>[] {
    return this.#edits.get(seq) ?? [];
  }

  /** Returns a field of an event's data with its edits applied. */
  apply(seq: number, field: 'arguments' | 'result', base: Json): EditedValue {
    const root = `/${field}`;
    let value = base;
    let edited = false;
    for (const { data } of this.of(seq)) {
      if (data.path !== root && !data.path.startsWith(`${root}/`)) continue;
      const next = replaceAt(value, data.path.slice(root.length), data.value);
      if (next === undefined) continue;
      value = next;
      edited = true;
    }
    return { value, edited };
  }
}

/** Returns the ordinal of the message that is, or belongs to, an edited event. */
export function messageOf(target: AnyEvent | undefined): number | undefined {
  if (target === undefined || 'unknown' in target) return undefined;
  return target.kind === 'message' || target.kind === 'model.end' || target.kind === 'tool.end'
    ? target.data.m
    : undefined;
}
