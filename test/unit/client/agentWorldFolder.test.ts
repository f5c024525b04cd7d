import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { extractedFiles } from '../../../src/client/published/extract.ts';
import { openPublished } from '../../../src/client/published/open.ts';
import { problemText } from '../../../src/client/published/problems.ts';
import type { PublishedWorlds } from '../../../src/client/published/worlds.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { writeAgentWorld } from '../../support/agentWorldFolder.ts';

const { signal } = new AbortController();

describe('published worlds of Agent-World', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'agent-world-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const opened = (): Promise<PublishedWorlds> => openPublished(folder, signal);

  it('are listed with their questions, and found by words of tools and collections', async () => {
    writeAgentWorld(folder, 'env_2', false);
    writeAgentWorld(folder, 'env_1');
    const worlds = await opened();
    assert.equal(worlds.format, 'Agent-World');
    assert.deepEqual(
      worlds.scenarios.map(({ key, name, tasks }) => [key, name, tasks]),
      [
        ['env_1', 'Garden env_1', ['Water the fern.']],
        ['env_2', 'Garden env_2', []],
      ],
    );
    const found = async (words: string): Promise<string[]> =>
      (await worlds.search(words, signal)).map(({ key }) => key);
    assert.deepEqual(await found('WATER_PLANT plants.json'), ['env_1', 'env_2']);
    assert.deepEqual(await found('fern'), ['env_1']);
    assert.deepEqual(worlds.problems, []);
  });

  it('are extracted with the files of one environment', async () => {
    writeAgentWorld(folder, 'env_1');
    writeAgentWorld(folder, 'env_2', false);
    const worlds = await opened();
    for (const key of ['env_1', 'env_2']) {
      const { files, format } = await extractedFiles(worlds, key, signal);
      const own = path.join(folder, 'own', key);
      for (const [name, text] of files) {
        await mkdir(path.join(own, path.dirname(name)), { recursive: true });
        await writeFile(path.join(own, name), text);
      }
      const copy = await openPublished(own, signal);
      assert.deepEqual(
        [format, copy.scenarios, copy.problems],
        ['agent-world', worlds.scenarios.filter((each) => each.key === key), []],
      );
      assert.deepEqual(await copy.model(key, signal), await worlds.model(key, signal));
    }
  });

  it('are shown with collections, tools, and what judges', async () => {
    writeAgentWorld(folder, 'env_1');
    const worlds = await opened();
    assert.deepEqual(await worlds.details('env_1', signal), {
      tables: [{ name: 'plants.json', rows: 2 }],
      tools: [{ name: 'water_plant', summary: 'Waters a plant.' }],
      codeLines: 3,
      verifiers: [['rubric']],
    });
    const { tables, tools, verifiers } = await worlds.model('env_1', signal);
    assert.deepEqual(
      [tables[0]?.name, tables[0]?.columns.map(({ name, type }) => [name, type]), verifiers],
      ['plants', [['name', 'string']], [['rubric']]],
    );
    assert.deepEqual([tools[0]?.line, tools[0]?.parameters?.['type']], [1, 'object']);
    assert.deepEqual((await worlds.rows('env_1', 'plants', signal)).rows, [['fern'], ['moss']]);
    assert.deepEqual(
      (await worlds.verifiers('env_1', 0, signal)).map(({ kind }) => kind),
      ['rubric', 'answer'],
    );
    const part = (name: string, task = 0): Promise<string | undefined> => worlds.part(name, 'env_1', task, signal);
    assert.match((await part('code')) ?? '', /^def water_plant/);
    assert.equal(await part('answer'), '{"watered": "fern"}');
    assert.equal(await part('rubric'), '- The fern was watered.');
    assert.equal(await part('rubric', 1), undefined);
  });

  it('report files that are broken or missing, and the others are used', async () => {
    for (const id of ['env_1', 'env_2', 'env_3']) writeAgentWorld(folder, id);
    const at = (...parts: string[]): string => path.join(folder, ...parts);
    await writeFile(at('environment_mix', 'env_1_step4_checkpoint.json'), '{"data": {}}');
    await rm(at('environment_mix', 'env_2_step4_checkpoint.json'));
    await writeFile(at('questions', 'env_3.json'), '{"tasks": [');
    await writeFile(at('environment_mix', 'env_3', 'plants.json'), '{"name": "fern"}');
    const worlds = await opened();
    assert.deepEqual(
      worlds.scenarios.map(({ key, tasks }) => [key, tasks.length]),
      [['env_3', 0]],
    );
    assert.deepEqual((await worlds.details('env_3', signal)).tables, [{ name: 'plants.json', rows: 0 }]);
    const texts = worlds.problems.map((problem) => problemText(problem).split(path.sep).join('/')).sort();
    for (const [index, pattern] of [
      /^environment_mix\/env_1_step4_checkpoint\.json: data\.ToolDesignAgent: /,
      /^environment_mix\/env_2_step4_checkpoint\.json: there is no checkpoint/,
      /^environment_mix\/env_3\/plants\.json: not a JSON array of records$/,
      /^questions\/env_3\.json: /,
    ].entries())
      assert.match(texts[index] ?? '', pattern);
    await rm(at('environment_mix', 'env_3_step4_checkpoint.json'));
    await assert.rejects(
      opened(),
      (error) => StudioError.is(error, 'config') && /has no environments/.test(error.message),
    );
  });
});
