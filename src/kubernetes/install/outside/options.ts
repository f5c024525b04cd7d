/** Options of an installation for the world outside its cluster: an Ingress, a route of a gateway, proxies, and CAs. */
import { z } from 'zod';

/** A DNS name without a trailing dot. */
const hostName = z
  .string()
  .max(253)
  .regex(
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/,
    'expected a host name such as rollouts.example.org',
  );
/** Names of most objects: DNS subdomains. */
const objectName = z.string().regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/, 'expected the name of an object');
const namespaceName = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'expected the name of a namespace');
/** Which port of the server a gateway connects to: `https` keeps tokens encrypted inside the cluster, too. */
const backend = z.enum(['http', 'https'], 'expected http or https').default('http');

export const ingressOptions = z.object({
  host: hostName,
  /** IngressClass; the cluster's default if undefined. */
  className: objectName.optional(),
  /**
   * Secret with the certificate, or `issuer:NAME` or `cluster-issuer:NAME` of cert-manager. undefined: the certificate
   * that the controller has for the host.
   */
  tls: z
    .string()
    .regex(
      /^((cluster-)?issuer:)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/,
      'expected a Secret, issuer:NAME, or cluster-issuer:NAME',
    )
    .optional(),
  annotations: z.record(z.string(), z.string()).default({}),
  backend,
});
export type IngressOptions = z.infer<typeof ingressOptions>;

export const gatewayOptions = z.object({
  name: objectName,
  /** The server's own if undefined. */
  namespace: namespaceName.optional(),
  host: hostName,
  /** Listener of the gateway; any that accepts the host if undefined. */
  section: z.string().min(1).optional(),
  backend,
});
export type GatewayOptions = z.infer<typeof gatewayOptions>;

/** A name of an HTTP header. */
const headerName = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'expected the name of a header, such as X-Forwarded-User');
/** In front of names that the proxy reports, so that they differ from others of the cluster. */
const prefix = z
  .string()
  .max(64)
  .regex(/^(?!system:)[\w:@./-]*$/, 'expected a prefix such as oidc:');

export const identityOptions = z.object({
  userHeader: headerName,
  groupsHeader: headerName.optional(),
  userPrefix: prefix.default(''),
  groupsPrefix: prefix.default(''),
  /** How the proxy proves that it is the proxy. */
  from: z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('mtls'),
      /** Secret with the authority of client certificates, in the key `ca.crt`. */
      secret: objectName,
      /** Names (CN) of client certificates that may report users. */
      names: z.array(z.string().min(1)).min(1),
    }),
    z.object({
      kind: z.literal('shared-secret'),
      /** Secret whose key `proxy-secret` the proxy sends in a header. */
      secret: objectName,
    }),
  ]),
});
export type IdentityOptions = z.infer<typeof identityOptions>;

/** A proxy without a password, which would be in arguments and manifests. */
const proxyUrl = z.url({ protocol: /^https?$/, error: 'expected a URL such as http://proxy.example.org:3128' }).refine(
  (text) => {
    const { username, password } = new URL(text);
    return username === '' && password === '';
  },
  { error: 'expected a URL without a password, which would be in the manifests' },
);

export const outboundOptions = {
  /** Proxy for what server and workers reach outside the cluster. */
  proxy: proxyUrl.optional(),
  /** Hosts, domains, and networks that are reached without it, besides those of the cluster. */
  noProxy: z.array(z.string().regex(/^[^\s,]+$/, 'expected a host, a domain, or a network')).default([]),
  /** ConfigMap with further certificate authorities: `NAME` or `NAME/KEY`. */
  caBundle: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(\/[\w.-]+)?$/, 'expected configmap:NAME or configmap:NAME/KEY')
    .optional(),
} as const;
