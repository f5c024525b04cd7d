/**
 * Computes what an installation would change, by a dry run of that installation: the API server applies each object
 * without keeping it, so its defaults, and fields of others, are taken into account.
 */
import type { InstallDiff, ObjectDiff } from '../../protocol/installDiff.ts';
import type { Cluster } from '../access/cluster.ts';
import { type Change, type ChangedObjects, install } from './install.ts';
import { fieldDiffs, readable, yamlOf } from './objectDiff.ts';
import type { InstallOptions } from './options.ts';

interface DiffCall {
  readonly options: InstallOptions;
  /** Whether the server is installed. */
  readonly installed: boolean;
  readonly createNamespace: boolean;
  readonly force: boolean;
  readonly signal: AbortSignal;
}

const CHANGES = {
  created: 'create',
  changed: 'change',
  removed: 'remove',
  same: 'same',
  stays: 'stays',
} as const satisfies Record<Change['change'], ObjectDiff['change']>;

/** Throws what the installation would throw. */
export async function diffInstall(cluster: Cluster, call: DiffCall): Promise<InstallDiff> {
  const objects: ObjectDiff[] = [];
  const notes: string[] = [];
  await install(
    cluster,
    { ...call, dryRun: true, timeoutMs: 0 },
    {
      change: (change, found) => objects.push(objectDiff(change, found)),
      note: (text) => notes.push(text),
    },
  );
  return { namespace: cluster.namespace, installed: call.installed, objects, notes };
}

function objectDiff({ kind, name, change }: Change, { before, after }: ChangedObjects = {}): ObjectDiff {
  const [old, next] = [before, after].map((object) => (object === undefined ? undefined : readable(object)));
  const fields = old === undefined || next === undefined || change === 'same' ? [] : fieldDiffs(old, next);
  return {
    kind,
    name,
    change: CHANGES[change],
    fields,
    ...(old === undefined ? {} : { before: yamlOf(old) }),
    ...(next === undefined ? {} : { after: yamlOf(next) }),
  };
}
