/** Programs for a pod: collected, packed, and unpacked by the script that runs there. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { programMaps } from '../../../../src/kubernetes/install/manifests/programs.ts';
import { pack } from '../../../../src/kubernetes/programs/archive.ts';
import { pageFiles, programFiles } from '../../../../src/kubernetes/programs/collect.ts';

const run = promisify(execFile);
const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-programs-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const dist = path.join(folder, 'dist');
write(dist, 'server.mjs', 'import{a}from"./chunks/a-1.mjs";console.log(JSON.stringify([a,process.argv.slice(2)]))');
write(dist, 'worker.mjs', 'await import("./chunks/late.mjs")');
write(dist, 'cli.mjs', '');
write(dist, 'chunks/a-1.mjs', "export * from './b.mjs'; export const a = 'é';");
write(dist, 'chunks/b.mjs', '// ../server.mjs');
write(dist, 'chunks/late.mjs', '');
write(dist, 'chunks/unused.mjs', '');
write(dist, 'webview/start.js', 'start');
write(dist, 'webview/start.js.map', '{}');

describe('the files of a program', () => {
  test('are everything it imports, statically or dynamically', async () => {
    assert.deepEqual(names(await programFiles(['server'], dist)), [
      'dist/chunks/a-1.mjs',
      'dist/chunks/b.mjs',
      'dist/server.mjs',
    ]);
    assert.deepEqual(names(await programFiles(['server', 'worker'], dist)), [
      'dist/chunks/a-1.mjs',
      'dist/chunks/b.mjs',
      'dist/chunks/late.mjs',
      'dist/server.mjs',
      'dist/worker.mjs',
      'media/python/world_runner.py',
    ]);
    assert.deepEqual(names(await pageFiles(dist)), ['dist/webview/start.js']);
  });

  test('are missing where nothing was built', async () => {
    await assert.rejects(programFiles(['server'], path.join(folder, 'nowhere')), { code: 'unavailable' });
    await assert.rejects(pageFiles(path.join(folder, 'nowhere')), { code: 'unavailable' });
  });
});

describe('an archive', () => {
  test('has the same hash for the same files, whatever their order', async () => {
    const files = await programFiles(['server', 'worker'], dist);
    const [one, other] = await Promise.all([pack(files), pack([...files].reverse())]);
    assert.equal(one.sha, other.sha);
    assert.notEqual((await pack(files.slice(1))).sha, one.sha);
  });

  test('is split into ConfigMaps that fit, and unpacked and started from them', async () => {
    const noise = { path: 'dist/noise.bin', bytes: randomBytes(2_000_000) };
    const archive = await pack([...(await programFiles(['server'], dist)), noise]);
    const maps = programMaps(archive, 'n');
    assert.equal(maps.objects.length, Math.ceil(archive.packed.length / 180_000));
    assert.ok(maps.objects.length > 10, 'pieces are read in the order of their numbers, not of their names');
    for (const map of maps.objects) {
      assert.equal(map['immutable'], true);
      // The annotations of an object, in which `kubectl apply` repeats it, hold 262,144 bytes.
      assert.ok(JSON.stringify(map).length < 262_144 - 4_096);
    }
    const pieces = mount(maps);
    const bootstrap = [path.join(pieces, 'bootstrap.mjs'), pieces, path.join(folder, 'unpacked')];
    const { stdout } = await run(process.execPath, [...bootstrap, maps.sha, 'server', '--port', '1']);
    assert.deepEqual(JSON.parse(stdout), ['é', ['--port', '1']]);
    assert.deepEqual(readdirSync(path.join(folder, 'unpacked', 'dist')).sort(), ['chunks', 'noise.bin', 'server.mjs']);

    await assert.rejects(run(process.execPath, [...bootstrap, 'f'.repeat(64), 'server']), /not the expected ones/);
  });

  test('gets other ConfigMap names when any of its content changes', async () => {
    const files = await programFiles(['server'], dist);
    const [same, again, other] = await Promise.all([
      pack(files),
      pack(files),
      pack([...files, { path: 'more', bytes: Buffer.from('1') }]),
    ]);
    const first = (archive: Awaited<ReturnType<typeof pack>>) => programMaps(archive, 'n').objects[0]!.metadata.name;
    assert.equal(first(same), first(again));
    assert.notEqual(first(same), first(other));
  });
});

/** What the kubelet does with the volume of the programs. */
function mount({ objects, sources }: ReturnType<typeof programMaps>): string {
  const pieces = path.join(folder, 'pieces');
  for (const { configMap } of sources as readonly {
    configMap: { name: string; items: { key: string; path: string }[] };
  }[]) {
    const map = objects.find(({ metadata }) => metadata.name === configMap.name) as unknown as {
      data?: Record<string, string>;
      binaryData: Record<string, string>;
    };
    for (const { key, path: name } of configMap.items)
      write(pieces, name, map.data?.[key] ?? Buffer.from(map.binaryData[key]!, 'base64'));
  }
  return pieces;
}

function names(files: readonly { path: string }[]): string[] {
  return files.map((file) => file.path).sort();
}

function write(root: string, name: string, content: string | Buffer): void {
  const file = path.join(root, ...name.split('/'));
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}
