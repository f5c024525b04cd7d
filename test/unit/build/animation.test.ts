import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { root } from '../../../src/build/bundles.ts';
import { animatedPng } from '../../../src/build/pictures/animation.ts';

const picture = (name: string): Buffer => readFileSync(path.join(root, 'media', name));

test('an animation holds a control chunk and the data of each picture, in order', () => {
  const png = picture('icons/icon.png');
  const animation = animatedPng([png, png, png], 500);
  const types: string[] = [];
  for (let at = 8; at < animation.length; at += animation.readUInt32BE(at) + 12)
    types.push(animation.toString('latin1', at + 4, at + 8));
  assert.deepEqual(types.slice(0, 4), ['IHDR', 'acTL', 'fcTL', 'IDAT']);
  assert.equal(types.filter((type) => type === 'fcTL').length, 3);
  assert.ok(types.includes('fdAT'));
  assert.equal(types.at(-1), 'IEND');
  assert.equal(animation.readUInt32BE(animation.indexOf('acTL') + 4), 3);
});

test('pictures of different sizes cannot become an animation', () => {
  assert.throws(
    () => animatedPng([picture('icons/icon.png'), picture('pictures/batch-dark.png')], 500),
    /picture 2 has another size/,
  );
});
