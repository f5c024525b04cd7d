import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import type { Metafile } from 'esbuild';
import { METAFILE, root } from '../../../src/build/bundles.ts';

const { inputs, outputs } = JSON.parse(readFileSync(path.join(root, METAFILE), 'utf8')) as Metafile;

/** The modules that are loaded with one. */
function loadedWith(module: string): Set<string> {
  const loaded = new Set([module]);
  for (const each of loaded)
    for (const { path: imported, kind } of inputs[each]?.imports ?? [])
      if (kind !== 'dynamic-import') loaded.add(imported);
  return loaded;
}

it('no bundle imports node:http, which would load fetch and WebSocket in every process', () => {
  const imports = Object.entries(outputs).flatMap(([file, output]) =>
    output.imports.filter(({ external }) => external === true).map(({ path, kind }) => ({ file, path, kind })),
  );
  assert.ok(imports.some((one) => one.path === 'node:http' && one.kind === 'require-call'));
  assert.deepEqual(
    imports.filter((one) => /^(node:)?http$/.test(one.path) && one.kind === 'import-statement'),
    [],
  );
});

it('commands do not load the schemas of submissions and of their files', () => {
  const loaded = loadedWith('src/cli/main.ts');
  assert.ok(loaded.has('src/protocol/client.ts'));
  assert.deepEqual(
    [...loaded].filter((module) => /^src\/config\/(schema\/|submission\.ts)/.test(module)),
    [],
  );
});

it('servers and workers load the client of undici only', () => {
  for (const main of ['src/server/main.ts', 'src/worker/main.ts']) {
    const loaded = loadedWith(main);
    assert.ok(loaded.has('node_modules/undici/lib/dispatcher/agent.js'), main);
    assert.ok(!loaded.has('node_modules/undici/lib/web/fetch/index.js'), main);
  }
});
