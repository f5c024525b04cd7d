/** What a world model is told by the rules of the sample's simulation, and whether it obeys, in a real batch. */
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { Report } from '../../src/trace/statistics/schema.ts';
import { Bench } from '../support/cli.ts';

const SAY = 'Every renewal fails with "limit reached".';
const RULE = `
perturb:
  - name: limit
    when: tool.name == "renew_loan"
    say: ${SAY}
    check: observation.failed && observation.text.contains("limit reached")
`;

describe('a rule that speaks to the model of a simulated world', { timeout: 480_000 }, () => {
  const bench = new Bench({ sharesProcess: true });
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

/** Reads again what each call has written. */
const QUESTION = [
  'call list_loans {"member_id": "M-1001"}',
  'call renew_loan {"loan_id": "L-3001"}',
  'call list_loans {"member_id": "M-1001"}',
  'call return_book {"loan_id": "L-3002"}',
  'call list_loans {"member_id": "M-1001"}',
  'call renew_loan {"loan_id": "L-9999"}',
  'call renew_loan {"loan_id": "L-9999"}',
  'answer done',
].join('\n');

describe('the rates of a world', { timeout: 480_000 }, () => {
  const bench = new Bench({ sharesProcess: true });
  const cwd = bench.path('desk');
  const reported = async (world: string, query = ''): Promise<{ batch: string; rates: Report['rates'] }> => {
    const file = path.join(cwd, 'worlds', 'library-sim.world.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/endpoint: .*/, `endpoint: 'demo:${query}'`));
    writeFileSync(
      path.join(cwd, 'batches', 'read.batch.yaml'),
      `version: 1\nagent: ../agents/desk.agent.yaml\nworld: ../worlds/${world}.world.yaml\n` +
        'dataset: { file: ../data/read.jsonl }\nattempts: 2\nscorer: { kind: exact }\n',
    );
    const { batch } = await bench.json<{ batch: string }>(['run', 'batches/read.batch.yaml'], { cwd });
    const { rates } = await bench.json<Report>(['report', batch], { cwd });
    return { batch, rates };
  };

  before(async () => {
    await bench.run(['init', 'desk'], { cwd: bench.folder });
    const task = { id: 'read', question: QUESTION, answer: 'done' };
    writeFileSync(path.join(cwd, 'data', 'read.jsonl'), `${JSON.stringify(task)}\n`);
  });
  after(() => bench.close());

  it('are 100% for the real desk and for its faithful simulation, with the same cases', async () => {
    const real = await reported('library');
    assert.deepEqual(real.rates.error_handling, { checked: 2, held: 2 });
    const { checked = 0, held = 0 } = real.rates.consistency ?? {};
    assert.ok(checked >= 4 && held === checked, JSON.stringify(real.rates));
    const faithful = await reported('library-sim');
    assert.deepEqual(faithful.rates, real.rates);
    const { stdout } = await bench.run(['report', faithful.batch], { cwd });
    assert.match(stdout, /^world +error handling 100% \(2 of 2\), long-context consistency 100% \(\d+ of \d+\)/m);
  });

  it('are lower for a simulation that forgets, with each case at its call, and in the export', async () => {
    const { batch, rates } = await reported('library-sim', '?world=forgotten:1');
    const { checked = 0, held = 0 } = rates.consistency ?? {};
    assert.ok(held < checked, JSON.stringify(rates));
    const { stdout } = await bench.run(['show', `${batch}/read/1`], { cwd });
    assert.match(
      stdout.replaceAll(/\s+/g, ' '),
      /world ✗ long-context consistency: \w+ of loan L-3001 is \S+, not \S+ \(@\d+, 1 call before\)/,
    );
    const csv = (await bench.run(['export', batch], { cwd })).stdout.trim().split('\r\n');
    const columns = csv[0]?.split(',') ?? [];
    const sum = (name: string): number =>
      csv
        .slice(1)
        .reduce(
          (total, line) => total + Number(line.replaceAll(/"(?:[^"]|"")*"/g, '').split(',')[columns.indexOf(name)]),
          0,
        );
    assert.deepEqual([sum('consistency_checked'), sum('consistency_held')], [checked, held]);
  });
});
