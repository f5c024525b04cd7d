/** An imported batch with attempts of one task, from their events. */
import { newId } from '../../../src/common/ids.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { blobOf, type TestServer, tasks } from '../../support/rolloutServer.ts';

/** Events of one request. */
const AT_ONCE = 2_000;

/** `eventsOf`: the events of an attempt, which counts from 1. Returns the batch, and its rollouts by attempt. */
export async function importAttempts(
  server: TestServer,
  attempts: number,
  eventsOf: (batch: string, attempt: number) => readonly TraceEvent[],
): Promise<{ readonly batch: string; readonly rollouts: readonly string[] }> {
  const batch = newId('b');
  const source = blobOf('the file it came from');
  await server.api.putBlob(source.sha, source.bytes);
  await server.api.createBatch({
    batch,
    submission: source.sha,
    open: false,
    tasks: tasks(1),
    secrets: {},
    imported: { name: 'nightly', attempts },
  });
  const rollouts = Array.from({ length: attempts }, () => newId('r'));
  for (const [index, rollout] of rollouts.entries()) {
    const events = eventsOf(batch, index + 1);
    for (let at = 0; at < events.length; at += AT_ONCE) {
      await server.api.importRollouts(batch, [
        { rollout, task: 't1', attempt: index + 1, from: at + 1, events: events.slice(at, at + AT_ONCE) },
      ]);
    }
  }
  return { batch, rollouts };
}

/** Returns the rollout of a batch of one. */
export async function importOne(server: TestServer, events: readonly TraceEvent[]): Promise<string> {
  const { rollouts } = await importAttempts(server, 1, () => events);
  return rollouts[0] ?? '';
}
