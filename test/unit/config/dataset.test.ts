import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { columnsOf } from '../../../src/config/dataset/columns.ts';
import { type DatasetFormat, type DatasetItem, formatOf, readTasks } from '../../../src/config/dataset/dataset.ts';
import { jsonArrayRecords } from '../../../src/config/dataset/jsonArray.ts';
import { RECORD_LIMIT } from '../../../src/config/dataset/record.ts';
import type { Files } from '../../../src/config/files.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';

interface Options {
  section?: Parameters<typeof columnsOf>[0];
  offset?: number;
  limit?: number;
  only?: Set<string>;
  piece?: number;
}

async function read(
  name: string,
  content: string | Uint8Array,
  options: Options = {},
): Promise<{ items: DatasetItem[]; problems: string[]; bytesRead: number }> {
  const files = memoryFiles({ [name]: content }, options.piece);
  const problems: string[] = [];
  const items: DatasetItem[] = [];
  const format: DatasetFormat = options.section?.format ?? formatOf(name)!;
  const { limit, only, offset = 0 } = options;
  const spec = {
    path: `/w/${name}`,
    format,
    columns: columnsOf(options.section ?? {}),
    offset,
    ...(limit === undefined ? {} : { limit }),
    ...(only === undefined ? {} : { only }),
  };
  for await (const item of readTasks(files, spec, (problem) => problems.push(formatProblem(problem, '/w'))))
    items.push(item);
  return { items, problems, bytesRead: files.bytesRead() };
}

const questions = (items: DatasetItem[]): string[] => items.map(({ task }) => task.question);

describe('JSON Lines', () => {
  it('returns tasks with their lines, IDs from the column or the line, the rest as meta', async () => {
    const { items, problems } = await read(
      'd.jsonl',
      '{"id":"a","question":"Où? 日本","answer":[1,2],"level":2,"city":"Rome","meta":{"x":1}}\r\n\n{"question":"second"}',
    );
    assert.deepEqual(problems, []);
    assert.deepEqual(items, [
      { line: 1, task: { id: 'a', question: 'Où? 日本', answer: [1, 2], level: 2, meta: { city: 'Rome', x: 1 } } },
      { line: 3, task: { id: '#3', question: 'second', meta: {} } },
    ]);
  });
  it('reports each bad record with its place and reads the others', async () => {
    const lines = [
      '{"question":"ok"}',
      '{"question":"a" "b"}',
      '[]',
      '{"question":5}',
      '{"answer":1}',
      '{"question":"ok too"}',
      '{"question":',
      '{"question":"x","level":[]}',
      '{"question":"x","v":NaN}',
    ];
    const { items, problems } = await read('d.jsonl', lines.join('\n'));
    assert.deepEqual(questions(items), ['ok', 'ok too']);
    const json = 'Fix the record: use double quotes for keys and strings, and no trailing comma.';
    assert.deepEqual(problems, [
      `d.jsonl:2:17: invalid JSON: expected ',' or '}' after property value — ${json}`,
      'd.jsonl:3:1: a record must be an object of columns — Write { "question": "…", "answer": "…" }.',
      'd.jsonl:4:1: column `question` must be text — Write the question as a string.',
      'd.jsonl:5:1: column `question` is missing or empty — Every record needs a question for the agent.',
      `d.jsonl:7:1: invalid JSON: unexpected end of JSON input — ${json}`,
      'd.jsonl:8:1: column `level` must be text or a number — For example, write 1 or "easy".',
      "d.jsonl:9:1: invalid JSON: unexpected token 'N' — JSON does not support NaN and Infinity: write null.",
    ]);
  });
  it('names both lines of a duplicate ID', async () => {
    const { items, problems } = await read(
      'd.jsonl',
      '{"id":1,"question":"a"}\n{"id":2,"question":"b"}\n{"id":"1","question":"c"}',
    );
    assert.deepEqual(questions(items), ['a', 'b']);
    assert.deepEqual(problems, ['d.jsonl:3:1: the id `1` is already used in line 1 — Use a unique id for every task.']);
  });
  it('applies offset and limit, picks by ID, and reads no further than necessary', async () => {
    const content = Array.from({ length: 1000 }, (_, index) => `{"id":"t${index}","question":"q${index}"}`).join('\n');
    const some = await read('d.jsonl', content, { offset: 2, limit: 3 });
    assert.deepEqual(questions(some.items), ['q2', 'q3', 'q4']);
    assert.ok(some.bytesRead < 1000, `${some.bytesRead} bytes of ${content.length}`);
    const picked = await read('d.jsonl', content, { only: new Set(['t7', 't3']) });
    assert.deepEqual(questions(picked.items), ['q3', 'q7']);
    assert.ok(picked.bytesRead < 1000);
  });
  it('reports where text is not UTF-8', async () => {
    const { items, problems } = await read(
      'd.jsonl',
      new Uint8Array([...new TextEncoder().encode('{"question":"a"}\n{"question":"'), 0xe9, 0x22, 0x7d, 0x0a]),
      { piece: 64 },
    );
    assert.equal(items.length, 0);
    assert.deepEqual(problems, ['d.jsonl:2:1: the file is not UTF-8 text — Save the file with UTF-8 encoding.']);
  });
  it('refuses an oversized record, and continues after it', async () => {
    const { items, problems } = await read('d.jsonl', `{"question":"${'x'.repeat(RECORD_LIMIT)}"}\n{"question":"ok"}`, {
      piece: 1 << 20,
    });
    assert.deepEqual(questions(items), ['ok']);
    assert.match(problems.join(), /^d\.jsonl:1:1: the record is longer than 16 MiB/);
  });
});

