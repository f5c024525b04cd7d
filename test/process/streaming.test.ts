/** The record of a batch is the same whether its replies were streamed or not. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { Bench } from '../support/cli.ts';
import { type DemoServer, startDemoServer } from '../support/demoServer.ts';
import { ofKind, Workspace } from '../support/testWorkspace.ts';

let demo: DemoServer;
let workspace: Workspace;
before(async () => {
  demo = await startDemoServer();
  workspace = new Workspace(new Bench());
});
after(async () => {
  await workspace.close();
  await demo.close();
});

/** Members that tell batches, workers, and moments apart. */
const OWN = new Set(['at', 'batch', 'worker', 'config', 'ms', 'first_ms', 'queue_ms', 'held_ms']);

function record(events: readonly TraceEvent[]): string {
  return JSON.stringify(events, (key, value: unknown) => (OWN.has(key) ? undefined : value));
}

const TASKS = [
  { id: 'calls', question: 'call calculate {"expression":"1 + 1"} times 3\nanswer {{last}}', answer: '2' },
  { id: 'spaces', question: 'call calculate {"expression": "2 + 2"}\nanswer {{last}}', answer: '4' },
  { id: 'fails', question: 'call nothing {"a":1}\nanswer none', answer: 'some' },
];

/** The events of each attempt, by task and attempt, in a batch whose replies are streamed as `stream` says. */
async function eventsWith(stream: 'always' | 'auto' | 'never'): Promise<Map<string, TraceEvent[]>> {
  const file = workspace.batch(stream, {
    endpoint: demo.url,
    tasks: TASKS,
    agent: { tools: [{ builtin: ['calculator'] }] },
    model: { capture: { token_ids: true, logprobs: true }, stream },
    batch: { attempts: 3, seed: 5 },
  });
  const { batch } = await workspace.json<{ batch: string }>('run', file);
  const rows = await workspace.rows(batch);
  return new Map(
    await Promise.all(
      rows
        .toSorted((a, b) => a.task.localeCompare(b.task) || a.attempt - b.attempt)
        .map(async (row) => [`${row.task}/${row.attempt}`, await workspace.events(row.rollout)] as const),
    ),
  );
}

describe('model.stream', { timeout: 480_000 }, () => {
  it('changes nothing in the record but times', async () => {
    const streamed = await eventsWith('always');
    assert.equal(streamed.size, TASKS.length * 3);
    for (const stream of ['never', 'auto'] as const) {
      const whole = await eventsWith(stream);
      assert.deepEqual([...whole.keys()], [...streamed.keys()]);
      for (const [attempt, events] of whole)
        assert.equal(record(events), record(streamed.get(attempt) ?? []), `${attempt}, ${stream}`);
      const ends = [...whole.values()].flatMap((events) => ofKind(events, 'model.end'));
      assert.ok(ends.length > whole.size && ends.every(({ data }) => data.trainable));
    }
    const ends = [...streamed.values()].flatMap((events) => ofKind(events, 'model.end'));
    assert.ok(ends.every(({ data }) => data.first_ms !== undefined));
  });
});
