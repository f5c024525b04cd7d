/** Defines and reads the options of `rollout cluster` about the models that vLLM serves. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { errorText, isMissing, StudioError } from '../common/errors.ts';
import { jsonOf } from '../common/json.ts';
import type { ModelSettings } from '../config/schema/modelsFile.ts';
import type { InstallInput, InstallOptions } from '../kubernetes/install/options.ts';
import type { VllmInput } from '../kubernetes/install/vllm/options.ts';
import { type CommandLine, numberOption, type Option, textOption, textOptions } from './command.ts';

export const VLLM_OPTIONS = {
  vllm: { type: 'string', value: 'MODEL', text: 'also serve this model with vLLM; `none` removes it' },
  'vllm-gpu': {
    type: 'string',
    value: 'GPU',
    text:
      'compute vLLM’s flags for the size of the model on this GPU, a100-40 or a100-80, and show the arithmetic; ' +
      '`none` stops it',
  },
  'vllm-gpus': {
    type: 'string',
    value: 'N',
    text: 'GPUs per vLLM replica (with --vllm-gpu, as few as fit; otherwise 1)',
  },
  'vllm-model-config': {
    type: 'string',
    value: 'FILE',
    text: 'config.json of the model, or its folder, for --vllm-gpu, if its size is not known by its name',
  },
  'vllm-replicas': { type: 'string', value: 'N', text: 'number of vLLM replicas (1)' },
  'vllm-product': {
    type: 'string',
    value: 'LABEL',
    multiple: true,
    text: 'nvidia.com/gpu.product label of the nodes to use (A100s); repeatable',
  },
  'vllm-tool-parser': {
    type: 'string',
    value: 'NAME',
    text: 'vLLM’s tool call parser, e.g. hermes; `none`: not that of --vllm-gpu',
  },
  'vllm-reasoning-parser': {
    type: 'string',
    value: 'NAME',
    text: 'vLLM’s reasoning parser, e.g. qwen3; `none`: not that of --vllm-gpu',
  },
  'vllm-queue': { type: 'string', value: 'N', text: 'maximum number of waiting requests (512)' },
  'vllm-image': { type: 'string', value: 'IMAGE', text: 'vLLM image (vllm/vllm-openai:v0.32.0)' },
  'vllm-cache': {
    type: 'string',
    value: 'STORAGE',
    text: 'where weights are cached: pvc[:CLASS], claim:NAME (an existing one), hostPath:/FOLDER, emptyDir (emptyDir)',
  },
  'vllm-cache-size': { type: 'string', value: 'SIZE', text: 'size of the weight cache’s volume claim (200Gi)' },
  'vllm-shared-memory': {
    type: 'string',
    value: 'SIZE',
    text: 'shared memory of each replica (2Gi for each GPU)',
  },
  'vllm-token-secret': { type: 'string', value: 'SECRET', text: 'Secret whose key `token` holds the API key' },
  'vllm-api-key-secret': {
    type: 'string',
    value: 'SECRET',
    text: 'Secret whose key `api-key` every call must have; `none` removes it',
  },
  'vllm-lora': {
    type: 'string',
    value: 'NAME=PATH',
    multiple: true,
    text: 'LoRA adapter that batches use as the model NAME; repeatable; `none` takes all back',
  },
  'vllm-s3-secret': {
    type: 'string',
    value: 'SECRET',
    text:
      'Secret with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, and optionally AWS_ENDPOINT_URL and AWS_REGION, for ' +
      '--vllm s3://BUCKET/FOLDER; `none` removes it',
  },
  'vllm-autoscale': {
    type: 'string',
    value: 'HOW',
    text:
      'add replicas while calls wait, from --vllm-replicas to --vllm-max-replicas: keda (a ScaledObject), or hpa ' +
      '(the custom metric vllm_num_requests_waiting); `none` stops it',
  },
  'vllm-max-replicas': { type: 'string', value: 'N', text: 'maximum number of replicas with --vllm-autoscale' },
  'vllm-prometheus': { type: 'string', value: 'URL', text: 'Prometheus that KEDA asks for calls that wait' },
  'vllm-upgrade': {
    type: 'string',
    value: 'HOW',
    text: 'how replicas are replaced, one at a time: in_place, or surge if there are GPUs to spare (in_place)',
  },
  'vllm-argument': {
    type: 'string',
    value: 'ARGUMENT',
    multiple: true,
    text: 'additional vLLM argument; repeatable: --vllm-argument=--max-model-len --vllm-argument=32768',
  },
  models: {
    type: 'string',
    value: 'FILE',
    text:
      'YAML file with models by name that vLLM serves, each with its GPUs, replicas, adapters, and pods; calls ' +
      'choose one by its name; `none` removes all of them',
  },
} as const satisfies Readonly<Record<string, Option>>;

/** Returns undefined if the command line has no vLLM options. */
export async function readVllm(
  commandLine: CommandLine,
  installed: InstallOptions | undefined,
  cwd: string,
): Promise<VllmInput | 'none' | undefined> {
  const model = textOption(commandLine, 'vllm');
  const products = textOptions(commandLine, 'vllm-product');
  const loras = textOptions(commandLine, 'vllm-lora');
  const vllmArguments = textOptions(commandLine, 'vllm-argument');
  const config = textOption(commandLine, 'vllm-model-config');
  const rest = present<Partial<VllmInput>>({
    gpus: numberOption(commandLine, 'vllm-gpus', 1),
    // `resolveOptions` validates it, and others below.
    gpu: textOption(commandLine, 'vllm-gpu') as VllmInput['gpu'],
    replicas: numberOption(commandLine, 'vllm-replicas', 1),
    queue: numberOption(commandLine, 'vllm-queue', 1),
    products: products.length === 0 ? undefined : products,
    arguments: vllmArguments.length === 0 ? undefined : vllmArguments,
    toolParser: textOption(commandLine, 'vllm-tool-parser'),
    reasoningParser: textOption(commandLine, 'vllm-reasoning-parser'),
    image: textOption(commandLine, 'vllm-image'),
    cache: textOption(commandLine, 'vllm-cache'),
    cacheSize: textOption(commandLine, 'vllm-cache-size'),
    sharedMemory: textOption(commandLine, 'vllm-shared-memory'),
    tokenSecret: textOption(commandLine, 'vllm-token-secret'),
    apiKeySecret: textOption(commandLine, 'vllm-api-key-secret'),
    s3Secret: textOption(commandLine, 'vllm-s3-secret'),
    maxReplicas: numberOption(commandLine, 'vllm-max-replicas', 1),
    prometheus: textOption(commandLine, 'vllm-prometheus'),
    autoscale: textOption(commandLine, 'vllm-autoscale') as VllmInput['autoscale'],
    loras: loras.length === 0 ? undefined : loras.filter((lora) => lora !== 'none'),
    upgrade: textOption(commandLine, 'vllm-upgrade') as VllmInput['upgrade'],
  });
  if (model === 'none') return 'none';
  const servedModel = model ?? installed?.vllm?.model;
  const isChanged = model !== undefined || config !== undefined || Object.keys(rest).length > 0;
  if (!isChanged) return undefined;
  if (servedModel === undefined)
    throw new StudioError('usage', 'The --vllm-… options require a model. Name it with --vllm MODEL.');
  // What is known of one model says nothing of another.
  const { shape: known, ...kept } = installed?.vllm ?? {};
  const shape =
    config !== undefined
      ? await readShape(cwd, config, servedModel)
      : servedModel === installed?.vllm?.model
        ? known
        : undefined;
  const read: VllmInput = {
    ...kept,
    ...rest,
    ...(rest.apiKeySecret === 'none' ? { apiKeySecret: undefined } : {}),
    ...(rest.s3Secret === 'none' ? { s3Secret: undefined } : {}),
    ...(String(rest.autoscale) === 'none' ? { autoscale: undefined } : {}),
    ...(String(rest.gpu) === 'none' ? { gpu: undefined } : {}),
    ...(shape === undefined ? {} : { shape }),
    model: servedModel,
  };
  const needsGpus = rest.gpu !== undefined && rest.gpus === undefined;
  return needsGpus ? await withGpus(read, 'asOption') : read;
}

