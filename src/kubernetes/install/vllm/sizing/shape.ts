/** What decides how much memory a model needs. */
import { z } from 'zod';

const positive = z.number().positive();
const whole = z.number().int().positive();

/** Layers of one kind and what each keeps. */
export const modelShape = z.object({
  /** Bytes of all weights. */
  weights: positive,
  /** Layers whose cache grows with each token. */
  layers: whole,
  /** Heads of the attention; GPUs must divide them. */
  heads: whole,
  kvHeads: whole,
  headSize: whole,
  /** Of multi-head latent attention: numbers that each layer keeps for a token, instead of heads. */
  latent: whole.optional(),
  /** Layers that keep only the last tokens. */
  window: z.object({ layers: whole, tokens: whole }).optional(),
  /** Bytes that the layers without attention keep for a sequence, whatever its length. */
  state: positive.optional(),
  vocabulary: whole,
  /** Tokens that it was made for. */
  context: whole,
});
export type ModelShape = z.output<typeof modelShape>;

/** What a model's configuration says about its weights. */
export interface WeightFacts {
  readonly parameters: number;
  readonly vocabulary: number;
  readonly hidden: number;
  /** The same matrix embeds tokens and predicts them. */
  readonly tied?: boolean;
}

/** How the weights of a model are stored. */
export type Precision = 'bf16' | 'fp8' | 'int8' | 'int4';

/** Bytes of one weight, with the scales of its group (of 128 weights, as GPTQ and AWQ have them by default). */
const WEIGHT_BYTES: Readonly<Record<Precision, number>> = { bf16: 2, fp8: 1.01, int8: 1.03, int4: 0.53 };

/**
 * Returns the bytes of the weights: parameters × bytes of each. Quantized models keep their embeddings in 16 bits
 * (https://docs.vllm.ai/en/latest/features/quantization/).
 */
export function weightBytes(facts: WeightFacts, precision: Precision): number {
  const embeddings = precision === 'bf16' ? 0 : (facts.tied === true ? 1 : 2) * facts.vocabulary * facts.hidden;
  return (facts.parameters - embeddings) * WEIGHT_BYTES[precision] + embeddings * 2;
}

/** Returns how weights are stored, by the name of the model: `…-FP8`, `…-AWQ`, `…-GPTQ-Int4`. */
export function precisionOf(model: string): Precision {
  if (/[-_.]fp8\b/i.test(model)) return 'fp8';
  if (/[-_.](int8|w8a8|w8a16|8bit)\b/i.test(model)) return 'int8';
  return /[-_.](awq|gptq|int4|w4a16|4bit)\b/i.test(model) ? 'int4' : 'bf16';
}
