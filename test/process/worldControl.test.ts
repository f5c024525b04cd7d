/** What a world model is told by the rules of the sample's simulation, and whether it obeys, in a real batch. */
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { Bench } from '../support/cli.ts';

const SAY = 'Every renewal fails with "limit reached".';
const RULE = `
perturb:
  - name: limit
    when: tool.name == "renew_loan"
    say: ${SAY}
    check: observation.failed && observation.text.contains("limit reached")
`;

describe('a rule that speaks to the model of a simulated world', { timeout: 180_000 }, () => {
  const bench = new Bench();
  const cwd = bench.path('desk');
  const world = path.join(cwd, 'worlds', 'library-sim.world.yaml');
  const endpoint = (query: string): void =>
    writeFileSync(world, readFileSync(world, 'utf8').replace(/endpoint: .*/, `endpoint: 'demo:${query}'`));
  const run = async (...options: string[]): Promise<string> => {
    const batch = ['run', 'batches/simulated.batch.yaml', '--attempts', '1', ...options];
    return (await bench.json<{ batch: string }>(batch, { cwd })).batch;
  };
  const events = async (batch: string, task: string): Promise<TraceEvent[]> => {
    const { stdout } = await bench.run(['tail', `${batch}/${task}/1`, '--json'], { cwd });
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as TraceEvent);
  };
  const obeyed = (stream: readonly TraceEvent[]): (boolean | null)[] =>
    stream.flatMap((event) =>
      event.kind === 'score' && event.data.scorer === 'control:limit' ? [event.data.passed] : [],
    );
  /** Renewals that the model answered: calls with invalid arguments do not reach it. */
  const renewals = (stream: readonly TraceEvent[]): number => {
    const started = stream.flatMap((event) =>
      event.kind === 'tool.start' && event.data.name === 'renew_loan' ? [event.seq] : [],
    );
    return stream.filter(
      (event) => event.kind === 'tool.end' && event.data.source === 'simulated' && started.includes(event.span ?? 0),
    ).length;
  };

  before(async () => {
    await bench.run(['init', 'desk'], { cwd: bench.folder });
    appendFileSync(world, RULE);
    endpoint('');
  });
  after(() => bench.close());

  it('is obeyed by the faithful world, which is a score of each call, shown with the sentence', async () => {
    const batch = await run();
    const stream = await events(batch, 'renew-overdue');
    assert.ok(renewals(stream) > 0);
    assert.deepEqual(
      obeyed(stream),
      Array.from({ length: renewals(stream) }, () => true),
    );
    const { stdout } = await bench.run(['show', `${batch}/renew-overdue/1`], { cwd });
    assert.match(stdout, /control:limit/);
    assert.match(stdout, /Every renewal fails with "limit reached"/);
  });

  it('is ignored by the faulty world, which the checks find', async () => {
    endpoint('?world=disobeyed:1');
    const stream = await events(await run(), 'renew-overdue');
    assert.ok(renewals(stream) > 0);
    assert.deepEqual(
      obeyed(stream),
      Array.from({ length: renewals(stream) }, () => false),
    );
  });

  it('is not told in a batch without rules', async () => {
    endpoint('');
    const stream = await events(await run('--no-perturb'), 'renew-overdue');
    assert.deepEqual(obeyed(stream), []);
    assert.ok(!JSON.stringify(stream).includes('limit reached'));
  });
});
