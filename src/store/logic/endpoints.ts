import { StudioError } from '../../common/errors.ts';
import {
  ENDPOINT_CALLS,
  ENDPOINTS_CHANGED,
  type EndpointCalls,
  type EndpointChange,
  type EndpointRecord,
  type EndpointStore,
  type PauseMode,
  type SessionCalls,
  versionOf,
} from '../endpointStore.ts';
import { int, intOr, quote, stored, text, textOr, unquote } from '../sql/row.ts';
import { ENDPOINT } from '../sql/schema.ts';
import type { Reader, Row, Sql, Transaction } from '../sql/sql.ts';

/** The row without a name counts revisions: whoever changes a record locks it. */
const SELECT = "SELECT * FROM endpoint WHERE name <> ''";

export class SqlEndpoints implements EndpointStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  list(): Promise<EndpointRecord[]> {
    return this.#sql.read(listRecords);
  }

  set(change: EndpointChange): Promise<EndpointRecord> {
    return this.#sql.write((tx) => setRecord(tx, change), 'urgent');
  }

  async report(session: string, { rev, calls }: Pick<SessionCalls, 'rev' | 'calls'>): Promise<void> {
    await this.#sql.write(async (tx) => {
      const changed = await tx.run(
        'UPDATE session SET endpoints_rev = ?, calls = ? WHERE name = ?',
        rev,
        JSON.stringify(calls),
        session,
      );
      if (changed > 0) tx.changed(ENDPOINT_CALLS);
    }, 'urgent');
  }

  async calls(): Promise<SessionCalls[]> {
    const rows = await this.#sql.read((db) =>
      db.all(
        `SELECT s.name AS name, b.name AS batch, s.endpoints_rev AS endpoints_rev, s.calls AS calls
        FROM session s JOIN batch b ON b.id = s.batch ORDER BY s.id`,
      ),
    );
    return rows.map((row) => ({
      session: text(row, 'name'),
      batch: text(row, 'batch'),
      rev: int(row, 'endpoints_rev'),
      calls: stored<EndpointCalls[]>(textOr(row, 'calls', '[]')),
    }));
  }

  async markReported({ endpoint, replica, since }: EndpointRecord): Promise<boolean> {
    return await this.#sql.write(
      async (tx) =>
        (await tx.run(
          `UPDATE endpoint SET reported = 1
          WHERE name = ? AND replica = ? AND since = ? AND paused = 1 AND reported = 0`,
          quote(endpoint),
          replicaColumn(replica),
          since,
        )) > 0,
    );
  }
}

async function listRecords(db: Reader): Promise<EndpointRecord[]> {
  return (await db.all(`${SELECT} ORDER BY name, replica`)).map(record);
}

