/** The facts of search worlds: how rows become pages, what search results may show, and the answers of tasks. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import type { Json } from '../../../src/common/json.ts';
import { Answers, leakedColumns, shownSentences } from '../../../src/config/facts/answers.ts';
import { factPages, type SourceTable } from '../../../src/config/facts/pages.ts';
import { type QueryResult, queryOf, truthOf } from '../../../src/config/facts/truth.ts';
import { hasWords, wordsOf } from '../../../src/config/facts/words.ts';
import { loadBatch } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { codeSha, configSha } from '../../../src/config/submission.ts';
import type { FactPorts } from '../../../src/config/submit/facts.ts';
import { buildSubmission } from '../../../src/config/submit.ts';
import { toolsOfSources, worldToolSources } from '../../../src/config/tools/worldTools.ts';
import { blobsOf } from '../../../src/server/batches/submissions.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { NO_SIMULATION } from '../../support/noSimulation.ts';

describe('the words of a text', () => {
  const cases: readonly (readonly [text: string, words: readonly string[]])[] = [
    ['Ada’s *Café*', ['ada', 's', 'cafe']],
    ['1,200 m², 1\u00a0200 and 1200.0', ['#1200', 'm', '#1200', 'and', '#1200']],
    ['4 May 1912, May 4th, 1912, 1912-05-04', ['@1912-05-04', '@1912-05-04', '@1912-05-04']],
    ['−5 to 10-20', ['#-5', 'to', '#10', '#20']],
    ['A-219, 412m', ['a', '#219', '#412', 'm']],
    ['東京 88', ['東', '京', '#88']],
    ['in May 12 people', ['in', 'may', '#12', 'people']],
  ];
  for (const [text, words] of cases)
    it(`are those of “${text}”`, () => {
      assert.deepEqual(wordsOf(text), words);
    });

  it('are found one after another', () => {
    assert.ok(hasWords(wordsOf('by Ada Moreno, 1912'), wordsOf('ada moreno')));
    assert.ok(!hasWords(wordsOf('Moreno, Ada'), wordsOf('ada moreno')));
    assert.ok(!hasWords(wordsOf('4120'), wordsOf('412')));
    assert.ok(!hasWords(wordsOf('a'), []));
  });
});

const column = (name: string, type = 'TEXT'): SourceTable['columns'][number] => ({ name, type });
const BRIDGES: SourceTable = {
  name: 'bridges',
  columns: [column('name'), column('about'), column('opened'), column('length', 'INTEGER'), column('designer')],
  key: ['name'],
  rows: [
    ['Salt Bridge', 'It crosses the Olm. It is 412 m long! Barges pass.', '1912-05-04', 412, 'Ada Moreno'],
    ['Reed Bridge', 'Shorter than the 412 m of another one. Near the mill.', null, 88, 'Jonas Lind'],
  ],
};

const FACTS =
  'facts:\n  database: town.sqlite\n' +
  '  tables: [{ name: bridges, date: opened, text: [about], answers: [length, designer] }]\n';
const TRUTH = '  truth: SELECT length FROM bridges WHERE name = {{task.meta.bridge}}\n';

/** Answers queries by their parameter. */
const BY_NAME: FactPorts['query'] = ([table], queries) =>
  Promise.resolve(
    queries.map(
      ({ values: [name] }): QueryResult => ({
        columns: ['length'],
        rows: table?.rows.filter((row) => row[0] === name).map((row) => [row[3] ?? null]) ?? [],
      }),
    ),
  );

interface Options {
  readonly more?: string;
  readonly domain?: string;
  readonly tables?: readonly SourceTable[];
  readonly tasks?: readonly object[];
  readonly query?: FactPorts['query'];
}

function filesOf({
  more = FACTS,
  domain = 'search',
  tasks = [{ id: 'a', question: 'How long?', answer: '1' }],
}: Options) {
  return memoryFiles({
    't.batch.yaml':
      'version: 1\nagent: a.agent.yaml\nworld: town.world.yaml\n' +
      'dataset: { file: tasks.jsonl }\nscorer: { kind: exact }\n',
    'a.agent.yaml': 'version: 1\nname: a\nmodel: { endpoint: "demo:", name: demo }\nprompt: Do it.\n',
    'tasks.jsonl': tasks.map((task) => `${JSON.stringify(task)}\n`).join(''),
    'town.sqlite': '',
    'tools.json': '[{ "name": "web_search", "description": "own" }, { "name": "news", "description": "own" }]',
    'town.world.yaml':
      'version: 1\nname: town\nkind: simulated\nmodel: { endpoint: "demo:", name: w }\n' + `domain: ${domain}\n${more}`,
  });
}

