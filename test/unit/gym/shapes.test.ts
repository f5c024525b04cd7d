import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gymRow, seedSession, toolText, verifiedSession, verifySession } from '../../../src/gym/shapes.ts';

describe('shapes of rollout gym', () => {
  it('keep the fields of a row that nobody knows', () => {
    const row = { responses_create_params: { input: 'hi', tools: [] }, agent_ref: { name: 'a', type: 'x' }, extra: 1 };
    assert.deepEqual(gymRow.parse(row), row);
  });

  it('refuse indices that are no whole numbers, and sampling of the wrong type', () => {
    for (const wrong of [
      { responses_create_params: { input: 'x' }, _ng_task_index: -1 },
      { responses_create_params: { input: 'x', temperature: 'hot' } },
      { responses_create_params: {} },
    ])
      assert.equal(gymRow.safeParse(wrong).success, false);
  });

  it('take one of answer and message, and a reward that nobody knows', () => {
    assert.equal(verifySession.safeParse({ answer: '1', message: '1' }).success, false);
    assert.equal(verifySession.safeParse({}).success, true);
    assert.equal(verifiedSession.parse({ reward: null, reward_components: {} }).reward, null);
    assert.equal(toolText.safeParse({ text: 'no', error: false }).success, false);
    assert.equal(seedSession.safeParse({ task_id: '' }).success, false);
  });
});
