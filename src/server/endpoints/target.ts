/** Finds the endpoint, or the replica of one, that somebody announces something about. */
import { endpointKey } from '../../common/endpointKey.ts';
import { StudioError } from '../../common/errors.ts';
import type { SetEndpoint } from '../../protocol/endpoints.ts';
import type { Replica } from '../../protocol/replicas.ts';
import type { EndpointRecord, SessionCalls } from '../../store/endpointStore.ts';

interface EndpointFacts {
  /** With their replicas. */
  readonly inUse: ReadonlyMap<string, readonly Replica[]>;
  readonly records: readonly EndpointRecord[];
  readonly reports: readonly SessionCalls[];
}

type Target = Pick<EndpointRecord, 'endpoint' | 'replica'>;

/** Throws `not_found`. */
export function resolveTarget(
  { endpoint, replica }: Pick<SetEndpoint, 'endpoint' | 'replica'>,
  facts: EndpointFacts,
): Target {
  const key = endpointKey(endpoint);
  const reported = facts.reports.flatMap(({ calls }) => calls);
  const names = new Set([
    ...[...facts.inUse.keys()].map(endpointKey),
    ...facts.records.map((record) => record.endpoint),
    ...reported.map((one) => one.endpoint),
  ]);
  if (!names.has(key)) throw unknown(`No batch uses the model endpoint ${key}.`, 'endpoints in use', names);
  if (replica === undefined) return { endpoint: key };
  const replicas = new Map<string, string>();
  for (const one of reported)
    if (one.endpoint === key && one.replica !== undefined) replicas.set(one.replica, one.replica);
  for (const record of facts.records)
    if (record.endpoint === key && record.replica !== undefined) replicas.set(record.replica.name, record.replica.url);
  for (const [name, found] of facts.inUse)
    if (endpointKey(name) === key) for (const one of found) replicas.set(one.name, endpointKey(one.url));
  const url = replicas.get(replica);
  if (url !== undefined) return { endpoint: key, replica: { name: replica, url } };
  const named = [...replicas].find(([, each]) => each === endpointKey(replica));
  if (named !== undefined) return { endpoint: key, replica: { name: named[0], url: named[1] } };
  if (replicas.size === 0)
    throw new StudioError('not_found', `The endpoint ${key} has no replicas of its own.`, {
      hint: 'Only the whole endpoint can be paused. Engines behind a router are not known one by one.',
    });
  throw unknown(`The endpoint ${key} has no replica ${replica}.`, 'its replicas', new Set(replicas.keys()));
}

function unknown(message: string, what: string, names: ReadonlySet<string>): StudioError {
  return new StudioError('not_found', message, {
    hint: names.size === 0 ? `There are no ${what} now.` : `The ${what}: ${[...names].slice(0, 20).join(', ')}.`,
  });
}
