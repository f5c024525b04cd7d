/**
 * A process that writes into a store until it is killed, and prints each acknowledgment on standard output: `rollout
 * last` a line. Arguments: folder of the store, batch. Event n of every rollout is `logLine(n, 300)`.
 */
import { writeSync } from 'node:fs';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { endOf, event, logLines, newSession } from './trajectories.ts';

const STREAM = 200;

async function main(folder: string, batch: string): Promise<void> {
  const store = await openStore(folder, { packDelayMs: 5 });
  for (const session of await store.sessions()) await store.endSession(session.session, 'its server was killed');
  const session = newSession(batch);
  await store.openSession(session);
  await Promise.all(Array.from({ length: 8 }, () => writeAll(store, session.session)));
}

async function writeAll(store: Store, session: string): Promise<void> {
  for (let [lease] = await store.lease(session, 1); lease !== undefined; [lease] = await store.lease(session, 1)) {
    for (let from = lease.last + 1; from <= STREAM; ) {
      const count = Math.min(1 + (from % 7), STREAM + 1 - from);
      const events =
        from + count > STREAM
          ? [...logLines(from, count - 1, 300), event(STREAM, 'rollout.end', endOf({}))]
          : logLines(from, count, 300);
      const result = await store.append({ rollout: lease.rollout, epoch: lease.epoch, from, events });
      if (!result.ok) throw new Error(`${result.code}: ${result.message}`);
      writeSync(1, `${lease.rollout} ${result.durable}\n`); // synchronously: this process may be killed at any moment
      from += count;
    }
  }
}

const [, , folder = '', batch = ''] = process.argv;
await main(folder, batch);
