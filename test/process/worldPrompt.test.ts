/** `rollout world prompt`: what the model of a simulated world is told, compared with what an endpoint receives. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../src/common/json.ts';
import { Bench } from '../support/cli.ts';
import { answerText, chatEndpoint } from '../support/endpoint.ts';

interface Printed {
  readonly batch?: string;
  readonly task?: string;
  readonly prompt: string;
}

describe('the prompt of a simulated world', { timeout: 480_000 }, () => {
  it('is that of the requests, with the tools of the real world, filled for the task', async () => {
    const bench = new Bench();
    const systems = new Set<unknown>();
    await using model = await chatEndpoint(({ body }, response) => {
      systems.add((body['messages'] as JsonObject[])[0]?.['content']);
      answerText(response, 'done');
    });
    try {
      await bench.run(['init', 'desk'], { cwd: bench.folder });
      const cwd = bench.path('desk');
      const file = path.join(cwd, 'worlds', 'library-overlay.world.yaml');
      const text = readFileSync(file, 'utf8').replace(/endpoint: .*/, `endpoint: ${model.url}`);
      writeFileSync(file, `${text}instruction: Task {{task.id}} is played.\n`);
      const options = ['--task', 'renew-one'];
      await bench.run(['run', 'batches/overlay.batch.yaml', '--attempts', '1', ...options], { cwd });
      assert.equal(systems.size, 1, 'the model was asked');
      const printed = await bench.json<Printed>(['world', 'prompt', 'worlds/library-overlay.world.yaml', ...options], {
        cwd,
      });
      assert.deepEqual([printed.task, printed.batch], ['renew-one', 'batches/overlay.batch.yaml']);
      assert.equal(printed.prompt, [...systems][0]);
      assert.match(printed.prompt, /"name":"renew_loan".*Task renew-one is played\.$/s);
    } finally {
      await bench.close();
    }
  });

  it('is not filled without a batch file, and only worlds that a model plays have one', async () => {
    const bench = new Bench();
    try {
      await bench.run(['init', 'desk'], { cwd: bench.folder });
      const cwd = bench.path('desk');
      const sim = readFileSync(path.join(cwd, 'worlds', 'library-sim.world.yaml'), 'utf8');
      writeFileSync(path.join(cwd, 'worlds', 'new.world.yaml'), `${sim}instruction: Task {{task.id}} is played.\n`);
      const { prompt, task } = await bench.json<Printed>(['world', 'prompt', 'worlds/new.world.yaml'], { cwd });
      assert.equal(task, undefined);
      assert.match(prompt, /^# Task\n.*# Simulation Instruction\nTask \{\{task\.id\}\} is played\.$/s);
      const other = await bench.run(['world', 'prompt', 'worlds/library.world.yaml'], { cwd });
      assert.match(other.stderr, /No model plays the world library, so it has no prompt/);
    } finally {
      await bench.close();
    }
  });
});
