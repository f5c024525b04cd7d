// What a rollout of a published world came to, by its verifier and its calls.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CallTroubles } from '../../../src/trace/callTroubles.ts';
import { WORLD_OUTCOMES } from '../../../src/trace/schema.ts';
import { outcomeSaid, outcomeWith, verdictOf } from '../../../src/worlds/code/outcome.ts';

const REFUSED: CallTroubles = {
  refused: { span: 9, tool: 'fnid', error: { class: 'unknown_tool', message: 'Unknown tool "fnid".' } },
};
const FAULT: CallTroubles = {
  fault: {
    span: 7,
    tool: 'find',
    error: { class: 'tool_error', message: '500', place: { file: 'w.py', line: 3, column: 1 }, blame: 'world' },
  },
};
const REWARDS = { complete: 1, partial: 0.1, agent_error: 0, format: -1, environment_error: null } as const;

describe('the outcome of a published world', () => {
  it('is what the verifier said, unless calls explain why the task is not complete', () => {
    const by = (troubles: CallTroubles): string[] => WORLD_OUTCOMES.map((said) => outcomeWith(said, troubles));
    assert.deepEqual(by({}), [...WORLD_OUTCOMES]);
    assert.deepEqual(by(REFUSED), ['complete', 'partial', 'format', 'format', 'environment_error']);
    const environment = ['complete', ...Array<string>(4).fill('environment_error')];
    assert.deepEqual(by(FAULT), environment);
    assert.deepEqual(by({ ...REFUSED, ...FAULT }), environment);
  });

  it('knows the words of verifiers, and whatever else they say is an error of the agent', () => {
    const words = ['complete', 'partial', 'incomplete', 'server_error', 'others', 'toString'];
    assert.deepEqual(words.map(outcomeSaid), [
      ...['complete', 'partial', 'partial', 'environment_error'],
      ...['agent_error', 'agent_error'],
    ]);
  });

  it('has its reward, and the call that decided it as the first failed check', () => {
    const check = { name: 'code verifier', passed: false };
    const verdict = (troubles: CallTroubles, rewards: Parameters<typeof verdictOf>[1] = REWARDS): unknown[] => {
      const { value, passed, outcome, checks } = verdictOf(
        { outcome: 'agent_error', checks: [check] },
        rewards,
        troubles,
      );
      return [value, passed, outcome, checks?.[0]?.cause];
    };
    assert.deepEqual(verdict({}), [0, false, 'agent_error', undefined]);
    assert.deepEqual(verdict(REFUSED), [-1, false, 'format', 'format: unknown tool fnid']);
    assert.deepEqual(verdict(FAULT), [null, null, 'environment_error', 'environment: find: tool error']);
    // A number rewards it, but nobody can say whether the agent would have passed.
    assert.deepEqual(verdict(FAULT, { ...REWARDS, environment_error: 0 }).slice(0, 2), [0, null]);
    assert.match(
      verdictOf({ outcome: 'agent_error', checks: [] }, REWARDS, FAULT).explanation ?? '',
      /^Outcome: environment_error\. The world failed in a call to find \(w\.py:3\): 500/,
    );
  });
});
