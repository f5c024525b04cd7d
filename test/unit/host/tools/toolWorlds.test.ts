/** The worlds that “Try Tool…” offers: those whose module leads to the tool. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { diskFiles } from '../../../../src/client/disk.ts';
import { batchRefs } from '../../../../src/host/files/batchRefs.ts';
import { toolWorlds } from '../../../../src/host/tools/try/toolWorlds.ts';
import { memoryFiles } from '../../../support/memoryFiles.ts';

test('a tool is offered the batches whose world has it, with their tasks', async () => {
  const files = diskFiles(path.resolve(import.meta.dirname, '../../../../media/sample'));
  const names = readdirSync(files.absolute('batches')).sort();
  const batches = names.map((name) => {
    const file = files.absolute(`batches/${name}`);
    return { file, name, ...batchRefs(file, readFileSync(file, 'utf8')) };
  });
  const offered = (name: string, module: string): ReturnType<typeof toolWorlds> =>
    toolWorlds(batches, { name, path: files.absolute(module) }, files);
  const worlds = await offered('renew_loan', 'tools/loans.ts');
  assert.deepEqual(
    worlds.map(({ name, more }) => [name, more]),
    // The code world has other tools, the bench has none, and a simulated world has only their definitions.
    names
      .filter((name) => !/^(overlay|rooms|simulated|town(-faulty)?|world-bench|world-probes)\./.test(name))
      .map((name) => [name, false]),
  );
  // In an overlay, the model changes what the tool itself has answered.
  assert.deepEqual(
    (await offered('find_books', 'tools/books.ts')).map(({ name }) => name),
    names.filter((name) => !/^(rooms|simulated|town(-faulty)?|world-bench|world-probes)\./.test(name)),
  );
  assert.deepEqual([worlds[0]?.tasks[0], worlds[0]?.tasks.length], ['renew-one', 12]);
  assert.deepEqual(await offered('renew_loan', 'tools/fines.ts'), [], 'one of that name that is written elsewhere');
  assert.deepEqual(
    await toolWorlds(
      batches.map((batch) => ({ ...batch, world: files.absolute('worlds/gone.world.yaml') })),
      { name: 'renew_loan', path: files.absolute('tools/loans.ts') },
      files,
    ),
    [],
  );
});

test('the real tools of a simulated world are offered where a route calls them', async () => {
  const world = (by: string): string =>
    `version: 1\nname: practice\nkind: simulated\nmodel: { endpoint: 'demo:', name: demo }\n` +
    `real: { tools: [{ builtin: [files] }, { module: ../tools/desk.ts }] }\nroute: [{ tools: [find_*], by: ${by} }]\n`;
  const offered = async (by: string, name: string): Promise<number> => {
    const files = memoryFiles({
      'worlds/practice.world.yaml': world(by),
      'tools/desk.ts':
        "import { tool } from 'rollout-studio';\nexport const find_book = tool({ description: '' });\n" +
        "export const lend_book = tool({ description: '' });\n",
      'data/tasks.jsonl': '{"id":"one","question":"q"}\n',
    });
    const file = files.absolute('batches/practice.batch.yaml');
    const text = 'version: 1\nworld: ../worlds/practice.world.yaml\ndataset: { file: ../data/tasks.jsonl }\n';
    const batch = { file, name: 'practice', ...batchRefs(file, text) };
    return (await toolWorlds([batch], { name, path: files.absolute('tools/desk.ts') }, files)).length;
  };
  assert.deepEqual(
    [
      await offered('overlay', 'find_book'),
      await offered('real', 'find_book'),
      await offered('simulated', 'find_book'),
    ],
    [1, 1, 0],
  );
  assert.equal(await offered('overlay', 'lend_book'), 0, 'no route calls it');
});
