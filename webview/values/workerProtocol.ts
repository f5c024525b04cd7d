/** What the page asks of its value worker. Both ends are of one bundle, so nothing is parsed. */
import type { Json } from '../../src/common/json.ts';
import type { Shape, ValueDocument, ValueRow } from './valueDocument.ts';

export type Question =
  /** JSON of the value, or the value itself when `media` is text. */
  | { readonly what: 'load'; readonly pieces: readonly Uint8Array[]; readonly media: string }
  /** Of a document that was loaded before. */
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
  /** Which document of the worker. */
  readonly document: string;
  readonly question: Question;
}

export type WorkerReply =
  | {
      readonly id: number /** undefined: the document is not held any more. */;
      readonly answer: Answers[keyof Answers] | undefined;
    }
  | { readonly id: number; readonly error: string };

/** The value that bytes of a blob stand for. */
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
