/** What is sent of published scenarios: code, the initial state that is built from statements, and verifiers. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { readScenarioFiles } from '../../src/client/published/scenarioFiles.ts';
import { TemplateBuilder } from '../../src/client/published/template/builder.ts';
import { sha256Hex } from '../../src/common/hash.ts';
import { formatProblem } from '../../src/config/source/problem.ts';
import { scenarioCodeFile, scenarioVerifiers, TEMPLATE_TIME } from '../../src/config/submission/world.ts';
import type { ScenarioFiles } from '../../src/config/submit/scenarios.ts';
import { writeAgentWorld } from '../support/agentWorldFolder.ts';
import { scenarioRows, writeAwmFolder, writePart } from '../support/awmFolder.ts';

const never = new AbortController().signal;
let folder: string;
let published: string;
let cache: string;

before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-scenarios-'));
  published = path.join(folder, 'awm');
  cache = path.join(folder, 'cache');
});
after(() => rm(folder, { recursive: true, force: true }));

/** Writes a scenario `shelf` with these tables and rows. */
function write(tables: readonly (readonly [ddl: string, ...inserts: string[]])[]): void {
  const rows = scenarioRows('shelf');
  writeAwmFolder(published, [
    {
      ...rows,
      schema: [
        {
          scenario: 'shelf',
          db_schema: { tables: tables.map(([ddl], at) => ({ name: `t${at}`, ddl, indexes: [] })) },
        },
      ],
      rows: [
        {
          scenario: 'shelf',
          sample_data: {
            tables: tables.map(([, ...insert_statements], at) => ({ table_name: `t${at}`, insert_statements })),
          },
        },
      ],
    },
  ]);
}

async function readOne(now = TEMPLATE_TIME, into = cache): Promise<ScenarioFiles> {
  const read = await readScenarioFiles(
    { format: 'awm', folder: published, names: new Set(['shelf']) },
    ['shelf'],
    now,
    into,
    never,
  );
  return read.get('shelf')!;
}

const pathOf = (blob: ScenarioFiles['code']): string => ('path' in blob ? blob.path : assert.fail('kept in memory'));

