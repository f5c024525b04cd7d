/** Defines and reads the options of `rollout cluster` that configure the installed server. */
import { StudioError } from '../common/errors.ts';
import type { InstallInput, InstallOptions, VllmInput } from '../kubernetes/install/options.ts';
import { type CommandLine, numberOption, type Option, textOption, textOptions } from './command.ts';
import { OUTSIDE_OPTIONS, readOutside } from './outsideOptions.ts';

export const INSTALL_OPTIONS = {
  image: {
    type: 'string',
    value: 'IMAGE',
    text: 'image for the server and its workers, with Node 22.19 or newer (node:24-slim)',
  },
  programs: {
    type: 'string',
    value: 'SOURCE',
    text: 'where pods have the programs from: configmaps, or image, as rollout cluster image builds it (configmaps)',
  },
  'pull-policy': { type: 'string', value: 'POLICY', text: 'Always, IfNotPresent, or Never' },
  'pull-secret': {
    type: 'string',
    value: 'SECRET',
    text: 'Secret with credentials for the image registry; `none` removes it',
  },
  'tokens-secret': {
    type: 'string',
    value: 'SECRET',
    text:
      'existing Secret with the client tokens, in the keys full and read, which install neither creates nor changes; ' +
      '`none` returns to its own',
  },
  'authority-secret': {
    type: 'string',
    value: 'SECRET',
    text:
      'existing Secret with the certificate authority for workers, in the keys ca.crt and ca.key or tls.crt and ' +
      'tls.key; `none` returns to its own',
  },
  port: { type: 'string', value: 'N', text: 'port of the server (8080)' },
  'tls-port': { type: 'string', value: 'N', text: 'port of the server for workers, with TLS (8443)' },
  advertise: {
    type: 'string',
    value: 'URL',
    text: 'URL at which workers reach the server, if not its Service; separate several with commas',
  },
  'allow-host': {
    type: 'string',
    value: 'NAME',
    multiple: true,
    text: 'additional host name the server accepts, such as that of a gateway; repeatable',
  },
  storage: {
    type: 'string',
    value: 'STORAGE',
    text: 'where data is stored: pvc[:CLASS], hostPath:/FOLDER, emptyDir, postgres:SECRET[/KEY] (pvc)',
  },
  'storage-size': { type: 'string', value: 'SIZE', text: 'size of the volume claim (20Gi)' },
  memory: { type: 'string', value: 'SIZE', text: 'memory limit of the server (2Gi)' },
  replicas: { type: 'string', value: 'N', text: 'number of servers; more than one requires postgres (1)' },
  otlp: {
    type: 'string',
    value: 'URL',
    text: 'collector that receives finished rollouts as traces, e.g. http://collector.observability:4318',
  },
  'allow-egress': {
    type: 'string',
    value: 'NETWORK',
    multiple: true,
    text:
      'what pods may reach beyond what they need: CIDR[:PORT] or namespace:NAME[:PORT]; repeatable; `none` takes all ' +
      'back',
  },
  'allow-ingress': {
    type: 'string',
    value: 'NETWORK',
    multiple: true,
    text: 'who may reach the server besides workers, such as a gateway or Prometheus; in the same form; repeatable',
  },
  ...OUTSIDE_OPTIONS,
  'admission-policies': {
    type: 'string',
    value: 'WHO',
    text:
      'install, or none where others own the admission policies of the cluster: those that confine the server are ' +
      'then neither created nor removed (install)',
  },
  'pod-security': {
    type: 'string',
    value: 'LEVEL',
    text:
      'pod security level of a namespace that install creates: restricted, baseline, or privileged (restricted; ' +
      'privileged with hostPath)',
  },
  pods: {
    type: 'string',
    value: 'FILE',
    text:
      'YAML file with node selectors, tolerations, labels, requests, … of the pods of server, workers (all batches), ' +
      'and vllm; `none` takes it back',
  },
  shares: {
    type: 'string',
    value: 'FILE',
    text: 'YAML file with weights and limits of users and queues; `none` takes it back',
  },
  retention: {
    type: 'string',
    value: 'FILE',
    text: 'YAML file with rules by which the server removes ended batches itself; `none` takes it back',
  },
  vllm: { type: 'string', value: 'MODEL', text: 'also serve this model with vLLM; `none` removes it' },
  'vllm-gpus': { type: 'string', value: 'N', text: 'GPUs per vLLM replica (1)' },
  'vllm-replicas': { type: 'string', value: 'N', text: 'number of vLLM replicas (1)' },
  'vllm-product': {
    type: 'string',
    value: 'LABEL',
    multiple: true,
    text: 'nvidia.com/gpu.product label of the nodes to use (A100s); repeatable',
  },
  'vllm-tool-parser': { type: 'string', value: 'NAME', text: 'vLLM’s tool call parser, e.g. hermes' },
  'vllm-reasoning-parser': { type: 'string', value: 'NAME', text: 'vLLM’s reasoning parser, e.g. qwen3' },
  'vllm-queue': { type: 'string', value: 'N', text: 'maximum number of waiting requests (512)' },
  'vllm-image': { type: 'string', value: 'IMAGE', text: 'vLLM image (vllm/vllm-openai:v0.32.0)' },
  'vllm-cache': {
    type: 'string',
    value: 'STORAGE',
    text: 'where weights are cached: pvc[:CLASS], claim:NAME (an existing one), hostPath:/FOLDER, emptyDir (emptyDir)',
  },
  'vllm-cache-size': { type: 'string', value: 'SIZE', text: 'size of the weight cache’s volume claim (200Gi)' },
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
      'add replicas while requests wait, from --vllm-replicas to --vllm-max-replicas: keda (a ScaledObject), or hpa ' +
      '(the custom metric vllm_num_requests_waiting); `none` stops it',
  },
  'vllm-max-replicas': { type: 'string', value: 'N', text: 'maximum number of replicas with --vllm-autoscale' },
  'vllm-prometheus': { type: 'string', value: 'URL', text: 'Prometheus that KEDA asks for requests that wait' },
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
} as const satisfies Readonly<Record<string, Option>>;

