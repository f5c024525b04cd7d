/** A store with rows in every table, and the rows of all tables of a store. */
import path from 'node:path';
import { newId } from '../../src/common/ids.ts';
import { openDatabase } from '../../src/store/sqlite/driver.ts';
import type { Store } from '../../src/store/store.ts';
import type { TestPostgres } from './postgres.ts';
import {
  addVerdict,
  event,
  finish,
  newBatch,
  newSession,
  openBatch,
  shaOf,
  task,
  tasks,
  wholeRollout,
} from './trajectories.ts';

export const LARGE = Buffer.alloc(700_000, 'large');
const SMALL = Buffer.from('small, but sent nevertheless');

export interface RichStore {
  /** Has a rollout that runs, and queued ones. */
  readonly running: string;
  /** Ended, with labels, a large blob, and packed streams. */
  readonly ended: string;
  /** A fork of `ended`. */
  readonly fork: string;
  /** Ended, of a user, and shared. */
  readonly owned: string;
  readonly groups: string;
}

/** Fills a store. Its packed streams are packed when it is opened again. */
export async function fillStore(store: Store): Promise<RichStore> {
  for (const blob of [LARGE, SMALL]) await store.blobs.put(shaOf(blob), blob);
  const tokens = Array.from({ length: 6 }, (_, n) => Buffer.from(JSON.stringify({ ids: [n, n + 1, n + 2] })));
  for (const blob of tokens) await store.blobs.put(shaOf(blob), blob);

  const ended = newBatch({ submission: shaOf(SMALL), blobs: [shaOf(LARGE)], name: 'déjà vu "\\' });
  await store.createBatch(ended);
  const file = { name: 'large.bin', sha: shaOf(LARGE), bytes: LARGE.byteLength };
  await store.addTasks(ended.id, 0, [task('t0', { files: [file] }), task('t1\0\ud800'), task('t2')]);
  await store.seal(ended.id);
  const session = newSession(ended.id);
  await store.openSession(session);
  const leases = await store.lease(session.session, 10);
  for (const [n, lease] of leases.entries()) {
    const whole = wholeRollout(lease.last + 1, lease, ended.id, {
      passed: n % 2 === 0,
      steps: 3,
      fingerprint: shaOf('same'),
    });
    const blob = tokens[n % tokens.length];
    const events = whole.map((one) =>
      one.kind === 'model.end' && blob !== undefined
        ? {
            ...one,
            data: {
              ...one.data,
              tokens: { $blob: shaOf(blob), bytes: blob.byteLength, media: 'application/json', head: '' },
            },
          }
        : one,
    );
    const { rollout, epoch, last } = lease;
    await store.append({ rollout, epoch, from: last + 1, events });
  }
  await addVerdict(store, ended.id, {
    ...{ rollout: leases[0]!.rollout, scorer: 'ada', value: 0, passed: false, explanation: 'no' },
  });
  await store.addBatchEvent(ended.id, 'note', { by: 'ada', text: 'a note' });

  const lineage = [{ rollout: leases[0]!.rollout, to: 2 }];
  const fork = newBatch({ attempts: 1, parent: { rollout: leases[0]!.rollout, seq: 2, lineage, edits: [] } });
  await store.createBatch(fork);
  await store.addTasks(fork.id, 0, [task('t0')]);
  await store.seal(fork.id);
  const forking = newSession(fork.id);
  await store.openSession(forking);
  for (const lease of await store.lease(forking.session, 1))
    await store.append({
      ...{ rollout: lease.rollout, epoch: lease.epoch, from: 3 },
      events: wholeRollout(3, lease, fork.id),
    });

  const owned = await openBatch(store, 1, { attempts: 1, by: 'bo', shared: ['carl', 'ada'] });
  for (const lease of await store.lease(owned.session, 1)) await finish(store, owned.batch, lease);
  await store.sharing.uploaded('bo', shaOf(SMALL));

  const curriculum = { by: 'b-old', kept: 2, unknown: 0, too_hard: 0, too_easy: 0, refresh: 2 };
  const banded = newBatch({ curriculum: { ...curriculum, keep: [0.1, 0.9] }, order: 'depth', attempts: 3 });
  await store.createBatch(banded);
  await store.addTasks(banded.id, 0, tasks(2), { t0: { passed: 1, scored: 2 }, t1: { passed: 0, scored: 2 } });
  await store.seal(banded.id);

  const groups = newBatch({
    group: { size: 2, extra: 0, estimator: 'ms_swift', stale: 'mark', callback: 'http://trainer.invalid/' },
  });
  await store.createBatch(groups);
  await store.addTasks(groups.id, 0, tasks(3));
  await store.addGroup(groups.id, 'step-1', { task: 't0', size: 2, extra: 0, min_usable: 2, priority: 0 });
  await store.addGroup(groups.id, 'step-2', { task: 't1', size: 2, extra: 0, min_usable: 2, priority: 0 });
  await store.rollouts(groups.id, { limit: 10 }); // adds the rollouts of the groups
  const trainer = newSession(groups.id);
  await store.openSession(trainer);
  for (const lease of await store.lease(trainer.session, 2)) await finish(store, groups.id, lease);

  const running = await openBatch(store, 2, { attempts: 2 });
  for (const lease of await store.lease(running.session, 2))
    await store.append({
      ...{ rollout: lease.rollout, epoch: lease.epoch, from: 1 },
      events: [
        event(1, 'rollout.start', { batch: running.batch, task: lease.task.id, attempt: lease.attempt, try: 1 }),
        event(2, 'rollout.lease', { epoch: lease.epoch, worker: 'worker-1', how: 'fresh' }),
      ],
    });
  await store.putCommand({ id: newId('c'), batch: running.batch, verb: 'note', args: { text: 'x' }, by: 'ada' });
  await store.claim(running.batch, 'break', leases[0]!.rollout);
  const pods = await openBatch(store, 1, { attempts: 1 });
  await store.lease(pods.session, 1, 'pod-1');
  await store.endpoints.set({
    ...{ endpoint: 'http://one.invalid/v1', paused: true, mode: 'abort', version: 3, force: false },
    ...{ by: 'trainer', limitMs: 600_000 },
  });
  await store.audit.add({ user: 'bo', what: 'launch', batch: owned.batch, result: 'done' });
  const owner = { queue: 'research', user: 'ann' };
  await store.usage.addTokens([{ ...owner, at: Date.now(), tokens: 5 }]);
  const ran = { uid: 'pod-1', batch: ended.id, model: 'm', from: 1_000, until: 2_000, cpus: 1.5, gpus: 1 };
  await store.usage.recordPods([{ ...owner, ...ran }]);
  return { running: running.batch, ended: ended.id, fork: fork.id, owned: owned.batch, groups: groups.id };
}

export type Tables = Record<string, Record<string, unknown>[]>;

/** Returns the rows of all tables of a SQLite store. */
export function sqliteTables(folder: string): Tables {
  const database = openDatabase(path.join(folder, 'store.db'), { readOnly: true });
  try {
    const names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    return Object.fromEntries(
      names.all().map(({ name }) => [String(name), database.prepare(`SELECT * FROM ${String(name)}`).all()]),
    );
  } finally {
    database.close();
  }
}

/** Returns the rows of all tables of a PostgreSQL store. */
export async function postgresTables(postgres: TestPostgres, url: string): Promise<Tables> {
  const names = await postgres.query(
    url,
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'rollout_studio'",
  );
  const tables: Tables = {};
  for (const { name } of names)
    tables[String(name)] = await postgres.query(url, `SELECT * FROM rollout_studio.${String(name)}`);
  return tables;
}

/** Returns a row with equal values in both databases: numbers, texts, and bytes as hex. */
export function plainRow(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array
        ? Buffer.from(value).toString('hex')
        : typeof value === 'string' && /^-?\d+$/.test(value)
          ? Number(value)
          : value,
    ]),
  );
}
