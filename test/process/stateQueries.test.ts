/** Queries that select what a world model sees of a database: only reads, in a process of its own, with an end. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { queryResult } from '../../src/client/published/template/query.ts';
import { SqlProcess } from '../../src/client/published/template/sqlProcess.ts';
import { readQuery } from '../../src/client/simulation/queries.ts';
import { StudioError } from '../../src/common/errors.ts';
import { Bench } from '../support/cli.ts';

const NEVER = new AbortController().signal;
const ENDLESS = 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n';

function library(file: string): void {
  const database = new DatabaseSync(file);
  database.exec('CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT, pages, cover BLOB)');
  database.exec("INSERT INTO books VALUES (1, 'Emma', 9007199254740993, x'0102'), (2, 'Night Ferry', 1.5, NULL)");
  database.close();
}

describe('the queries of a state', { timeout: 480_000 }, () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-queries-'));
  const file = path.join(folder, 'library.sqlite');
  library(file);
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }));
  const read = (query: string, chars = 10_000): ReturnType<typeof readQuery> => readQuery(file, query, chars, NEVER);

  it('return rows as a world has them, as many as fit', async () => {
    assert.deepEqual(await read('-- all\nSELECT * FROM books ORDER BY id;'), {
      rows: [
        { id: 1, title: 'Emma', pages: '9007199254740993', cover: { base64: 'AQI=' } },
        { id: 2, title: 'Night Ferry', pages: 1.5, cover: null },
      ],
      more: false,
    });
    assert.deepEqual(await read('SELECT id FROM books ORDER BY id', 10), { rows: [{ id: 1 }], more: true });
    assert.deepEqual(await read('SELECT id FROM books WHERE id > 5'), { rows: [], more: false });
  });

  it('can only read, one at a time', async () => {
    const refused: readonly (readonly [query: string, why: RegExp])[] = [
      ['DELETE FROM books', /not a SELECT statement/],
      ["ATTACH 'other.sqlite' AS o", /not a SELECT statement/],
      ['WITH a AS (SELECT 1) DELETE FROM books', /readonly/],
      ['SELECT 1; SELECT 2', /more than one statement/],
      ['SELECT absent FROM books', /no such column: absent/],
      ["SELECT load_extension('x')", /not authorized|no such function/],
    ];
    for (const [query, why] of refused)
      await assert.rejects(read(query), (error) => StudioError.is(error, 'config') && why.test(error.message), query);
    assert.equal((await read('SELECT * FROM books')).rows.length, 2);
  });

  it('end when they take too long, or when the user cancels', async () => {
    using slow = new SqlProcess(300);
    await assert.rejects(slow.ask({ file, query: ENDLESS, chars: 100 }, queryResult, NEVER), {
      message: /took more than 0\.3 s/,
    });
    const stop = new AbortController();
    const reading = readQuery(file, ENDLESS, 100, stop.signal);
    stop.abort();
    await assert.rejects(reading, (error) => StudioError.is(error, 'cancelled'));
  });

  it('are part of the prompt of a world; a mistake has its place in the file', async () => {
    const bench = new Bench();
    try {
      library(bench.path('library.sqlite'));
      const world = (sql: string): void =>
        writeFileSync(
          bench.path('desk.world.yaml'),
          `version: 1\nname: desk\nkind: simulated\nmodel: { endpoint: 'demo:', name: demo }\n` +
            `tools: [{ file: tools.json }]\nstate: { sql: { database: library.sqlite, ${sql} } }\n`,
        );
      writeFileSync(bench.path('tools.json'), '[{ "name": "find" }]');
      world('queries: [SELECT title FROM books WHERE id = 1]');
      const cwd = bench.folder;
      const { prompt } = await bench.json<{ prompt: string }>(['world', 'prompt', 'desk.world.yaml'], { cwd });
      assert.ok(
        prompt.endsWith('# Initial State\n## Query\nSELECT title FROM books WHERE id = 1\n{"title":"Emma"}'),
        prompt,
      );
      world('tables: [books], queries: [SELECT 1 AS one, SELECT absent FROM books]');
      const { stderr } = await bench.run(['world', 'prompt', 'desk.world.yaml'], { cwd });
      assert.match(stderr, /desk\.world\.yaml:6:87: no such column: absent — Correct the query/);
    } finally {
      await bench.close();
    }
  });
});