/** Returns the installed options overridden by those on the command line. Throws StudioError `usage`. */
export async function readInstallOptions(
  commandLine: CommandLine,
  installed: InstallOptions | undefined,
  cwd = '.',
): Promise<InstallOptions> {
  const { resolveOptions } = await import('../kubernetes/install/options.ts');
  const vllm = readVllm(commandLine, installed);
  const podsPath = textOption(commandLine, 'pods');
  const sharesPath = textOption(commandLine, 'shares');
  const retentionPath = textOption(commandLine, 'retention');
  const files = await import('./optionFile.ts');
  const fileAt = async <T>(at: string | undefined, read: (cwd: string, file: string) => Promise<T>) =>
    at === undefined || at === 'none' ? undefined : await read(cwd, at);
  const pods = await fileAt(podsPath, files.readPodsFile);
  const shares = await fileAt(sharesPath, files.readSharesFile);
  const retention = await fileAt(retentionPath, files.readRetentionFile);
  const names = textOptions(commandLine, 'allow-host');
  const networks = (name: string): string[] | undefined => {
    const texts = textOptions(commandLine, name);
    return texts.length === 0 ? undefined : texts.filter((text) => text !== 'none');
  };
  const secrets = {
    pullSecret: textOption(commandLine, 'pull-secret'),
    tokensSecret: textOption(commandLine, 'tokens-secret'),
    authoritySecret: textOption(commandLine, 'authority-secret'),
  };
  const cleared = Object.entries(secrets).flatMap(([name, value]) => (value === 'none' ? [name] : []));
  const outside = readOutside(commandLine, installed);
  return resolveOptions(
    present<InstallInput>(
      {
        image: textOption(commandLine, 'image'),
        ...noneIsUndefined(secrets),
        // `resolveOptions` validates both.
        programs: textOption(commandLine, 'programs') as InstallInput['programs'],
        pullPolicy: textOption(commandLine, 'pull-policy') as InstallInput['pullPolicy'],
        port: numberOption(commandLine, 'port', 1),
        tlsPort: numberOption(commandLine, 'tls-port', 1),
        advertise: textOption(commandLine, 'advertise'),
        allowHosts: names.length === 0 ? undefined : names,
        storage: textOption(commandLine, 'storage'),
        storageSize: textOption(commandLine, 'storage-size'),
        memory: textOption(commandLine, 'memory'),
        replicas: numberOption(commandLine, 'replicas', 1),
        otlp: textOption(commandLine, 'otlp'),
        allowEgress: networks('allow-egress'),
        allowIngress: networks('allow-ingress'),
        admissionPolicies: textOption(commandLine, 'admission-policies') as InstallInput['admissionPolicies'],
        podSecurity: textOption(commandLine, 'pod-security') as InstallInput['podSecurity'],
        pods,
        shares,
        retention,
        ...outside,
        ...(vllm === undefined ? {} : { vllm: vllm === 'none' ? undefined : vllm }),
      },
      [
        ...cleared,
        ...Object.keys(outside),
        ...(podsPath === 'none' ? ['pods'] : []),
        ...(sharesPath === 'none' ? ['shares'] : []),
        ...(retentionPath === 'none' ? ['retention'] : []),
        ...(vllm === 'none' ? ['vllm'] : []),
      ],
    ),
    installed,
  );
}

