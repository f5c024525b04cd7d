/** The search worlds of the sample: read from SQL, run offline, and counted again from their rows and events. */
import assert from 'node:assert/strict';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { connect } from '../../src/client/connect.ts';
import { diskFiles } from '../../src/client/disk.ts';
import { factPorts } from '../../src/client/simulation/facts/read.ts';
import { Bench } from '../support/cli.ts';

const ATTEMPTS = 4;
const event = z.looseObject({ kind: z.string(), agent: z.string().optional(), data: z.looseObject({}) });
const answered = z.object({ source: z.string(), status: z.string() });

interface Counted {
  /** Calls by tool and source. */
  readonly calls: Readonly<Record<string, number>>;
  readonly sideCalls: number;
  readonly passed: number;
  readonly pages: readonly string[];
}

/** Counts the events of all attempts, without the report. */
async function recount(bench: Bench, batch: string, truths: ReadonlyMap<string, string>): Promise<Counted> {
  const { api } = await connect({ store: bench.store });
  const rollouts = new Map<string, string>();
  for await (const row of api.allRollouts(batch, {})) rollouts.set(`${row.task}/${row.attempt}`, row.rollout);
  const calls: Record<string, number> = {};
  const pages: string[] = [];
  let sideCalls = 0;
  let passed = 0;
  for (const [task, truth] of truths)
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const stream = rollouts.get(`${task}/${attempt}`) ?? assert.fail(`${task}/${attempt} is not a row`);
      const events = (await Array.fromAsync(api.allEvents(stream))).flat().map((each) => event.parse(each));
      const names: unknown[] = [];
      for (const { kind, data } of events) {
        if (kind === 'model.start' && data['side'] === 'world') sideCalls++;
        if (kind === 'tool.start') names.push(data['name']);
        if (kind === 'tool.end') {
          const { source, status } = answered.parse(data);
          assert.equal(status, 'ok');
          const key = `${String(names.at(-1))} ${source}`;
          calls[key] = (calls[key] ?? 0) + 1;
        }
        if (kind === 'message' && data['role'] === 'tool' && names.at(-1) === 'web_extractor')
          pages.push(JSON.stringify(data['parts']));
        if (kind === 'rollout.end' && String(data['answer']) === truth) passed++;
      }
    }
  return { calls, sideCalls, passed, pages };
}

