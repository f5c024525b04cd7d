/** Variables and volumes with which pods reach what is outside their cluster: through a proxy, with its authorities. */
import { z } from 'zod';
import { canonicalJson } from '../../../common/json.ts';
import { ANYWHERE, address, type EgressRule } from '../../network/peers.ts';
import type { InstallOptions } from '../options.ts';

type Fields = Readonly<Record<string, unknown>>;
type Outbound = Pick<InstallOptions, 'proxy' | 'noProxy' | 'caBundle'>;

/** Variable of the server with what worker pods get of it, as JSON. */
export const OUTBOUND_VARIABLE = 'ROLLOUT_OUTBOUND';

/** What worker pods get of it. */
export const workerOutbound = z.object({
  proxy: z.string().optional(),
  no_proxy: z.string().optional(),
  /** In the server's pod. */
  ca_file: z.string().optional(),
});

const FOLDER = '/rollout/ca-bundle';
const VOLUME = 'ca-bundle';
/** As trust-manager and most others name it. */
const DEFAULT_KEY = 'ca-bundle.crt';

/** Whatever the cluster itself has is reached without a proxy: its pods have private addresses. */
const INSIDE = [
  ...['localhost', '127.0.0.1', '::1', '.svc', '.cluster.local'],
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'],
];

/** Returns the hosts that are reached without the proxy, as programs expect them in NO_PROXY. */
export function noProxyOf(noProxy: readonly string[], apiServer?: string): string {
  return [...new Set([...INSIDE, ...(apiServer === undefined ? [] : [apiServer]), ...noProxy])].join(',');
}

/**
 * Returns the variables by which programs find a proxy. Some know only the lower-case ones. Node.js itself would use
 * them with NODE_USE_ENV_PROXY, but it knows no networks in NO_PROXY, and replicas of model servers have addresses.
 */
export function proxyEnv(proxy: string, noProxy: string): Fields[] {
  const values = { HTTPS_PROXY: proxy, HTTP_PROXY: proxy, NO_PROXY: noProxy };
  return Object.entries(values).flatMap(([name, value]) => [
    { name, value },
    { name: name.toLowerCase(), value },
  ]);
}

/** Returns the variables of the server's container. */
export function serverOutboundEnv(options: Outbound): Fields[] {
  const { proxy, noProxy, caBundle } = options;
  const file = bundleFile(caBundle);
  return [
    // The kubelet knows the address of the API server.
    ...(proxy === undefined ? [] : proxyEnv(proxy, noProxyOf(noProxy, '$(KUBERNETES_SERVICE_HOST)'))),
    ...(file === undefined ? [] : [{ name: 'NODE_EXTRA_CA_CERTS', value: file }]),
    ...(proxy === undefined && file === undefined
      ? []
      : [
          {
            name: OUTBOUND_VARIABLE,
            value: canonicalJson({
              ...(proxy === undefined ? {} : { proxy, no_proxy: noProxyOf(noProxy) }),
              ...(file === undefined ? {} : { ca_file: file }),
            }),
          },
        ]),
  ];
}

/** Returns the variables of a container with programs in Python, such as vLLM's. */
export function pythonOutboundEnv({ proxy, noProxy, caBundle }: Outbound): Fields[] {
  const file = bundleFile(caBundle);
  return [
    ...(proxy === undefined ? [] : proxyEnv(proxy, noProxyOf(noProxy))),
    ...(file === undefined ? [] : pythonAuthorities(file)),
  ];
}

/** Programs in Python, those with OpenSSL, and the SDKs of AWS use these authorities instead of others. */
export function pythonAuthorities(file: string): Fields[] {
  return ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'AWS_CA_BUNDLE'].map((name) => ({ name, value: file }));
}

export function bundleVolumes({ caBundle }: Outbound): Fields[] {
  if (caBundle === undefined) return [];
  const [name, key = DEFAULT_KEY] = caBundle.split('/');
  return [{ name: VOLUME, configMap: { name, items: [{ key, path: DEFAULT_KEY }] } }];
}

export function bundleMounts({ caBundle }: Outbound): Fields[] {
  return caBundle === undefined ? [] : [{ name: VOLUME, mountPath: FOLDER, readOnly: true }];
}

function bundleFile(caBundle: string | undefined): string | undefined {
  return caBundle === undefined ? undefined : `${FOLDER}/${DEFAULT_KEY}`;
}

/** Returns the rule by which pods reach the proxy. A policy cannot name a host by its name. */
export function proxyEgress({ proxy }: Outbound): EgressRule[] {
  if (proxy === undefined) return [];
  const { hostname, port, protocol } = new URL(proxy);
  const one = /^[\d.]+$|^\[/.test(hostname) ? address(hostname.replace(/^\[|\]$/g, '')) : undefined;
  const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
  return [{ to: one === undefined ? ANYWHERE : [one], ports: [{ protocol: 'TCP', port: number }] }];
}
