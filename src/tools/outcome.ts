import type { Json } from '../common/json.ts';
import type { ToolOutcome } from '../rollout/ports.ts';
import { KEPT_BYTES, RESULT_BYTES } from './modules/limits.ts';

/** A tool's output as text, of which perhaps not all was kept. */
export interface OutputText {
  readonly text: string;
  /** UTF-8 bytes of the whole output when `text` is less. */
  readonly bytes?: number | undefined;
}

type Response = Pick<ToolOutcome, 'response' | 'cut' | 'full'>;

/** Text as a response: what is over the cap is cut and kept as `full`. */
export function textResponse(output: OutputText): Response {
  const size = sizeOf(output);
  if (size <= RESULT_BYTES) return { response: output.text };
  return cutResponse(output, size);
}

/** JSON text as a response. Over the cap it is told as the text it is, for a part of JSON is no JSON. */
export function jsonResponse(output: OutputText): Response {
  const size = sizeOf(output);
  if (size <= RESULT_BYTES) return { response: JSON.parse(output.text) as Json }; // JSON.parse gives nothing else
  return cutResponse(output, size);
}

function cutResponse(output: OutputText, size: number): Response {
  const full = Buffer.from(output.text);
  const head = new TextDecoder().decode(full.subarray(0, RESULT_BYTES)).replace(/\uFFFD+$/, '');
  const cut = size - RESULT_BYTES;
  return {
    response: `${head}\n[${cut} more bytes were cut]`,
    cut,
    full: full.length > KEPT_BYTES ? Buffer.from(full.subarray(0, KEPT_BYTES)) : full,
  };
}

function sizeOf(output: OutputText): number {
  if (output.bytes !== undefined) return output.bytes;
  // A UTF-16 unit is at most three bytes: most outputs need no counting.
  return output.text.length * 3 <= RESULT_BYTES ? output.text.length : Buffer.byteLength(output.text);
}
