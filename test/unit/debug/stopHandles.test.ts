// Requests for a stop that is over: an editor may still read it while the debuggee moves on.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { StopHandles } from '../../../src/debug/stopHandles.ts';

it('a number from an earlier stop is refused quietly, and never means a value of this stop', () => {
  const handles = new StopHandles<string>('value');
  const earlier = [handles.add('a'), handles.add('b')];
  assert.deepEqual(
    earlier.map((number) => handles.get(number)),
    ['a', 'b'],
  );
  handles.clear();
  const now = handles.add('c');
  assert.equal(handles.get(now), 'c');
  for (const number of [...earlier, 0, now + 1])
    assert.throws(() => handles.get(number), { code: 'gone', message: 'This value belongs to an earlier stop.' });
});