/** Reads the file of `--models`; undefined without the option. */
export async function readModels(
  commandLine: CommandLine,
  cwd: string,
): Promise<InstallInput['models'] | 'none' | undefined> {
  const file = textOption(commandLine, 'models');
  if (file === undefined || file === 'none') return file;
  const { readModelsFile } = await import('./optionFile.ts');
  const { models } = await readModelsFile(cwd, file);
  const folder = path.dirname(path.resolve(cwd, file));
  const read = Object.entries(models).map(async ([name, settings]) => {
    const input = await modelInput(settings, folder);
    return [name, settings.gpus === undefined ? await withGpus(input, 'inFile') : input] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

async function modelInput(settings: ModelSettings, folder: string): Promise<VllmInput> {
  const { adapters, autoscale, model_config: config } = settings;
  return present<VllmInput>({
    model: settings.model,
    gpu: settings.gpu,
    gpus: settings.gpus,
    shape: config === undefined ? undefined : await readShape(folder, config, settings.model),
    replicas: settings.replicas,
    products: settings.products,
    toolParser: settings.tool_parser,
    reasoningParser: settings.reasoning_parser,
    queue: settings.queue,
    image: settings.image,
    cache: settings.cache,
    cacheSize: settings.cache_size,
    sharedMemory: settings.shared_memory === undefined ? undefined : String(settings.shared_memory),
    pods: settings.pods,
    tokenSecret: settings.token_secret,
    apiKeySecret: settings.api_key_secret,
    s3Secret: settings.s3_secret,
    loras: adapters === undefined ? undefined : Object.entries(adapters).map(([name, at]) => `${name}=${at}`),
    autoscale: autoscale?.by,
    maxReplicas: autoscale?.max_replicas,
    prometheus: autoscale?.prometheus,
    upgrade: settings.upgrade,
    arguments: settings.arguments,
  });
}

/** Returns the options with as few GPUs as the model fits on, if they name a GPU. */
async function withGpus(input: VllmInput, form: 'asOption' | 'inFile'): Promise<VllmInput> {
  const { vllmOptions, [form]: setting } = await import('../kubernetes/install/vllm/options.ts');
  const { fittingGpus } = await import('../kubernetes/install/vllm/sizing/plan.ts');
  const parsed = vllmOptions.safeParse(input);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const name = String(issue?.path[0] ?? '').replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new StudioError('usage', `${setting(name)}: ${issue?.message ?? parsed.error.message}`);
  }
  const { gpu } = parsed.data;
  return gpu === undefined ? input : { ...input, gpus: fittingGpus({ ...parsed.data, gpu, setting }) };
}

const weightIndex = z.object({ metadata: z.object({ total_size: z.number().positive() }) });
const INDEX = 'model.safetensors.index.json';

/** Reads what decides about the memory of a model: its `config.json`, and the size of its weights next to it. */
async function readShape(cwd: string, file: string, model: string): Promise<NonNullable<VllmInput['shape']>> {
  const { shapeOfConfig } = await import('../kubernetes/install/vllm/sizing/configJson.ts');
  const at = path.resolve(cwd, file);
  const isFolder = await stat(at).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const config = isFolder ? path.join(at, 'config.json') : at;
  const text = await readFile(config, 'utf8').catch((cause: unknown) => {
    throw new StudioError('not_found', `Cannot read ${file}: ${errorText(cause)}`, { cause });
  });
  const index = await readFile(path.join(path.dirname(config), INDEX), 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return '';
    throw error;
  });
  const weights = weightIndex.safeParse(jsonOf(index)).data?.metadata.total_size;
  return shapeOfConfig(jsonOf(text), model, weights);
}

/** Drops undefined values, so that installed ones stay. Keys in `cleared` are kept as undefined to unset them. */
export function present<T extends object>(
  values: { readonly [K in keyof T]: T[K] | undefined },
  cleared: readonly string[] = [],
): T {
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => value !== undefined || cleared.includes(name)),
  ) as T;
}