/** Returns undefined if the command line has no vLLM options. */
function readVllm(commandLine: CommandLine, installed: InstallOptions | undefined): VllmInput | 'none' | undefined {
  const model = textOption(commandLine, 'vllm');
  const products = textOptions(commandLine, 'vllm-product');
  const loras = textOptions(commandLine, 'vllm-lora');
  const vllmArguments = textOptions(commandLine, 'vllm-argument');
  const rest = present<Partial<VllmInput>>({
    gpus: numberOption(commandLine, 'vllm-gpus', 1),
    replicas: numberOption(commandLine, 'vllm-replicas', 1),
    queue: numberOption(commandLine, 'vllm-queue', 1),
    products: products.length === 0 ? undefined : products,
    arguments: vllmArguments.length === 0 ? undefined : vllmArguments,
    toolParser: textOption(commandLine, 'vllm-tool-parser'),
    reasoningParser: textOption(commandLine, 'vllm-reasoning-parser'),
    image: textOption(commandLine, 'vllm-image'),
    cache: textOption(commandLine, 'vllm-cache'),
    cacheSize: textOption(commandLine, 'vllm-cache-size'),
    tokenSecret: textOption(commandLine, 'vllm-token-secret'),
    apiKeySecret: textOption(commandLine, 'vllm-api-key-secret'),
    s3Secret: textOption(commandLine, 'vllm-s3-secret'),
    maxReplicas: numberOption(commandLine, 'vllm-max-replicas', 1),
    prometheus: textOption(commandLine, 'vllm-prometheus'),
    // `resolveOptions` validates it.
    autoscale: textOption(commandLine, 'vllm-autoscale') as VllmInput['autoscale'],
    loras: loras.length === 0 ? undefined : loras.filter((lora) => lora !== 'none'),
    // `resolveOptions` validates it.
    upgrade: textOption(commandLine, 'vllm-upgrade') as VllmInput['upgrade'],
  });
  if (model === 'none') return 'none';
  const servedModel = model ?? installed?.vllm?.model;
  if (servedModel !== undefined && (model !== undefined || Object.keys(rest).length > 0))
    return {
      ...installed?.vllm,
      ...rest,
      ...(rest.apiKeySecret === 'none' ? { apiKeySecret: undefined } : {}),
      ...(rest.s3Secret === 'none' ? { s3Secret: undefined } : {}),
      ...(String(rest.autoscale) === 'none' ? { autoscale: undefined } : {}),
      model: servedModel,
    };
  if (Object.keys(rest).length > 0)
    throw new StudioError('usage', 'The --vllm-… options require a model. Name it with --vllm MODEL.');
  return undefined;
}

/** Returns the texts, with undefined for `none`. */
function noneIsUndefined<K extends string>(texts: Readonly<Record<K, string | undefined>>) {
  return Object.fromEntries(
    Object.entries<string | undefined>(texts).map(([name, text]) => [name, text === 'none' ? undefined : text]),
  ) as Record<K, string | undefined>;
}

/** Drops undefined values, so that installed ones stay. Keys in `cleared` are kept as undefined to unset them. */
function present<T extends object>(
  values: { readonly [K in keyof T]: T[K] | undefined },
  cleared: readonly string[] = [],
): T {
  return Object.fromEntries(
    Object.entries(values).filter(([name, value]) => value !== undefined || cleared.includes(name)),
  ) as T;
}
