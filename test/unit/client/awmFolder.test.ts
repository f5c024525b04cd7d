import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { AwmFolder } from '../../../src/client/published/awmFolder.ts';
import { extractedFiles } from '../../../src/client/published/extract.ts';
import { problemText } from '../../../src/client/published/problems.ts';
import { scenarioNamed } from '../../../src/client/published/worlds.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { keyAtStart, scenarioKey } from '../../../src/formats/awm.ts';
import { AWM_FILES } from '../../../src/formats/awmFiles.ts';
import { scenarioRows, writeAwmFolder, writePart } from '../../support/awmFolder.ts';

const { signal } = new AbortController();

describe('published worlds of Agent World Model', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'awm-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const opened = async (names: readonly string[]): Promise<AwmFolder> => {
    writeAwmFolder(
      folder,
      names.map((name) => scenarioRows(name)),
    );
    return AwmFolder.open(folder, signal);
  };

  it('lists scenarios with their tasks, and reads each part by its row', async () => {
    const worlds = await opened(['E-Commerce 33', 'gofund']);
    assert.deepEqual(
      worlds.scenarios.map(({ key, name, tasks }) => [key, name, tasks.length]),
      [
        ['e_commerce_33', 'E-Commerce 33', 2],
        ['gofund', 'gofund', 2],
      ],
    );
    assert.match((await worlds.read('code', 'gofund', signal))?.full_code ?? '', /^from fastapi/);
    assert.equal((await worlds.read('schema', 'e_commerce_33', signal))?.db_schema.tables[0]?.name, 'boxes');
    assert.match((await worlds.read('codeVerifier', 'gofund', signal, 1))?.verification.code ?? '', /verify_task/);
    assert.equal(await worlds.read('codeVerifier', 'gofund', signal, 7), undefined);
    assert.deepEqual((await worlds.details('gofund', signal)).verifiers, [
      ['code', 'SQL'],
      ['code', 'SQL'],
    ]);
    assert.deepEqual(worlds.problems, []);
    await worlds.close();
  });

  it('describes tables with keys, tools with parameters and lines, rows, and verifiers', async () => {
    await opened(['a']);
    const spec = {
      scenario: 'a',
      api_spec: {
        api_groups: [
          {
            group_name: 'boxes',
            endpoints: [
              {
                ...{ path: '/boxes/{id}', method: 'patch', operation_id: 'rename_box', summary: 'Renames.' },
                request_params: {
                  id: { type: 'int', param_type: 'path', required: true, description: 'Of the box.', example: 3 },
                },
              },
            ],
          },
        ],
      },
    };
    writePart(folder, 'spec', [JSON.stringify(spec)]);
    writePart(folder, 'code', [
      JSON.stringify({ scenario: 'a', full_code: '\n@app.patch("/boxes", operation_id="rename_box")\ndef x(): pass' }),
    ]);
    const verification = {
      code: 'def verify(a, b):\n    return {}',
      raw_response: '```json\n{"success_criteria": "It is crimson.", "function_name": "verify"}\n```',
    };
    writePart(folder, 'sqlVerifier', [JSON.stringify({ scenario: 'a', task_idx: 1, verification })]);
    const worlds = await AwmFolder.open(folder, signal);
    const { tables, tools, codeLines, verifiers } = await worlds.model('a', signal);
    assert.deepEqual(
      tables.map(({ name, rows, columns }) => [name, rows, columns.map((column) => [column.name, column.isKey])]),
      [
        [
          'boxes',
          1,
          [
            ['id', true],
            ['name', false],
          ],
        ],
      ],
    );
    const parameters = {
      type: 'object',
      properties: { id: { type: 'integer', description: 'Of the box.', examples: [3], in: 'path' } },
      required: ['id'],
    };
    assert.deepEqual(tools, [
      { name: 'rename_box', request: 'PATCH /boxes/{id}', summary: 'Renames.', description: '', parameters, line: 2 },
    ]);
    assert.deepEqual([codeLines, verifiers], [3, [['code'], ['code', 'SQL']]]);
    assert.deepEqual((await worlds.rows('a', 'boxes', signal)).rows, [[1, 'red box']]);
    assert.deepEqual((await worlds.verifiers('a', 1, signal))[1], {
      ...{ kind: 'SQL', text: verification.code, part: 'sqlVerifier', function: 'verify' },
      success: 'It is crimson.',
    });
    await assert.rejects(worlds.rows('a', 'gone', signal), (error) => StudioError.is(error, 'not_found'));
    await worlds.close();
  });

  it('extracts a scenario to a folder whose Python files are used when they are edited', async () => {
    const worlds = await opened(['a', 'b']);
    const { files, format } = await extractedFiles(worlds, 'b', signal);
    const own = path.join(folder, 'own');
    for (const [name, text] of files) {
      await mkdir(path.join(own, path.dirname(name)), { recursive: true });
      await writeFile(path.join(own, name), text);
    }
    const copy = await AwmFolder.open(own, signal);
    assert.deepEqual([format, copy.scenarios, copy.problems], ['awm', [worlds.scenarios[1]], []]);
    assert.deepEqual(await copy.model('b', signal), await worlds.model('b', signal));
    assert.deepEqual(await copy.verifiers('b', 1, signal), await worlds.verifiers('b', 1, signal));
    await writeFile(path.join(own, 'gen_envs', 'b.py'), 'edited = True');
    await writeFile(path.join(own, 'gen_verifier', 'b.1.py'), 'checked = True');
    assert.equal(await copy.part('code', 'b', 0, signal), 'edited = True');
    assert.deepEqual(
      (await copy.verifiers('b', 1, signal)).map(({ text }) => text.split('\n')[0]),
      ['def verify_task(initial, final):', 'checked = True'],
    );
    await Promise.all([worlds.close(), copy.close()]);
  });

  it('finds scenarios by all words, in names, texts, tables, and tools', async () => {
    const worlds = await opened(['library', 'harbor']);
    const found = async (words: string): Promise<string[]> =>
      (await worlds.search(words, signal)).map(({ key }) => key);
    assert.deepEqual(await found('HARBOR'), ['harbor']);
    assert.deepEqual(await found('rename_box shelf'), ['library', 'harbor']);
    assert.deepEqual(await found('boxes library'), ['library']);
    assert.deepEqual(await found('nothing'), []);
    await worlds.close();
  });

  it('reads rows with members in another order, lines of other systems, and a last line without an end', async () => {
    await opened(['a', 'b']);
    const [code] = scenarioRows('a').code;
    const reversed = Object.fromEntries(Object.entries(code ?? {}).reverse());
    writePart(folder, 'code', [`${JSON.stringify(reversed)}\r`, '', JSON.stringify(scenarioRows('b').code[0])]);
    const worlds = await AwmFolder.open(folder, signal);
    for (const name of ['a', 'b']) assert.ok(await worlds.read('code', name, signal), name);
    assert.deepEqual(worlds.problems, []);
    await worlds.close();
  });

  it('reads rows across the pieces in which a file is read', async () => {
    const worlds = await opened(['small']);
    const large = JSON.stringify({ scenario: 'large', full_code: 'x'.repeat(9_000_000) });
    const small = await readFile(path.join(folder, AWM_FILES.code), 'utf8');
    writePart(folder, 'code', [large, small.trimEnd()]);
    assert.equal((await worlds.read('code', 'large', signal))?.full_code.length, 9_000_000);
    assert.match((await worlds.read('code', 'small', signal))?.full_code ?? '', /^from fastapi/);
    await worlds.close();
  });

  it('reports rows that are cut off, repeated, without a name, or of no scenario, with their lines', async () => {
    await opened(['a', 'b']);
    const row = (name: string): string => JSON.stringify(scenarioRows(name).code[0]);
    writePart(folder, 'code', [row('a'), row('b').slice(0, 60), row('a'), '{"full_code":"pass"}', '{"a": }']);
    writePart(folder, 'tasks', [
      JSON.stringify(scenarioRows('a').tasks[0]),
      JSON.stringify(scenarioRows('x').tasks[0]),
    ]);
    const worlds = await AwmFolder.open(folder, signal);
    assert.ok(await worlds.read('code', 'a', signal));
    assert.equal(await worlds.read('code', 'b', signal), undefined, 'its row is lost');
    assert.deepEqual(worlds.problems.map(problemText).sort(), [
      'gen_envs.jsonl:2: the row is cut off',
      'gen_envs.jsonl:3: line 1 has a, too, and is used',
      'gen_envs.jsonl:4: the row names no scenario',
      worlds.problems.map(problemText).find((text) => text.startsWith('gen_envs.jsonl:5: not a JSON object')),
      'gen_tasks.jsonl: there are no tasks for scenario b',
      'gen_tasks.jsonl:2: there is no scenario x',
    ]);
    await worlds.close();
  });

  it('names file, line, and member of a row that is not one of its file', async () => {
    const worlds = await opened(['a']);
    writePart(folder, 'schema', ['', '{"scenario":"a","db_schema":{"tables":[{"name":"t"}]}}']);
    await assert.rejects(
      worlds.read('schema', 'a', signal),
      (error) =>
        StudioError.is(error, 'config') && error.message.startsWith('gen_db.jsonl:2: db_schema.tables.0.ddl: '),
    );
    await worlds.close();
  });

  it('explains a folder without scenarios, and a name that does not exist', async () => {
    const worlds = await opened(['library_1', 'library_2']);
    assert.throws(
      () => scenarioNamed(worlds, 'library'),
      (error) => StudioError.is(error, 'not_found') && /Similar: library_1, library_2\./.test(error.hint ?? ''),
    );
    await worlds.close();
    writePart(folder, 'scenario', ['{"name": ']);
    await assert.rejects(
      AwmFolder.open(folder, signal),
      (error) => StudioError.is(error, 'config') && /gen_scenario\.jsonl:1: the row is cut off/.test(error.hint ?? ''),
    );
    assert.ok(!AwmFolder.isIn(os.tmpdir()));
  });

  it('stops when it is cancelled, and can be asked again', async () => {
    const worlds = await opened(['a']);
    await assert.rejects(worlds.read('code', 'a', AbortSignal.abort()));
    assert.ok(await worlds.read('code', 'a', signal));
    await worlds.close();
  });
});

describe('keys of rows', () => {
  it('are joined by letters, digits, and underscores', () => {
    assert.equal(scenarioKey(' Social  Media--4!'), 'social_media_4');
    assert.equal(scenarioKey('e_commerce_33'), 'e_commerce_33');
  });

  it('are read from the start of a row, if they are there', () => {
    assert.deepEqual(keyAtStart('{"scenario": "A b", "full_code": "', 'code'), { scenario: 'a_b' });
    assert.deepEqual(keyAtStart('{"scenario":"q\\"x", "task_idx": 3, "task"', 'codeVerifier'), {
      scenario: 'q_x',
      task: 3,
    });
    assert.equal(keyAtStart('{"scenario":"a","task":"t","task_idx":3', 'sqlVerifier'), undefined);
    assert.equal(keyAtStart('{"full_code": "{\\"scenario\\"', 'code'), undefined);
  });
});
