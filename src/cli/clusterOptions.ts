/** The options of `rollout cluster` that say how the server is installed. */
import { StudioError } from '../common/errors.ts';
import type { InstallInput, InstallOptions, VllmInput } from '../kubernetes/install/options.ts';
import { type CommandLine, numberOption, type Option, textOption, textOptions } from './command.ts';

export const INSTALL_OPTIONS = {
  image: {
    type: 'string',
    value: 'IMAGE',
    text: 'image with Node 22.19 or newer, of the server and of workers (node:24-slim)',
  },
  'pull-policy': { type: 'string', value: 'POLICY', text: 'Always, IfNotPresent or Never' },
  'pull-secret': { type: 'string', value: 'SECRET', text: 'Secret with the credentials of the images’ registry' },
  port: { type: 'string', value: 'N', text: 'port of the server (8080)' },
  advertise: {
    type: 'string',
    value: 'URL',
    text: 'how workers reach the server, where not by its Service; several: with commas',
  },
  'allow-host': {
    type: 'string',
    value: 'NAME',
    multiple: true,
    text: 'a further name the server is called by, of a gateway before it',
  },
  storage: {
    type: 'string',
    value: 'STORAGE',
    text: 'of its data: pvc[:CLASS], hostPath:/FOLDER, emptyDir, postgres:SECRET[/KEY] (pvc)',
  },
  'storage-size': { type: 'string', value: 'SIZE', text: 'of the volume claim (20Gi)' },
  memory: { type: 'string', value: 'SIZE', text: 'most the server may have (2Gi)' },
  replicas: { type: 'string', value: 'N', text: 'servers; more than one needs postgres' },
  otlp: {
    type: 'string',
    value: 'URL',
    text: 'collector that gets finished rollouts as traces, e.g. http://collector.observability:4318',
  },
  vllm: { type: 'string', value: 'MODEL', text: 'also serve this model with vLLM; none takes it away' },
  'vllm-gpus': { type: 'string', value: 'N', text: 'GPUs of each replica (1)' },
  'vllm-replicas': { type: 'string', value: 'N', text: 'replicas (1)' },
  'vllm-product': {
    type: 'string',
    value: 'LABEL',
    multiple: true,
    text: 'nvidia.com/gpu.product of the nodes (A100s)',
  },
  'vllm-tool-parser': { type: 'string', value: 'NAME', text: 'its parser of tool calls, e.g. hermes' },
  'vllm-reasoning-parser': { type: 'string', value: 'NAME', text: 'its parser of reasoning, e.g. qwen3' },
  'vllm-queue': { type: 'string', value: 'N', text: 'requests it lets wait (512)' },
  'vllm-image': { type: 'string', value: 'IMAGE', text: 'its image (vllm/vllm-openai:v0.32.0)' },
  'vllm-cache': {
    type: 'string',
    value: 'STORAGE',
    text: 'of its weights: pvc[:CLASS], hostPath:/FOLDER, emptyDir (emptyDir)',
  },
  'vllm-cache-size': { type: 'string', value: 'SIZE', text: 'of its volume claim (200Gi)' },
  'vllm-token-secret': { type: 'string', value: 'SECRET', text: 'Secret whose key `token` opens the model' },
  'vllm-argument': {
    type: 'string',
    value: 'ARGUMENT',
    multiple: true,
    text: 'a further argument: --vllm-argument=--max-model-len --vllm-argument=32768',
  },
} as const satisfies Readonly<Record<string, Option>>;

/** What is given, over what is installed; throws StudioError `usage`. */
export async function readInstallOptions(
  given: CommandLine,
  installed: InstallOptions | undefined,
): Promise<InstallOptions> {
  const { resolveOptions } = await import('../kubernetes/install/options.ts');
  const vllm = readVllm(given, installed);
  const names = textOptions(given, 'allow-host');
  return resolveOptions(
    present<InstallInput>(
      {
        image: textOption(given, 'image'),
        pullSecret: textOption(given, 'pull-secret'),
        // Checked with all the others.
        pullPolicy: textOption(given, 'pull-policy') as InstallInput['pullPolicy'],
        port: numberOption(given, 'port', 1),
        advertise: textOption(given, 'advertise'),
        allowHosts: names.length === 0 ? undefined : names,
        storage: textOption(given, 'storage'),
        storageSize: textOption(given, 'storage-size'),
        memory: textOption(given, 'memory'),
        replicas: numberOption(given, 'replicas', 1),
        otlp: textOption(given, 'otlp'),
        ...(vllm === undefined ? {} : { vllm: vllm === 'none' ? undefined : vllm }),
      },
      vllm === 'none' ? ['vllm'] : [],
    ),
    installed,
  );
}

/** undefined: nothing is said of it. */
function readVllm(given: CommandLine, installed: InstallOptions | undefined): VllmInput | 'none' | undefined {
  const model = textOption(given, 'vllm');
  const products = textOptions(given, 'vllm-product');
  const more = textOptions(given, 'vllm-argument');
  const rest = present<Partial<VllmInput>>({
    gpus: numberOption(given, 'vllm-gpus', 1),
    replicas: numberOption(given, 'vllm-replicas', 1),
    queue: numberOption(given, 'vllm-queue', 1),
    products: products.length === 0 ? undefined : products,
    arguments: more.length === 0 ? undefined : more,
    toolParser: textOption(given, 'vllm-tool-parser'),
    reasoningParser: textOption(given, 'vllm-reasoning-parser'),
    image: textOption(given, 'vllm-image'),
    cache: textOption(given, 'vllm-cache'),
    cacheSize: textOption(given, 'vllm-cache-size'),
    tokenSecret: textOption(given, 'vllm-token-secret'),
  });
  if (model === 'none') return 'none';
  const wanted = model ?? installed?.vllm?.model;
  if (wanted !== undefined && (model !== undefined || Object.keys(rest).length > 0))
    return { ...installed?.vllm, ...rest, model: wanted };
  if (Object.keys(rest).length > 0) throw new StudioError('usage', 'Of which model? --vllm names it.');
  return undefined;
}

/** Without what is undefined: that is as it was installed. What `cleared` names is given as undefined. */
function present<T extends object>(
  values: { readonly [K in keyof T]: T[K] | undefined },
  cleared: readonly (keyof T)[] = [],
): T {
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => value !== undefined || cleared.some((other) => other === name)),
  ) as T;
}