describe('the search worlds of the sample', { timeout: 480_000 }, () => {
  const bench = new Bench();
  const cwd = bench.path('desk');
  const truths = new Map<string, string>();
  const rows: Record<string, unknown>[] = [];
  before(async () => {
    await bench.run(['init', 'desk'], { cwd: bench.folder });
    const database = new DatabaseSync(':memory:');
    database.exec(readFileSync(path.join(cwd, 'worlds/town/facts.sql'), 'utf8'));
    for (const table of ['bridges', 'museums', 'festivals'])
      rows.push(...database.prepare(`SELECT * FROM ${table}`).all());
    for (const line of readFileSync(path.join(cwd, 'data/town.jsonl'), 'utf8').trim().split('\n')) {
      const { id, sql } = z.object({ id: z.string(), sql: z.string() }).parse(JSON.parse(line));
      truths.set(id, String(Object.values(database.prepare(sql).get() ?? {})[0]));
    }
    database.close();
  });
  after(() => bench.close());

  const batchOf = async (name: string): Promise<string> =>
    (
      await bench.json<{ batch: string }>(['run', `batches/${name}.batch.yaml`, '--attempts', String(ATTEMPTS)], {
        cwd,
      })
    ).batch;

  for (const name of ['town', 'town-faulty'])
    it(`${name}: has the figures that its rows and events have`, async () => {
      const batch = await batchOf(name);
      const counted = await recount(bench, batch, truths);
      const report = await bench.json<{ attempts: number; scored: number; passed: number; side: { calls: number } }>(
        ['report', batch],
        { cwd },
      );
      const all = truths.size * ATTEMPTS;
      assert.deepEqual([report.attempts, report.scored, report.passed], [all, all, counted.passed]);
      assert.equal(report.side.calls, counted.sideCalls);
      const { calls } = counted;
      const pages = (calls['web_extractor simulated'] ?? 0) + (calls['web_extractor facts'] ?? 0);
      assert.deepEqual([calls['web_search facts'], pages], [all, all]);
      assert.deepEqual(
        Object.keys(calls).filter((key) => /^(web_search|dict_memory) (?!facts)/.test(key)),
        [],
        'searches and the memory are never simulated',
      );
      if (name === 'town') {
        assert.equal(calls['web_extractor facts'], undefined);
        assert.equal(counted.sideCalls, all);
      } else {
        assert.ok((calls['web_extractor facts'] ?? 0) > 0, 'the check finds a page that is never right');
        assert.ok((calls['web_extractor simulated'] ?? 0) > 0);
        assert.ok(counted.sideCalls > all, 'the model is asked again');
      }
      // Every page that an agent saw has all facts of its row.
      for (const shown of counted.pages) {
        const row = rows.find((each) => shown.includes(`# ${String(each['name'])}`));
        assert.ok(row !== undefined, shown);
        for (const value of Object.values(row)) assert.ok(shown.includes(String(value)), `${String(value)}: ${shown}`);
      }
    });

  it('predict the calls of an attempt from the same rows', async () => {
    const batch = await batchOf('town');
    const { stdout } = await bench.run(['tail', `${batch}/salt-length/1`, '--json'], { cwd });
    const starts = stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => event.extend({ seq: z.number() }).parse(JSON.parse(line)))
      .filter(({ kind }) => kind === 'tool.start');
    const predicted = async (tool: string): Promise<{ asked: number; prediction: unknown; real: unknown }> => {
      const seq = starts.find(({ data }) => data['name'] === tool)?.seq ?? 0;
      const call = ['call', `${batch}/salt-length/1@${seq}`, '--predict', 'worlds/town.world.yaml'];
      return await bench.json(call, { cwd });
    };
    const [search, page] = [await predicted('web_search'), await predicted('web_extractor')];
    assert.deepEqual([search.asked, search.prediction], [0, search.real]);
    assert.deepEqual([page.asked, page.prediction], [1, page.real]);
  });

  it('are part of the submission: an attempt is continued without their files', async () => {
    const batch = await batchOf('town');
    const rowsOfTown = path.join(cwd, 'worlds/town/facts.sql');
    renameSync(rowsOfTown, bench.path('aside.sql'));
    try {
      const fork = await bench.json<{ batch: string }>(['fork', `${batch}/salt-length/1:2`], { cwd });
      const { stdout } = await bench.run(['tail', `${fork.batch}/salt-length/1`, '--json'], { cwd });
      const pages = stdout.split('\n').filter((line) => line.includes('"tool_call_response"') && line.includes('412'));
      assert.ok(pages.length > 0, stdout);
    } finally {
      renameSync(bench.path('aside.sql'), rowsOfTown);
    }
  });

  it('are checked: a wrong line of the script, a query without a value, and an answer in a snippet', async () => {
    const script = path.join(cwd, 'worlds/town/facts.sql');
    const written = readFileSync(script, 'utf8');
    const check = async (text: string, tasks?: string): Promise<string> => {
      writeFileSync(script, text);
      if (tasks !== undefined) writeFileSync(path.join(cwd, 'data/town.jsonl'), tasks);
      const { stdout, stderr } = await bench.run(['check', 'batches/town.batch.yaml'], { cwd });
      return stdout + stderr;
    };
    assert.match(
      await check(`${written}\nINSERT INTO festivals VALUES (1);`),
      new RegExp(`worlds/town/facts\\.sql:${written.split('\n').length + 1}:1: SQLite refuses this statement: `),
    );
    assert.match(
      await check(`${written}\nATTACH 'x.db' AS other;`),
      /only tables, indexes, and rows can be created here/,
    );
    const task = (sql: string): string => `${JSON.stringify({ id: 'a', question: 'Which?', sql })}\n`;
    assert.match(
      await check(written, task("SELECT name FROM bridges WHERE name = 'x'")),
      /data\/town\.jsonl:1:1: task `a`: the query returns no value/,
    );
    assert.match(await check(written, task('DELETE FROM bridges')), /the query fails: it is not a SELECT/);
    assert.match(
      await check(written, task("SELECT 'herons nest'")),
      /data\/town\.jsonl:1:1: warning: task `a`: a snippet of row 2 of `bridges` can hold the answer "herons nest"/,
    );
  });
});

