/** The worlds that “Try Tool…” offers: those whose module leads to the tool. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { diskFiles } from '../../../../src/client/disk.ts';
import { batchRefs } from '../../../../src/host/files/batchRefs.ts';
import { toolWorlds } from '../../../../src/host/tools/try/toolWorlds.ts';

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
