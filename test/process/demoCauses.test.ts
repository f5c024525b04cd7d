// Every attempt of the sample's batch that does not pass has a cause.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { causeOf } from '../../src/trace/cause.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { Bench } from '../support/cli.ts';

let bench: Bench;
before(() => {
  bench = new Bench();
});
after(() => bench.close());

it('shows a cause for each attempt that did not pass, none of them unknown', {
  timeout: 120_000,
}, async () => {
  await bench.run(['init', bench.path('desk')]);
  const agent = bench.path('desk', 'agents', 'desk.agent.yaml');
  writeFileSync(
    agent,
    readFileSync(agent, 'utf8').replace(
      /endpoint: .*/,
      "endpoint: 'demo:?latency_ms=1&tail=lognormal&slots=16&chunks=12'",
    ),
  );
  const { batch } = await bench.json<{ batch: string }>(['run', 'batches/desk.batch.yaml'], {
    cwd: bench.path('desk'),
  });
  const { rollouts } = await bench.json<{ rollouts: RolloutRow[] }>(['show', batch]);
  const failed = rollouts.filter(({ progress }) => progress.passed !== true);
  assert.ok(failed.length > 40, `${failed.length} of ${rollouts.length}`);
  for (const row of failed) {
    const cause = causeOf(row);
    assert.ok(cause !== undefined && cause.kind !== 'unknown', `${row.task} attempt ${row.attempt}`);
    assert.doesNotMatch(cause.text, /^(?:other|failed|no error|No cause recorded)?$/);
  }
});
