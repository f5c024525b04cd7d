/** The lint of published worlds: it finds each planted defect where it is, and nothing else. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { lintScenarios } from '../../src/client/published/lint.ts';
import { openPublished } from '../../src/client/published/open.ts';
import { type Finding, type FindingKind, type ScenarioHealth } from '../../src/common/worldHealth.ts';
import { AWM_FILES, looseFile } from '../../src/formats/awmFiles.ts';
import { type Garden, garden, replaced, writeGardens } from './support/gardenFolder.ts';

const NEVER = new AbortController().signal;

/** A planted defect, and the finding that it must lead to. */
interface Defect {
  readonly kind: FindingKind;
  readonly severity: Finding['severity'];
  /** What the published text has at the place of the finding. */
  readonly at: string;
  readonly about: RegExp;
  readonly plant: (garden: Garden) => void;
}

const VERIFIER = (sql: string): string =>
  [
    'import sqlite3',
    '',
    'def verify_task_completion(initial, final, answer):',
    '    one = sqlite3.connect(final)',
    `    rows = one.execute("${sql}").fetchall()`,
    '    return {"result": "complete" if rows else "others"}',
  ].join('\n');

/** Adds a task with a verifier, which asks this. */
function addTask(to: Garden, task: string, sql: string): void {
  to.tasks.push(task);
  to.codeVerifiers[to.tasks.length - 1] = VERIFIER(sql);
}

