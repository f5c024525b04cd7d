// The breakpoints of a batch, according to its stream.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Json } from '../../../src/common/json.ts';
import { BatchBreakpoints } from '../../../src/protocol/batchBreakpoints.ts';
import { Stream } from '../../support/stream.ts';

it('keeps those of other clients when one replaces its own, and none when all are replaced', () => {
  const s = new Stream();
  const setBreakpoints = (args: Json): void =>
    void s.add('control', { command: `c${s.last}`, verb: 'breakpoints', by: 'me', args });
  const all = new BatchBreakpoints();
  const now = (): string[] => all.all.map(({ id }) => id);
  setBreakpoints({
    breakpoints: [
      { id: 'a.1', side: 'before', tool: 'renew' },
      { id: 'a.2', side: 'after' },
    ],
    of: 'a.',
  });
  setBreakpoints({ breakpoints: [{ id: 'b.1', side: 'before', tool: 'renew' }], of: 'b.' });
  assert.equal(all.add(s.events), true);
  assert.deepEqual(now(), ['a.1', 'a.2', 'b.1']);
  const before = s.events.length;
  setBreakpoints({ breakpoints: [], of: 'a.' });
  s.add('control', { command: 'c9', verb: 'pause', by: 'me', args: {} });
  all.add(s.events.slice(before));
  assert.deepEqual(now(), ['b.1']);
  assert.equal(all.add([]), false);
  setBreakpoints({ breakpoints: [{ id: 'c', side: 'before' }] });
  setBreakpoints({ breakpoints: 'none of ours' });
  all.add(s.events.slice(before + 2));
  assert.deepEqual(now(), ['c']);
});