async function problemsOf(options: Options): Promise<string[]> {
  const { problems } = await loadBatch(filesOf(options), 't.batch.yaml', { root: '/w' });
  return problems.map((problem) => formatProblem(problem, '/w'));
}

async function build(options: Options) {
  const files = filesOf(options);
  const { value, problems } = await loadBatch(files, 't.batch.yaml', { root: '/w' });
  assert.ok(value !== undefined, problems.map((problem) => formatProblem(problem)).join('\n'));
  const built = await buildSubmission(value, {
    files,
    bundle: () => Promise.reject(new Error('no modules')),
    simulation: {
      ...NO_SIMULATION,
      facts: () => Promise.resolve(options.tables ?? [BRIDGES]),
      query: options.query ?? BY_NAME,
    },
    scenarios: () => Promise.reject(new Error('no scenarios')),
    env: () => undefined,
    git: () => Promise.resolve(undefined),
    product: 'rollout-studio 1',
  });
  const { world } = built.submission;
  assert.ok(world?.kind === 'simulated');
  const blobs = [];
  for await (const blob of built.code) blobs.push(blob);
  const [blob] = blobs;
  assert.ok(blob !== undefined && 'bytes' in blob);
  const answers: Record<string, Json | undefined> = {};
  for await (const { id, answer } of built.tasks) answers[id] = answer;
  return {
    ...built,
    world,
    blob,
    answers,
    pages: factPages.parse(JSON.parse(new TextDecoder().decode(blob.bytes))).pages,
    warnings: built.warnings.map((problem) => formatProblem(problem, '/w')),
  };
}

async function refusal(options: Options): Promise<string> {
  try {
    await build(options);
  } catch (error) {
    if (StudioError.is(error, 'config')) return error.message;
    throw error;
  }
  return assert.fail('it was built');
}

