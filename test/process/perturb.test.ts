// The sample's perturbed batch and its unperturbed half: recovery figures, and the pairs, as a count of the store.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Comparison, Report } from '../../src/trace/statistics/schema.ts';
import { Bench } from '../support/cli.ts';
import { type StoredAttempt, type StoredEvent, storedAttempts } from '../support/storedAttempts.ts';

interface CallOfStore {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** The number of model replies before it. */
  readonly turn: number;
  readonly end: StoredEvent['data'];
}

function callsOf({ events }: StoredAttempt): CallOfStore[] {
  let turn = 0;
  const turns = new Map<number, number>();
  const starts = new Map<number, StoredEvent>();
  const calls: CallOfStore[] = [];
  for (const event of events) {
    if (event.kind === 'model.end') turn++;
    if (event.kind === 'tool.start') {
      starts.set(event.seq, event);
      turns.set(event.seq, turn);
    }
    const start = event.kind === 'tool.end' ? starts.get(event.span ?? 0) : undefined;
    if (start === undefined) continue;
    const { name = '', arguments: args = {} } = start.data;
    calls.push({ tool: name, args, turn: turns.get(start.seq) ?? 0, end: event.data });
  }
  return calls;
}

/** Counts the faults of a rule as the documentation defines them. */
function recount(attempts: readonly StoredAttempt[], rule: string): Report['by_rule'][string] {
  const counts = {
    injected: 0,
    recovered: 0,
    worked_around: 0,
    repeated: 0,
    gave_up: 0,
    open: 0,
    attempts: 0,
    passed: 0,
  };
  for (const attempt of attempts) {
    const calls = callsOf(attempt);
    const hit = calls.filter(({ end }) => end.injected === rule);
    if (hit.length > 0) counts.attempts++;
    if (hit.length > 0 && attempt.passed) counts.passed++;
    for (const call of hit) {
      counts.injected++;
      const again = calls.filter(
        (other) => other.turn > call.turn && other.tool === call.tool && isSameThing(call.args, other.args),
      );
      const isLate = call.end.status === 'ok' && call.end.made === undefined && !('result' in call.end);
      if (isLate || again.some(({ end }) => end.status === 'ok' && end.injected === undefined)) counts.recovered++;
      else if (attempt.passed) counts.worked_around++;
      else if (again.length > 0) counts.repeated++;
      else counts.gave_up++;
    }
  }
  return counts;
}

function isSameThing(a: CallOfStore['args'], b: CallOfStore['args']): boolean {
  const shared = Object.keys(a).filter((key) => key in b);
  if (shared.length === 0) return Object.keys(a).length === 0 || Object.keys(b).length === 0;
  return shared.every((key) => JSON.stringify(a[key]) === JSON.stringify(b[key]));
}

