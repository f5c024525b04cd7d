/** Defines and reads the options of `rollout cluster` about what is outside: gateways, proxies, authorities. */
import { StudioError } from '../common/errors.ts';
import type { InstallInput, InstallOptions } from '../kubernetes/install/options.ts';
import { type CommandLine, type Option, textOption, textOptions } from './command.ts';

export const OUTSIDE_OPTIONS = {
  ingress: {
    type: 'string',
    value: 'HOST',
    text: 'create an Ingress by which the server is reached at https://HOST; `none` removes it',
  },
  'ingress-class': { type: 'string', value: 'CLASS', text: 'IngressClass (the default of the cluster)' },
  'ingress-tls': {
    type: 'string',
    value: 'SECRET',
    text:
      'Secret with the certificate of the host, or issuer:NAME or cluster-issuer:NAME of cert-manager (the ' +
      'certificate of the controller)',
  },
  'ingress-annotation': {
    type: 'string',
    value: 'NAME=VALUE',
    multiple: true,
    text: 'annotation for the Ingress controller, e.g. time-outs, size of bodies; repeatable; `none` takes all back',
  },
  'ingress-backend': {
    type: 'string',
    value: 'PORT',
    text: 'port that the Ingress controller connects to: http, or https, which it must be told by an annotation (http)',
  },
  'service-annotation': {
    type: 'string',
    value: 'NAME=VALUE',
    multiple: true,
    text:
      'annotation of the server’s Service, where controllers such as Traefik, Contour, and GKE read how to connect; ' +
      'repeatable; `none` takes all back',
  },
  gateway: {
    type: 'string',
    value: 'NAME[/NAMESPACE]',
    text: 'create an HTTPRoute for this Gateway (Gateway API); requires --gateway-host; `none` removes it',
  },
  'gateway-host': { type: 'string', value: 'HOST', text: 'host by which the gateway serves the server' },
  'gateway-section': { type: 'string', value: 'NAME', text: 'listener of the gateway (any that accepts the host)' },
  'gateway-backend': {
    type: 'string',
    value: 'PORT',
    text: 'port that the gateway connects to: http, or https, verified by a BackendTLSPolicy (http)',
  },
  'identity-headers': {
    type: 'string',
    value: 'FIELDS',
    text:
      'headers with which a proxy says who a user is: user=HEADER[,groups=HEADER][,user-prefix=P][,groups-prefix=P]; ' +
      'requires --identity-from; `none` takes them back',
  },
  'identity-from': {
    type: 'string',
    value: 'PROOF',
    text:
      'how the proxy proves itself: mtls:SECRET:NAME[,NAME], a client certificate with this CN from the ca.crt of ' +
      'the Secret; or shared-secret:SECRET, its key proxy-secret in the header X-Rollout-Proxy-Secret',
  },
  proxy: {
    type: 'string',
    value: 'URL',
    text: 'HTTP proxy by which server, workers, and vLLM reach what is outside the cluster; `none` takes it back',
  },
  'no-proxy': {
    type: 'string',
    value: 'HOST',
    multiple: true,
    text: 'host, domain, or network that is reached without the proxy; repeatable; `none` takes all back',
  },
  'ca-bundle': {
    type: 'string',
    value: 'configmap:NAME[/KEY]',
    text: 'ConfigMap with further certificate authorities, in the key ca-bundle.crt; `none` takes it back',
  },
} as const satisfies Readonly<Record<string, Option>>;

type OutsideInput = Pick<
  InstallInput,
  'ingress' | 'gateway' | 'serviceAnnotations' | 'identity' | 'proxy' | 'noProxy' | 'caBundle'
>;
/** What changes. undefined: the option is taken back. */
export type OutsideChange = { [K in keyof OutsideInput]?: OutsideInput[K] | undefined };

/** Returns what the command line changes. Throws StudioError `usage`. `resolveOptions` validates the values. */
export function readOutside(commandLine: CommandLine, installed: InstallOptions | undefined): OutsideChange {
  const proxy = textOption(commandLine, 'proxy');
  const noProxy = listOption(commandLine, 'no-proxy');
  const bundle = textOption(commandLine, 'ca-bundle');
  const ofService = annotationsOption(commandLine, 'service-annotation');
  if (bundle !== undefined && bundle !== 'none' && !bundle.startsWith('configmap:'))
    throw new StudioError('usage', `--ca-bundle ${bundle} is unknown. Expected configmap:NAME or configmap:NAME/KEY.`);
  return {
    ...readIngress(commandLine, installed?.ingress),
    ...readGateway(commandLine, installed?.gateway),
    ...(ofService === undefined
      ? {}
      : { serviceAnnotations: Object.keys(ofService).length === 0 ? undefined : ofService }),
    ...readIdentity(commandLine, installed?.identity),
    ...(proxy === undefined ? {} : { proxy: proxy === 'none' ? undefined : proxy }),
    ...(noProxy === undefined ? {} : { noProxy }),
    ...(bundle === undefined ? {} : { caBundle: bundle === 'none' ? undefined : bundle.slice('configmap:'.length) }),
  };
}