describe('a scenario of Agent World Model', () => {
  const TIMES =
    "INSERT INTO t0 (a, b, c, d) VALUES (datetime('now', '-3 days'), strftime('%s'), date('NOW'), random())";
  const DDL =
    'CREATE TABLE t0 (id INTEGER PRIMARY KEY, a, b, c, d, e DEFAULT CURRENT_TIMESTAMP, f DEFAULT (time()), ' +
    "g GENERATED ALWAYS AS (date(a, '+1 day')))";

  it('is the same byte for byte whenever it is built, and is built once', async () => {
    write([[DDL, TIMES, TIMES]]);
    const one = await readOne();
    const again = await readOne(TEMPLATE_TIME, path.join(folder, 'other'));
    assert.equal(one.template.sha, again.template.sha);
    assert.equal(one.template.sha, sha256Hex(await readFile(pathOf(one.template))));
    const database = new DatabaseSync(pathOf(one.template), { readOnly: true });
    const rows = database.prepare('SELECT a, b, c, e, f, g FROM t0').all();
    const [first, second] = database.prepare('SELECT CAST(d AS TEXT) AS d FROM t0').all() as { d: string }[];
    database.close();
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      [1, 2].map(() => ({
        a: '2026-03-13 09:00:00',
        b: String(Date.parse(TEMPLATE_TIME) / 1000),
        c: '2026-03-16',
        e: '2026-03-16 09:00:00',
        f: '09:00:00',
        g: '2026-03-14',
      })),
    );
    assert.notEqual(first, second, 'still random');
    const names = await readdir(cache);
    const marker = names.find((name) => name.endsWith('.json'))!;
    await writeFile(path.join(cache, marker), JSON.stringify({ tables: 1, errors: [], sha: one.code.sha }));
    assert.equal((await readOne()).template.sha, one.code.sha, 'taken from the cache');
    assert.notEqual(
      (await readOne('2026-01-01T00:00:00Z')).template.sha,
      one.code.sha,
      'another time is another state',
    );
  });

  it('has its code in a Python file of its own, if it was extracted', async () => {
    write([[DDL]]);
    const file = path.join(published, 'gen_envs', 'shelf.py');
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, '# edited\n');
    try {
      const { code, place } = await readOne();
      assert.equal(await readFile(pathOf(code), 'utf8'), '# edited\n');
      assert.deepEqual(place, { file, line: 1 });
      assert.equal(scenarioCodeFile('shelf', { place }), file);
    } finally {
      await rm(path.dirname(file), { recursive: true });
    }
  });

  it('is sent with code and verifiers, and where the code is', async () => {
    write([[DDL]]);
    writePart(published, 'sqlVerifier', [
      JSON.stringify({
        scenario: 'shelf',
        task_idx: 1,
        verification: {
          code: 'def helper():\n    pass\n\ndef judge_it(a, b):\n    return {}\n',
          raw_response:
            '```json\n{"function_name": "judge_it", "success_criteria": "Two boxes.", "reasoning": "Because."}\n```',
        },
      }),
    ]);
    const { code, verifiers, place } = await readOne();
    assert.match(await readFile(pathOf(code), 'utf8'), /^from fastapi import FastAPI/);
    assert.deepEqual(place, { file: path.join(published, 'gen_envs.jsonl'), line: 1 });
    const written = scenarioVerifiers.parse(JSON.parse(await readFile(pathOf(verifiers), 'utf8')));
    assert.deepEqual(Object.keys(written), ['0', '1']);
    assert.equal(written['0']?.code?.function, 'verify_task');
    assert.deepEqual(
      { ...written['1']?.sql, python: '' },
      { python: '', function: 'judge_it', success_criteria: 'Two boxes.', reasoning: 'Because.' },
    );
  });

  it('leaves out statements that fail, and says which ones', async () => {
    const aside = path.join(folder, 'aside.db');
    write([
      [
        'CREATE TABLE t0 (id INTEGER PRIMARY KEY, name TEXT NOT NULL)',
        "INSERT INTO t0 (name) VALUES ('kept')",
        'INSERT INTO t0 (name) VALUES (NULL)',
        `ATTACH DATABASE '${aside}' AS aside`,
        `INSERT INTO t0 (name) VALUES ('x'); ATTACH DATABASE '${aside}' AS aside`,
        `/* INSERT */ VACUUM INTO '${aside}'`,
        "  -- a comment\nINSERT INTO t0 (name) VALUES ('kept; too') ; -- end",
      ],
      ['CREATE TABLE t0 (again)', 'INSERT INTO t1 VALUES (1)'],
    ]);
    const { template, problems } = await readOne();
    const database = new DatabaseSync(pathOf(template), { readOnly: true });
    assert.deepEqual(
      database
        .prepare('SELECT name FROM t0')
        .all()
        .map(({ name }) => name),
      ['kept', 'kept; too'],
    );
    database.close();
    await assert.rejects(readFile(aside), { code: 'ENOENT' });
    const rest = ' — The world runs without it. Fix the statement, or choose another scenario.';
    assert.deepEqual(
      problems.map((problem) =>
        formatProblem(problem, published)
          .replace(rest, '')
          .replace(/'(\/|[a-z]:).*$/i, '...'),
      ),
      [
        'gen_db.jsonl:1:1: warning: scenario `shelf`, table `t1`: a statement fails: table t0 already exists: CREATE ' +
          'TABLE t0 (again)',
        'gen_sample.jsonl:1:1: warning: scenario `shelf`, table `t0`: a statement fails: NOT NULL constraint failed: ' +
          't0.name: INSERT INTO t0 (name) VALUES (NULL)',
        'gen_sample.jsonl:1:1: warning: scenario `shelf`, table `t0`: a statement fails: not an INSERT statement: ' +
          'ATTACH DATABASE ...',
        'gen_sample.jsonl:1:1: warning: scenario `shelf`, table `t0`: a statement fails: more than one statement: ' +
          "INSERT INTO t0 (name) VALUES ('x'); ATTACH DATABASE ...",
        'gen_sample.jsonl:1:1: warning: scenario `shelf`, table `t0`: a statement fails: not an INSERT statement: /* ' +
          'INSERT */ VACUUM INTO ...',
        'gen_sample.jsonl:1:1: warning: scenario `shelf`, table `t1`: a statement fails: no such table: t1: INSERT ' +
          'INTO t1 VALUES (1)',
      ],
    );
  });

  it('is refused with file and line if it has no code or no tables', async () => {
    write([[DDL]]);
    writePart(published, 'code', ['']);
    await assert.rejects(readOne(), { code: 'config', message: /gen_envs\.jsonl has no scenario shelf\.$/ });
    write([['CREATE TABEL t0 (id)']]);
    await assert.rejects(readOne(), {
      code: 'config',
      message: /gen_db\.jsonl:1: cannot build the database of scenario shelf: near "TABEL": syntax error\.$/,
    });
    writePart(published, 'rows', ['{"scenario": "shelf", "sample_data": {"tab']);
    await assert.rejects(readOne(), {
      code: 'config',
      message: /gen_sample\.jsonl:1: the row is cut off\.$/,
      hint: /^Download the file again/,
    });
  });

  it('does not fill the cache with files that are not used', async () => {
    const old = path.join(cache, 'old');
    await writeFile(old, '');
    const long = new Date(Date.now() - 40 * 24 * 3600 * 1000);
    await utimes(old, long, long);
    write([[DDL]]);
    await readOne();
    assert.ok(!(await readdir(cache)).includes('old'));
    assert.deepEqual(
      (await readdir(cache)).filter((name) => name.includes('tmp')),
      [],
    );
  });
});

