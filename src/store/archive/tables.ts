/** What is in an archive. A table that is neither here nor in `LEFT_OUT` fails a test of the contract. */
import {
  AUDIT,
  BATCH,
  BATCH_READER,
  BLOB,
  BLOB_CHUNK,
  BLOB_PACK,
  BLOB_REF,
  CLAIM,
  COMMAND,
  DATASET_TASK,
  ENDPOINT,
  EVENT,
  GROUP_CALLBACK,
  LINEAGE,
  POD_ROLLOUT,
  POD_USE,
  ROLLOUT,
  TASK,
  TASK_COUNT,
  TOKEN_USE,
  TRAINER_GROUP,
} from '../sql/schema.ts';
import type { Table } from '../sql/sql.ts';

export interface ArchivedTable {
  readonly table: Table;
  /** The columns of its primary key, by which it is read. */
  readonly key: readonly string[];
  /** Rows per frame: few where they are large. */
  readonly rows: number;
  /** Whether the database assigns its IDs, which are restored as they were. */
  readonly ids?: true;
  /** Rows that may be there before a restore: `replace` or keep them. */
  readonly existing?: 'replace' | 'keep';
  /** Columns that are not restored, because they mean nothing elsewhere: the ID of a log entry, a worker's session. */
  readonly dropped?: readonly string[];
}

/** In the order of a restore: references to blobs precede the blobs, so that none is removed as unreferenced. */
export const ARCHIVED: readonly ArchivedTable[] = [
  { table: ENDPOINT, key: ['name', 'replica'], rows: 500, existing: 'replace' },
  { table: BATCH, key: ['id'], rows: 50, ids: true },
  { table: BATCH_READER, key: ['batch', 'who'], rows: 1000 },
  { table: LINEAGE, key: ['parent', 'batch'], rows: 1000 },
  { table: BLOB_REF, key: ['sha', 'batch'], rows: 2000 },
  { table: BLOB_PACK, key: ['id'], rows: 16, ids: true },
  { table: BLOB, key: ['sha'], rows: 1000, existing: 'keep' },
  { table: BLOB_CHUNK, key: ['sha', 'n'], rows: 8, existing: 'keep' },
  { table: TASK, key: ['batch', 'idx'], rows: 200 },
  { table: DATASET_TASK, key: ['batch', 'idx'], rows: 200 },
  { table: TRAINER_GROUP, key: ['id'], rows: 200, ids: true },
  { table: GROUP_CALLBACK, key: ['batch'], rows: 1000 },
  { table: TASK_COUNT, key: ['batch', 'name'], rows: 1000 },
  { table: ROLLOUT, key: ['id'], rows: 500, ids: true, dropped: ['session'] },
  { table: EVENT, key: ['stream', 'seq'], rows: 64 },
  { table: COMMAND, key: ['id'], rows: 500, ids: true, dropped: ['handed_to'] },
  { table: CLAIM, key: ['batch', 'breakpoint'], rows: 1000 },
  { table: POD_ROLLOUT, key: ['batch', 'pod'], rows: 1000 },
  { table: POD_USE, key: ['uid'], rows: 1000 },
  { table: TOKEN_USE, key: ['minute', 'queue', 'owner'], rows: 1000 },
  { table: AUDIT, key: ['id'], rows: 500, dropped: ['id'] },
];

/** Tables that are not in an archive, and why. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  meta: 'The version is in the first frame. The key that signs tokens is a secret.',
  session: 'Workers of the original do not work for the copy: their rollouts are queued again.',
  blob_upload: 'It only counts for a day, and lets a user refer to blobs that are not in a batch yet.',
  commits: 'PostgreSQL only: marks of transactions that are being written.',
};

const BY_NAME = new Map(ARCHIVED.map((archived) => [archived.table.name, archived]));

export function archivedTable(name: string): ArchivedTable | undefined {
  return BY_NAME.get(name);
}