describe('the pages of a search world', () => {
  it('are rows, frozen as a blob that the submission has', async () => {
    const { pages, world, blob, submission } = await build({});
    assert.deepEqual(pages[0], {
      table: 'bridges',
      row: 1,
      url: 'https://town.example/bridges/salt-bridge',
      title: 'Salt Bridge',
      date: '1912-05-04',
      text: { about: 'It crosses the Olm. It is 412 m long! Barges pass.' },
      answers: { length: 412, designer: 'Ada Moreno' },
    });
    assert.deepEqual(pages[1]?.date, undefined);
    assert.ok(submission.sandbox?.hide.includes('/w/town.sqlite'), 'tools cannot read the answers');
    assert.equal(world.facts, blob.sha);
    assert.ok(blobsOf('s', submission).includes(blob.sha));
    assert.deepEqual(
      world.definitions.map(({ name }) => name),
      ['web_search', 'web_extractor', 'dict_memory'],
    );
    const other = await build({ tables: [{ ...BRIDGES, rows: BRIDGES.rows.slice(1) }] });
    assert.equal(configSha(other.submission), configSha(submission), 'the rows are no configuration');
    assert.notEqual(codeSha(other.submission), codeSha(submission));
  });

  it('take all tables and columns without `tables`, and hide all but title, address, and date', async () => {
    const pages = (await build({ more: 'facts: { database: town.sqlite }\n' })).pages;
    assert.deepEqual(Object.keys(pages[0]?.answers ?? {}), ['about', 'opened', 'length', 'designer']);
    const dated = { ...BRIDGES, columns: [column('id'), column('url'), column('Date'), column('title'), column('n')] };
    const own = await build({
      more: 'facts: { database: town.sqlite }\n',
      tables: [{ ...dated, key: ['id'], rows: [['1', 'https://x.example/1', '2020-01-01', 'T', 3]] }],
    });
    assert.deepEqual(own.pages[0], {
      table: 'bridges',
      row: 1,
      url: 'https://x.example/1',
      title: 'T',
      date: '2020-01-01',
      text: {},
      answers: { n: 3 },
    });
  });

  it('keep a tool that the world file defines itself', async () => {
    const { world } = await build({ more: `tools: [{ file: tools.json }]\n${FACTS}` });
    assert.deepEqual(
      world.definitions.map(({ name, description }) => [name, description === 'own']),
      [
        ['web_extractor', false],
        ['dict_memory', false],
        ['web_search', true],
        ['news', true],
      ],
    );
  });

  const wrong: readonly (readonly [name: string, options: Options, message: string])[] = [
    [
      'a missing table',
      { more: FACTS.replace('name: bridges', 'name: bridge') },
      'town.world.yaml:8:20: the database has no table `bridge` — Did you mean `bridges`?',
    ],
    [
      'a missing column',
      { more: FACTS.replace('[length', '[lenght') },
      'town.world.yaml:8:68: the table `bridges` has no column `lenght` — Did you mean `length`?',
    ],
    [
      'an empty database',
      { tables: [] },
      'town.world.yaml:7:13: the database has no tables — Create some, with rows.\n' +
        'town.world.yaml:8:20: the database has no table `bridges` — Available tables: .',
    ],
    [
      'tables without rows',
      { tables: [{ ...BRIDGES, rows: [] }] },
      'town.world.yaml:7:13: the tables have no rows — Insert some: each row is a page.',
    ],
    [
      'a row without a title',
      { tables: [{ ...BRIDGES, rows: [[' ', null, null, 1, null]] }] },
      'town.world.yaml:8:12: row 1 of `bridges` has no title (`name`) — Give each row one, or select tables.',
    ],
    [
      'a binary value',
      { tables: [{ ...BRIDGES, rows: [['A', null, null, { base64: 'AA==' }, null]] }] },
      'town.world.yaml:8:12: row 1 of `bridges` has a binary value in `length` — Use text or a number.',
    ],
    [
      'a long answer',
      { tables: [{ ...BRIDGES, rows: [['A', null, null, 1, 'long '.repeat(400)]] }] },
      'town.world.yaml:8:12: row 1 of `bridges` has a long text in `designer`, which is in `answers` — Put it in ' +
        '`text`.',
    ],
    [
      'no column with titles',
      { more: 'facts: { database: town.sqlite }\n', tables: [{ ...BRIDGES, columns: [column('a')], rows: [['x']] }] },
      'town.world.yaml:6:20: which column of `bridges` has the titles? — Write `tables: [{ name: bridges, ' +
        'title: … }]`.',
    ],
  ];
  for (const [name, options, message] of wrong)
    it(`are refused with their place for ${name}`, async () => {
      assert.equal(await refusal(options), message);
    });

  it('have addresses of their own', async () => {
    const row = ['Salt Bridge', null, null, 1, null];
    const { pages } = await build({ tables: [{ ...BRIDGES, rows: [row, row] }] });
    assert.deepEqual(
      pages.map(({ url }) => url),
      ['https://town.example/bridges/salt-bridge', 'https://town.example/bridges/salt-bridge-2'],
    );
    const tables = [
      {
        ...BRIDGES,
        columns: [column('url'), column('name')],
        rows: [
          ['u', 'A'],
          ['u', 'B'],
        ],
      },
    ];
    assert.match(await refusal({ more: 'facts: { database: town.sqlite }\n', tables }), /has the address of row 1/);
  });
});

describe('a world file with `facts`', () => {
  const wrong: readonly (readonly [name: string, options: Options, problem: string])[] = [
    ['of another domain', { domain: 'mcp' }, 'town.world.yaml:5:9: a world of the domain `mcp` has no `facts`'],
    [
      'with a real world',
      { more: `${FACTS}real: { world: town.world.yaml }\n` },
      'town.world.yaml:9:7: a world with `facts` has no `real` world',
    ],
    [
      'with a missing database',
      { more: FACTS.replace('town.sq', 'city.sq') },
      'town.world.yaml:7:13: file city.sqlite not found',
    ],
    [
      'with a table twice',
      { more: FACTS.replace('[{', '[{ name: Bridges }, {') },
      'town.world.yaml:8:39: the table `bridges` is listed twice',
    ],
    [
      'with a column twice',
      { more: FACTS.replace('[length', '[about') },
      'town.world.yaml:8:67: the column `about` has two uses',
    ],
    [
      'with a field that tasks lack',
      { more: FACTS + TRUTH },
      'town.world.yaml:9:50: `{{task.meta.bridge}}`: tasks have no `meta.bridge`',
    ],
  ];
  for (const [name, options, problem] of wrong)
    it(`${name} is refused`, async () => {
      const problems = await problemsOf(options);
      assert.ok(
        problems.some((text) => text.startsWith(problem)),
        problems.join('\n'),
      );
    });
});

it('the editor knows the tools of a search world with facts', async () => {
  const text = `kind: simulated\n${FACTS}`;
  const { sources } = await worldToolSources('/w/town.world.yaml', text, () => Promise.resolve(undefined));
  assert.deepEqual(
    toolsOfSources(sources).tools.map(({ name }) => name),
    ['web_search', 'web_extractor', 'dict_memory'],
  );
});

