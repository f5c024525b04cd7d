import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { failureOf, failureReply } from '../../../src/gym/run/reply.ts';
import { nameOfRow, taskOfRow } from '../../../src/gym/run/task.ts';
import { type GymRow, gymRow } from '../../../src/gym/shapes.ts';
import { type FinishedGroup, requestGroup } from '../../../src/protocol/groups.ts';
import type { TaskRecord } from '../../../src/trace/task.ts';

const dataset = new Map<string, TaskRecord>([['7', { id: '7', question: 'q', meta: {} }]]);
const row = (fields: Record<string, unknown>): GymRow =>
  gymRow.parse({ responses_create_params: { input: 'x' }, ...fields });

describe('a row of NeMo Gym', () => {
  it('names a task by its ID, also a number, or has a whole one', () => {
    assert.equal(taskOfRow(row({ task_id: '7' }), dataset), '7');
    assert.equal(taskOfRow(row({ id: 7 }), dataset), '7');
    assert.equal(taskOfRow(row({ task: '7', id: 'other' }), dataset), '7');
    assert.deepEqual(taskOfRow(row({ task: { id: 'own', question: 'why?', answer: { a: 1 } } }), dataset), {
      ...{ id: 'own', question: 'why?', answer: { a: 1 }, meta: {} },
    });
    const unnamed = taskOfRow(row({ task: { question: 'why?' } }), dataset);
    assert.match((unnamed as TaskRecord).id, /^row-[0-9a-f]{16}$/);
    assert.throws(() => taskOfRow(row({}), dataset), /names no task/);
    assert.throws(() => taskOfRow(row({ task: { question: 'q', files: [] } }), dataset), /files/);
    assert.throws(() => taskOfRow(row({ task_id: '8' }), dataset), /no task 8/);
  });

  it('has a name that is a valid ID of a group, the same for equal rows', () => {
    const one = nameOfRow(row({ task_id: '7', _ng_task_index: 3, _ng_rollout_index: 1 }));
    assert.match(one, /^3\.1\./);
    assert.equal(nameOfRow(row({ _ng_rollout_index: 1, _ng_task_index: 3, task_id: '7' })), one);
    assert.notEqual(nameOfRow(row({ task_id: '8', _ng_task_index: 3, _ng_rollout_index: 1 })), one);
    const request = { batch: 'b', group: `${nameOfRow(row({ _ng_task_index: 3 }))}.1`, task: '7' };
    assert.ok(requestGroup.safeParse(request).success);
  });
});

describe('a failure', () => {
  const group = (changes: Partial<FinishedGroup>): FinishedGroup => ({
    ...{ schema: 1, cursor: 'c', batch: 'b', group: 'g', task: 't', state: 'failed', usable: false, size: 1 },
    ...{ requested_at: 0, ended_at: 1, estimator: 'rloo', mean: null, members: [], rows: [], excluded: [], cut: [] },
    ...{ replaced: 0, left_out: {}, ...changes },
  });
  const lost = { rollout: 'r', attempt: 1, try: 1, outcome: 'infrastructure', why: 'its worker was lost' } as const;

  it('of infrastructure is tried again, one at the deadline is not, one that was killed is written nowhere', () => {
    assert.deepEqual(failureOf(group({ excluded: [lost], why: 'too few' })), {
      failure: 'transient',
      why: 'too few: its worker was lost',
    });
    assert.equal(failureOf(group({ excluded: [{ ...lost, outcome: 'unscored' }] })).failure, 'legitimate');
    assert.equal(failureOf(group({ state: 'cancelled' })).failure, 'kill_shaped');
    const cut = [{ rollout: 'r', attempt: 1, try: 1, state: 'running', steps: 1, output_tokens: 1, ms: 1 }] as const;
    assert.equal(failureOf(group({ cut: [...cut] })).failure, 'timeout_exceeded');
    const reply = failureReply(row({ extra: 1 }), 'timeout_exceeded', 'late', 'g');
    assert.deepEqual(
      [reply['reward'], reply['extra'], reply['_ng_failure_class'], reply['_ng_failure_terminal']],
      [null, 1, 'timeout_exceeded', true],
    );
    assert.equal(failureReply(row({}), 'kill_shaped', 'gone', 'g')['_ng_no_persist'], true);
  });
});