describe('templates', () => {
  it('end in time, and the next one is built', async () => {
    const builder = new TemplateBuilder(1500);
    const file = (name: string): string => path.join(folder, name);
    const ddl = { phase: 'schema', table: 't', sql: 'CREATE TABLE t (n)' } as const;
    const endless = 'WITH more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more) INSERT INTO t SELECT max(n) FROM more';
    try {
      await assert.rejects(
        builder.build(
          { file: file('a.db'), now: TEMPLATE_TIME, statements: [ddl, { phase: 'rows', table: 't', sql: endless }] },
          never,
        ),
        { code: 'config', message: 'its statements took more than 1.5 s' },
      );
      assert.deepEqual(await builder.build({ file: file('b.db'), now: TEMPLATE_TIME, statements: [ddl] }, never), {
        tables: 1,
        errors: [],
      });
      const stop = new AbortController();
      const stopped = builder.build(
        { file: file('c.db'), now: TEMPLATE_TIME, statements: [ddl, { phase: 'rows', table: 't', sql: endless }] },
        stop.signal,
      );
      stop.abort();
      await assert.rejects(stopped, { code: 'cancelled' });
    } finally {
      builder.close();
    }
  });
});

describe('a scenario of Agent-World', () => {
  it('is its functions, their schemas, and its collections', async () => {
    const garden = path.join(folder, 'garden');
    writeAgentWorld(garden, 'g1');
    const read = await readScenarioFiles(
      { format: 'agent-world', folder: garden, names: new Set(['g1']) },
      ['g1'],
      TEMPLATE_TIME,
      cache,
      never,
    );
    const { code, template, verifiers, place } = read.get('g1')!;
    const text = await readFile(pathOf(code), 'utf8');
    assert.match(text, /^def water_plant\(name, \*\*_extra\):\n/);
    const literal = /TOOL_SCHEMAS = _json\.loads\((".*")\)\n$/.exec(text)?.[1] ?? '';
    assert.deepEqual(JSON.parse(JSON.parse(literal) as string), [
      {
        name: 'water_plant',
        description: 'Waters a plant.',
        parameters: { type: 'object', properties: { name: { type: 'string' } } },
      },
    ]);
    assert.deepEqual(JSON.parse(await readFile(pathOf(template), 'utf8')), {
      'plants.json': [{ name: 'fern' }, { name: 'moss' }],
    });
    assert.deepEqual(JSON.parse(await readFile(pathOf(verifiers), 'utf8')), {
      '0': { rubric: ['The fern was watered.'] },
    });
    assert.equal(path.basename(place.file), 'g1_step4_checkpoint.json');
    await writeFile(path.join(garden, 'environment_mix/g1/plants.json'), '[{"name": ');
    await assert.rejects(
      readScenarioFiles(
        { format: 'agent-world', folder: garden, names: new Set() },
        ['g1'],
        TEMPLATE_TIME,
        cache,
        never,
      ),
      { code: 'config', message: /plants\.json: / },
    );
  });
});
