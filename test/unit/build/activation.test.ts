import assert from 'node:assert/strict';
import { it } from 'node:test';
import { build } from 'esbuild';
import { nodeBuild } from '../../../src/build/bundles.ts';

/** Code that a window waits for. A library or a schema at activation costs tens of milliseconds. */
const MAX_BYTES = 160_000;

it('the extension loads no library before its first use', async () => {
  const { metafile } = await build({ ...nodeBuild('0.0.0'), write: false, metafile: true });
  const queue = Object.keys(metafile.outputs).filter(
    (file) => metafile.outputs[file]!.entryPoint === 'src/extension.ts',
  );
  assert.equal(queue.length, 1);
  const read = new Set<string>();
  for (const file of queue) {
    if (read.has(file)) continue;
    read.add(file);
    queue.push(
      ...metafile.outputs[file]!.imports.filter(
        (named) => named.external !== true && named.kind === 'import-statement',
      ).map((named) => named.path),
    );
  }
  const outputs = [...read].map((file) => metafile.outputs[file]!);
  const inputs = outputs.flatMap((output) => Object.keys(output.inputs));
  assert.ok(inputs.includes('src/extension.ts') && inputs.length > 30, 'the extension is looked at');
  assert.deepEqual(
    inputs.filter(
      (file) =>
        file.includes('node_modules/') || file.startsWith('src/config/schema/') || file.startsWith('src/protocol/'),
    ),
    [],
  );
  const bytes = outputs.reduce((sum, output) => sum + output.bytes, 0);
  assert.ok(bytes < MAX_BYTES, `${bytes} bytes are read at activation`);
});
