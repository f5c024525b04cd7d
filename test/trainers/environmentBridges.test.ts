/** The environments of the bridges, in a real `rollout gym`: the trainer samples; tools, world, and scorer are ours. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { Bench } from '../support/cli.ts';
import { Gym } from '../support/gymProcess.ts';
import { Workspace } from '../support/testWorkspace.ts';
import { runPython } from './support/python.ts';

const WORLD = readFileSync(new URL('../fixtures/tools/shop.world.ts', import.meta.url), 'utf8');
/** Its stock is the last digit of the seed. */
const TASK = { id: 'shop', question: 'Leave three apples.', answer: 3, world: { seed: 5 } };
const script = 'bridge_environments.py';

describe('environments of bridges', { timeout: 600_000 }, () => {
  let workspace: Workspace;
  let gym: Gym;
  before(async () => {
    workspace = new Workspace(new Bench());
    workspace.write('shop.world.ts', WORLD);
    const file = workspace.batch('shop', {
      endpoint: 'demo:',
      tasks: [TASK],
      agent: { prompt: 'You keep the shop {{task.id}}.', answer: { tag: 'final' } },
      world: { kind: 'module', module: 'shop.world.ts' },
    });
    gym = await Gym.start(workspace, file);
  });
  after(async () => {
    await (gym as Gym | undefined)?.stop();
    await workspace.close();
  });

  it('are classes whose tools TRL reads, and have a reward once', async () => {
    const args = ['trl', 'shop'];
    const found = await runPython(
      { trainer: 'trl', script, args, env: { ROLLOUT_GYM: gym.url } },
      z.object({
        question: z.string(),
        parameters: z.record(z.string(), z.looseObject({ type: z.string() })),
        required: z.array(z.string()),
        results: z.array(z.string()),
        rewards: z.array(z.number().nullable()),
      }),
    );
    assert.equal(found.question, 'Leave three apples.');
    assert.deepEqual(
      [Object.entries(found.parameters).map(([name, { type }]) => `${name} ${type}`), found.required],
      [['thing string', 'count integer'], ['thing']],
    );
    const [taken, refused, left, again] = found.results;
    assert.deepEqual([taken, left, again], ['{"left":3}', '{"apple":3,"pear":2}', '{"apple":5,"pear":2}']);
    assert.match(refused ?? '', /^Error \(invalid_arguments\): /);
    assert.deepEqual(found.rewards, [1, 0, null]);
  });

  it('never raise in ms-swift, which reads calls from texts', async () => {
    const args = ['swift', 'shop'];
    const found = await runPython(
      { trainer: 'swift', script, args, env: { ROLLOUT_GYM: gym.url } },
      z.object({
        question: z.string(),
        system: z.string(),
        tools: z.number(),
        steps: z.array(z.tuple([z.string(), z.number(), z.boolean(), z.boolean()])),
      }),
    );
    assert.deepEqual([found.question, found.system], ['Leave three apples.', 'You keep the shop shop.']);
    assert.ok(found.tools >= 2);
    const [taken, broken, answered, lost] = found.steps;
    assert.deepEqual(taken, ['<tool_response>\n{"left":3}\n</tool_response>', 0, false, false]);
    assert.match(broken?.[0] ?? '', /Error: the call does not parse/);
    assert.deepEqual(answered, ['', 1, true, false]);
    assert.deepEqual(lost, ['', 0, true, true]);
  });
});
