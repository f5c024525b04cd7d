/** Reports whether the server is reachable from outside its cluster, as its Ingress or route says. */
import { z } from 'zod';
import { jsonOf } from '../../../common/json.ts';
import type { Cluster } from '../../../kubernetes/access/cluster.ts';
import type { InstallOptions } from '../../../kubernetes/install/options.ts';
import { outsideHosts } from '../../../kubernetes/install/outside/objects.ts';
import { NAMES } from '../../../kubernetes/names.ts';
import { httpError } from '../../../protocol/client.ts';
import { nodeTransport } from '../../nodeTransport.ts';
import { isUntrusted, unreachableError } from '../unreachable.ts';
import { type TargetFinding, trouble } from './finding.ts';

const REACH_MS = 10_000;
const conditions = z.array(
  z.looseObject({
    type: z.string(),
    status: z.string(),
    reason: z.string().default(''),
    message: z.string().default(''),
  }),
);
const routeStatus = z.looseObject({
  parents: z.array(z.looseObject({ conditions: conditions.default([]) })).default([]),
});
const policyStatus = z.looseObject({
  ancestors: z.array(z.looseObject({ conditions: conditions.default([]) })).default([]),
});

/** Returns nothing for a server that is not reached from outside. */
export async function outsideFindings(
  cluster: Cluster,
  options: InstallOptions,
  signal: AbortSignal | undefined,
): Promise<TargetFinding[]> {
  const { ingress, gateway } = options;
  const attempt = (check: Promise<TargetFinding>): Promise<TargetFinding> =>
    check.catch((error: unknown) => {
      signal?.throwIfAborted();
      return trouble('outside', error);
    });
  return await Promise.all([
    ...(ingress === undefined ? [] : [attempt(ingressFinding(cluster, ingress.host, signal))]),
    ...(gateway === undefined ? [] : [attempt(gatewayFinding(cluster, options, signal))]),
    ...outsideHosts(options).map((host) => attempt(hostFinding(host, options, signal))),
  ]);
}

async function ingressFinding(cluster: Cluster, host: string, signal: AbortSignal | undefined): Promise<TargetFinding> {
  const found = await cluster.get('Ingress', NAMES.server, { signal });
  const address = (found?.status?.loadBalancer?.ingress ?? [])
    .map(({ hostname, ip }) => hostname ?? ip ?? '')
    .join(', ');
  if (address !== '')
    return { name: 'outside', state: 'ok', text: `the Ingress of ${host} has the address ${address}` };
  return {
    name: 'outside',
    state: 'missing',
    text: `the Ingress of ${host} has no address: no Ingress controller has taken it`,
    hint: 'Check kubectl get ingressclass, and set the class with rollout cluster upgrade --ingress-class CLASS.',
  };
}

async function gatewayFinding(
  cluster: Cluster,
  { gateway }: InstallOptions,
  signal: AbortSignal | undefined,
): Promise<TargetFinding> {
  const [route, policy] = await Promise.all([
    cluster.get('HTTPRoute', NAMES.server, { signal }),
    gateway?.backend === 'https' ? cluster.get('BackendTLSPolicy', NAMES.server, { signal }) : undefined,
  ]);
  const name = `${gateway?.name ?? ''}${gateway?.namespace === undefined ? '' : `/${gateway.namespace}`}`;
  const parents = routeStatus.safeParse(route?.status ?? {}).data?.parents ?? [];
  const ancestors = policyStatus.safeParse(policy?.status ?? {}).data?.ancestors ?? [];
  const all = [...parents, ...ancestors].flatMap((each) => each.conditions);
  const refused = all.find(
    ({ type, status }) => status === 'False' && (type === 'Accepted' || type === 'ResolvedRefs'),
  );
  if (refused !== undefined)
    return {
      name: 'outside',
      state: 'wrong',
      text: `the Gateway ${name} does not accept the route of the server (${refused.reason}: ${refused.message})`,
      hint: 'Check the listeners of the Gateway: the host, and the namespaces that they allow.',
    };
  if (!parents.some((parent) => parent.conditions.some(({ type, status }) => type === 'Accepted' && status === 'True')))
    return {
      name: 'outside',
      state: 'missing',
      text: `the Gateway ${name} has not taken the route of the server`,
      hint: 'Check with kubectl get gateways -A whether it exists and is programmed.',
    };
  if (gateway?.backend === 'https' && ancestors.length === 0)
    return {
      name: 'outside',
      state: 'missing',
      text: `the Gateway ${name} has taken the route, but not the BackendTLSPolicy, which it may not support`,
      hint: 'Without it, use rollout cluster upgrade --gateway-backend http.',
    };
  return { name: 'outside', state: 'ok', text: `the Gateway ${name} has taken the route of the server` };
}

/** Reports what answers at the host. From here it may be unreachable without being so for others. */
async function hostFinding(
  host: string,
  { identity }: InstallOptions,
  signal: AbortSignal | undefined,
): Promise<TargetFinding> {
  const url = `https://${host}`;
  const limit = AbortSignal.timeout(REACH_MS);
  try {
    const reply = await nodeTransport(() => ({ url, token: '' })).request({
      method: 'GET',
      path: '/v1/server',
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    const error = httpError.safeParse(jsonOf(await reply.text())).data?.error;
    if (reply.status === 401 && error?.code === 'unauthorized')
      return { name: 'outside', state: 'ok', text: `the server answers at ${url}` };
    if (error?.code === 'forbidden')
      return { name: 'outside', state: 'wrong', text: `the server refuses ${url}: ${error.message}`, hint: UPGRADE };
    if (reply.status >= 500)
      return {
        name: 'outside',
        state: 'wrong',
        text: `the gateway at ${url} cannot reach the server (HTTP status ${reply.status})`,
        hint: 'Admit its pods with rollout cluster upgrade --allow-ingress namespace:NAME, and check its port.',
      };
    if (identity !== undefined && reply.status !== 404)
      return { name: 'outside', state: 'ok', text: `a proxy answers at ${url}, where users sign in` };
    return {
      name: 'outside',
      state: 'wrong',
      text: `${url} is not the server (HTTP status ${reply.status})`,
      hint: 'Another program may have the host, or the gateway does not know it.',
    };
  } catch (error) {
    signal?.throwIfAborted();
    if (isUntrusted(error))
      return {
        name: 'outside',
        state: 'unknown',
        text: `the certificate at ${url} is from a CA that is not trusted on this machine`,
        hint: 'Clients need its file: rollout target add NAME --url URL --ca FILE.',
      };
    const reason = unreachableError({ url }, error);
    return {
      name: 'outside',
      state: 'unknown',
      text: `${url} cannot be reached from this machine: ${reason.message}`,
    };
  }
}

const UPGRADE = 'Run rollout cluster upgrade.';
