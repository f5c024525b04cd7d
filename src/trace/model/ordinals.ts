import type { Context } from '../schema.ts';

/** Returns the ordinals of the messages of a context, in order. */
export function ordinalsOf(context: Context): number[] {
  return context.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}
