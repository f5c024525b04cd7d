import { KINDS, type Kind } from '../../access/kinds.ts';
import type { KubeObject } from '../../access/objects.ts';
import { type Component, labels } from '../../names.ts';

/** The place of an object. */
export interface Place {
  readonly namespace: string;
  readonly component: Component;
}

/** Returns an object with our labels. */
export function object(kind: Kind, name: string, place: Place, body: Readonly<Record<string, unknown>>): KubeObject {
  const { apiVersion, namespaced } = KINDS[kind];
  return {
    apiVersion,
    kind,
    metadata: { name, ...(namespaced ? { namespace: place.namespace } : {}), labels: labels(place.component) },
    ...body,
  };
}