describe('the facts of a world', { timeout: 60_000 }, () => {
  const bench = new Bench();
  const never = new AbortController().signal;
  const ports = factPorts(diskFiles(bench.folder), never);
  after(() => {
    rmSync(bench.folder, { recursive: true, force: true });
  });
  const SCRIPT =
    'PRAGMA foreign_keys=ON;\nBEGIN TRANSACTION;\nCREATE TABLE "a;b" (id INTEGER PRIMARY KEY, t TEXT, x);\n' +
    "-- a; comment\nINSERT INTO \"a;b\" (t, x) VALUES ('it''s; one', 9007199254740993), ('\u001b[2J<b>', X'00ff');\n" +
    'COMMIT;\n';

  it('are the same from a database and from the script that creates it', async () => {
    writeFileSync(bench.path('a.sql'), SCRIPT);
    const database = new DatabaseSync(bench.path('a.sqlite'));
    database.exec(SCRIPT);
    database.close();
    const expected = [
      {
        name: 'a;b',
        columns: [
          { name: 'id', type: 'INTEGER' },
          { name: 't', type: 'TEXT' },
          { name: 'x', type: '' },
        ],
        key: ['id'],
        rows: [
          [1, "it's; one", '9007199254740993'],
          [2, '\u001b[2J<b>', { base64: 'AP8=' }],
        ],
      },
    ];
    assert.deepEqual(await ports.facts(bench.path('a.sql')), expected);
    assert.deepEqual(await ports.facts(bench.path('a.sqlite')), expected);
  });

  it('answer queries by the types of their columns, and refuse all that is no query', async () => {
    writeFileSync(bench.path('b.sql'), "CREATE TABLE t (n INTEGER, s TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y');");
    const tables = await ports.facts(bench.path('b.sql'));
    const results = await ports.query(tables, [
      { sql: 'SELECT s FROM t WHERE n = ?', values: ['2'] },
      { sql: 'SELECT n, s FROM t ORDER BY n DESC;', values: [] },
      { sql: 'SELECT 1; SELECT 2', values: [] },
      { sql: "ATTACH 'c.db' AS c", values: [] },
      { sql: 'WITH x AS (SELECT 1) DELETE FROM t', values: [] },
      { sql: 'WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT n FROM x', values: [] },
      { sql: 'SELECT count(*) FROM t', values: [] },
    ]);
    assert.deepEqual(results, [
      { columns: ['s'], rows: [['y']] },
      {
        columns: ['n', 's'],
        rows: [
          [2, 'y'],
          [1, 'x'],
        ],
      },
      { error: 'it has more than one statement' },
      { error: 'it is not a SELECT' },
      { error: 'attempt to write a readonly database' },
      { error: 'it returns more than 1000 rows' },
      { columns: ['count(*)'], rows: [[2]] },
    ]);
  });

  it('are refused if a file is no database and no script', async () => {
    writeFileSync(bench.path('c.sqlite'), 'SQLite format 3\0 and no more');
    await assert.rejects(ports.facts(bench.path('c.sqlite')), {
      code: 'config',
      message: /The database cannot be read/,
    });
    writeFileSync(bench.path('d.sqlite'), '%PDF-1.7');
    await assert.rejects(ports.facts(bench.path('d.sqlite')), { code: 'config', details: { line: 1 } });
  });
});