const DEFECTS: readonly Defect[] = [
  {
    kind: 'ddl_fails',
    severity: 'error',
    at: '"CREATE TABLE tools (id INTEGER PRIMARY KEY, name TEXT NOT NULL,)',
    about: /^the table tools cannot be created: near "\)": syntax error, so 2 rows are lost$/,
    plant: ({ tables, rows }) => {
      tables.push({
        ...{ name: 'tools', ddl: 'CREATE TABLE tools (id INTEGER PRIMARY KEY, name TEXT NOT NULL,)' },
        indexes: [],
      });
      const insert_statements = ["INSERT INTO tools VALUES (1, 'rake')", "INSERT INTO tools VALUES (2, 'hoe')"];
      rows.push({ table_name: 'tools', insert_statements });
    },
  },
  {
    kind: 'ddl_fails',
    severity: 'warning',
    at: '"CREATE INDEX by_color ON plots (color)"',
    about: /^an index of plots cannot be created: no such column: color$/,
    plant: ({ tables }) => tables[1]?.indexes.push('CREATE INDEX by_color ON plots (color)'),
  },
  {
    kind: 'insert_fails',
    severity: 'error', // two of fourteen rows are lost
    at: `"INSERT INTO gardeners (id, name, email, joined_on) VALUES (4, 'Ana', 'mara@garden.example'`,
    about: /^a row of gardeners cannot be inserted: UNIQUE constraint failed: gardeners\.email$/,
    plant: ({ rows }) =>
      rows[0]?.insert_statements.push(
        "INSERT INTO gardeners (id, name, email, joined_on) VALUES (4, 'Ana', 'mara@garden.example', '2025-01-11')",
      ),
  },
  {
    kind: 'foreign_key',
    severity: 'error',
    at: `"INSERT INTO plots (id, code, square_meters, gardener_id) VALUES (5, 'C1', 8.0, 77)"`,
    about: /^plots\.gardener_id = 77 matches no row of gardeners$/,
    plant: ({ rows }) =>
      rows[1]?.insert_statements.push(
        "INSERT INTO plots (id, code, square_meters, gardener_id) VALUES (5, 'C1', 8.0, 77)",
      ),
  },
  {
    kind: 'foreign_key',
    severity: 'error',
    at: '"CREATE TABLE keys (id INTEGER PRIMARY KEY, shed_id INTEGER REFERENCES sheds(id))"',
    about: /^keys\.shed_id refers to the table sheds, which does not exist$/,
    plant: ({ tables }) =>
      tables.push({
        ...{ name: 'keys', ddl: 'CREATE TABLE keys (id INTEGER PRIMARY KEY, shed_id INTEGER REFERENCES sheds(id))' },
        indexes: [],
      }),
  },
  {
    kind: 'duplicate',
    severity: 'warning',
    at: '"CREATE TABLE harvests (id INTEGER)"',
    about: /^the table harvests is created twice; the first one counts$/,
    plant: ({ tables }) => tables.push({ name: 'harvests', ddl: 'CREATE TABLE harvests (id INTEGER)', indexes: [] }),
  },
  {
    kind: 'endpoint_without_tool',
    severity: 'warning',
    at: '"water_plot"',
    about: /^the code has no tool water_plot \(POST \/plots\/\{plot_id\}\/water\)$/,
    plant: ({ endpoints }) => endpoints.push(['POST', '/plots/{plot_id}/water', 'water_plot']),
  },
  {
    kind: 'duplicate_route',
    severity: 'error',
    at: 'def archive_planting(planting_id: int)',
    about:
      /^remove_planting and archive_planting both handle DELETE .*agents see archive_planting, and their calls run/,
    plant: (all) => {
      all.code = replaced(
        all.code,
        '\n\n@app.post("/harvests",',
        '\n\n@app.delete("/plantings/{planting_id}", operation_id="archive_planting")\n' +
          'def archive_planting(planting_id: int):\n    return remove_planting(planting_id)\n' +
          '\n\n@app.post("/harvests",',
      );
      all.endpoints.push(['DELETE', '/plantings/{planting_id}', 'archive_planting']);
    },
  },
  {
    kind: 'duplicate_route',
    severity: 'error',
    at: 'def largest_plot()',
    about: /^calls of largest_plot \(GET \/plots\/largest\) run get_plot \(\/plots\/\{plot_id\}\), which is/,
    plant: (all) => {
      all.code = replaced(
        all.code,
        '\n\nif __name__',
        '\n\n@app.get("/plots/largest", operation_id="largest_plot")\n' +
          'def largest_plot():\n    return {}\n\n\nif __name__',
      );
    },
  },
  {
    kind: 'duplicate',
    severity: 'error',
    at: 'def list_members()',
    about: /^two tools are named list_gardeners$/,
    plant: (all) => {
      all.code = replaced(
        all.code,
        '\n\nif __name__',
        '\n\n@app.get("/members", operation_id="list_gardeners")\ndef list_members():\n    return []\n\n\nif __name__',
      );
    },
  },
  {
    kind: 'optional_null',
    severity: 'warning',
    at: 'crop: str = None',
    about: /^`crop` of update_planting may be left out, but null is refused: its type is str$/,
    plant: (all) => {
      all.code = replaced(all.code, '    crop: Optional[str] = None\n    notes', '    crop: str = None\n    notes');
    },
  },
  {
    kind: 'optional_null',
    severity: 'warning',
    at: 'plot_id: int = None',
    about: /^`plot_id` of list_plantings may be left out, but null is refused: its type is int$/,
    plant: (all) => {
      all.code = replaced(all.code, 'def list_plantings(plot_id: Optional[int]', 'def list_plantings(plot_id: int');
    },
  },
  {
    kind: 'unknown_name',
    severity: 'error',
    at: 'weight: Mapped[float]',
    about: /^Harvest\.weight is stored in the column weight, which harvests does not have$/,
    plant: (all) => {
      all.code = replaced(
        all.code,
        '    kilograms: Mapped[float] = mapped_column(Float)\n',
        '    kilograms: Mapped[float] = mapped_column(Float)\n    weight: Mapped[float]\n',
      );
    },
  },
  {
    kind: 'unknown_name',
    severity: 'error',
    at: '\\"SELECT id FROM beds\\"',
    about: /^the verifier of task 2 reads the table beds, which does not exist$/,
    plant: (all) => addTask(all, 'Count what is planted.', 'SELECT id FROM beds'),
  },
  {
    kind: 'unknown_name',
    severity: 'error',
    at: '\\"SELECT id FROM plots WHERE owner = 3\\"',
    about: /^the verifier of task 3 reads the column owner, which does not exist$/,
    plant: (all) => addTask(all, 'Find out who owns most.', 'SELECT id FROM plots WHERE owner = 3'),
  },
  {
    kind: 'unreachable',
    severity: 'warning',
    at: `\\"SELECT id FROM plots WHERE code = 'Z9'\\"`,
    about: /^the verifier of task 4 looks for plots\.code = 'Z9': no row has it, and no tool writes code$/,
    plant: (all) => addTask(all, 'Rename a plot.', "SELECT id FROM plots WHERE code = 'Z9'"),
  },
  {
    kind: 'unreachable',
    severity: 'warning',
    at: '\\"SELECT id FROM gardeners WHERE id > 900\\"',
    about: /^the verifier of task 5 looks for rows of gardeners: there are none, and no tool writes them$/,
    plant: (all) => addTask(all, 'Let somebody join.', 'SELECT id FROM gardeners WHERE id > 900'),
  },
  {
    kind: 'unknown_name',
    severity: 'warning',
    at: '"Plant leeks in the plot \\"D4\\", and nothing else."',
    about: /^task 6 speaks of the plot 'D4', but no row has it$/,
    plant: (all) => addTask(all, 'Plant leeks in the plot "D4", and nothing else.', 'SELECT id FROM plantings'),
  },
  {
    kind: 'unknown_name',
    severity: 'warning',
    at: '"Remove the planting 4711."',
    about: /^task 7 speaks of the planting '4711', but no row has it$/,
    plant: (all) => addTask(all, 'Remove the planting 4711.', 'SELECT id FROM plantings'),
  },
  {
    kind: 'syntax',
    severity: 'error',
    at: '\\n    return {\\"result',
    about: /^the code verifier of task 8 is not Python: /,
    plant: (all) => {
      all.tasks.push('List all gardeners.');
      all.codeVerifiers[8] = 'def verify_task_completion(initial, final, answer)\n    return {"result": "complete"}\n';
    },
  },
  {
    kind: 'syntax',
    severity: 'error',
    at: 'complete = True',
    about: /^the verifier of task 9 defines no function verify_task$/,
    plant: (all) => {
      all.tasks.push('List all plots.');
      all.codeVerifiers[9] = 'complete = True\n';
    },
  },
  {
    kind: 'no_verifier',
    severity: 'warning',
    at: '"Say how many plots are free."',
    about: /^task 10 has no code verifier$/,
    plant: (all) => all.tasks.push('Say how many plots are free.'),
  },
  {
    kind: 'duplicate',
    severity: 'warning',
    at: '"Say how many plots are free"',
    about: /^task 11 is the same as task 10$/,
    plant: (all) => all.tasks.push('Say how many plots are free'),
  },
];

