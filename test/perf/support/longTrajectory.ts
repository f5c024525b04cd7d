/** The trajectory of 337,000 events and 127 MB, as events and in a store. */
import { openStore } from '../../../src/store/open.ts';
import { SqlStore } from '../../../src/store/sqlStore.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import type { TestStore } from '../../support/rolloutServer.ts';
import { endOf, event } from '../../support/trajectories.ts';
import { importOne } from './importAttempts.ts';
import { longStream } from './longStream.ts';

export const LONG_STEPS = 48_142;
const BYTES = 127_000_000;

/** The stream, with calls long enough that its total is 127 MB. */
export function longTrajectory(): { readonly events: TraceEvent[]; readonly bytes: number } {
  const { events } = longStream(LONG_STEPS);
  const length = (list: readonly TraceEvent[]): number =>
    list.reduce((sum, one) => sum + JSON.stringify(one).length + 1, 0);
  const more = 'y'.repeat(Math.max(0, Math.round((BYTES - length(events)) / LONG_STEPS)));
  for (const one of events) if (one.kind === 'model.start') Object.assign(one.data.sampling, { note: more });
  events.push(event(events.length + 1, 'rollout.end', endOf({}, LONG_STEPS)));
  return { events, bytes: length(events) };
}

/** Imports it to a store that no server holds anymore, packed as it is some time after its end. */
export async function importedAndPacked(store: TestStore, events: readonly TraceEvent[]): Promise<string> {
  const server = await store.start();
  const rollout = await importOne(server, events);
  await server.kill('SIGTERM');
  const opened = await openStore(store.folder);
  if (opened instanceof SqlStore) await opened.pack();
  await opened.close();
  return rollout;
}
