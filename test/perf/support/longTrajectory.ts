/** The trajectory of 337,000 events and 127 MB, as events and in a store. */
import { newId } from '../../../src/common/ids.ts';
import { openStore } from '../../../src/store/open.ts';
import { SqlStore } from '../../../src/store/sqlStore.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { blobOf, type TestServer, type TestStore, tasks } from '../../support/rolloutServer.ts';
import { endOf, event } from '../../support/trajectories.ts';
import { longStream } from './longStream.ts';

export const LONG_STEPS = 48_142;
const BYTES = 127_000_000;
const AT_ONCE = 2_000;

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

/** An imported batch of one rollout with these events. */
export async function importOne(server: TestServer, events: readonly TraceEvent[]): Promise<string> {
  const [batch, rollout] = [newId('b'), newId('r')];
  const source = blobOf('the file it came from');
  await server.api.putBlob(source.sha, source.bytes);
  await server.api.createBatch({
    batch,
    submission: source.sha,
    open: false,
    tasks: tasks(1),
    secrets: {},
    imported: { name: 'long', attempts: 1 },
  });
  for (let at = 0; at < events.length; at += AT_ONCE) {
    await server.api.importRollouts(batch, [
      { rollout, task: 't1', attempt: 1, from: at + 1, events: events.slice(at, at + AT_ONCE) },
    ]);
  }
  return rollout;
}

/** The same in a store that no server holds anymore, packed as it is some time after its end. */
export async function importedAndPacked(store: TestStore, events: readonly TraceEvent[]): Promise<string> {
  const server = await store.start();
  const rollout = await importOne(server, events);
  await server.kill('SIGTERM');
  const opened = await openStore(store.folder);
  if (opened instanceof SqlStore) await opened.pack();
  await opened.close();
  return rollout;
}
