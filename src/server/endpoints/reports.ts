/** What workers reported about the calls to an endpoint. */
import { endpointKey } from '../../common/endpointKey.ts';
import type { EndpointRecord, SessionCalls } from '../../store/endpointStore.ts';

export interface InFlight {
  readonly calls: number;
  /** Workers that may call the endpoint and have not said that they know its record. */
  readonly unconfirmed: number;
}

interface Use {
  readonly agent: readonly string[];
  readonly others: readonly string[];
}

/** `users`: the endpoints that batches use; a batch that this server does not know may use any. */
export function inFlightOf(
  { endpoint, replica, rev }: Pick<EndpointRecord, 'endpoint' | 'replica' | 'rev'>,
  reports: readonly SessionCalls[],
  users: ReadonlyMap<string, Use>,
): InFlight {
  let calls = 0;
  let unconfirmed = 0;
  for (const report of reports) {
    const use = users.get(report.batch);
    if (report.rev < rev && (use === undefined || isUsing(use, endpoint))) unconfirmed++;
    for (const one of report.calls)
      if (one.endpoint === endpoint && (replica === undefined || one.replica === replica.url)) calls += one.calls;
  }
  return { calls, unconfirmed };
}

/** Whether a batch may use the endpoint. The values of its variables may be known to another server only. */
export function isUsing({ agent, others }: Use, endpoint: string): boolean {
  return [...agent, ...others].some((name) => name.includes('${') || endpointKey(name) === endpoint);
}
