import type { Json } from '../../common/json.ts';
import type { Path } from '../source/parse.ts';

/** Says something of a place in the file that was read. */
export type Tell = (at: Path, text: string) => void;

/** As it stands in a text. */
export function plainText(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}

/** A text that says something. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
