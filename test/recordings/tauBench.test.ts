/**
 * Real tau-bench results: 50 tasks x 4 trials of gpt-4o on the airline domain. Their published pass^k is the reference.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { kitFolder } from '../../src/build/system/kits.ts';
import { Bench } from '../support/cli.ts';

const PUBLISHED = { '1': 0.42, '2': 0.273, '3': 0.22, '4': 0.2 };
const file = path.join(kitFolder('recordings') ?? '', 'tau-bench', 'gpt-4o-airline.json');

interface Imported {
  batch: string;
  tasks: string[];
  rollouts: number;
  skipped: unknown[];
}
interface Report {
  attempts: number;
  scored: number;
  pass_all: Record<string, number>;
  tasks: number;
}
interface Entry {
  task_id: number;
  trial: number;
  reward: number;
  traj: { role: string; content: string | null; tool_calls?: { function: { name: string } }[] }[];
}

describe('tau-bench, gpt-4o on airline', () => {
  const bench = new Bench();
  let imported: Imported;
  before(async () => {
    imported = await bench.json<Imported>(['import', file]);
  });
  after(() => bench.close());

  it('imports every trial', () => {
    assert.equal(imported.tasks.length, 50);
    assert.equal(imported.rollouts, 200);
    assert.deepEqual(imported.skipped, []);
  });

  it('reports the published pass^k', async () => {
    const report = await bench.json<Report>(['report', imported.batch]);
    assert.equal(report.tasks, 50);
    assert.equal(report.attempts, 200);
    assert.equal(report.scored, 200);
    for (const [k, value] of Object.entries(PUBLISHED))
      assert.equal(Number(report.pass_all[k]?.toFixed(3)), value, `pass^${k}`);
  });

  it('keeps every message and tool call of every trial', async () => {
    const entries = JSON.parse(readFileSync(file, 'utf8')) as Entry[];
    // Every fourth trial through the command line, whole: each text and each tool's name must be in the output.
    for (const entry of entries.filter((_, index) => index % 20 === 0)) {
      const trajectory = await bench.json<{ events: { kind: string; data: Record<string, unknown> }[] }>([
        'show',
        `${imported.batch}/${entry.task_id}/${entry.trial + 1}`,
      ]);
      const messages = trajectory.events.filter((event) => event.kind === 'message');
      assert.equal(messages.length, entry.traj.length, `messages of task ${entry.task_id}, trial ${entry.trial}`);
      const text = JSON.stringify(messages);
      for (const message of entry.traj) {
        if (typeof message.content === 'string' && message.content !== '')
          assert.ok(
            text.includes(JSON.stringify(message.content).slice(1, -1)),
            `lost: ${message.content.slice(0, 80)}`,
          );
      }
      const requested = entry.traj.flatMap((message) => (message.tool_calls ?? []).map((call) => call.function.name));
      assert.deepEqual(
        trajectory.events.filter((event) => event.kind === 'tool.start').map((event) => event.data['name']),
        requested,
      );
    }
  });

  it('prints readable text', async () => {
    const { stdout, code } = await bench.run(['show', `${imported.batch}/0/1`]);
    assert.equal(code, 0);
    assert.match(stdout, /step 1\b/i);
    assert.doesNotMatch(stdout, /\[object Object\]|undefined/);
  });
});
