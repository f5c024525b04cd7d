import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { attemptsCsv } from '../../../../src/client/export/attemptsCsv.ts';
import type { ExportedAttempt } from '../../../../src/client/export/exportedAttempts.ts';
import { csvRecords } from '../../../../src/config/dataset/csv.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../../../src/trace/summary.ts';

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

/** `texts`: what the rows do not have. */
function csvOf(rows: AsyncIterable<RolloutRow>, texts: Omit<ExportedAttempt, 'row'> = {}): AsyncIterable<Buffer> {
  return attemptsCsv(rows, (row) => Promise.resolve({ row, ...texts }));
}

async function readBack(csv: AsyncIterable<Uint8Array>): Promise<unknown[]> {
  const records: unknown[] = [];
  for await (const record of csvRecords(csv)) records.push('value' in record ? record.value : record);
  return records;
}

describe('attempts as CSV', () => {
  it('has a row per attempt with its outcome and cause, and quotes what needs it', async () => {
    const csv = await text(csvOf(rowsOf(ended)));
    assert.match(csv, /^batch,task,attempt,rollout,outcome,cause,cause_kind,.*,worker,part\r\n/);
    assert.match(csv, /\r\nb1,"renew, then pay",3,r1,failed,/);
    const [record] = (await readBack(csvOf(rowsOf(ended)))) as [Record<string, string>];
    assert.equal(record['cause'], 'fines: "not paid"');
    assert.equal(record['passed'], 'false');
    assert.equal(record['reward'], '0');
    assert.equal(record['started_at'], '2026-01-02T03:04:05.000Z');
    assert.equal(record['seconds'], '2.5');
  });

  it('leaves cells without a value empty', async () => {
    const queued: RolloutRow = { ...ended, state: 'queued', progress: EMPTY_PROGRESS };
    const [record] = (await readBack(csvOf(rowsOf(queued)))) as [Record<string, string>];
    assert.equal(record['outcome'], 'queued');
    for (const column of ['cause', 'passed', 'reward', 'started_at', 'seconds', 'cost'])
      assert.equal(record[column], '', column);
  });

  it('names the scenario of the world, if it has many', async () => {
    const read = async (of: Omit<ExportedAttempt, 'row'>): Promise<unknown> => {
      const [record] = (await readBack(csvOf(rowsOf(ended), of))) as [Record<string, string>];
      return record['scenario'];
    };
    assert.equal(await read({ scenario: 'town_library' }), 'town_library');
    assert.equal(await read({}), '');
  });

  it('writes text that looks like a formula as text', async () => {
    const [record] = (await readBack(csvOf(rowsOf({ ...ended, task: '=HYPERLINK("http://x")' })))) as [
      Record<string, string>,
    ];
    assert.equal(record['task'], `'=HYPERLINK("http://x")`);
  });

  it('has the question and both answers, other values as JSON, and none as formulas', async () => {
    const read = async (texts: Omit<ExportedAttempt, 'row'>): Promise<Record<string, string>> => {
      const [record] = (await readBack(csvOf(rowsOf(ended), texts))) as [Record<string, string>];
      return record;
    };
    const texts = await read({ question: '=1+1\nand "more"', answer: '-2', expected: { due: 'May 22' } });
    assert.equal(texts['question'], `'=1+1\nand "more"`);
    assert.equal(texts['answer'], `'-2`);
    assert.equal(texts['expected_answer'], '{"due":"May 22"}');
    const none = await read({ question: '', answer: null });
    assert.deepEqual([none['question'], none['answer'], none['expected_answer']], ['', '', '']);
  });

  it('keeps the order of its rows, whichever text is read first', async () => {
    const rows = Array.from({ length: 20 }, (_, index) => ({ ...ended, attempt: index + 1 }));
    let waiting: (() => void)[] = [];
    const csv = attemptsCsv(rowsOf(...rows), async (row) => {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        // The last of four that wait goes first.
        if (waiting.length === 4 || row.attempt > 16) {
          for (const go of waiting.toReversed()) go();
          waiting = [];
        }
      });
      return { row };
    });
    const attempts = ((await readBack(csv)) as Record<string, string>[]).map((record) => Number(record['attempt']));
    assert.deepEqual(
      attempts,
      rows.map(({ attempt }) => attempt),
    );
  });

  it('fails with the error of its rows', async () => {
    async function* lost(): AsyncGenerator<RolloutRow> {
      yield* await Promise.resolve([ended]);
      throw new Error('the server is gone');
    }
    await assert.rejects(text(csvOf(lost())), /the server is gone/);
  });

  it('writes the header of a batch without attempts', async () => {
    assert.match(await text(csvOf(rowsOf())), /^batch,task,/);
  });
});
