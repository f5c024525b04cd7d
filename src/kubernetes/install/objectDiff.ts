/** Compares objects before and after an installation, as people read them. Pure. */
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { sha256Hex } from '../../common/hash.ts';
import type { FieldDiff } from '../../protocol/installDiff.ts';
import type { KubeObject } from '../access/objects.ts';

/** Longer values of a ConfigMap are programs, of which only the hash is of interest. */
const MAX_DATA = 4_000;
/** Longer values of a field are shortened. */
const MAX_VALUE = 200;
const HIDDEN = '(hidden)';

/** Fields of the metadata, and annotations, that others maintain. */
const MAINTAINED: ReadonlySet<string> = new Set([
  'managedFields',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'uid',
  'selfLink',
  'ownerReferences',
  'finalizers',
]);
const MAINTAINED_ANNOTATIONS: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'deployment.kubernetes.io/revision',
]);

/** Returns an object without what the API server maintains, without values of Secrets, and without programs. */
export function readable(object: KubeObject): KubeObject {
  const { metadata, status: _, ...content } = object;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([name]) => !MAINTAINED_ANNOTATIONS.has(name));
  const { annotations: __, ...own } = Object.fromEntries(
    Object.entries(metadata).filter(([name]) => !MAINTAINED.has(name)),
  );
  const shown = Object.fromEntries(
    Object.entries(content).map(([name, value]) => [
      name,
      DATA.has(name) ? shownData(object.kind, name, value) : value,
    ]),
  );
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name: metadata.name,
      ...own,
      ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
    },
    ...shown,
  };
}

const DATA: ReadonlySet<string> = new Set(['data', 'binaryData', 'stringData']);

function shownData(kind: string, field: string, data: unknown): unknown {
  if (!isFields(data)) return data;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => {
      if (kind === 'Secret') return [key, value === '' ? '' : HIDDEN];
      if (typeof value !== 'string' || (field === 'data' && value.length <= MAX_DATA)) return [key, value];
      return [key, `(${value.length.toLocaleString('en-US')} characters, sha256 ${sha256Hex(value).slice(0, 12)})`];
    }),
  );
}

/** Returns a readable object as YAML. */
export function yamlOf(object: KubeObject): string {
  return stringify(object, { lineWidth: 0, aliasDuplicateObjects: false });
}

/** Returns the fields in which two readable objects differ. */
export function fieldDiffs(before: unknown, after: unknown, path = ''): FieldDiff[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (isFields(before) && isFields(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => fieldDiffs(before[name], after[name], join(path, name)));
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((item: unknown, index) => fieldDiffs(item, after[index], `${path}[${index}]`));
  return [
    {
      path,
      ...(before === undefined ? {} : { before: shortened(before) }),
      ...(after === undefined ? {} : { after: shortened(after) }),
    },
  ];
}

function join(path: string, name: string): string {
  if (!/^[\w-]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

function shortened(value: unknown): unknown {
  return typeof value === 'string' && value.length > MAX_VALUE ? `${value.slice(0, MAX_VALUE)}…` : value;
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
