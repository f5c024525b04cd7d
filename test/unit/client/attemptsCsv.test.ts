import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { attemptsCsv } from '../../../src/client/attemptsCsv.ts';
import { csvRecords } from '../../../src/config/dataset/csv.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../../src/trace/summary.ts';

const ended: RolloutRow = {
  rollout: 'r1',
  batch: 'b1',
  task: 'renew, then pay',
  task_index: 0,
  attempt: 3,
  try: 1,
  state: 'ended',
  epoch: 1,
  last: 9,
  settles: true,
  worker: 'w1',
  rev: 4,
  progress: {
    ...EMPTY_PROGRESS,
    steps: 6,
    started_at: Date.UTC(2026, 0, 2, 3, 4, 5),
    ended_at: Date.UTC(2026, 0, 2, 3, 4, 7, 500),
    status: 'done',
    passed: false,
    reward: 0,
    cause: { kind: 'check', text: 'fines: "not paid"' },
  },
};

async function* rowsOf(...rows: readonly RolloutRow[]): AsyncGenerator<RolloutRow> {
  yield* await Promise.resolve(rows);
}

async function readBack(csv: AsyncIterable<Uint8Array>): Promise<unknown[]> {
  const records: unknown[] = [];
  for await (const record of csvRecords(csv)) records.push('value' in record ? record.value : record);
  return records;
}

describe('attempts as CSV', () => {
  it('has a row per attempt with its outcome and cause, and quotes what needs it', async () => {
    const csv = await text(attemptsCsv(rowsOf(ended)));
    assert.match(csv, /^batch,task,attempt,rollout,outcome,cause,cause_kind,.*\r\nb1,"renew, then pay",3,r1,failed,/);
    const [record] = (await readBack(attemptsCsv(rowsOf(ended)))) as [Record<string, string>];
    assert.equal(record['cause'], 'fines: "not paid"');
    assert.equal(record['passed'], 'false');
    assert.equal(record['reward'], '0');
    assert.equal(record['started_at'], '2026-01-02T03:04:05.000Z');
    assert.equal(record['seconds'], '2.5');
  });

  it('leaves cells without a value empty', async () => {
    const queued: RolloutRow = { ...ended, state: 'queued', progress: EMPTY_PROGRESS };
    const [record] = (await readBack(attemptsCsv(rowsOf(queued)))) as [Record<string, string>];
    assert.equal(record['outcome'], 'queued');
    for (const column of ['cause', 'passed', 'reward', 'started_at', 'seconds', 'cost'])
      assert.equal(record[column], '', column);
  });

  it('writes text that looks like a formula as text', async () => {
    const [record] = (await readBack(attemptsCsv(rowsOf({ ...ended, task: '=HYPERLINK("http://x")' })))) as [
      Record<string, string>,
    ];
    assert.equal(record['task'], `'=HYPERLINK("http://x")`);
  });

  it('fails with the error of its rows', async () => {
    async function* lost(): AsyncGenerator<RolloutRow> {
      yield* await Promise.resolve([ended]);
      throw new Error('the server is gone');
    }
    await assert.rejects(text(attemptsCsv(lost())), /the server is gone/);
  });

  it('writes the header of a batch without attempts', async () => {
    assert.match(await text(attemptsCsv(rowsOf())), /^batch,task,/);
  });
});
