/** A cluster's objects over every kind its API serves, to compare before and after. */
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import type { Cluster } from '../../../src/kubernetes/access/cluster.ts';

const groups = z.object({ groups: z.array(z.object({ preferredVersion: z.object({ groupVersion: z.string() }) })) });
const resources = z.object({
  resources: z.array(z.object({ name: z.string(), namespaced: z.boolean(), verbs: z.array(z.string()) })),
});
const list = z.object({
  items: z
    .array(
      z.looseObject({
        metadata: z.looseObject({ name: z.string(), uid: z.string().optional(), namespace: z.string().optional() }),
      }),
    )
    .nullish(),
});
const named = z.object({ metadata: z.object({ name: z.string() }) });
const reference = z.object({ namespace: z.string().optional() }).optional();
/** Addresses of Services and volumes name their owners. */
const referring = z.object({ spec: z.object({ parentRef: reference, claimRef: reference }).optional() });
/** Short-lived by nature. */
const RESTLESS = new Set(['events', 'leases', 'componentstatuses', 'volumeattachments']);
/** Rewritten all the time by the cluster itself: only the presence and identity of the object count. */
const BEATING = new Set([
  'nodes',
  'csinodes',
  'apiservices',
  'flowschemas',
  'prioritylevelconfigurations',
  'namespaces',
  'servicecidrs',
  'ipaddresses',
]);

/** A line for each object of a namespace and each cluster-scoped one; objects of other namespaces are left out. */
export async function snapshot(cluster: Cluster, namespace: string): Promise<string[]> {
  const read = async (path: string): Promise<unknown> => {
    const { status, body } = await cluster.connection.stream(path, {});
    const sent = await text(body);
    return status === 200 ? JSON.parse(sent) : undefined;
  };
  const versions = [
    'api/v1',
    ...groups.parse(await read('/apis')).groups.map(({ preferredVersion }) => `apis/${preferredVersion.groupVersion}`),
  ];
  const lines: string[] = [];
  for (const version of versions) {
    const found = resources
      .parse(await read(`/${version}`))
      .resources.filter(({ name, verbs }) => verbs.includes('list') && !name.includes('/') && !RESTLESS.has(name));
    for (const { name, namespaced } of found) {
      const { items } = list.parse(
        (await read(namespaced ? `/${version}/namespaces/${namespace}/${name}` : `/${version}/${name}`)) ?? {},
      );
      for (const item of items ?? []) {
        if (!namespaced && isOfOthers(name, item, namespace)) continue;
        lines.push(
          `${version}/${name}/${item.metadata.name} ${BEATING.has(name) ? (item.metadata.uid ?? '') : contents(item)}`,
        );
      }
    }
  }
  return lines.sort();
}

/** Cluster-scoped objects that belong to another namespace: others may use the same cluster. */
function isOfOthers(resource: string, item: unknown, namespace: string): boolean {
  if (resource === 'namespaces') return named.parse(item).metadata.name !== namespace;
  const { parentRef, claimRef } = referring.parse(item).spec ?? {};
  const of = parentRef?.namespace ?? claimRef?.namespace;
  return of !== undefined && of !== namespace;
}

/** An object without the fields that record writes to it. */
function contents(item: { readonly metadata: object }): string {
  const metadata = Object.fromEntries(
    Object.entries(item.metadata).filter(([name]) => name !== 'resourceVersion' && name !== 'managedFields'),
  );
  return JSON.stringify({ ...item, metadata });
}
