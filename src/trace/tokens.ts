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
  /** IDs of the prompt, without the first `missing`. */
  readonly prompt: readonly number[];
  /** Number of tokens at the beginning that belong to an earlier call without a record. */
  readonly missing: number;
  /** Number of tokens that are shared with the earlier call. */
  readonly kept: number;
  readonly completion: readonly number[];
  /** Natural logarithms, one for each token of the completion. */
  readonly logprobs: readonly number[] | undefined;
}

/** Returns the tokens of a model call; undefined if none were captured. */
export async function tokensOf(
  model: TrajectoryModel,
  span: ModelSpan,
  read: ReadJson,
): Promise<CallTokens | undefined> {
  const record = await recordOf(span, read);
  if (record === undefined) return undefined;
  const { of, keep = 0, ids } = record.prompt;
  const earlier = of === undefined ? undefined : model.span(of);
  // If the earlier call cannot be read, its tokens count as missing.
  const before = earlier?.kind === 'model' ? await tokensOf(model, earlier, read).catch(() => undefined) : undefined;
  const shared =
    before === undefined ? [] : [...before.prompt, ...before.completion].slice(0, Math.max(0, keep - before.missing));
  return {
    prompt: [...shared, ...ids],
    kept: keep,
    missing: keep - shared.length,
    completion: record.completion,
    logprobs: record.logprobs === undefined ? undefined : floatsOf(record.logprobs),
  };
}

async function recordOf(span: ModelSpan, read: ReadJson): Promise<TokenRecord | undefined> {
  const ref = span.end?.data.tokens;
  return ref === undefined ? undefined : tokenRecord.parse(await read(ref));
}

/** Decodes base64 of little-endian float32. */
export function floatsOf(base64: string): number[] {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = binary.charCodeAt(at);
  const view = new DataView(bytes.buffer);
  const floats: number[] = [];
  for (let at = 0; at + 4 <= bytes.length; at += 4) floats.push(view.getFloat32(at, true));
  return floats;
}
