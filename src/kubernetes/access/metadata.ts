/** Reads the metadata of objects without their content, which may be large or secret. */
import { z } from 'zod';
import type { Cluster } from './cluster.ts';
import { collectionPath, groupOf, KINDS, type Kind } from './kinds.ts';
import { responseError } from './kubeErrors.ts';
import { readText } from './responseText.ts';

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
const partial = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    labels: z.record(z.string(), z.string()).optional(),
    deletionTimestamp: z.string().optional(),
  }),
});

/** Metadata of an object. */
export type ObjectMetadata = z.infer<typeof partial>['metadata'];

/** Returns the metadata of an object of the cluster's namespace, or undefined if it does not exist. */
export async function metadataOf(
  cluster: Cluster,
  kind: Kind,
  name: string,
  signal?: AbortSignal,
): Promise<ObjectMetadata | undefined> {
  const { namespaced, plural } = KINDS[kind];
  const namespace = namespaced ? cluster.namespace : undefined;
  const path = `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
  const limit = AbortSignal.timeout(READ_MS);
  const answer = await cluster.connection.stream(
    path,
    {},
    signal === undefined ? limit : AbortSignal.any([signal, limit]),
    METADATA,
  );
  let text = '';
  for await (const piece of readText(answer.body)) text += piece;
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) {
    throw responseError(
      { status: answer.status, text, skewMs: answer.skewMs },
      { verb: 'get', resource: plural, group: groupOf(kind), name, namespace },
      cluster.context,
    );
  }
  return partial.parse(JSON.parse(text)).metadata;
}

const READ_MS = 30_000;
