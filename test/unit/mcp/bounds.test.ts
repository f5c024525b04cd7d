import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { StudioError } from '../../../src/common/errors.ts';
import { bytesOf, endOfRange, Room, sliceBytes } from '../../../src/mcp/answers/bounds.ts';
import { cursor } from '../../../src/mcp/answers/cursor.ts';
import { workspaceFile } from '../../../src/mcp/workspaceFile.ts';
import { Random } from '../../support/random.ts';

const ALPHABET = ['a', 'Ä', '€', '🎲', '\n'];

test('slices of any text have the requested range, never split a character, and add up to the text', () => {
  const random = new Random();
  for (let round = 0; round < 200; round++) {
    const text = Array.from(
      { length: Math.floor(random.next() * 60) },
      () => ALPHABET[Math.floor(random.next() * ALPHABET.length)],
    ).join('');
    const most = 4 + Math.floor(random.next() * 20);
    let whole = '';
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const part: ReturnType<typeof sliceBytes> = sliceBytes(text, offset, most);
      assert.ok(bytesOf(part.text) <= most && part.text.isWellFormed(), `seed ${random.seed}`);
      whole += part.text;
      offset = part.next;
    }
    assert.equal(whole, text, `seed ${random.seed}`);
  }
});

test('a range ends after a whole character', () => {
  assert.equal(endOfRange('a🎲b', 0, 2), 3);
  assert.equal(endOfRange('a🎲b', 0, 3), 3);
  assert.equal(endOfRange('abc', 1, 99), 3);
});

test('a budget takes what fits', () => {
  const room = new Room(10);
  assert.deepEqual(
    [room.take('12345'), room.take({ long: 'value' }), room.take('€'), room.left],
    [true, false, true, 2],
  );
});

test('a cursor round-trips, and only to its own tool', () => {
  const places = cursor('one', z.object({ step: z.number() }));
  assert.deepEqual(places.read(places.write({ step: 3 })), { step: 3 });
  for (const wrong of ['', '%', 'e30', cursor('two', z.object({ step: z.number() })).write({ step: 3 })]) {
    assert.throws(
      () => places.read(wrong),
      (error) => StudioError.is(error, 'usage') && error.hint !== undefined,
      wrong,
    );
  }
});

test('files are inside the workspace', async () => {
  const folder = path.resolve('work');
  assert.equal(await workspaceFile(folder, 'a/../b.yaml'), path.join(folder, 'b.yaml'));
  assert.equal(await workspaceFile(folder, path.join(folder, '..b')), path.join(folder, '..b'));
  for (const wrong of ['..', '../work-2/b.yaml', path.resolve('elsewhere.yaml'), 'a/../../b']) {
    await assert.rejects(workspaceFile(folder, wrong), (error) => StudioError.is(error, 'forbidden'), wrong);
  }
});
