import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { heldText } from '../../../src/trace/holder.ts';

const now = new Date(2026, 4, 7, 13, 5).getTime();

describe('who holds a rollout', () => {
  for (const [hold, text] of [
    [{ why: 'pause', by: 'page' }, 'held by a person on the page'],
    [{ why: 'step', by: 'rollout dap' }, 'held by rollout dap (stepping)'],
    [{ why: 'breakpoint', by: 'debugger in VS Code' }, 'held by the debugger in VS Code (breakpoint)'],
    [{ why: 'breakpoint', by: 'debugger in Neovim' }, 'held by the debugger in Neovim (breakpoint)'],
    [{ why: 'breakpoint', breakpoint: 'debug:entry' }, 'held by a debugger (breakpoint)'],
    [{ why: 'breakpoint', breakpoint: 'b1' }, 'held at a breakpoint'],
    [{ why: 'pause' }, 'held with its batch'],
    [{ why: 'input', by: 'page' }, 'waiting for an answer'],
    [{ why: 'lost_server' }, 'waiting for its server'],
  ] as const)
    it(`is described as “${text}”`, () => assert.equal(heldText({ side: 'before', seq: 1, ...hold }, now), text));

  it('has an end, with its day if that is another one', () => {
    const until = (ms: number): string => heldText({ why: 'input', side: 'before', seq: 1, until: now + ms }, now);
    assert.equal(until(60_000), 'waiting for an answer, until 13:06');
    assert.equal(until(86_400_000), 'waiting for an answer, until 2026-05-08 13:05');
  });
});