describe('what search results show', () => {
  it('has no sentence with an answer, of whichever page', async () => {
    const { pages } = await build({});
    const answers = new Answers(pages);
    assert.deepEqual(
      pages.map((page) => shownSentences(page, answers).map(({ text }) => text)),
      [['It crosses the Olm.', 'Barges pass.'], ['Near the mill.']],
    );
  });

  it('is a finding if a title, an address, or a date holds the answer of its page', async () => {
    const { pages, warnings } = await build({
      tables: [{ ...BRIDGES, rows: [['Moreno Bridge', null, '1912-05-04', 7, 'Moreno']] }],
    });
    assert.deepEqual(pages.map(leakedColumns), [['designer']]);
    assert.match(warnings.join('\n'), /search results show the answer `designer` of row 1 of `bridges`/);
  });
});

describe('the answers of tasks', () => {
  const more = FACTS + TRUTH;
  const task = (id: string, bridge: string, rest: object = {}): object => ({
    id,
    question: 'How long?',
    bridge,
    ...rest,
  });

  it('are what the query returns for each of them', async () => {
    const { answers, warnings } = await build({ more, tasks: [task('a', 'Salt Bridge'), task('b', 'Reed Bridge')] });
    assert.deepEqual([answers, warnings], [{ a: 412, b: 88 }, []]);
  });

  it('may be written as well, if they are the same', async () => {
    const { answers } = await build({ more, tasks: [task('a', 'Salt Bridge', { answer: '412' })] });
    assert.deepEqual(answers, { a: 412 });
    assert.equal(
      await refusal({ more, tasks: [task('a', 'Salt Bridge', { answer: 411 })] }),
      'tasks.jsonl:1:1: task `a`: its answer is 411, but the query returns 412 — Remove the answer from the task: ' +
        'the query gives it.',
    );
  });

  it('are refused with the line of the task if the query fails or returns nothing', async () => {
    assert.match(
      await refusal({ more, tasks: [task('a', 'Salt Bridge'), task('b', 'Salt')] }),
      /^tasks\.jsonl:2:1: task `b`: the query returns no value — Check the task/,
    );
    const query: FactPorts['query'] = () => Promise.resolve([{ error: 'no such table: roads' }]);
    assert.match(
      await refusal({ more, tasks: [task('a', 'Salt Bridge')], query }),
      /task `a`: the query fails: no such table: roads/,
    );
  });

  it('are a finding if a snippet can hold them, unless the question does', async () => {
    const tables = [{ ...BRIDGES, rows: [['Salt Bridge', 'One of 7 bridges. It is old.', null, 3, 'A']] }];
    const query: FactPorts['query'] = () => Promise.resolve([{ columns: ['n'], rows: [[7]] }]);
    const found = await build({ more, tables, query, tasks: [task('a', 'Salt Bridge')] });
    assert.deepEqual(found.warnings, [
      'tasks.jsonl:1:1: warning: task `a`: a snippet of row 1 of `bridges` can hold the answer 7 — Name the column ' +
        'with the answer in `answers`, or change that text.',
    ]);
    const asked = await build({ more, tables, query, tasks: [{ ...task('a', 'Salt Bridge'), question: '3 or 7?' }] });
    assert.deepEqual(asked.warnings, []);
  });

  const row = { id: 't', question: 'q', meta: { sql: 'SELECT 1', name: "O'Brien", n: 3 } };
  it('take values of the task as parameters, never as a part of the query', () => {
    assert.deepEqual(queryOf("SELECT a FROM t WHERE n = '{{task.meta.name}}' AND m = {{task.meta.n}}", row), {
      sql: 'SELECT a FROM t WHERE n = ? AND m = ?',
      values: ["O'Brien", 3],
    });
    assert.deepEqual(queryOf(' {{task.meta.sql}} ', row), { sql: 'SELECT 1', values: [] });
    assert.deepEqual(queryOf('SELECT {{task.meta.none}}', row), { missing: 'meta.none' });
  });

  it('are values, lists, or objects', () => {
    assert.equal(truthOf({ columns: ['a'], rows: [] }), undefined);
    assert.equal(truthOf({ columns: ['a'], rows: [[null]] }), undefined);
    assert.deepEqual(truthOf({ columns: ['a'], rows: [['x'], ['y']] }), ['x', 'y']);
    assert.deepEqual(truthOf({ columns: ['a', 'b'], rows: [['x', 1]] }), { a: 'x', b: 1 });
  });
});