describe('the lint of a scenario of Agent World Model', () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-lint-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function lint(published: string, scenario = 'garden'): Promise<ScenarioHealth> {
    const worlds = await openPublished(published, NEVER);
    try {
      const options = { cache: path.join(folder, 'cache'), modes: ['code'] as const, signal: NEVER };
      for await (const health of lintScenarios(worlds, [scenario], options)) return health;
      assert.fail('nothing was linted');
    } finally {
      await worlds.close();
    }
  }

  /** Returns the published text from the place of a finding on. */
  function textAt(published: string, { place }: Finding): string {
    const line = readFileSync(path.join(published, place.file), 'utf8').split('\n')[place.line - 1] ?? '';
    return line.slice(place.column - 1);
  }

  it('finds nothing in a world without defects, and which of its tools never write', async () => {
    const clean = path.join(folder, 'clean');
    writeGardens(clean, { garden: garden() });
    const { findings, pure, ran, stopped } = await lint(clean);
    assert.deepEqual({ findings, ran, stopped }, { findings: [], ran: ['static'], stopped: undefined });
    assert.deepEqual(pure, [
      ...['get_gardener', 'get_plot', 'list_gardeners', 'list_plantings', 'list_plots', 'total_harvests'],
    ]);
  });

  it('finds every planted defect where it is, and no other', async () => {
    const broken = path.join(folder, 'broken');
    const planted = garden();
    for (const { plant } of DEFECTS) plant(planted);
    writeGardens(broken, { garden: planted });
    const { findings } = await lint(broken);
    const left = [...findings];
    for (const { kind, severity, at, about } of DEFECTS) {
      const found = left.findIndex((finding) => finding.kind === kind && about.test(finding.message));
      assert.notEqual(
        found,
        -1,
        `${kind} ${about.source} is not in\n${findings.map(({ message }) => message).join('\n')}`,
      );
      const [finding] = left.splice(found, 1);
      assert.ok(finding !== undefined);
      assert.equal(finding.severity, severity, about.source);
      assert.equal(
        textAt(broken, finding).startsWith(at),
        true,
        `${about.source}: ${textAt(broken, finding).slice(0, 80)}`,
      );
      assert.ok(finding.hint.endsWith('.'));
    }
    assert.deepEqual(left, []);
  });

  it('finds each defect alone, too', async () => {
    for (const [number, { kind, plant }] of DEFECTS.entries()) {
      const alone = path.join(folder, `alone-${number}`);
      const planted = garden();
      plant(planted);
      // A task that is planted alone has the next number, so that its verifier must, too.
      const tasks = planted.codeVerifiers.flatMap((code) => (code === undefined ? [] : [code]));
      planted.codeVerifiers.splice(0, Infinity, ...tasks);
      writeGardens(alone, { garden: planted });
      const { findings } = await lint(alone);
      const expected = kind === 'duplicate' && planted.tasks.length === 3 ? 'no_verifier' : kind;
      assert.deepEqual([...new Set(findings.map((finding) => finding.kind))], [expected], String(number));
    }
  });

  it('shows lines of the scenario’s own code', async () => {
    const broken = path.join(folder, 'lines');
    const planted = garden();
    planted.code = replaced(planted.code, '    crop: Optional[str] = None\n', '    crop: str = None  # ä🙂\n');
    writeGardens(broken, { garden: planted });
    const [finding] = (await lint(broken)).findings;
    const lines = planted.code.split('\n');
    const line = lines.findIndex((each) => each.includes('ä🙂')) + 1;
    assert.ok(finding !== undefined);
    assert.deepEqual(finding.source, { part: 'code', line, column: 5 });
    assert.equal(finding.excerpt, 'crop: str = None # ä🙂');
  });

  it('shows lines of extracted code and verifiers in their own files', async () => {
    const extracted = path.join(folder, 'extracted');
    writeGardens(extracted, { garden: garden() });
    const { code, codeVerifiers } = garden();
    const loose = (part: 'code' | 'codeVerifier', task: number | undefined, text: string): string => {
      const file = looseFile(part, 'garden', task);
      mkdirSync(path.dirname(path.join(extracted, file)), { recursive: true });
      writeFileSync(path.join(extracted, file), text);
      return file;
    };
    const files = [
      loose('code', undefined, replaced(code, '    crop: Optional[str] = None\n', '    crop: str = None\n')),
      loose('codeVerifier', 1, codeVerifiers[1]?.replace('harvests h', 'harvest h') ?? ''),
    ];
    const { findings } = await lint(extracted);
    const line = code.split('\n').indexOf('    crop: Optional[str] = None') + 1;
    assert.deepEqual(
      findings.map(({ place, source }) => [place.file, place.line, source?.line]),
      [
        [files[1], 7, 7],
        [files[0], line, line],
      ],
    );
  });

  it('reports lines that are cut off, are there twice, or are missing', async () => {
    const broken = path.join(folder, 'files');
    const shed = { ...garden(), tasks: ['Open the shed.'], codeVerifiers: [VERIFIER('SELECT id FROM plots')] };
    writeGardens(broken, { garden: garden(), shed });
    const file = (part: keyof typeof AWM_FILES): string => path.join(broken, AWM_FILES[part]);
    const lines = (part: keyof typeof AWM_FILES): string[] => readFileSync(file(part), 'utf8').trimEnd().split('\n');
    const [own = '', others = ''] = lines('rows');
    writeFileSync(file('rows'), `${own}\n${others.slice(0, others.length / 2)}`);
    writeFileSync(file('code'), `${lines('code')[0]}\n`);
    const verifiers = lines('codeVerifier');
    writeFileSync(file('codeVerifier'), [verifiers[0], verifiers[1]?.slice(0, 200), verifiers[2]].join('\n'));
    appendFileSync(file('codeVerifier'), `\n${verifiers[0]}\n`);
    const found = async (scenario: string): Promise<string[]> =>
      (await lint(broken, scenario)).findings.map(
        ({ kind, severity, place, message }) => `${kind} ${severity} ${place.file}:${place.line} ${message}`,
      );
    assert.deepEqual(await found('garden'), [
      'unreadable error gen_verifier.pure_code.jsonl:2 the row is cut off',
      'duplicate warning gen_verifier.pure_code.jsonl:4 line 1 has garden/0, too, and is used',
    ]);
    assert.deepEqual(await found('shed'), [
      'missing_part error gen_envs.jsonl:1 there is no line with the code of shed',
      'unreadable error gen_sample.jsonl:2 the row is cut off',
    ]);
  });

  it('keeps results, and notices every change', async () => {
    const kept = path.join(folder, 'kept');
    writeGardens(kept, { garden: garden() });
    assert.deepEqual((await lint(kept)).findings, []);
    const worlds = await openPublished(kept, NEVER);
    // Without an interpreter, only a kept result can be returned.
    const options = { cache: path.join(folder, 'cache'), modes: ['code'] as const, python: 'nowhere', signal: NEVER };
    for await (const { findings } of lintScenarios(worlds, ['garden'], options)) assert.deepEqual(findings, []);
    await worlds.close();
    const changed = garden();
    changed.tasks.push('Remove the planting 4711.');
    writeGardens(kept, { garden: changed });
    assert.deepEqual(
      (await lint(kept)).findings.map(({ kind }) => kind),
      ['no_verifier', 'unknown_name'],
    );
  });

  it('runs none of the code, and refuses statements that reach beyond the database', async () => {
    const hostile = path.join(folder, 'hostile');
    const mark = path.join(folder, 'mark');
    const planted = garden();
    planted.code = `open(${JSON.stringify(mark)}, "w").close()\n${planted.code}`;
    planted.codeVerifiers[0] = `open(${JSON.stringify(mark)}, "w").close()\n${planted.codeVerifiers[0]}`;
    planted.tables[0]?.indexes.push(`ATTACH '${mark}' AS other`, 'COMMIT', `VACUUM INTO '${mark}'`);
    planted.rows[0]?.insert_statements.push(
      'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) ' +
        'INSERT INTO gardeners SELECT max(x), max(x), max(x), max(x) FROM n',
    );
    writeGardens(hostile, { garden: planted });
    const { findings } = await lint(hostile);
    assert.throws(() => readFileSync(mark), { code: 'ENOENT' });
    assert.deepEqual(
      findings.map(({ kind, message }) => `${kind} ${message}`),
      [
        'ddl_fails an index of gardeners cannot be created: not authorized',
        'ddl_fails an index of gardeners cannot be created: cannot commit - no transaction is active',
        'ddl_fails an index of gardeners cannot be created: authorization denied',
        'insert_fails a row of gardeners cannot be inserted: interrupted',
      ],
    );
  });
});
