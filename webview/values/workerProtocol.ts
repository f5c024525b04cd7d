/** Messages between a page and its value worker. Not validated, because both are built together. */
import type { Json } from '../../src/common/json.ts';
import type { Shape, ValueDocument, ValueRow } from './valueDocument.ts';

export type Question =
  /** Loads a value: JSON, or a text, depending on `media`. */
  | { readonly what: 'load'; readonly pieces: readonly Uint8Array[]; readonly media: string }
  /** The other questions require a loaded document. */
  | { readonly what: 'shape' }
  | { readonly what: 'firstOpen' }
  | { readonly what: 'rows'; readonly open: readonly string[] }
  | { readonly what: 'count'; readonly form: 'text' | 'json' }
  | { readonly what: 'lines'; readonly form: 'text' | 'json'; readonly from: number; readonly to: number }
  | { readonly what: 'cells'; readonly from: number; readonly to: number }
  | { readonly what: 'whole' };

export interface Answers {
  readonly load: Shape;
  readonly shape: Shape;
  readonly firstOpen: readonly string[];
  readonly rows: readonly ValueRow[];
  readonly count: number;
  readonly lines: readonly string[];
  readonly cells: readonly (readonly string[])[];
  readonly whole: ReturnType<ValueDocument['whole']>;
}

export interface WorkerRequest {
  readonly id: number;
  /** ID of the document. */
  readonly document: string;
  readonly question: Question;
}

export type WorkerReply =
  | {
      readonly id: number;
      /** undefined: the worker no longer has the document. */
      readonly answer: Answers[keyof Answers] | undefined;
    }
  | { readonly id: number; readonly error: string };

/** Returns the value in the bytes of a blob. */
export function decode(pieces: readonly Uint8Array[], media: string): Json {
  const decoder = new TextDecoder();
  const text = pieces.map((bytes) => decoder.decode(bytes, { stream: true })).join('') + decoder.decode();
  if (!media.includes('json')) return text;
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}