async function setRecord(tx: Transaction, change: EndpointChange): Promise<EndpointRecord> {
  // Locks the counter first, so that changes of different records are in one order.
  await tx.run("UPDATE endpoint SET rev = rev WHERE name = ''");
  const all = await listRecords(tx);
  const { endpoint, replica, version, by, mode, limitMs, paused } = change;
  const before = all.find((one) => one.endpoint === endpoint && one.replica?.name === replica?.name);
  const ofReplicas = replica === undefined ? all.filter((one) => isReplicaOf(one, endpoint)) : [];
  if (!change.force) refuseOlder(all, change);
  const isSame =
    before !== undefined &&
    before.paused === paused &&
    (!paused || (before.mode === mode && before.limitMs === limitMs && before.by === by)) &&
    (paused || ofReplicas.every((one) => !one.paused)) &&
    (version === undefined || (before.version === version && versionsAre(version, all, change)));
  if (isSame) return before;
  await tx.run("UPDATE endpoint SET rev = rev + 1 WHERE name = ''");
  const rev = int((await tx.get("SELECT rev FROM endpoint WHERE name = ''")) ?? {}, 'rev');
  const isNew = before === undefined || before.paused !== paused;
  const after: EndpointRecord = {
    endpoint,
    ...(replica === undefined ? {} : { replica }),
    paused,
    mode,
    ...((version ?? before?.version) === undefined ? {} : { version: version ?? before?.version ?? 0 }),
    versionRev: version === undefined ? (before?.versionRev ?? 0) : rev,
    by,
    since: isNew ? tx.now : before.since,
    limitMs,
    reported: !isNew && before.reported,
    rev,
  };
  await tx.run('DELETE FROM endpoint WHERE name = ? AND replica = ?', quote(endpoint), replicaColumn(replica));
  await tx.insert(
    ENDPOINT,
    [
      'name',
      'replica',
      'url',
      'paused',
      'mode',
      'version',
      'version_rev',
      'by_whom',
      'since',
      'limit_ms',
      'reported',
      'rev',
    ],
    [
      [
        quote(endpoint),
        replicaColumn(replica),
        replica === undefined ? null : quote(replica.url),
        paused ? 1 : 0,
        mode,
        after.version ?? null,
        after.versionRev,
        quote(by),
        after.since,
        limitMs,
        after.reported ? 1 : 0,
        rev,
      ],
    ],
  );
  if (!paused && replica === undefined)
    await tx.run(
      "UPDATE endpoint SET paused = 0, by_whom = ?, since = ?, rev = ? WHERE name = ? AND replica <> '' AND paused = 1",
      quote(by),
      tx.now,
      rev,
      quote(endpoint),
    );
  tx.changed(ENDPOINTS_CHANGED);
  return after;
}

function refuseOlder(all: readonly EndpointRecord[], { endpoint, replica, version }: EndpointChange): void {
  if (version === undefined) return;
  const urls = replica === undefined ? replicaUrls(all, endpoint) : [replica.url];
  const newest = Math.max(...[undefined, ...urls].map((url) => versionOf(all, endpoint, url) ?? -1));
  if (version >= newest) return;
  throw new StudioError(
    'conflict',
    `Version ${version} of the weights of ${endpoint} is older than version ${newest}, which it has.`,
    {
      hint:
        'Versions grow with each update. If the trainer went back to an earlier checkpoint, announce that with ' +
        '`force`: then what later versions sampled counts as stale.',
      details: { version, current: newest },
    },
  );
}

/** Whether the version is also that of all replicas it is announced for. */
function versionsAre(version: number, all: readonly EndpointRecord[], { endpoint, replica }: EndpointChange): boolean {
  const urls = replica === undefined ? replicaUrls(all, endpoint) : [replica.url];
  return urls.every((url) => versionOf(all, endpoint, url) === version);
}

function replicaUrls(all: readonly EndpointRecord[], endpoint: string): string[] {
  return all.flatMap((one) => (isReplicaOf(one, endpoint) ? [one.replica.url] : []));
}

function isReplicaOf(
  one: EndpointRecord,
  endpoint: string,
): one is EndpointRecord & { readonly replica: NonNullable<EndpointRecord['replica']> } {
  return one.endpoint === endpoint && one.replica !== undefined;
}

function replicaColumn(replica: EndpointRecord['replica']): string {
  return replica === undefined ? '' : quote(replica.name);
}

function record(row: Row): EndpointRecord {
  const url = textOr(row, 'url', undefined);
  const version = intOr(row, 'version', undefined);
  return {
    endpoint: unquote(text(row, 'name')),
    ...(url === undefined ? {} : { replica: { name: unquote(text(row, 'replica')), url: unquote(url) } }),
    paused: int(row, 'paused') === 1,
    mode: text(row, 'mode') as PauseMode, // written from one
    ...(version === undefined ? {} : { version }),
    versionRev: int(row, 'version_rev'),
    by: unquote(text(row, 'by_whom')),
    since: int(row, 'since'),
    limitMs: int(row, 'limit_ms'),
    reported: int(row, 'reported') === 1,
    rev: int(row, 'rev'),
  };
}
