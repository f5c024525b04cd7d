/** One contract, both stores: a server's assumptions hold in SQLite and in PostgreSQL, the latter with two servers. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe } from 'node:test';
import { type OpenOptions, openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { accessTests } from './store/access.ts';
import { adaptiveTests } from './store/adaptive.ts';
import { appendTests } from './store/appends.ts';
import { batchTests } from './store/batches.ts';
import { blobTests } from './store/blobs.ts';
import { commandTests } from './store/commands.ts';
import { endpointTests } from './store/endpoints.ts';
import { groupMemberTests } from './store/groupMembers.ts';
import { groupTests } from './store/groups.ts';
import { podRolloutTests } from './store/podRollouts.ts';
import { rescoringTests } from './store/rescoring.ts';
import { retentionTests } from './store/retention.ts';
import { sessionTests } from './store/sessions.ts';
import { settlingTests } from './store/settling.ts';
import type { Subject } from './store/suite.ts';
import { taskCountTests } from './store/taskCounts.ts';
import { trimmingTests } from './store/trimming.ts';
import { usageTests } from './store/usage.ts';

/** Less than that of a file, so that a test that hangs is named. */
const TIMEOUT_MS = 8 * 60_000;

const SUITES = [
  batchTests,
  appendTests,
  settlingTests,
  adaptiveTests,
  taskCountTests,
  rescoringTests,
  groupTests,
  groupMemberTests,
  sessionTests,
  podRolloutTests,
  commandTests,
  endpointTests,
  blobTests,
  accessTests,
  usageTests,
  retentionTests,
  trimmingTests,
];

describe('store contract: SQLite', { timeout: TIMEOUT_MS }, () => {
  let folder: string;
  let store: Store;
  const opened: Store[] = [];
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-store-'));
    store = await openStore(path.join(folder, 'shared'));
    opened.push(store);
  });
  after(async () => {
    for (const one of opened) await one.close();
    await rm(folder, { recursive: true, force: true });
  });
  const subject: Subject = {
    kind: 'sqlite',
    store: () => store,
    other: () => store,
    async fresh(options?: OpenOptions) {
      const one = await openStore(path.join(folder, `fresh-${opened.length}`), options);
      opened.push(one);
      return one;
    },
  };
  for (const suite of SUITES) suite(subject);
});

describe('store contract: PostgreSQL, two servers', { timeout: TIMEOUT_MS }, () => {
  let postgres: TestPostgres;
  let store: Store;
  let other: Store;
  const opened: Store[] = [];
  before(async () => {
    postgres = await startPostgres();
    const url = await postgres.createDatabase();
    [store, other] = await Promise.all([openStore(url), openStore(url)]);
    opened.push(store, other);
  });
  after(async () => {
    for (const one of opened) await one.close();
    await postgres.stop();
  });
  const subject: Subject = {
    kind: 'postgres',
    store: () => store,
    other: () => other,
    async fresh(options?: OpenOptions) {
      const one = await openStore(await postgres.createDatabase(), options);
      opened.push(one);
      return one;
    },
  };
  for (const suite of SUITES) suite(subject);
});