describe('columns', () => {
  it('follow the mapping of the batch file', async () => {
    const section = { question: 'frage', answer: 'antwort', id: 'nr', files: 'anhang', world: 'start' };
    const { items } = await read(
      'data/d.jsonl',
      '{"nr":5,"frage":"f","antwort":"a","anhang":["x/y.txt","../z.txt"],' +
        '"start":{"seed":3,"state":{"a":1}},"id":"kept"}',
      { section },
    );
    assert.deepEqual(items[0]?.task, {
      id: '5',
      question: 'f',
      answer: 'a',
      meta: { id: 'kept' },
      world: { seed: 3, state: { a: 1 } },
      files: [
        { name: 'x/y.txt', path: '/w/data/x/y.txt' },
        { name: 'z.txt', path: '/w/z.txt' },
      ],
    });
  });
  it('are refused where tasks cannot hold them', async () => {
    const lines = [
      '{"question":"q","files":[1]}',
      '{"question":"q","files":["a/x","a/x"]}',
      '{"question":"q","world":{"sed":1}}',
      '{"question":"q","id":{}}',
    ];
    const { problems } = await read('d.jsonl', lines.join('\n'));
    assert.deepEqual(
      problems.map((text) => text.split(' — ')[0]),
      [
        'd.jsonl:1:1: column `files` must be a path or a list of paths',
        'd.jsonl:2:1: column `files` contains two files named `a/x`',
        'd.jsonl:3:1: column `world` must be an object with `scenario` (text), `seed` (a whole number), and `state`',
        'd.jsonl:4:1: column `id` must be text or a number',
      ],
    );
  });
  it('of GAIA are read, with attachments and without its example', async () => {
    const records = [
      { task_id: '0-0-0-0-0', Question: 'example', Level: 1, 'Final answer': 'x', file_name: '' },
      {
        task_id: 'aa',
        Question: 'How many?',
        Level: 2,
        'Final answer': '17',
        file_name: 'aa.xlsx',
        'Annotator Metadata': { Steps: '1' },
      },
      { task_id: 'bb', Question: 'Hidden', Level: '3', 'Final answer': '?', file_name: '' },
    ];
    const { items, problems } = await read(
      'gaia/metadata.jsonl',
      records.map((record) => JSON.stringify(record)).join('\n'),
      { section: { format: 'gaia' } },
    );
    assert.deepEqual(problems, []);
    assert.deepEqual(
      items.map(({ task }) => task),
      [
        {
          id: 'aa',
          question: 'How many?',
          answer: '17',
          level: 2,
          files: [{ name: 'aa.xlsx', path: '/w/gaia/aa.xlsx' }],
          meta: { 'Annotator Metadata': { Steps: '1' } },
        },
        { id: 'bb', question: 'Hidden', level: '3', meta: {} },
      ],
    );
  });
});

