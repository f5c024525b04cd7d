/**
 * Builds the network policies of an installation: nothing reaches our pods and they reach nothing, except what each
 * needs. Addresses that a batch names are allowed by a policy of the batch (see `executor/kubernetes/batchNetwork.ts`).
 */
import type { KubeObject } from '../../access/objects.ts';
import { type Component, LABEL, labels, NAMES } from '../../names.ts';
import {
  ANYWHERE,
  allowedEgress,
  type EgressRule,
  type IngressRule,
  namespacePods,
  type Peer,
  parseAllowed,
} from '../../network/peers.ts';
import type { InstallOptions } from '../options.ts';
import { proxyEgress } from '../outside/outbound.ts';
import { parseStorage } from '../storage.ts';
import { componentOf, type ModelSet, modelLabels, modelsOf, objectName, VLLM_PORT } from '../vllm/models.ts';
import { object } from './object.ts';

const tcp = (...ports: readonly number[]) => ports.map((port) => ({ protocol: 'TCP' as const, port }));
const pods = (component: Component): Peer => ({ podSelector: { matchLabels: labels(component) } });

/** Where API servers usually listen: networks are all that a policy can name, and API servers move. */
const API_PORTS = [443, 6443, 16_443];
const DATABASE_PORTS = [5432, 6432];

/** Names are resolved by pods of the cluster, or by the node's own cache. OpenShift's listen on 5353. */
const DNS: EgressRule = {
  to: [{ namespaceSelector: {} }, { ipBlock: { cidr: '169.254.20.10/32' } }],
  ports: [53, 5353].flatMap((port) => [
    { protocol: 'UDP' as const, port },
    { protocol: 'TCP' as const, port },
  ]),
};

export function networkPolicies(options: InstallOptions, namespace: string): KubeObject[] {
  const allowed = [...proxyEgress(options), ...options.allowEgress.map(allowedEgress)];
  const models = modelsOf(options);
  const model: EgressRule[] = models.length === 0 ? [] : [{ to: modelPeers(models), ports: tcp(VLLM_PORT) }];
  const server: IngressRule[] = [
    {
      from: [
        ...[pods('worker'), pods('server')],
        ...(options.gateway?.namespace === undefined ? [] : [namespacePods(options.gateway.namespace)]),
        ...options.allowIngress.map((text) => parseAllowed(text).peer),
      ],
      ports: tcp(options.port, options.tlsPort),
    },
  ];
  const policy = (name: string, component: Component | undefined, rules: Policy): KubeObject =>
    object(
      'NetworkPolicy',
      name,
      { namespace, component: 'server' },
      {
        spec: {
          podSelector: { matchLabels: component === undefined ? OURS : labels(component) },
          policyTypes: ['Ingress', 'Egress'],
          // The API server leaves out an empty list, which would be a change at each `kubectl apply`.
          ...(rules.ingress === undefined ? {} : { ingress: rules.ingress }),
          egress: rules.egress,
        },
      },
    );
  return [
    policy(NAMES.allPods, undefined, { egress: [DNS] }),
    policy(NAMES.server, 'server', {
      ingress: server,
      egress: [
        { to: ANYWHERE, ports: tcp(...API_PORTS) },
        ...database(options),
        ...collector(options),
        ...model,
        ...allowed,
      ],
    }),
    policy(NAMES.worker, 'worker', {
      // Workers of an older version, which an upgrade meets, use no TLS.
      egress: [{ to: [pods('server')], ports: tcp(options.port, options.tlsPort) }, ...model, ...allowed],
    }),
    ...models.map(({ name, options: { autoscale, model: weights } }) =>
      object(
        'NetworkPolicy',
        objectName(name),
        { namespace, component: componentOf(name) },
        {
          spec: {
            podSelector: { matchLabels: modelLabels(name) },
            policyTypes: ['Ingress', 'Egress'],
            ingress: [
              {
                from: [
                  ...[pods('worker'), pods('server')],
                  // Prometheus reads the requests that wait.
                  ...(autoscale === undefined ? [] : options.allowIngress.map((text) => parseAllowed(text).peer)),
                ],
                ports: tcp(VLLM_PORT),
              },
            ],
            // Weights come from a hub, unless the model is a folder.
            egress: [...(weights.startsWith('/') ? [] : [{ to: ANYWHERE, ports: tcp(443) }]), ...allowed],
          },
        },
      ),
    ),
  ];
}

/** The pods of the model of `--vllm`, and those of all further models. */
function modelPeers(models: ModelSet): Peer[] {
  return [...new Set(models.map(({ name }) => componentOf(name)))].map(pods);
}

interface Policy {
  readonly ingress?: readonly IngressRule[];
  readonly egress: readonly EgressRule[];
}

/** The labels of all our pods, whatever their component. */
const OURS = Object.fromEntries(Object.entries(labels('server')).filter(([name]) => name !== LABEL.component));

/** Its address is in a Secret of the user, so only its usual ports are known. */
function database({ storage }: InstallOptions): EgressRule[] {
  return parseStorage(storage).kind === 'postgres' ? [{ to: ANYWHERE, ports: tcp(...DATABASE_PORTS) }] : [];
}

function collector({ otlp }: InstallOptions): EgressRule[] {
  if (otlp === undefined) return [];
  const { port, protocol } = new URL(otlp);
  return [{ to: ANYWHERE, ports: tcp(port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)) }];
}
