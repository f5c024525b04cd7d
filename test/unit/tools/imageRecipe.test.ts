import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { imageRecipe, isRecipe } from '../../../src/tools/python/imageRecipe.ts';
import { pinnedPackages } from '../../../src/tools/python/setup.ts';

const REQUIREMENTS = path.join(import.meta.dirname, '../../../media/python/requirements.txt');

/** Returns the arguments of pip. */
function installed(dockerfile: string): string[] {
  const [, list = ''] = /pip install --no-cache-dir --no-deps \\\n((?: {4}.*\n)+)/.exec(dockerfile) ?? [];
  return list.split('\n').flatMap((line) => (line === '' ? [] : [line.trim().replace(/ \\$/, '')]));
}

describe('the recipe of an image for code worlds', () => {
  it('installs exactly the packages of rollout world setup', async () => {
    const { dockerfile, provides } = await imageRecipe('rooms.world.yaml');
    const pinned = readFileSync(REQUIREMENTS, 'utf8').match(/^[\w-]+==\S+$/gm);
    assert.ok(pinned !== null && pinned.length > 5);
    assert.deepEqual(installed(dockerfile), pinned);
    assert.deepEqual(await pinnedPackages(), pinned);
    assert.deepEqual(provides, ['python']);
    assert.ok(isRecipe(dockerfile));
    assert.match(dockerfile, /^FROM node:24-slim AS node\n\nFROM python:3\.11-slim\nCOPY --from=node /m);
    assert.doesNotMatch(dockerfile, /apt-get|https?:/);
    for (const line of dockerfile.split('\n')) assert.match(line, /^($|# |FROM |COPY |RUN | {4}\S)/);
  });

  it('installs what else the world needs, which its pods provide', async () => {
    const { dockerfile, provides } = await imageRecipe('rooms.world.yaml', [
      'python3.12',
      'git',
      'browser',
      'chromium',
    ]);
    assert.match(dockerfile, /^RUN apt-get update && apt-get install --yes --no-install-recommends git chromium \\$/m);
    assert.deepEqual(provides, ['python', 'git', 'browser', 'chromium']);
  });
});
