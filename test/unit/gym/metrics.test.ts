import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { aggregateMetrics } from '../../../src/gym/metrics.ts';

/** Checked against compute_aggregate_metrics of nemo-gym 0.4.0, in test/trainers. */
describe('aggregate metrics of NeMo Gym', () => {
  it('describe every number, of all rows and for each task', () => {
    const {
      agent_metrics: agent,
      group_level_metrics: groups,
      key_metrics: key,
    } = aggregateMetrics([
      { _ng_task_index: 1, _ng_rollout_index: 1, reward: 1, solved: true, response: { usage: { input_tokens: 10 } } },
      { _ng_task_index: 1, _ng_rollout_index: 0, reward: 0, solved: false, response: { usage: { input_tokens: 20 } } },
      { _ng_task_index: 0, _ng_rollout_index: 0, reward: 1, solved: true, name: 'text', response: { usage: {} } },
    ]);
    assert.equal(agent['mean/reward'], 2 / 3);
    assert.equal(agent['median/input_tokens'], 15);
    assert.equal(agent['max/solved'], 1);
    assert.ok(Math.abs(Number(agent['std/input_tokens']) - Math.sqrt(50)) < 1e-12);
    assert.deepEqual(key, { 'mean/reward': 2 / 3, 'mean/solved': 2 / 3, 'mean/input_tokens': 15 });
    assert.deepEqual(
      groups.map(({ _ng_task_index: task, num_rollouts: count }) => [task, count]),
      [
        [0, 1],
        [1, 2],
      ],
    );
    assert.equal(groups[0]?.['std/reward'], 0, 'a single row has no spread');
    assert.deepEqual(groups[1]?.['rollout_infos'], [
      { rollout_id: '1:0', _ng_task_index: 1, _ng_rollout_index: 0, reward: 0, input_tokens: 20, solved: 0 },
      { rollout_id: '1:1', _ng_task_index: 1, _ng_rollout_index: 1, reward: 1, input_tokens: 10, solved: 1 },
    ]);
  });

  it('leave out a reward that nobody knows', () => {
    const { agent_metrics: agent } = aggregateMetrics([
      { _ng_task_index: 0, _ng_rollout_index: 0, reward: 1 },
      { _ng_task_index: 0, _ng_rollout_index: 1, reward: null },
    ]);
    assert.equal(agent['mean/reward'], 1);
  });

  it('are empty without rows, and refuse rows that are the same rollout', () => {
    assert.deepEqual(aggregateMetrics([]), { group_level_metrics: [], agent_metrics: {}, key_metrics: {} });
    assert.throws(() => aggregateMetrics([{ reward: 1 }, { reward: 0 }]), /Two rows have the _ng_task_index 0/);
    assert.throws(() => aggregateMetrics([{ _ng_task_index: 'x' }]), /whole number/);
  });
});
