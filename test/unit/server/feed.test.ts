/** A page of the feed of groups, from a store in which groups end all the time. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { OPERATOR } from '../../../src/server/access/caller.ts';
import { feed } from '../../../src/server/groups/feed.ts';
import type { Call } from '../../../src/server/http/call.ts';
import type { Services } from '../../../src/server/services.ts';
import type { FinishedGroupRecord } from '../../../src/store/groupStore.ts';

const BATCH = 'b0000000000000000a';

function ended(rev: number): FinishedGroupRecord {
  const counts = { size: 1, extra: 0, min_usable: 1, priority: 0, scored: 0, open: 0, replaced: 0 };
  const row = { batch: BATCH, group: `g${rev}`, task: 't', index: rev, ...counts, requested_at: 1, ended_at: 2 };
  return { row: { ...row, state: 'failed' }, rev, members: [], excluded: [], cut: [] };
}

it('ends with the groups that were there when it began, so that a reader has them at once', async () => {
  let newest = 2;
  const row = { batch: BATCH, rev: 1_000, state: 'running' };
  const services = {
    trained: () => undefined,
    caller: OPERATOR,
    store: {
      batch: () => Promise.resolve({ row, spec: { group: { size: 1, stale: 'mark', estimator: 'ms_swift' } } }),
      finishedGroups: (_batch: string, after: number, limit: number) =>
        Promise.resolve(Array.from({ length: Math.min(limit, newest - after) }, (_, n) => ended(after + n + 1))),
    },
    changes: { on: () => () => undefined },
    endpoints: {
      versionsFor: () => {
        newest += 1; // another one ends while each is sent
        return Promise.resolve(() => undefined);
      },
    },
  } as unknown as Services;
  const page = async (after: string): Promise<string[]> => {
    let text = '';
    const response = { writeHead: () => undefined, write: (piece: string) => (text += piece) !== '', end: () => text };
    const query = new URLSearchParams({ after, wait: '1' });
    const { signal } = new AbortController();
    const call = { request: { headers: {} }, response, identity: undefined, params: { batch: BATCH }, query, signal };
    await feed(services, call as unknown as Call);
    const lines = text.trim().split('\n');
    return lines.map((line) => (JSON.parse(line) as { group: string }).group);
  };
  assert.deepEqual(await page(''), ['g1', 'g2']);
  assert.deepEqual(await page(`${BATCH}.2`), ['g3', 'g4']);
});