describe('CSV', () => {
  const content =
    '\uFEFFid,question,answer,note\r\n1,"a ""quoted"", cell",x,\r\n2,"two\nlines",,n\r\n\r\n3,plain "quote" ' +
    'inside,y,"[1,\n2]"\r\n';
  for (const piece of [1, 2, 3, 5, 1000]) {
    it(`reads quotes, line breaks, and blanks, in pieces of ${piece} bytes`, async () => {
      const { items, problems } = await read('d.csv', content, { piece });
      assert.deepEqual(problems, []);
      assert.deepEqual(items, [
        { line: 2, task: { id: '1', question: 'a "quoted", cell', answer: 'x', meta: { note: '' } } },
        { line: 3, task: { id: '2', question: 'two\nlines', meta: { note: 'n' } } },
        { line: 6, task: { id: '3', question: 'plain "quote" inside', answer: 'y', meta: { note: '[1,\n2]' } } },
      ]);
    });
  }
  it('reads JSON in cells where a task holds more than text', async () => {
    const { items } = await read(
      'd.csv',
      'question,files,world\nq,"[""a.txt"",""b.txt""]","{""seed"":4}"\nr,c d.txt,\n',
    );
    assert.deepEqual(
      items.map(({ task }) => [task.files?.map((file) => file.name), task.world]),
      [
        [['a.txt', 'b.txt'], { seed: 4 }],
        [['c d.txt'], undefined],
      ],
    );
  });
  it('reports rows that do not fit and reads the others', async () => {
    const { items, problems } = await read('d.csv', 'question,answer\na,b,c\nd\n"e"f,g\nok,1\n"open,2\n');
    assert.deepEqual(questions(items), ['ok']);
    assert.deepEqual(problems, [
      'd.csv:2:1: this row has 3 cells, the header 2 — Put double quotes around cells that contain a comma.',
      'd.csv:3:1: this row has 1 cell, the header 2 — Add the missing commas. For an empty cell, write nothing ' +
        'between two commas.',
      'd.csv:4:4: text follows the closing quote of a cell — Double the quotes inside quoted cells: "he said ""yes""".',
      'd.csv:6:1: a quote in this row is not closed — Close the quote, or double it if it is part of the text.',
    ]);
  });
  it('reports an invalid header', async () => {
    const first = async (text: string): Promise<string> =>
      (await read('d.csv', text)).problems.join('|').split(' — ')[0]!;
    assert.equal(await first('question;answer\na;b'), 'd.csv:1:1: columns are separated by `;` instead of commas');
    assert.equal(await first('question,,x\n'), 'd.csv:1:1: column 2 has no name');
    assert.equal(await first('question,a,a\n'), 'd.csv:1:1: two columns are named `a`');
    assert.equal(await first(''), 'd.csv:1:1: the file is empty');
  });
  it('ends rows at a lone CR too', async () => {
    assert.deepEqual(questions((await read('d.csv', 'question\ra\rb')).items), ['a', 'b']);
  });
});

