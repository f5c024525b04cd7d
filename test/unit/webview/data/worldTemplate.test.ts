// The tables of a world at any step: the template with the recorded changes, and nothing started.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { Blobs } from '../../../../webview/data/blobs.ts';
import { MAX_TEMPLATE_ROWS, WorldTemplate } from '../../../../webview/data/worldTemplate.ts';
import { tableAt } from '../../../../webview/trajectory/detail/world/tableAt.ts';
import { templateAt } from '../../../../webview/trajectory/detail/world/template.ts';
import { Stream } from '../../../support/stream.ts';

const folder = mkdtempSync(path.join(os.tmpdir(), 'template-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Blobs with one blob, and how much of it was read. */
function blobsOf(bytes: Uint8Array): { readonly blobs: Blobs; readonly read: () => number } {
  let read = 0;
  const blobs = new Blobs({
    getBlob: () => Promise.resolve(bytes),
    blobChunks: () => assert.fail('chunks are not used'),
    blobPart: (_sha, start, length) => {
      const part = bytes.subarray(start, start + length);
      read += part.length;
      return Promise.resolve(part);
    },
  });
  return { blobs, read: () => read };
}

function database(...statements: readonly string[]): Uint8Array {
  const file = path.join(folder, 'template.db');
  rmSync(file, { force: true });
  const opened = new DatabaseSync(file);
  for (const sql of statements) opened.exec(sql);
  opened.close();
  return readFileSync(file);
}

const LOANS = [
  'CREATE TABLE loans (id TEXT PRIMARY KEY, due TEXT)',
  "INSERT INTO loans VALUES ('L-1', '03-20'), ('L-2', '03-21'), ('L-3', '03-22')",
  'CREATE TABLE places (shelf TEXT, slot INT, PRIMARY KEY (shelf, slot))',
  "INSERT INTO places VALUES ('A', 1), ('A', 2)",
];

describe('a table at a step', () => {
  it('has all rows of the template, with those that changed up to there', async () => {
    const s = new Stream();
    s.start();
    s.add('world.open', { world: 'desk', kind: 'code', scenario: 'library', template: 'a'.repeat(64) });
    const first = s.add('world.diff', {
      changes: [
        {
          table: 'loans',
          key: 'L-2',
          op: 'update',
          before: { id: 'L-2', due: '03-21' },
          after: { id: 'L-2', due: '04-03' },
        },
        { table: 'loans', key: 'L-9', op: 'insert', after: { id: 'L-9', due: '04-09' } },
      ],
    });
    const second = s.add('world.diff', {
      changes: [
        { table: 'loans', key: 'L-1', op: 'delete', before: { id: 'L-1', due: '03-20' } },
        { table: 'places', key: ['A', 2], op: 'delete', before: { shelf: 'A', slot: 2 } },
      ],
    });
    const model = new TrajectoryModel();
    model.push(s.events);
    assert.equal(templateAt(model, 1), undefined);
    assert.equal(templateAt(model, second), 'a'.repeat(64));
    const template = await WorldTemplate.open(blobsOf(database(...LOANS)).blobs, 'x');
    assert.deepEqual(
      template.tables.map(({ name, columns }) => [name, columns]),
      [
        ['loans', ['id', 'due']],
        ['places', ['shelf', 'slot']],
      ],
    );
    const at = async (table: string, seq: number): Promise<unknown> =>
      tableAt(table, (await template.rows(table)).rows, model.worldChanges.at(seq)).map((row) => [
        row.key,
        row.op,
        row.before,
        row.after,
      ]);
    const one = { id: 'L-1', due: '03-20' };
    const three = ['L-3', 'update', { id: 'L-3', due: '03-22' }, { id: 'L-3', due: '03-22' }];
    const two = ['L-2', 'update', { id: 'L-2', due: '03-21' }, { id: 'L-2', due: '04-03' }];
    const nine = ['L-9', 'insert', undefined, { id: 'L-9', due: '04-09' }];
    assert.deepEqual(await at('loans', first), [['L-1', 'update', one, one], two, three, nine]);
    assert.deepEqual(await at('loans', second), [['L-1', 'delete', one, undefined], two, three, nine]);
    assert.deepEqual(await at('places', second), [
      [['A', 1], 'update', { shelf: 'A', slot: 1 }, { shelf: 'A', slot: 1 }],
      [['A', 2], 'delete', { shelf: 'A', slot: 2 }, undefined],
    ]);
  });

  it('has the records of a collection, by their ID or position', async () => {
    const collections = {
      'books.json': [
        { title: 'Salt', book_id: 4 },
        { title: 'Salt', book_id: 7, tags: ['a'] },
      ],
      'notes.json': ['first', { text: 'second' }],
      'settings.json': { open: true },
    };
    const template = await WorldTemplate.open(blobsOf(Buffer.from(JSON.stringify(collections))).blobs, 'x');
    assert.deepEqual(template.tables, [
      { name: 'books.json', columns: ['title', 'book_id', 'tags'] },
      { name: 'notes.json', columns: ['text'] },
      { name: 'settings.json', columns: [] },
    ]);
    const keys = async (name: string): Promise<unknown> => (await template.rows(name)).rows.map(({ key }) => key);
    assert.deepEqual(await keys('books.json'), [4, 7]);
    assert.deepEqual(await keys('notes.json'), [0, 1]);
    assert.deepEqual(await keys('settings.json'), []);
  });

  it('with 100,000 rows is read up to a limit, from a part of its file, while other work goes on', async () => {
    const bytes = database(
      'CREATE TABLE log (id INTEGER PRIMARY KEY, text TEXT)',
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
       INSERT INTO log SELECT i, 'an entry of the log with some text and its number ' || i FROM n`,
    );
    const { blobs, read } = blobsOf(bytes);
    const template = await WorldTemplate.open(blobs, 'x');
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const { rows, isPart } = await template.rows('log');
    clearInterval(timer);
    assert.equal(isPart, true);
    assert.equal(rows.length, MAX_TEMPLATE_ROWS);
    assert.ok(turns > 1, 'nothing else ran');
    assert.ok(read() < bytes.length * 0.8, `${read()} of ${bytes.length} bytes were read`);
  });
});
