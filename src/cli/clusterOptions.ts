/** Defines and reads the options of `rollout cluster` that configure the installed server. */
import type { InstallInput, InstallOptions } from '../kubernetes/install/options.ts';
import { type CommandLine, numberOption, type Option, textOption, textOptions } from './command.ts';
import { OUTSIDE_OPTIONS, readOutside } from './outsideOptions.ts';
import { present, readModels, readVllm, VLLM_OPTIONS } from './vllmOptions.ts';

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
    text:
      'URL at which workers reach the server, if not its Service; separate several with commas; `none` returns to ' +
      'the Service',
  },
  'allow-host': {
    type: 'string',
    value: 'NAME',
    multiple: true,
    text: 'additional host name the server accepts, such as that of a gateway; repeatable; `none` takes all back',
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
    text:
      'collector that receives finished rollouts as traces, e.g. http://collector.observability:4318; `none` takes ' +
      'it back',
  },
  'otlp-secret': {
    type: 'string',
    value: 'SECRET',
    text:
      'existing Secret with headers for that collector, in the key headers as NAME=VALUE, separated by commas; ' +
      '`none` takes it back',
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
  'identity-bindings': {
    type: 'string',
    value: 'WHO',
    text:
      'install, or none where others bind roles of the cluster: what lets the server ask the cluster who its callers ' +
      'are is then neither created nor removed (install)',
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
  ...VLLM_OPTIONS,
} as const satisfies Readonly<Record<string, Option>>;

/** Returns the installed options overridden by those on the command line. Throws StudioError `usage`. */
export async function readInstallOptions(
  commandLine: CommandLine,
  installed: InstallOptions | undefined,
  cwd = '.',
): Promise<InstallOptions> {
  const { resolveOptions } = await import('../kubernetes/install/options.ts');
  const vllm = await readVllm(commandLine, installed, cwd);
  const models = await readModels(commandLine, cwd);
  const podsPath = textOption(commandLine, 'pods');
  const sharesPath = textOption(commandLine, 'shares');
  const retentionPath = textOption(commandLine, 'retention');
  const files = await import('./optionFile.ts');
  const fileAt = async <T>(at: string | undefined, read: (cwd: string, file: string) => Promise<T>) =>
    at === undefined || at === 'none' ? undefined : await read(cwd, at);
  const pods = await fileAt(podsPath, files.readPodsFile);
  const shares = await fileAt(sharesPath, files.readSharesFile);
  const retention = await fileAt(retentionPath, files.readRetentionFile);
  const list = (name: string): string[] | undefined => {
    const texts = textOptions(commandLine, name);
    return texts.length === 0 ? undefined : texts.filter((text) => text !== 'none');
  };
  const otlp = textOption(commandLine, 'otlp');
  const removable = {
    pullSecret: textOption(commandLine, 'pull-secret'),
    tokensSecret: textOption(commandLine, 'tokens-secret'),
    authoritySecret: textOption(commandLine, 'authority-secret'),
    advertise: textOption(commandLine, 'advertise'),
    otlp,
    // Headers without a collector would be refused.
    otlpSecret: textOption(commandLine, 'otlp-secret') ?? (otlp === 'none' ? otlp : undefined),
  };
  const cleared = Object.entries(removable).flatMap(([name, value]) => (value === 'none' ? [name] : []));
  const outside = readOutside(commandLine, installed);
  return resolveOptions(
    present<InstallInput>(
      {
        image: textOption(commandLine, 'image'),
        ...noneIsUndefined(removable),
        // `resolveOptions` validates both.
        programs: textOption(commandLine, 'programs') as InstallInput['programs'],
        pullPolicy: textOption(commandLine, 'pull-policy') as InstallInput['pullPolicy'],
        port: numberOption(commandLine, 'port', 1),
        tlsPort: numberOption(commandLine, 'tls-port', 1),
        allowHosts: list('allow-host'),
        storage: textOption(commandLine, 'storage'),
        storageSize: textOption(commandLine, 'storage-size'),
        memory: textOption(commandLine, 'memory'),
        replicas: numberOption(commandLine, 'replicas', 1),
        allowEgress: list('allow-egress'),
        allowIngress: list('allow-ingress'),
        admissionPolicies: textOption(commandLine, 'admission-policies') as InstallInput['admissionPolicies'],
        identityBindings: textOption(commandLine, 'identity-bindings') as InstallInput['identityBindings'],
        podSecurity: textOption(commandLine, 'pod-security') as InstallInput['podSecurity'],
        pods,
        shares,
        retention,
        ...outside,
        ...(vllm === undefined ? {} : { vllm: vllm === 'none' ? undefined : vllm }),
        ...(models === undefined ? {} : { models: models === 'none' ? undefined : models }),
      },
      [
        ...cleared,
        ...Object.keys(outside),
        ...(podsPath === 'none' ? ['pods'] : []),
        ...(sharesPath === 'none' ? ['shares'] : []),
        ...(retentionPath === 'none' ? ['retention'] : []),
        ...(vllm === 'none' ? ['vllm'] : []),
        ...(models === 'none' ? ['models'] : []),
      ],
    ),
    installed,
  );
}

/** Returns the texts, with undefined for `none`. */
function noneIsUndefined<K extends string>(texts: Readonly<Record<K, string | undefined>>) {
  return Object.fromEntries(
    Object.entries<string | undefined>(texts).map(([name, text]) => [name, text === 'none' ? undefined : text]),
  ) as Record<K, string | undefined>;
}
