/** What applies of objects have in common. */
import { isDeepStrictEqual } from 'node:util';
import { StudioError } from '../../common/errors.ts';
import { APP } from '../names.ts';
import type { KubeObject } from './objects.ts';

/** Our name in the API: the owner of the fields that we apply. */
export const FIELD_MANAGER = APP;

/** Returns whether an apply conflicts only with our own earlier changes. */
export function isConflictWithUs(error: unknown): boolean {
  const managers = StudioError.is(error, 'conflict') ? error.details?.['managers'] : undefined;
  return isDeepStrictEqual(managers, [FIELD_MANAGER]);
}

/** Returns an object without the fields that the API server maintains, whose changes do not count. */
export function substance(object: KubeObject): unknown {
  const metadata = Object.entries(object.metadata).filter(([name]) => !SERVER_FIELDS.has(name));
  return { ...object, metadata: Object.fromEntries(metadata) };
}

const SERVER_FIELDS: ReadonlySet<string> = new Set(['managedFields', 'resourceVersion', 'generation']);
