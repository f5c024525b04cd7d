import assert from 'node:assert/strict';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { pathsNamed } from '../../../src/client/namedPaths.ts';

test('arguments name paths as themselves, as values of options, and as file URLs', () => {
  const folder = os.tmpdir();
  const at = (name: string): string => path.join(folder, name);
  const named = (argument: string): string[] => pathsNamed(argument, folder);
  assert.deepEqual(named('data/a.json'), [at('data/a.json')]);
  assert.deepEqual(named(at('a')), [at('a')]);
  assert.ok(named('--config=../b').includes(path.resolve(folder, '../b')));
  assert.ok(named('-I../b').includes(path.resolve(folder, '../b')));
  assert.deepEqual(named(pathToFileURL(at('c')).href), [at('c')]);
});

test('URLs of other schemes, routes, and values that are only known later name no path', () => {
  for (const argument of ['https://example.org/a', '/no-such-folder-of-this-machine/mcp', '${env:HOME}/x'])
    assert.deepEqual(pathsNamed(argument, os.tmpdir()), []);
});
