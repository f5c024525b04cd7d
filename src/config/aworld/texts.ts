import type { Json } from '../../common/json.ts';
import type { Path } from '../source/parse.ts';

/** Adds a note about a place in the imported file. */
export type Report = (at: Path, text: string) => void;

/** Returns a value as text: strings unchanged, anything else as JSON. */
export function plainText(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

/** Returns a string that is not blank. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
