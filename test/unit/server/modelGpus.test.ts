import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodRun } from '../../../src/executor/executor.ts';
import { ModelGpus } from '../../../src/server/shares/modelGpus.ts';
import { event } from '../../support/trajectories.ts';

test('the GPU time of the installed model is divided by tokens, and nothing else is', async () => {
  let now = 0;
  let replicas: number | undefined = 2;
  const recorded: PodRun[] = [];
  const gpus = new ModelGpus({
    server: { name: 'vllm', namespace: 'rollouts', gpus: 4 },
    replicas: () => replicas,
    record: (runs) => {
      recorded.push(...runs);
      return Promise.resolve();
    },
    log: (text) => assert.fail(text),
    now: () => now,
  });
  let seq = 0;
  const call = (batch: string, endpoint: string, tokens: number, source: 'live' | 'recorded' = 'live'): void => {
    const span = (seq += 2);
    gpus.followed(batch, `r-${batch}`, event(span, 'model.start', { step: 1, endpoint, context: [], sampling: {} }));
    const usage = { input_tokens: tokens - 1, output_tokens: 1 };
    const data = { status: 'ok', usage, trainable: false, source } as const;
    gpus.followed(batch, `r-${batch}`, event(span + 1, 'model.end', data, { span }));
  };
  await gpus.divide();
  assert.deepEqual(recorded, [], 'nobody called it');
  call('b1', 'http://vllm:8000/v1', 300);
  call('b2', 'http://vllm.rollouts.svc:8000/v1', 100);
  call('b2', 'http://vllm.other.svc:8000/v1', 5_000);
  call('b3', 'http://elsewhere:8000/v1', 5_000);
  call('b1', 'http://vllm:8000/v1', 5_000, 'recorded');
  now = 60_000;
  await gpus.divide();
  assert.deepEqual(
    recorded.map(({ batch, from, until, gpus: part, cpus }) => [batch, from, until, part, cpus]),
    [
      ['b1', 0, 60_000, 6, 0],
      ['b2', 0, 60_000, 2, 0],
    ],
  );
  replicas = undefined;
  call('b1', 'http://vllm:8000/v1', 300);
  now = 120_000;
  await gpus.divide();
  assert.equal(recorded.length, 2, 'nothing is invented');
  await gpus.close();
});
