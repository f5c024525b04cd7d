/**
 * How the memory of a GPU is divided when vLLM 0.32 serves a model. Names in comments are those of its source, where
 * each formula is; `test/vllm/templates.test.ts` compares them. Pure.
 */
import { GPU_FACTS, type Gpu } from './gpus.ts';
import type { ModelShape } from './shape.ts';

export interface Serving {
  readonly shape: ModelShape;
  readonly gpu: Gpu;
  /** GPUs across which the model is split (tensor parallel size). */
  readonly gpus: number;
  /** Share of the memory of a GPU that vLLM may use. */
  readonly utilization: number;
  /** Bytes of each number in the KV cache. */
  readonly cacheBytes: number;
  readonly hasAdapters: boolean;
}

/** Bytes, all of one GPU. */
export interface Memory {
  readonly usable: number;
  readonly weights: number;
  readonly reserve: number;
  /** What is left for the KV cache. Negative if weights do not fit. */
  readonly cache: number;
  readonly perToken: number;
  readonly perSequence: number;
}

const GIB = 1024 ** 3;
const FLOAT_BYTES = 4;
/** vLLM's default for A100: `EngineArgs.get_batch_defaults` in `vllm/engine/arg_utils.py`. */
export const DEFAULT_MAX_SEQUENCES = 256;
/**
 * For libraries of CUDA, NCCL, CUDA graphs, and the activations of one step (2,048 tokens, vLLM's default for A100).
 * vLLM measures it at its start; this is our estimate.
 */
const FIXED_RESERVE = 2.5 * GIB;
/** Buffers for one adapter of rank 16, vLLM's default, next to all linear layers. Our estimate. */
const ADAPTER_RESERVE = 0.5 * GIB;

/**
 * Divides the memory: KV cache = memory × utilization − weights − what vLLM itself needs
 * (`determine_available_memory` in `vllm/v1/worker/gpu_worker.py`).
 */
export function memoryOf(serving: Serving): Memory {
  const { shape, gpu, gpus, utilization, hasAdapters } = serving;
  const usable = GPU_FACTS[gpu].bytes * utilization;
  // Tensor parallelism splits every large matrix.
  const weights = shape.weights / gpus;
  // The sampler copies the logits of all sequences, in 32 bits (`vllm/v1/sample/sampler.py`).
  const logits = 2 * DEFAULT_MAX_SEQUENCES * shape.vocabulary * FLOAT_BYTES;
  const reserve = FIXED_RESERVE + logits + (hasAdapters ? ADAPTER_RESERVE : 0);
  return {
    usable,
    weights,
    reserve,
    cache: usable - weights - reserve,
    perToken: shape.layers * tokenBytes(serving),
    perSequence:
      (shape.window === undefined ? 0 : shape.window.layers * shape.window.tokens * tokenBytes(serving)) +
      // States of heads, which are divided like those of attention.
      (shape.state ?? 0) / gpus,
  };
}

/**
 * Returns the bytes that one layer keeps for one token: keys and values of each head
 * (`AttentionSpec.unpadded_page_size_bytes` in `vllm/v1/kv_cache_interface.py`: heads × (size of a key + of a value) ×
 * bytes). GPUs divide the heads, and each has at least one (`ModelConfig.get_num_kv_heads` in `vllm/config/model.py`).
 * Latent attention keeps one vector on every GPU (`MLAAttentionSpec`).
 */
function tokenBytes({ shape, gpus, cacheBytes }: Serving): number {
  if (shape.latent !== undefined) return shape.latent * cacheBytes;
  return Math.max(1, Math.floor(shape.kvHeads / gpus)) * 2 * shape.headSize * cacheBytes;
}

/** Returns how many sequences of this length the KV cache holds at once. */
export function capacity({ cache, perToken, perSequence }: Memory, length: number): number {
  return Math.max(0, Math.floor(cache / (length * perToken + perSequence)));
}
