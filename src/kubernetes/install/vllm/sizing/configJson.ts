/** Reads what decides about memory from the `config.json` that every model on the hub has. Pure. */
import { z } from 'zod';
import { StudioError } from '../../../../common/errors.ts';
import { type ModelShape, type Precision, precisionOf, weightBytes } from './shape.ts';

const whole = z.number().int().positive();
const optional = whole.nullish();

const textConfig = z.object({
  num_hidden_layers: whole,
  num_attention_heads: whole,
  num_key_value_heads: optional,
  head_dim: optional,
  hidden_size: whole,
  intermediate_size: optional,
  vocab_size: whole,
  tie_word_embeddings: z.boolean().nullish(),
  max_position_embeddings: optional,
  layer_types: z.array(z.string()).nullish(),
  sliding_window: optional,
  use_sliding_window: z.boolean().nullish(),
  // Multi-head latent attention.
  kv_lora_rank: optional,
  qk_rope_head_dim: optional,
  // Mixtures of experts.
  num_experts: optional,
  num_local_experts: optional,
  n_routed_experts: optional,
  moe_intermediate_size: optional,
  shared_expert_intermediate_size: optional,
  n_shared_experts: optional,
  first_k_dense_replace: z.number().int().nonnegative().nullish(),
  // Gated delta nets.
  linear_num_key_heads: optional,
  linear_num_value_heads: optional,
  linear_key_head_dim: optional,
  linear_value_head_dim: optional,
  linear_conv_kernel_dim: optional,
});
type TextConfig = z.output<typeof textConfig>;

const quantization = z.object({ quant_method: z.string().nullish(), bits: optional });
const file = z.object({
  // Models that also see have the part that writes here.
  text_config: z.unknown().optional(),
  tie_word_embeddings: z.boolean().nullish(),
  quantization_config: quantization.nullish(),
});

/**
 * Returns the shape of a model by its `config.json`. `weights`: their bytes, if they are known from
 * `model.safetensors.index.json` (`metadata.total_size`); otherwise they are computed. Throws StudioError `config`.
 */
export function shapeOfConfig(json: unknown, model: string, weights?: number): ModelShape {
  const outer = file.safeParse(json);
  const text = textConfig.safeParse(outer.data?.text_config ?? json);
  const failed = outer.error ?? text.error;
  if (!outer.success || !text.success) {
    const [issue] = failed?.issues ?? [];
    throw new StudioError(
      'config',
      `The configuration of ${model} has no usable ${issue?.path.join('.') ?? 'content'}.`,
      {
        hint:
          'It must be the config.json of a text model. Without it, leave out --vllm-gpu, and set the flags ' +
          'yourself.',
        cause: failed,
      },
    );
  }
  const config = text.data;
  const tied = config.tie_word_embeddings ?? outer.data.tie_word_embeddings ?? false;
  const facts = {
    parameters: parametersOf(config, tied),
    vocabulary: config.vocab_size,
    hidden: config.hidden_size,
    tied,
  };
  const { full, sliding, linear } = layersOf(config);
  const latent = config.kv_lora_rank == null ? undefined : config.kv_lora_rank + (config.qk_rope_head_dim ?? 0);
  return {
    weights: weights ?? weightBytes(facts, precision(outer.data.quantization_config, model)),
    layers: Math.max(1, full),
    heads: config.num_attention_heads,
    kvHeads: config.num_key_value_heads ?? config.num_attention_heads,
    headSize: headSizeOf(config),
    ...(latent === undefined ? {} : { latent }),
    ...(sliding > 0 && config.sliding_window != null
      ? { window: { layers: sliding, tokens: config.sliding_window } }
      : {}),
    ...(linear > 0 ? { state: linear * stateBytes(config) } : {}),
    vocabulary: config.vocab_size,
    context: config.max_position_embeddings ?? 32_768,
  };
}

function headSizeOf({ head_dim: size, hidden_size: hidden, num_attention_heads: heads }: TextConfig): number {
  return size ?? Math.floor(hidden / heads);
}

function layersOf(config: TextConfig): { full: number; sliding: number; linear: number } {
  const types = config.layer_types ?? [];
  const isWindowed = config.sliding_window != null && config.use_sliding_window !== false;
  const sliding = isWindowed ? types.filter((type) => type === 'sliding_attention').length : 0;
  const linear = types.filter((type) => type === 'linear_attention').length;
  return { full: config.num_hidden_layers - sliding - linear, sliding, linear };
}

function precision(found: z.output<typeof quantization> | null | undefined, model: string): Precision {
  if (found?.quant_method == null) return precisionOf(model);
  if (found.quant_method.includes('fp8')) return 'fp8';
  if (found.quant_method === 'mxfp4' || found.bits === 4) return 'int4';
  return found.bits === 8 ? 'int8' : precisionOf(model);
}

/** Counts the matrices of a decoder: embeddings, attention, and what follows it in each layer. */
function parametersOf(config: TextConfig, tied: boolean): number {
  const { hidden_size: hidden, num_hidden_layers: layers, vocab_size: vocabulary } = config;
  const size = headSizeOf(config);
  const heads = config.num_attention_heads;
  const kvHeads = config.num_key_value_heads ?? heads;
  const attention = 2 * hidden * heads * size + 2 * hidden * kvHeads * size;
  const dense = 3 * hidden * (config.intermediate_size ?? 4 * hidden);
  const experts = config.num_experts ?? config.num_local_experts ?? config.n_routed_experts;
  const expertSize = config.moe_intermediate_size ?? config.intermediate_size ?? 0;
  const shared = config.shared_expert_intermediate_size ?? (config.n_shared_experts ?? 0) * expertSize;
  const mixture = experts == null ? dense : hidden * (3 * (experts * expertSize + shared) + experts);
  const denseLayers = experts == null ? layers : (config.first_k_dense_replace ?? 0);
  return (
    (tied ? 1 : 2) * vocabulary * hidden +
    layers * attention +
    denseLayers * dense +
    (layers - denseLayers) * (experts == null ? 0 : mixture)
  );
}

/**
 * Returns the bytes that a gated delta net keeps for a sequence: a matrix for each head, in 32 bits, and the last
 * inputs of its convolution, in 16 (`gated_delta_net_state_shape` in
 * `vllm/model_executor/layers/mamba/mamba_utils.py`).
 */
function stateBytes(config: TextConfig): number {
  const keyHeads = config.linear_num_key_heads ?? 0;
  const valueHeads = config.linear_num_value_heads ?? 0;
  const [keySize, valueSize] = [config.linear_key_head_dim ?? 0, config.linear_value_head_dim ?? 0];
  const inputs = 2 * keyHeads * keySize + valueHeads * valueSize;
  return 4 * valueHeads * keySize * valueSize + 2 * inputs * ((config.linear_conv_kernel_dim ?? 1) - 1);
}
