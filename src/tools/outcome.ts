import type { Json } from '../common/json.ts';
import type { ToolOutcome } from '../rollout/ports.ts';
import { KEPT_BYTES, RESULT_BYTES } from './modules/limits.ts';

/** A tool's output as text, possibly cut. */
interface OutputText {
  readonly text: string;
  /** UTF-8 bytes of the full output, if `text` is cut. */
  readonly bytes?: number | undefined;
}

type Response = Pick<ToolOutcome, 'response' | 'cut' | 'full'>;

/** Returns text as a response. If it exceeds the limit, it is cut and stored as `full`. */
export function textResponse(output: OutputText): Response {
  const size = sizeOf(output);
  if (size <= RESULT_BYTES) return { response: output.text };
  return cutResponse(output, size);
}

/** Returns JSON as a response. If it exceeds the limit, it is cut and returned as text. */
export function jsonResponse(output: OutputText): Response {
  const size = sizeOf(output);
  if (size <= RESULT_BYTES) return { response: JSON.parse(output.text) as Json }; // JSON.parse only returns JSON
  return cutResponse(output, size);
}

function cutResponse(output: OutputText, size: number): Response {
  const full = Buffer.from(output.text);
  // As a stream, without the character that is cut at the end.
  const head = new TextDecoder().decode(full.subarray(0, RESULT_BYTES), { stream: true });
  const cut = size - RESULT_BYTES;
  const isCut = full.length > KEPT_BYTES || (output.bytes !== undefined && output.bytes > full.length);
  return {
    response: `${head}\n[${cut} more bytes were cut]`,
    cut,
    full: isCut ? cutBlob(full) : full,
  };
}

/** Returns the beginning with the mark of a cut, before which a secret that was cut is found. */
function cutBlob(full: Buffer): Buffer {
  const mark = Buffer.from('…');
  // As a stream, without the character that is cut at the end.
  const kept = new TextDecoder().decode(full.subarray(0, KEPT_BYTES - mark.length), { stream: true });
  return Buffer.concat([Buffer.from(kept), mark]);
}

function sizeOf(output: OutputText): number {
  if (output.bytes !== undefined) return output.bytes;
  // A UTF-16 unit is at most three bytes, so short outputs need no counting.
  return output.text.length * 3 <= RESULT_BYTES ? output.text.length : Buffer.byteLength(output.text);
}
