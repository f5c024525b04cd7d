/** The GPUs for which flags of vLLM are computed. */
import type { VLLM_GPUS } from '../../../../config/schema/modelsFile.ts';

export type Gpu = (typeof VLLM_GPUS)[number];

interface GpuFacts {
  readonly title: string;
  /** Memory that CUDA reports, which is less than that on the label. */
  readonly bytes: number;
  /** Values of the node label `nvidia.com/gpu.product`. */
  readonly products: readonly string[];
}

const GIB = 1024 ** 3;

/**
 * `bytes`: what PyTorch reports as the total capacity of these cards with ECC on (39.39 and 79.15 GiB). `products`:
 * what NVIDIA's GPU feature discovery sets.
 */
export const GPU_FACTS: Readonly<Record<Gpu, GpuFacts>> = {
  'a100-40': {
    title: 'A100 40 GB',
    bytes: 39.39 * GIB,
    products: ['NVIDIA-A100-SXM4-40GB', 'NVIDIA-A100-PCIE-40GB'],
  },
  'a100-80': {
    title: 'A100 80 GB',
    bytes: 79.15 * GIB,
    products: ['NVIDIA-A100-SXM4-80GB', 'NVIDIA-A100-80GB-PCIe'],
  },
};

/** GPUs of one node that a model may be split across: those of the usual machines. */
export const GPU_COUNTS = [1, 2, 4, 8] as const;

/** Any A100. */
export const ALL_PRODUCTS: readonly string[] = [...GPU_FACTS['a100-80'].products, ...GPU_FACTS['a100-40'].products];
