/**
 * Compares the objects of an installation with those that `install` would apply now, without changing anything. Reads
 * them one by one, so that objects of other programs with the same names are found too.
 */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { Cluster } from '../access/cluster.ts';
import { metadataOf } from '../access/metadata.ts';
import { type Deployment, type KubeObject, kindOf } from '../access/objects.ts';
import { isOurs, LABEL, NAMES, VERSION_ANNOTATION } from '../names.ts';
import { type ClusterPart, clusterPart } from './clusterPart.ts';
import { gitOpsOwner } from './gitOps.ts';
import { objectsOf } from './manifests/all.ts';
import type { ProgramMaps } from './manifests/programs.ts';
import { serverVersion } from './manifests/server.ts';
import type { InstallOptions } from './options.ts';
import { isComplete, secretsOf } from './secrets.ts';
import { installedOptions } from './stored.ts';

export interface InspectedObject {
  readonly kind: string;
  readonly name: string;
  /** `unreadable`: the account may not read it. */
  readonly state: 'ok' | 'missing' | 'differs' | 'foreign' | 'unreadable';
  /** For what belongs to the cluster, and may be missing: the server runs without it. */
  readonly part?: ClusterPart;
  /** How it differs, such as `spec.type is "NodePort", not "ClusterIP"`. */
  readonly difference?: string;
}

export interface InspectedInstallation {
  readonly options: InstallOptions;
  /** Whether the server has the programs of this version; otherwise contents are not compared. */
  readonly isThisVersion: boolean;
  readonly objects: readonly InspectedObject[];
  /** What keeps the installation, also without its Deployment, such as `the Argo CD application rollouts`. */
  readonly owner?: string;
}

/** Returns undefined if nothing is installed. `sha`: hash of this version's programs; undefined if there are none. */
export async function inspectInstallation(
  cluster: Cluster,
  sha: string | undefined,
  signal: AbortSignal | undefined,
): Promise<InspectedInstallation | undefined> {
  const options = await installedOptions(cluster, signal);
  if (options === undefined) return undefined;
  const deployment = await cluster.get('Deployment', NAMES.server, { signal });
  const programs = options.programs === 'image' ? undefined : programsOf(deployment, sha ?? '');
  const version = deployment?.spec?.template.metadata?.annotations?.[VERSION_ANNOTATION];
  // Without a Deployment, the other objects may still be compared.
  const isThisVersion = version === undefined || version === serverVersion(options, programs && sha);
  const wanted = objectsOf(options, programs, cluster.namespace);
  const read = async (object: KubeObject): Promise<InspectedObject> => {
    const { kind, metadata } = object;
    const part = clusterPart(object, cluster.namespace);
    const state = (found: Omit<InspectedObject, 'kind' | 'name'>): InspectedObject => ({
      ...{ kind, name: metadata.name },
      ...(part === undefined ? {} : { part }),
      ...found,
    });
    try {
      const found: KubeObject | undefined =
        kind === 'Deployment' && metadata.name === NAMES.server
          ? deployment
          : await cluster.get(kindOf(object), metadata.name, { namespace: metadata.namespace, signal });
      if (found === undefined || found.metadata.deletionTimestamp !== undefined) return state({ state: 'missing' });
      if (kind === 'Secret') return state({ state: isComplete(found, object) ? 'ok' : 'differs', ...LACKING });
      if (!isOurs(found)) return state({ state: 'foreign' });
      const difference = isThisVersion && !HOLDS_DATA.has(kind) ? differenceOf(object, found) : undefined;
      return state(difference === undefined ? { state: 'ok' } : { state: 'differs', difference });
    } catch (error) {
      if (StudioError.is(error, 'forbidden')) return state({ state: 'unreadable' });
      // A cluster that is too old for the kind.
      if (StudioError.is(error, 'unsupported')) return state({ state: 'missing' });
      throw error;
    }
  };
  const maps = (programs?.names ?? []).map(async (name): Promise<InspectedObject> => {
    const kind = 'ConfigMap';
    try {
      const found = await metadataOf(cluster, kind, name, signal);
      return { kind, name, state: found === undefined || found.deletionTimestamp !== undefined ? 'missing' : 'ok' };
    } catch (error) {
      if (StudioError.is(error, 'forbidden')) return { kind, name, state: 'unreadable' };
      throw error;
    }
  });
  const objects = await Promise.all([...secretsOf(options, cluster.namespace).map(read), ...wanted.map(read), ...maps]);
  const owner = await gitOpsOwner(cluster, signal);
  return { options, isThisVersion, objects, ...(owner === undefined ? {} : { owner }) };
}

const LACKING = { difference: 'keys are missing' } as const;
/** Claims grow, and what they hold is not ours to judge. */
const HOLDS_DATA: ReadonlySet<string> = new Set(['PersistentVolumeClaim']);

/** Returns the programs that a Deployment mounts: their names contain a hash that only their builder knows. */
function programsOf(
  deployment: Deployment | undefined,
  sha: string,
): ProgramMaps & { readonly names: readonly string[] } {
  const volume = deployment?.spec?.template.spec?.volumes?.find(({ name }) => name === 'programs');
  const sources = volume?.projected?.sources ?? [];
  return {
    objects: [],
    sources: z.array(z.record(z.string(), z.unknown())).parse(sources),
    sha,
    names: sources.flatMap(({ configMap }) => configMap?.name ?? []),
  };
}

/**
 * Returns the first field that is not as wanted, or undefined. Fields that only the found object has do not count: the
 * API server adds defaults, and other programs add theirs.
 */
export function differenceOf(wanted: KubeObject, found: KubeObject): string | undefined {
  const labels = Object.fromEntries(Object.entries(wanted.metadata.labels ?? {}).filter(([name]) => name !== MANAGER));
  const annotations = wanted.metadata.annotations ?? {};
  const { metadata: _, ...content } = wanted;
  const { metadata, ...foundContent } = found;
  return (
    different({ labels, annotations }, { labels: metadata.labels, annotations: metadata.annotations }, 'metadata') ??
    different(content, foundContent, '')
  );
}

/** GitOps tools and Helm put their own name there. */
const MANAGER = LABEL.managedBy;
/** Whoever scales the server to zero stops it, which is reported as such. */
const REPLICAS = 'spec.replicas';
const MAX_VALUE = 60;

function different(wanted: unknown, found: unknown, at: string): string | undefined {
  if (isEmpty(wanted) && isEmpty(found)) return undefined;
  if (at === REPLICAS && found === 0) return undefined;
  if (Array.isArray(wanted) && Array.isArray(found)) {
    if (wanted.length !== found.length) return `${at} has ${found.length} entries, not ${wanted.length}`;
    return first(wanted.map((item: unknown, index) => different(item, found[index], `${at}[${index}]`)));
  }
  if (isFields(wanted) && (isFields(found) || found === undefined))
    return first(
      Object.entries(wanted).map(([name, value]) =>
        different(value, found?.[name], at === '' ? name : `${at}.${name}`),
      ),
    );
  return wanted === found ? undefined : `${at} is ${shown(found)}, not ${shown(wanted)}`;
}

function first(texts: readonly (string | undefined)[]): string | undefined {
  return texts.find((text) => text !== undefined);
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The API server leaves out what is empty. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '' || value === 0) return true;
  return typeof value === 'object' && Object.values(value).every(isEmpty);
}

function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  const text = JSON.stringify(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}
