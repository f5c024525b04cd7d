/** What `rollout cluster` does, and the options of each verb, as its help shows them. */
import { INSTALL_OPTIONS } from '../../clusterOptions.ts';
import type { Verb } from '../../command.ts';
import { OUTSIDE_OPTIONS } from '../../outsideOptions.ts';
import { VLLM_OPTIONS } from '../../vllmOptions.ts';

const INSTALLATION = Object.keys(INSTALL_OPTIONS);
const TARGET = '--target NAME';

export const VERBS = {
  install: {
    usage: `${TARGET} [OPTIONS]`,
    text: [
      'Installs a server in a cluster.',
      'It can be repeated: options you leave out keep their installed values.',
    ].join('\n'),
    options: ['create-namespace', 'force', 'dry-run', 'timeout', ...INSTALLATION],
  },
  upgrade: {
    usage: `${TARGET} [OPTIONS]`,
    text: [
      'Replaces an installed server by that of this version; running batches continue.',
      'Options you leave out keep their installed values.',
    ].join('\n'),
    options: ['backup', 'create-namespace', 'force', 'dry-run', 'timeout', ...INSTALLATION],
  },
  diff: {
    usage: `${TARGET} [OPTIONS]`,
    text: 'Shows what install would change with the same options, field by field, and changes nothing.',
    options: ['create-namespace', 'force', ...INSTALLATION],
  },
  options: { usage: TARGET, text: 'Prints the options of the installed server.', options: [] },
  uninstall: {
    usage: `${TARGET} [--delete-data]`,
    text: 'Removes the server. Its data and options stay for the next installation.',
    options: ['delete-data', 'force'],
  },
  render: {
    usage: '[--namespace NAME] [--as manifests|kustomize|helm] [--out PATH] [OPTIONS]',
    text: [
      'Prints manifests, or writes a Kustomize base or Helm chart, for kubectl and for GitOps.',
      'They contain what install applies with the same options. With --target, options start from those of the',
      'installed server; without, no cluster is needed.',
    ].join('\n'),
    options: ['namespace', 'as', 'out', ...INSTALLATION],
  },
  image: {
    usage: '--out FOLDER [--tag NAME [--push]]',
    text: 'Writes a Dockerfile for an image with the programs, and builds it.',
    options: ['out', 'tag', 'push', 'image'],
  },
  roles: {
    usage: '[--namespace NAME] [--bind WHO:ROLE]',
    text: 'Prints Roles for users of the server, and gives them to users with --bind, for kubectl apply -f -.',
    options: ['namespace', 'bind'],
  },
} as const satisfies Readonly<Record<string, Verb>>;

export type ClusterVerb = keyof typeof VERBS;

/** Where options of an installation belong. */
export const SECTIONS = {
  Server: [
    ...['image', 'programs', 'pull-policy', 'pull-secret', 'port', 'tls-port', 'advertise', 'allow-host', 'memory'],
    ...['replicas', 'pods', 'shares', 'retention', 'otlp', 'otlp-secret'],
  ],
  Storage: ['storage', 'storage-size'],
  'Secrets and rights': [
    ...['tokens-secret', 'authority-secret', 'identity-bindings', 'admission-policies', 'pod-security'],
  ],
  Network: ['allow-egress', 'allow-ingress', 'proxy', 'no-proxy', 'ca-bundle'],
  'Reach it from outside': Object.keys(OUTSIDE_OPTIONS).filter((name) =>
    /^(ingress|gateway|identity|service)/.test(name),
  ),
  'Model servers': Object.keys(VLLM_OPTIONS),
} as const satisfies Readonly<Record<string, readonly string[]>>;