describe('JSON arrays', () => {
  const content =
    '\n [ {"id":1,"question":"[a], {b}: \\"c\\" \\\\"} ,\n  {"question":"日本",\n "answer":{"x":[1,{"y":"]"}]}}\n]\n';
  for (const piece of [1, 2, 3, 7, 1000]) {
    it(`are split into elements, in pieces of ${piece} bytes`, async () => {
      const { items, problems } = await read('d.json', content, { piece });
      assert.deepEqual(problems, []);
      assert.deepEqual(items, [
        { line: 2, task: { id: '1', question: '[a], {b}: "c" \\', meta: {} } },
        { line: 3, task: { id: '#2', question: '日本', answer: { x: [1, { y: ']' }] }, meta: {} } },
      ]);
    });
  }
  it('equal the result of JSON.parse, for any array in any pieces', async () => {
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    const value = (depth: number): unknown => {
      switch (random(depth > 3 ? 4 : 6)) {
        case 0:
          return random(1000) / 7;
        case 1:
          return ['"', '\\', ']', '{,}', '\n', '', '😀'][random(7)];
        case 2:
          return null;
        case 3:
          return random(2) === 0;
        case 4:
          return Array.from({ length: random(4) }, () => value(depth + 1));
        default:
          return Object.fromEntries(Array.from({ length: random(4) }, (_, index) => [`k"${index}`, value(depth + 1)]));
      }
    };
    for (let round = 0; round < 200; round++) {
      const array = Array.from({ length: random(6) }, () => value(0));
      const text = JSON.stringify(array, null, random(2) === 0 ? undefined : 2);
      const files = memoryFiles({ x: text }, 1 + random(20));
      const records: unknown[] = [];
      for await (const record of jsonArrayRecords(files.bytes('/w/x')))
        records.push('value' in record ? record.value : record);
      assert.deepEqual(records, array, `round ${round}: ${text}`);
    }
  });
  it('report broken elements with their place and read the others', async () => {
    const { items, problems } = await read('d.json', '[{"question":"a"},\n {"question" "b"}, ,{"question":"c"}]');
    assert.deepEqual(questions(items), ['a', 'c']);
    assert.deepEqual(
      problems.map((text) => text.split(' — ')[0]),
      [
        "d.json:2:14: invalid JSON: expected ':' after property name",
        'd.json:2:20: an element is missing before this comma',
      ],
    );
  });
  it('report a value that is not an array', async () => {
    const first = async (text: string): Promise<string | undefined> => (await read('d.json', text)).problems[0];
    assert.match(
      (await first('{"a":1}'))!,
      /^d\.json:1:1: a JSON dataset must be an array of objects, but this file does not start with \[ — .*\.jsonl/,
    );
    assert.match((await first('[{"question":"a"}'))!, /^d\.json:1:18: the file ends before the array is closed/);
    assert.match((await first('[{"question":"a"}] x'))!, /^d\.json:1:20: text follows the end/);
    assert.match((await first(' \n'))!, /the file is empty/);
  });
});

describe('size', () => {
  it('does not matter: any file is read in constant memory', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void; // the flag's global
    const record = new TextEncoder().encode(`{"question":"${'x'.repeat(2000)}"}\n`);
    const piece = new Uint8Array(record.length * 32);
    for (let at = 0; at < piece.length; at += record.length) piece.set(record, at);
    const total = 100 * 1024 * 1024;
    let supplied = 0;
    const files: Files = {
      ...memoryFiles({}),
      async *bytes() {
        for (; supplied < total; supplied += piece.length) yield await Promise.resolve(piece);
      },
    };
    collect();
    const before = process.memoryUsage().heapUsed;
    let tasks = 0;
    const spec = { path: '/w/big.jsonl', format: 'jsonl' as const, columns: columnsOf({}), offset: 0 };
    for await (const { task } of readTasks(files, spec, (problem) => assert.fail(problem.message))) {
      assert.equal(task.question.length, 2000);
      if (++tasks % 10_000 !== 0) continue;
      assert.ok(supplied <= tasks * record.length + piece.length, 'it reads at most one chunk ahead');
      collect();
      const more = process.memoryUsage().heapUsed - before;
      assert.ok(more < 8e6, `${Math.round(more / 1e6)} MB more after ${Math.round(supplied / 1e6)} MB`);
    }
    assert.equal(tasks, Math.ceil(total / piece.length) * 32);
  });
});
