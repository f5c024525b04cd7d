/** Token records of model calls: prompts are differences to earlier calls, so a chain of them is put together. */
import type { ModelSpan } from '../../../../src/trace/model/spans.ts';
import type { TrajectoryModel } from '../../../../src/trace/model.ts';
import { tokenRecord, type TokenRecord } from '../../../../src/trace/schema.ts';
import type { Blobs } from '../../../data/blobs.ts';

export interface CallTokens {
  /** Ids of the whole prompt. */
  readonly prompt: readonly number[];
  /** Of these so many are as in the call before. */
  readonly kept: number;
  readonly completion: readonly number[];
  /** One for each token of the completion; natural logarithms. */
  readonly logprobs: readonly number[] | undefined;
}

/** undefined where none were captured. */
export async function tokensOf(model: TrajectoryModel, span: ModelSpan, blobs: Blobs): Promise<CallTokens | undefined> {
  const record = await recordOf(span, blobs);
  if (record === undefined) return undefined;
  const { of, keep = 0, ids } = record.prompt;
  const earlier = of === undefined ? undefined : model.span(of);
  const before = earlier?.kind === 'model' ? await tokensOf(model, earlier, blobs) : undefined;
  const shared = before === undefined ? [] : [...before.prompt, ...before.completion].slice(0, keep);
  return {
    prompt: [...shared, ...ids], kept: shared.length, completion: record.completion,
    logprobs: record.logprobs === undefined ? undefined : floats(record.logprobs),
  };
}

async function recordOf(span: ModelSpan, blobs: Blobs): Promise<TokenRecord | undefined> {
  const ref = span.end?.data.tokens;
  return ref === undefined ? undefined : tokenRecord.parse(await blobs.json(ref));
}

/** base64 of little-endian float32. */
function floats(base64: string): number[] {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => view.getFloat32(i * 4, true));
}
