/**
 * Reads token records of model calls. Prompts are stored as differences to earlier calls, so a chain of records is
 * combined.
 */

import type { ModelSpan } from './model/spans.ts';
import type { TrajectoryModel } from './model.ts';
import { type BlobRef, type TokenRecord, tokenRecord } from './schema.ts';

/** Reads a blob of JSON. */
type ReadJson = (ref: BlobRef) => Promise<unknown>;

export interface CallTokens {
  /** Ids of the whole prompt, but for the first `missing`. */
  readonly prompt: readonly number[];
  /** So many at its beginning are those of an earlier call whose record is not there. */
  readonly missing: number;
  /** Of these so many are as in the call before. */
  readonly kept: number;
  readonly completion: readonly number[];
  /** One for each token of the completion; natural logarithms. */
  readonly logprobs: readonly number[] | undefined;
}

/** undefined where none were captured. */
export async function tokensOf(
  model: TrajectoryModel,
  span: ModelSpan,
  read: ReadJson,
): Promise<CallTokens | undefined> {
  const record = await recordOf(span, read);
  if (record === undefined) return undefined;
  const { of, keep = 0, ids } = record.prompt;
  const earlier = of === undefined ? undefined : model.span(of);
  // counted as missing
  const before = earlier?.kind === 'model' ? await tokensOf(model, earlier, read).catch(() => undefined) : undefined;
  const shared =
    before === undefined ? [] : [...before.prompt, ...before.completion].slice(0, Math.max(0, keep - before.missing));
  return {
    prompt: [...shared, ...ids],
    kept: keep,
    missing: keep - shared.length,
    completion: record.completion,
    logprobs: record.logprobs === undefined ? undefined : floats(record.logprobs),
  };
}

async function recordOf(span: ModelSpan, read: ReadJson): Promise<TokenRecord | undefined> {
  const ref = span.end?.data.tokens;
  return ref === undefined ? undefined : tokenRecord.parse(await read(ref));
}

/** base64 of little-endian float32. */
function floats(base64: string): number[] {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => view.getFloat32(i * 4, true));
}
