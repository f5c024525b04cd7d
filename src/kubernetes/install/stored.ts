/**
 * The options of an installation, kept in a ConfigMap of their own: an upgrade, a repeated installation, and one after
 * the Deployment or all pods were removed find them there. The Deployment has a copy, in case that the ConfigMap is
 * lost, and installations of older versions have only that.
 */
import { StudioError } from '../../common/errors.ts';
import { canonicalJson, jsonOf } from '../../common/json.ts';
import type { Cluster } from '../access/cluster.ts';
import type { KubeObject } from '../access/objects.ts';
import { APP, LABEL, NAMES, OPTIONS_ANNOTATION } from '../names.ts';
import { object } from './manifests/object.ts';
import { type InstallOptions, installOptions } from './options.ts';

/** Key of the ConfigMap: the options as canonical JSON. */
export const OPTIONS_KEY = 'options.json';

export function optionsMap(options: InstallOptions, namespace: string): KubeObject {
  return object(
    'ConfigMap',
    NAMES.options,
    { namespace, component: 'server' },
    { data: { [OPTIONS_KEY]: canonicalJson(options) } },
  );
}

/**
 * Returns the options of the installation in the namespace, also if its server was removed without them, or undefined
 * if there are none. Throws `conflict` if another program has the names, or if the options cannot be read.
 */
export async function installedOptions(
  cluster: Cluster,
  signal: AbortSignal | undefined,
): Promise<InstallOptions | undefined> {
  const [deployment, stored] = await Promise.all([
    cluster.get('Deployment', NAMES.server, { signal }),
    cluster.get('ConfigMap', NAMES.options, { signal }),
  ]);
  for (const found of [deployment, stored]) {
    // GitOps tools and Helm put their own name there, but not into the name of the application.
    if (found !== undefined && found.metadata.labels?.[LABEL.name] !== APP)
      throw new StudioError(
        'conflict',
        `The ${found.kind} ${found.metadata.name} in namespace ${cluster.namespace} belongs to another program.`,
        { hint: 'Use another namespace.' },
      );
  }
  const text = stored?.data?.[OPTIONS_KEY] ?? deployment?.metadata.annotations?.[OPTIONS_ANNOTATION];
  if (text === undefined) return undefined;
  const parsed = installOptions.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  throw new StudioError('conflict', `The options of the installation in namespace ${cluster.namespace} are invalid.`, {
    hint:
      `Correct ${OPTIONS_KEY} in the ConfigMap ${NAMES.options}, or delete that ConfigMap and pass all options to ` +
      'rollout cluster install.',
    cause: parsed.error,
  });
}
