import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../../src/common/errors.ts';
import { batchRefs, firstTasks } from '../../../../src/host/files/batchRefs.ts';
import { taskList } from '../../../../src/host/files/taskList.ts';
import { memoryFiles } from '../../../support/memoryFiles.ts';

const BATCH =
  'version: 1\nagent: ../agents/a.agent.yaml\ndataset: { file: ../data/t.jsonl, offset: 1 }\nattempts: ' +
  '4\nscorer: { kind: exact }\n';
const AGENT = "version: 1\nname: a\nmodel: { endpoint: 'demo:', name: demo }\nprompt: Answer.\n";
const TASKS = [
  '{"id": "one", "question": "1?", "answer": "1"}',
  '',
  '{"id": "two", "question": "2?", "answer": "2"}',
  '{"question": "3?", "answer": "3"}',
  'not json',
  '{"id": "five", "question": "5?", "answer": "5"}',
].join('\n');
const FILES = { 'batches/b.batch.yaml': BATCH, 'agents/a.agent.yaml': AGENT, 'data/t.jsonl': TASKS };

describe('the references of a batch file', () => {
  it('are read from its text alone', async () => {
    const refs = batchRefs('/w/batches/b.batch.yaml', BATCH);
    assert.deepEqual(
      [refs.agent, refs.world, refs.dataset?.path, refs.dataset?.format],
      ['/w/agents/a.agent.yaml', undefined, '/w/data/t.jsonl', 'jsonl'],
    );
    assert.ok(refs.dataset !== undefined);
    const tasks = await firstTasks(memoryFiles(FILES), refs.dataset, 5);
    assert.deepEqual(
      tasks.map(({ task, line }) => [task.id, line]),
      [
        ['one', 1],
        ['two', 3],
        ['#4', 4],
        ['five', 6],
      ],
      'all records, whatever part of them the batch runs',
    );
    assert.equal((await firstTasks(memoryFiles(FILES), refs.dataset, 2)).length, 2);
  });
  it('are read as far as it is written', () => {
    assert.deepEqual(batchRefs('/w/b.batch.yaml', 'agent: a.agent.yaml\ndataset:'), {
      agent: '/w/a.agent.yaml',
      world: undefined,
      dataset: undefined,
    });
    assert.deepEqual(batchRefs('/w/b.batch.yaml', '- 1'), { agent: undefined, world: undefined, dataset: undefined });
    assert.equal(batchRefs('/w/b.batch.yaml', 'dataset: { file: data.parquet }').dataset, undefined);
  });
});

describe('the list of a batch’s tasks', () => {
  it('has their places, and omits unreadable ones', async () => {
    const list = await taskList(memoryFiles(FILES), '/w/batches/b.batch.yaml', 10);
    assert.deepEqual(list, {
      name: 'b',
      dataset: '/w/data/t.jsonl',
      attempts: 4,
      target: 'local',
      rules: [],
      parts: [],
      complete: true,
      demand: { queue: undefined, priority: 0, concurrency: 'auto', pods: undefined },
      estimate: {
        tasks: 3,
        attempts: 3,
        agent: { calls: 3, input_tokens: 9, output_tokens: 3 },
        at_least: false,
      },
      tasks: [
        { id: 'two', question: '2?', line: 3 },
        { id: '#4', question: '3?', line: 4 },
        { id: 'five', question: '5?', line: 6 },
      ],
    });
  });
  it('ends at its limit', async () => {
    const list = await taskList(memoryFiles(FILES), '/w/batches/b.batch.yaml', 2);
    assert.deepEqual([list.tasks.length, list.complete], [2, false]);
  });
  it('is refused with the reason', async () => {
    await assert.rejects(
      taskList(
        memoryFiles({ ...FILES, 'batches/b.batch.yaml': BATCH.replace('exact', 'exakt') }),
        '/w/batches/b.batch.yaml',
        2,
      ),
      (error) =>
        StudioError.is(error, 'config') && /line 5/.test(error.message) && Array.isArray(error.details?.['problems']),
    );
    await assert.rejects(
      taskList(memoryFiles({ 'batches/b.batch.yaml': BATCH }), '/w/batches/b.batch.yaml', 2),
      (error) => StudioError.is(error, 'config'),
    );
  });
});
