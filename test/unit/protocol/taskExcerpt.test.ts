import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { taskExcerpt } from '../../../src/protocol/taskExcerpt.ts';

describe('the excerpt of a task', () => {
  it('keeps short tasks as they are', () => {
    const task = { id: 't1', question: 'Renew it.', answer: { due: 'May 22' }, level: 2, meta: { source: 'desk' } };
    assert.deepEqual(taskExcerpt(task, 100), task);
  });

  it('shortens every text and leaves out the state of the world', () => {
    const long = 'x'.repeat(2_000_000);
    assert.deepEqual(
      taskExcerpt(
        {
          id: 't1',
          question: long,
          answer: [long],
          world: { scenario: 'town_library', seed: 4, state: { loans: [long] } },
          meta: { note: long, rows: [long] },
        },
        10,
      ),
      {
        id: 't1',
        question: 'xxxxxxxxxx…',
        answer: '["xxxxxxxx…',
        world: { scenario: 'town_library', seed: 4 },
        meta: { note: 'xxxxxxxxxx…', rows: '["xxxxxxxx…' },
      },
    );
  });
});
