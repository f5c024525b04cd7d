/** The strength of verifiers: how many wrong final states they reject, from rollouts that passed. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type ScenarioHealth, worldHealth } from '../../src/common/worldHealth.ts';
import type { DrivenSession } from '../../src/formats/drive.ts';
import { Bench } from '../support/cli.ts';
import { type Garden, garden, replaced, writeGardens } from './support/gardenFolder.ts';
import { testPython } from './support/python.ts';

const QUESTION = ['call assign_plot {"plot_id": 3, "gardener_id": 3}', 'answer done'].join('\n');

const WEAK = [
  'def verify_task_completion(initial, final, answer):',
  '    return {"result": "complete" if answer == "done" else "others"}',
].join('\n');

/** Sees nothing of what the task changes. */
const BLIND = [
  'import sqlite3',
  '',
  'def verify_task(initial, final):',
  '    plots = sqlite3.connect(final).execute("SELECT COUNT(*) FROM plots WHERE id = 3")',
  '    return {"plots": plots.fetchone()[0]}',
].join('\n');

function gardenWith({ code, sql }: { readonly code?: string; readonly sql?: string }): Garden {
  const planted = garden();
  if (code !== undefined) planted.codeVerifiers[0] = code;
  if (sql !== undefined) planted.sqlVerifiers[0] = sql;
  return planted;
}

