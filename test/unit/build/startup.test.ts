import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import type { Metafile } from 'esbuild';
import { METAFILE, root } from '../../../src/build/bundles.ts';

it('no bundle imports node:http, which would load fetch and WebSocket in every process', () => {
  const { outputs } = JSON.parse(readFileSync(path.join(root, METAFILE), 'utf8')) as Metafile;
  const imports = Object.entries(outputs).flatMap(([file, output]) =>
    output.imports.filter(({ external }) => external === true).map(({ path, kind }) => ({ file, path, kind })),
  );
  assert.ok(imports.some((one) => one.path === 'node:http' && one.kind === 'require-call'));
  assert.deepEqual(
    imports.filter((one) => /^(node:)?http$/.test(one.path) && one.kind === 'import-statement'),
    [],
  );
});
