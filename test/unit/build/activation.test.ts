import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import type { Metafile } from 'esbuild';
import { METAFILE, root } from '../../../src/build/bundles.ts';

/** Code that a window waits for. A library or a schema at activation costs tens of milliseconds. */
const MAX_BYTES = 170_000;

it('the extension loads no library before its first use', () => {
  const metafile = JSON.parse(readFileSync(path.join(root, METAFILE), 'utf8')) as Metafile;
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
