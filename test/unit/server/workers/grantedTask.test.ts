import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Submission } from '../../../../src/config/submission.ts';
import type { Breakpoint } from '../../../../src/protocol/commands.ts';
import { grantedTask, taskNeeds } from '../../../../src/server/workers/grantedTask.ts';
import { plainSubmission } from '../../../support/rolloutServer.ts';

const task = { id: 't', question: 'q', answer: 'secret', meta: { city: 'Rome', steps: 'say secret', level: 2 } };

/** The columns that a worker gets before scoring, and whether it gets the answer. */
function granted(prompt: string, conditions: readonly string[] = [], world?: Submission['world']): [string[], boolean] {
  const { agent } = plainSubmission();
  const breakpoints = conditions.map((when, id): Breakpoint => ({ id: String(id), side: 'before', when }));
  const needs = taskNeeds(
    { agent: { ...agent, prompt: { text: prompt } }, ...(world === undefined ? {} : { world }) },
    breakpoints,
  );
  const result = grantedTask(task, needs);
  return [Object.keys(result.meta), 'answer' in result];
}

test('before scoring, workers get the columns that prompts, conditions, and worlds use', () => {
  assert.deepEqual(granted('Work.'), [[], false]);
  assert.deepEqual(granted('In {{ task.meta.city }} {{task.question}}.'), [['city'], false]);
  assert.deepEqual(granted('{{task.meta}}'), [['city', 'steps', 'level'], false]);
  assert.deepEqual(granted('{{task.answer}}'), [[], true]);
  assert.deepEqual(granted('Work.', ['task.meta.level >= 2 && task.answer == "x"']), [['level'], false]);
  assert.deepEqual(granted('Work.', ['task.meta["city"] == "Rome"', "has(task.meta['level'])"]), [
    ['city', 'level'],
    false,
  ]);
  assert.deepEqual(granted('Work.', ['task["meta"][tool.name] == 1'])[0].length, 3);
  const { agent } = plainSubmission();
  const mix = [{ name: 'short', share: 1_000_000, prompt: { text: 'In {{task.meta.city}}' } }];
  assert.deepEqual(taskNeeds({ agent, mix }, []).meta, new Set(['city']), 'a part of the mix');
  const module = { file: 'w.ts', bundle: 'a', map: 'b' };
  const world = { name: 'w', file: 'w.world.yaml', kind: 'module', module, perturb: [] } as const;
  assert.deepEqual(granted('Work.', [], { ...world, perturb: [] })[0].length, 3);
  const user = { model: plainSubmission().agent.model, prompt: '{{task.answer}}' };
  assert.deepEqual(granted('Work.', [], { ...world, perturb: [], user })[1], true);
});