function readIngress(commandLine: CommandLine, installed: InstallOptions['ingress']): OutsideChange {
  const named = textOption(commandLine, 'ingress');
  if (named === 'none') return { ingress: undefined };
  const changed = defined({
    host: named,
    className: textOption(commandLine, 'ingress-class'),
    tls: textOption(commandLine, 'ingress-tls'),
    annotations: annotationsOption(commandLine, 'ingress-annotation'),
    backend: textOption(commandLine, 'ingress-backend'),
  });
  if (Object.keys(changed).length === 0) return {};
  const host = named ?? installed?.host;
  if (host === undefined)
    throw new StudioError('usage', 'The --ingress-… options require a host. Name it with --ingress HOST.');
  return { ingress: { ...installed, ...changed, host } };
}

function readGateway(commandLine: CommandLine, installed: InstallOptions['gateway']): OutsideChange {
  const named = textOption(commandLine, 'gateway');
  if (named === 'none') return { gateway: undefined };
  const [name, namespace] = named?.split('/') ?? [installed?.name, installed?.namespace];
  const host = textOption(commandLine, 'gateway-host') ?? installed?.host;
  const changed = defined({
    section: textOption(commandLine, 'gateway-section'),
    backend: textOption(commandLine, 'gateway-backend'),
  });
  if (named === undefined && host === installed?.host && Object.keys(changed).length === 0) return {};
  if (name === undefined || host === undefined)
    throw new StudioError('usage', '--gateway NAME[/NAMESPACE] and --gateway-host HOST require each other.');
  const { namespace: _, ...rest } = installed ?? {};
  return {
    gateway: { ...rest, ...changed, name, host, ...(namespace === undefined ? {} : { namespace }) },
  };
}

const HEADER_FIELDS = {
  user: 'userHeader',
  groups: 'groupsHeader',
  'user-prefix': 'userPrefix',
  'groups-prefix': 'groupsPrefix',
} as const;

function readIdentity(commandLine: CommandLine, installed: InstallOptions['identity']): OutsideChange {
  const headers = textOption(commandLine, 'identity-headers');
  const proof = textOption(commandLine, 'identity-from');
  if (headers === 'none') return { identity: undefined };
  if (headers === undefined && proof === undefined) return {};
  const fields = headers === undefined ? installed : headerFields(headers);
  const from = proof === undefined ? installed?.from : readProof(proof);
  if (fields === undefined || from === undefined)
    throw new StudioError('usage', '--identity-headers and --identity-from require each other.', {
      hint:
        'For example: --identity-headers user=X-Forwarded-User,groups=X-Forwarded-Groups --identity-from ' +
        'mtls:proxy-ca:oauth2-proxy',
    });
  return { identity: { ...fields, from } as InstallInput['identity'] };
}

function headerFields(text: string): Readonly<Record<string, string>> {
  const fields = text.split(',').map((part) => {
    const at = part.indexOf('=');
    const name = part.slice(0, at);
    if (at < 1 || !isHeaderField(name))
      throw new StudioError('usage', `--identity-headers ${text} is not valid.`, {
        hint: `Expected user=HEADER, and optionally groups=HEADER, user-prefix=P, and groups-prefix=P, with commas.`,
      });
    return [HEADER_FIELDS[name], part.slice(at + 1)] as const;
  });
  if (!fields.some(([name]) => name === 'userHeader'))
    throw new StudioError('usage', '--identity-headers requires user=HEADER.');
  return Object.fromEntries(fields);
}

function isHeaderField(name: string): name is keyof typeof HEADER_FIELDS {
  return Object.hasOwn(HEADER_FIELDS, name);
}

function readProof(text: string): NonNullable<InstallInput['identity']>['from'] {
  const [kind = '', secret = '', names = ''] = text.split(':');
  if (kind === 'mtls' && secret !== '' && names !== '')
    return { kind, secret, names: names.split(',').filter((name) => name !== '') };
  if (kind === 'shared-secret' && secret !== '' && names === '') return { kind, secret };
  throw new StudioError('usage', `--identity-from ${text} is not a proof.`, {
    hint:
      kind === 'cidr'
        ? 'An address proves nothing: whatever runs there could name any user. Use mtls:SECRET:NAME or ' +
          'shared-secret:SECRET.'
        : 'Expected mtls:SECRET:NAME[,NAME] or shared-secret:SECRET.',
  });
}

function annotationsOption(commandLine: CommandLine, name: string): Record<string, string> | undefined {
  const annotations = listOption(commandLine, name)?.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) throw new StudioError('usage', `--${name} ${text} has no value. Expected NAME=VALUE.`);
    return [text.slice(0, at), text.slice(at + 1)] as const;
  });
  return annotations === undefined ? undefined : Object.fromEntries(annotations);
}

function listOption(commandLine: CommandLine, name: string): string[] | undefined {
  const texts = textOptions(commandLine, name);
  return texts.length === 0 ? undefined : texts.filter((text) => text !== 'none');
}

function defined(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
