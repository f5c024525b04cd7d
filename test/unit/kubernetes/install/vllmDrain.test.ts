/** The hook that lets a replica of vLLM answer its calls before it ends, in a real Python. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { DRAIN_SCRIPT } from '../../../../src/kubernetes/install/vllm/drain.ts';
import { fakeEndpoint } from '../../../support/endpoint.ts';

const skip = spawnSync('python3', ['-c', '']).status === 0 ? false : 'no Python here';

/** As vLLM writes them. */
const metrics = (running: number, waiting: number): string =>
  [
    '# TYPE vllm:num_requests_running gauge',
    `vllm:num_requests_running{engine="0",model_name="m"} ${running.toFixed(1)}`,
    `vllm:num_requests_waiting{engine="0",model_name="m"} ${waiting.toFixed(1)}`,
    'vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 7.0',
  ].join('\n');

async function drain(url: string, limit: number): Promise<number | null> {
  const child = spawn('python3', ['-c', DRAIN_SCRIPT, url, '0', String(limit)], { stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

test('waits until no request runs or waits', { skip }, async () => {
  const states = [metrics(2, 0), metrics(0, 1), metrics(0, 0), metrics(3, 3)];
  await using vllm = await fakeEndpoint((_, response, nth) => void response.end(states[nth - 1]));
  assert.equal(await drain(vllm.url.replace(/\/v1$/, ''), 60), 0);
  assert.deepEqual(
    vllm.seen.map(({ path }) => path),
    ['/metrics', '/metrics', '/metrics'],
  );
});

test('does not wait for a server that is gone, nor longer than it may', { skip }, async () => {
  const gone = await fakeEndpoint(() => undefined);
  await gone[Symbol.asyncDispose]();
  assert.equal(await drain(gone.url.replace(/\/v1$/, ''), 60), 0);
  await using busy = await fakeEndpoint((_, response) => void response.end(metrics(1, 0)));
  assert.equal(await drain(busy.url.replace(/\/v1$/, ''), 0.1), 0);
  assert.equal(busy.seen.length, 1);
});
