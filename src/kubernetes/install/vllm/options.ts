/** Options of a model that vLLM serves next to the server. */
import { z } from 'zod';
import { StudioError } from '../../../common/errors.ts';
import { VLLM_GPUS } from '../../../config/schema/modelsFile.ts';
import { vllmPods } from '../../../config/schema/placement.ts';
import { quantity, secretName, storage } from '../values.ts';
import { ALL_PRODUCTS, GPU_FACTS } from './sizing/gpus.ts';
import { flagValue, planOf } from './sizing/plan.ts';
import { modelShape } from './sizing/shape.ts';

const oneOrMore = z.number().int().min(1);

export const vllmOptions = z.object({
  /** Name on the Hugging Face hub, or a folder in the image or cache. */
  model: z.string().min(1),
  image: z.string().default('vllm/vllm-openai:v0.32.0'),
  /** GPUs of one replica, across which the model is split. */
  gpus: oneOrMore.default(1),
  /** The GPU for which flags are computed that are not among `arguments`; undefined: none are. */
  gpu: z.enum(VLLM_GPUS, `expected ${VLLM_GPUS.join(' or ')}`).optional(),
  /** What decides about the memory of a model that is not known by its name. */
  shape: modelShape.optional(),
  replicas: oneOrMore.default(1),
  /** Values of the node label `nvidia.com/gpu.product` that it may run on. */
  products: z
    .array(z.string())
    .min(1)
    .default([...ALL_PRODUCTS]),
  /** `none`: no parser, where the model has one. */
  toolParser: z.string().optional(),
  reasoningParser: z.string().optional(),
  /** How many requests wait before it answers that it is busy. */
  queue: oneOrMore.default(512),
  /** Where weights are kept. */
  cache: storage
    .refine(
      (text) => !text.startsWith('postgres'),
      'expected a folder: pvc[:CLASS], claim:NAME, hostPath:/FOLDER, or emptyDir',
    )
    .default('emptyDir'),
  cacheSize: quantity.default('200Gi'),
  /** Memory that the processes of a replica share. */
  sharedMemory: quantity.optional(),
  /** Where its pods run, and their resources, before what holds for all models. */
  pods: vllmPods.optional(),
  /** Secret whose key `token` gives access to models that are not public. */
  tokenSecret: z.string().optional(),
  /** Secret whose key `api-key` every call must have. */
  apiKeySecret: secretName.optional(),
  /** LoRA adapters, each with its name: `NAME=PATH`, where PATH is on the hub, or a folder in the image or cache. */
  loras: z.array(z.string().regex(/^[\w.-]+=\S+$/, 'an adapter like NAME=PATH')).default([]),
  /** Secret with the credentials for weights in S3: keys `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`. */
  s3Secret: secretName.optional(),
  /** What adds and removes replicas by the requests that wait, up to `maxReplicas`; `replicas` is then the minimum. */
  autoscale: z.enum(['keda', 'hpa'], 'expected keda or hpa').optional(),
  maxReplicas: oneOrMore.optional(),
  /** Address of the Prometheus that KEDA asks. */
  prometheus: z
    .url({ protocol: /^https?$/, error: 'expected an address like http://prometheus.monitoring:9090' })
    .optional(),
  /** How an upgrade replaces replicas: each in its place, or with a further one, which needs GPUs to spare. */
  upgrade: z.enum(['in_place', 'surge']).default('in_place'),
  /** Further arguments of `vllm serve`. */
  arguments: z.array(z.string()).default([]),
});
export type VllmOptions = z.infer<typeof vllmOptions>;
/** Input of the options; those with a default may be left out. */
export type VllmInput = z.input<typeof vllmOptions>;

/** Writes a setting as the user would. */
export type WriteSetting = (name: string, value?: string) => string;

/** As an option of the command line. */
export const asOption: WriteSetting = (name, value) => `--vllm-${name}${value === undefined ? '' : ` ${value}`}`;

/** As a key of the file of `--models`. */
export const inFile: WriteSetting = (name, value) =>
  `${name.replaceAll('-', '_')}${value === undefined ? '' : `: ${value}`}`;

/** Throws StudioError `usage` for options that do not fit each other. */
export function checkVllm(vllm: VllmOptions, setting: WriteSetting): void {
  checkAutoscale(vllm, setting);
  if (vllm.gpu !== undefined) planOf({ ...vllm, gpu: vllm.gpu, setting });
}

function checkAutoscale(vllm: VllmOptions, setting: WriteSetting): void {
  if (vllm.autoscale === undefined) return;
  if (vllm.maxReplicas === undefined || vllm.maxReplicas <= vllm.replicas)
    throw new StudioError(
      'usage',
      `${setting('autoscale')} requires ${setting('max-replicas')} above ${vllm.replicas}, the minimum.`,
    );
  if (vllm.autoscale === 'keda' && vllm.prometheus === undefined)
    throw new StudioError(
      'usage',
      `${setting('autoscale', 'keda')} requires ${setting('prometheus', 'URL')}, which has the metrics of vLLM.`,
    );
}

/** Returns the labels of the nodes that it may run on: those of its GPU, unless others were chosen. */
export function productsOf({ gpu, products }: VllmOptions): readonly string[] {
  return gpu !== undefined && products.join() === ALL_PRODUCTS.join() ? GPU_FACTS[gpu].products : products;
}

/** Returns the names by which calls may name the model: those that it is served as, and its adapters. */
export function servedNames({ model, loras, arguments: own }: VllmOptions): string[] {
  return [...modelNames(model, own), ...loras.map((lora) => lora.slice(0, lora.indexOf('=')))];
}

const SERVED = '--served-model-name';

function modelNames(model: string, own: readonly string[]): string[] {
  const first = flagValue(own, SERVED);
  if (first === undefined) return [model];
  // Several may follow one flag.
  const at = own.findLastIndex((argument) => argument.replaceAll('_', '-') === SERVED);
  if (at === -1) return [first];
  const rest = own.slice(at + 1);
  const end = rest.findIndex((argument) => argument.startsWith('-'));
  return end === -1 ? rest : rest.slice(0, end);
}