describe('the strength of verifiers', { timeout: 300_000 }, () => {
  let folder = '';
  let bench: Bench;

  before(async () => {
    const python = await testPython();
    folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-strength-'));
    for (const name of ['agents', 'batches', 'data', 'worlds', 'solutions', 'demonstrations'])
      mkdirSync(path.join(folder, name));
    const write = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);
    write('package.json', '{}'); // the root of a workspace
    plant();
    write(
      'worlds/garden.world.yaml',
      `version: 1\nname: garden\nkind: code\nformat: awm\nfrom: published\nverifier: both\nlint: off\n` +
        `python: ${JSON.stringify(python)}\n`,
    );
    write(
      'agents/gardener.agent.yaml',
      'version: 1\nname: gardener\nmodel: { endpoint: "demo:", name: demo }\nprompt: You help.\n',
    );
    write(
      'data/tasks.jsonl',
      ['strong', 'weak']
        .map(
          (scenario) => `${JSON.stringify({ id: scenario, question: QUESTION, world: { scenario }, task_idx: 0 })}\n`,
        )
        .join(''),
    );
    write(
      'batches/garden.batch.yaml',
      'version: 1\nagent: ../agents/gardener.agent.yaml\nworld: ../worlds/garden.world.yaml\n' +
        'dataset: { file: ../data/tasks.jsonl }\nscorer: { kind: world }\n',
    );
    bench = new Bench({ env: { XDG_CACHE_HOME: path.join(folder, 'cache') } });
  });
  after(async () => {
    await bench.close();
    rmSync(folder, { recursive: true, force: true });
  });

  function plant(strong: Garden = garden()): void {
    writeGardens(path.join(folder, 'worlds', 'published'), { strong, weak: gardenWith({ code: WEAK, sql: BLIND }) });
  }

  async function lint(...more: readonly string[]): Promise<Record<string, ScenarioHealth>> {
    const { scenarios } = worldHealth.parse(
      await bench.json(['world', 'lint', path.join(folder, 'worlds', 'garden.world.yaml'), ...more]),
    );
    return Object.fromEntries(scenarios.map((health) => [health.scenario, health]));
  }

  /** Keeps a session as `rollout world drive` does. */
  function keep(as: 'solutions' | 'demonstrations', calls: readonly [tool: string, args: object][], more = {}): string {
    const name = `${as}/garden.strong-0.json`;
    const session: DrivenSession = {
      ...{ driven: 1, world: 'garden', kind: 'code', scenario: 'strong', task_idx: 0, seed: 7, answer: 'done' },
      task: { id: 'strong-0', question: '?' },
      calls: calls.map(([tool, args]) => ({
        ...{ tool, effect: 'restorable', arguments: { ...args }, seed: 1, changes: [] },
      })),
      ...more,
    };
    writeFileSync(path.join(folder, name), JSON.stringify([session]));
    return name;
  }

  it('is measured from reference solutions, which are repeated, without any rollout', async () => {
    const assign: [string, object] = ['assign_plot', { plot_id: 3, gardener_id: 3 }];
    const measured = async (): Promise<unknown> => {
      const { strength = [], findings = [] } = (await lint('strong'))['strong'] ?? {};
      return [strength.map(({ from, verifier, rejected }) => [from, verifier, rejected]), findings.map(textOf)];
    };
    const textOf = ({ kind, message }: ScenarioHealth['findings'][number]): string => `${kind}: ${message}`;
    const demonstration = keep('demonstrations', [assign], { verdict: { value: 0, passed: false } });
    assert.deepEqual(await measured(), [[], []]);
    keep('demonstrations', [assign], { verdict: { value: 1, passed: true } });
    const both = (from: string): unknown[] => ['code', 'sql'].map((verifier) => [from, verifier, 2]);
    assert.deepEqual(await measured(), [both(demonstration), []]);
    const solution = keep('solutions', [['list_plots', { free: true }], assign]);
    assert.deepEqual(await measured(), [both(solution), []]);
    keep('solutions', [['list_plots', {}]]);
    assert.deepEqual(await measured(), [
      both(demonstration),
      [`solution_rejected: the code verifier of task 0 does not say complete for the reference solution ${solution}`],
    ]);
    keep('solutions', [assign, ['get_gardener', { gardener_id: 99 }]]);
    const [strengths, [broken]] = (await measured()) as [unknown, [string]];
    assert.deepEqual(strengths, both(demonstration));
    assert.match(broken, /^solution_rejected: .* cannot be repeated: call 2, to get_gardener, fails: AttributeError/);
    for (const file of [demonstration, solution]) rmSync(path.join(folder, file));
  });

  it('is measured from the newest rollouts that passed, or those of a batch', async () => {
    const none = await lint();
    assert.deepEqual([none['weak']?.strength, none['weak']?.ran.includes('strength')], [[], false]);
    const report = await bench.json<{ batch: string; passed: number }>([
      'run',
      path.join(folder, 'batches', 'garden.batch.yaml'),
    ]);
    assert.equal(report.passed, 2);
    for (const more of [[], ['--runs', 'last']]) {
      const { strong, weak } = await lint(...more);
      assert.deepEqual(
        strong?.strength.map(({ from: _from, ...each }) => each),
        [
          { task: 0, verifier: 'code', mutants: 2, rejected: 2, accepted: [] },
          { task: 0, verifier: 'sql', mutants: 2, rejected: 2, accepted: [] },
        ],
      );
      assert.deepEqual(strong.findings, []);
      const accepted = ['plots 3 as before', 'a row more in plots'];
      assert.deepEqual(
        weak?.strength.map(({ from: _from, ...each }) => each),
        [
          { task: 0, verifier: 'code', mutants: 2, rejected: 0, accepted },
          { task: 0, verifier: 'sql', mutants: 2, rejected: 0, accepted },
        ],
      );
      assert.deepEqual(
        weak.findings.map(({ kind, severity, message, place }) => [kind, severity, message, place.file]),
        [
          [
            'weak_verifier',
            'warning',
            `the SQL verifier of task 0 returns the same evidence for 2 of 2 wrong states: ${accepted.join(', ')}`,
            'gen_verifier.jsonl',
          ],
          [
            'weak_verifier',
            'warning',
            `the code verifier of task 0 accepts 2 of 2 final states that are wrong: ${accepted.join(', ')}`,
            'gen_verifier.pure_code.jsonl',
          ],
        ],
      );
    }
  });

  it('is not measured with a verifier that rejects what passed', async () => {
    const [code = ''] = garden().codeVerifiers;
    plant(gardenWith({ code: replaced(code, 'after == 3', 'after == 4') }));
    const { strong } = await lint('strong');
    assert.deepEqual(
      strong?.findings.map(({ kind, task }) => [kind, task]),
      [['solution_rejected', 0]],
    );
    assert.deepEqual(
      strong.strength.map(({ verifier }) => verifier),
      ['sql'],
    );
    const { stdout } = await bench.run(['world', 'lint', path.join(folder, 'worlds', 'garden.world.yaml'), 'weak']);
    assert.match(
      stdout,
      /the code verifier of task 0 rejects 0 of 2 mutants of r\w+, but not: plots 3 as before, a row/,
    );
  });
});