describe('a perturbed batch', { timeout: 480_000 }, () => {
  let bench: Bench;
  let [on, off] = ['', ''];
  const RULES = ['busy', 'short-list', 'slow'];

  before(async () => {
    bench = new Bench({ sharesProcess: true });
    await bench.run(['init', bench.path('desk')]);
    const agent = bench.path('desk', 'agents', 'desk.agent.yaml');
    const fast = "endpoint: 'demo:?latency_ms=1&slots=16&chunks=12'";
    writeFileSync(agent, readFileSync(agent, 'utf8').replace(/endpoint: .*/, fast));
    const run = (...options: string[]): Promise<{ batch: string }> =>
      bench.json<{ batch: string }>(['run', 'batches/faults.batch.yaml', '--attempts', '8', ...options], {
        cwd: bench.path('desk'),
      });
    on = (await run()).batch;
    off = (await run('--no-perturb')).batch;
  });
  after(() => bench.close());

  it('reports what agents did after each fault, as a count of the store does', async () => {
    const report = await bench.json<Report>(['report', on]);
    const attempts = storedAttempts(bench.store, on);
    assert.equal(attempts.length, report.scored + report.unscored);
    assert.deepEqual(report.by_rule, Object.fromEntries(RULES.map((rule) => [rule, recount(attempts, rule)])));
    for (const rule of RULES) assert.ok((report.by_rule[rule]?.injected ?? 0) > 2, `${rule} hits some calls`);
    assert.ok((report.by_rule['busy']?.recovered ?? 0) > 0, 'the sample shows a recovery');
    assert.equal(report.perturbed, true);
    const { stdout } = await bench.run(['report', on]);
    assert.match(stdout, /^faults by rule {2}injected {2}recovered {2}worked around {2}repeated in vain {2}gave up/m);
  });

  it('has no fault in the other half', async () => {
    const report = await bench.json<Report>(['report', off]);
    assert.equal(report.perturbed, false);
    assert.deepEqual(report.by_rule, {});
    const injected = storedAttempts(bench.store, off)
      .flatMap(callsOf)
      .filter(({ end }) => end.injected !== undefined);
    assert.deepEqual(injected, []);
  });

  it('is compared with the other half pair by pair', async () => {
    const { comparison } = await bench.json<{ comparison: Comparison }>(['compare', off, on]);
    const others = new Map(storedAttempts(bench.store, off).map((attempt) => [attempt.key, attempt]));
    const pairs = storedAttempts(bench.store, on).flatMap((here) => {
      const baseline = others.get(here.key);
      return baseline === undefined ? [] : [{ here, baseline }];
    });
    const count = (a: boolean, b: boolean): number =>
      pairs.filter(({ here, baseline }) => here.passed === a && baseline.passed === b).length;
    assert.deepEqual(comparison.perturbed, { here: true, baseline: false });
    assert.deepEqual(comparison.pairs, {
      attempts: pairs.length,
      both: count(true, true),
      only_here: count(true, false),
      only_in_baseline: count(false, true),
      neither: count(false, false),
    });
    const byRule = RULES.map((rule) => {
      const hit = pairs.filter(({ here }) => callsOf(here).some(({ end }) => end.injected === rule));
      const passed = hit.filter(({ here }) => here.passed).length;
      return [rule, { attempts: hit.length, passed, passed_without: hit.filter((p) => p.baseline.passed).length }];
    });
    assert.deepEqual(comparison.by_rule, Object.fromEntries(byRule));
    const { stdout } = await bench.run(['compare', off, on]);
    assert.ok(stdout.includes(`perturbed: ${on}; 48 pairs of attempts: `), stdout);
  });

  it('injects the same faults into the same attempts again', async () => {
    const { batch } = await bench.json<{ batch: string }>(
      ['run', 'batches/faults.batch.yaml', '--attempts', '8', '--limit', '2'],
      { cwd: bench.path('desk') },
    );
    const faultsOf = (attempt: StoredAttempt): readonly unknown[] =>
      callsOf(attempt).map(({ tool, args, end }) => [tool, args, end.injected]);
    const first = new Map(storedAttempts(bench.store, on).map((attempt) => [attempt.key, faultsOf(attempt)]));
    for (const attempt of storedAttempts(bench.store, batch))
      assert.deepEqual(faultsOf(attempt), first.get(attempt.key));
  });

  it('runs the function of a rule where modules run, and shows the agent what it returns', async () => {
    const folder = bench.path('own');
    for (const name of ['agents', 'worlds']) mkdirSync(path.join(folder, name), { recursive: true });
    const files = {
      'agents/a.agent.yaml': 'version: 1\nname: a\nprompt: Work.\nmodel: { endpoint: "demo:", name: demo }\n',
      'worlds/w.world.yaml':
        'version: 1\nname: w\nkind: module\nmodule: w.ts\n' +
        'perturb:\n  - { name: own, module: faults.ts, export: doubled, args: { by: 2 } }\n',
      'worlds/w.ts':
        "import { tool } from 'rollout-studio';\nimport { z } from 'zod';\n" +
        "const add = tool({ description: 'adds', input: z.object({ n: z.number() }), effect: 'pure', " +
        'run: ({ n }) => n + 1 });\n' +
        'export const open = () => ({ state: null, tools: { add } });\n',
      'worlds/faults.ts':
        'export const doubled = ({ result, args, tool }: any) => ' +
        '`${tool.name} ${result * args.by} in ${process.pid}`;\n',
      'tasks.jsonl': '{"id": "one", "question": "call add {\\"n\\": 3}\\nanswer {{last}}", "answer": "x"}\n',
      'b.batch.yaml':
        'version: 1\nagent: agents/a.agent.yaml\nworld: worlds/w.world.yaml\ndataset: { file: tasks.jsonl }\n' +
        'attempts: 1\nscorer: { kind: exact }\n',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
    const { batch } = await bench.json<{ batch: string }>(['run', 'b.batch.yaml'], { cwd: folder });
    const [attempt] = storedAttempts(bench.store, batch);
    assert.ok(attempt);
    const [call] = callsOf(attempt);
    assert.deepEqual([call?.end.injected, call?.end.result], ['own', 4]);
    const response = /add 8 in (\d+)/.exec(JSON.stringify(attempt.events));
    assert.ok(response, JSON.stringify(attempt.events));
    const shown = await bench.run(['show', `${batch}/one/1`]);
    assert.match(shown.stdout, /← {2}4 +.*injected by own/);
    assert.match(shown.stdout, /seen {2}add 8 in/);
  });
});
