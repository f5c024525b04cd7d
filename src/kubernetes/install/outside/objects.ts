/** Builds what makes the server reachable from outside its cluster: an Ingress, or a route of a gateway. */
import type { KubeObject } from '../../access/objects.ts';
import { NAMES, SERVER_PORT_NAME, serviceUrl, TLS_PORT_NAME } from '../../names.ts';
import { object, type Place } from '../manifests/object.ts';
import type { InstallOptions } from '../options.ts';
import type { GatewayOptions, IngressOptions } from './options.ts';

const GATEWAY_GROUP = 'gateway.networking.k8s.io';

/** Secret that cert-manager puts the certificate of the Ingress into. */
export const INGRESS_SECRET = `${NAMES.server}-tls`;

export function outsideObjects(options: InstallOptions, namespace: string): KubeObject[] {
  const { ingress, gateway } = options;
  return [
    ...(ingress === undefined ? [] : [ingressObject(ingress, namespace)]),
    ...(gateway === undefined ? [] : routes(gateway, options, namespace)),
  ];
}

/** Returns the host names by which the server is reached from outside. */
export function outsideHosts({ ingress, gateway }: Pick<InstallOptions, 'ingress' | 'gateway'>): string[] {
  return [...new Set([ingress?.host, gateway?.host].filter((host) => host !== undefined))];
}

/** Returns whether anything but workers connects to the port for TLS, with what its own TLS library supports. */
export function isSecureBackend({ ingress, gateway, identity }: InstallOptions): boolean {
  return ingress?.backend === 'https' || gateway?.backend === 'https' || identity?.from.kind === 'mtls';
}

function ingressObject({ host, className, tls, annotations, backend }: IngressOptions, namespace: string): KubeObject {
  const [, issuer, name = tls] = /^((?:cluster-)?issuer):(.*)$/.exec(tls ?? '') ?? [];
  const all = {
    ...(issuer === undefined || name === undefined ? {} : { [`cert-manager.io/${issuer}`]: name }),
    ...annotations,
  };
  const secretName = issuer === undefined ? tls : INGRESS_SECRET;
  const ingress = object('Ingress', NAMES.server, place(namespace), {
    spec: {
      ...(className === undefined ? {} : { ingressClassName: className }),
      // Without a Secret, controllers use the certificate that they have for the host. Tokens never travel plainly.
      tls: [{ hosts: [host], ...(secretName === undefined ? {} : { secretName }) }],
      rules: [
        {
          host,
          http: {
            paths: [
              {
                path: '/',
                pathType: 'Prefix',
                backend: { service: { name: NAMES.server, port: { name: portName(backend) } } },
              },
            ],
          },
        },
      ],
    },
  });
  return Object.keys(all).length === 0 ? ingress : { ...ingress, metadata: { ...ingress.metadata, annotations: all } };
}

/** All fields with a default are set: otherwise each `kubectl apply` would change them. */
function routes(gateway: GatewayOptions, options: InstallOptions, namespace: string): KubeObject[] {
  const { name, section, host, backend } = gateway;
  const route = object('HTTPRoute', NAMES.server, place(namespace), {
    spec: {
      parentRefs: [
        {
          group: GATEWAY_GROUP,
          kind: 'Gateway',
          name,
          ...(gateway.namespace === undefined ? {} : { namespace: gateway.namespace }),
          ...(section === undefined ? {} : { sectionName: section }),
        },
      ],
      hostnames: [host],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: '/' } }],
          // Feeds and requests for groups of trainers are answered for as long as they last.
          timeouts: { request: '0s' },
          backendRefs: [
            {
              group: '',
              kind: 'Service',
              name: NAMES.server,
              port: backend === 'https' ? options.tlsPort : options.port,
              weight: 1,
            },
          ],
        },
      ],
    },
  });
  if (backend === 'http') return [route];
  const policy = object('BackendTLSPolicy', NAMES.server, place(namespace), {
    spec: {
      targetRefs: [{ group: '', kind: 'Service', name: NAMES.server, sectionName: TLS_PORT_NAME }],
      validation: {
        // The server publishes its authority there.
        caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: NAMES.authority }],
        hostname: new URL(serviceUrl(namespace, options.tlsPort, 'https')).hostname,
      },
    },
  });
  return [route, policy];
}

function portName(backend: IngressOptions['backend']): string {
  return backend === 'https' ? TLS_PORT_NAME : SERVER_PORT_NAME;
}

function place(namespace: string): Place {
  return { namespace, component: 'server' };
}
