/** Batches on the embedded demo model whose tasks name the tools to call. */
import assert from 'node:assert/strict';
import { DEFAULT_SANDBOX, type Submission, type SubmittedSandbox } from '../../src/config/submission.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { TaskRecord } from '../../src/trace/task.ts';
import type { TestServer } from './rolloutServer.ts';
import { plainSubmission } from './rolloutServer.ts';

/** Without a sandbox, tests see the processes and files of programs as programs do. */
export const NO_SANDBOX: SubmittedSandbox = { ...DEFAULT_SANDBOX, mode: 'off' };

/** A batch on the demo model with the calculator and the terminal. Tasks name the tools to call. */
export function submission(changes: Partial<Submission> = {}, endpoint = 'demo:'): Submission {
  const plain = plainSubmission();
  return {
    ...plain,
    agent: {
      ...plain.agent,
      model: { ...plain.agent.model, endpoints: [endpoint] },
      tools: [
        { kind: 'builtin', name: 'calculator' },
        { kind: 'builtin', name: 'terminal' },
      ],
    },
    attempts: 2,
    ...changes,
  };
}

export function task(id: string, question: string, answer: string): TaskRecord {
  return { id, question, answer, meta: {} };
}

/** Adds n times, one step each. */
export function additionTask(id: string, steps: number): TaskRecord {
  return task(id, `call calculate {"expression": "40 + 2"} times ${steps}\nanswer 42`, '42');
}

export async function eventsOf(server: TestServer, rollout: string): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  for await (const page of server.api.allEvents(rollout)) events.push(...page);
  return events;
}

/** Asserts seqs without gaps, and exactly one end, as the last event. */
export function assertWhole(events: readonly TraceEvent[]): void {
  assert.deepEqual(
    events.map((event) => event.seq),
    events.map((_, index) => index + 1),
  );
  assert.deepEqual(
    events.filter((event) => event.kind === 'rollout.end').map((event) => event.seq),
    [events.length],
  );
}

/** Long enough for a slow machine: a worker that is gone must not stop the suite. */
const PATIENCE_MS = 120_000;

/** Waits for an event of a batch's only rollout. */
export async function until(
  server: TestServer,
  batch: string,
  reached: (events: readonly TraceEvent[]) => boolean,
): Promise<{ rollout: string; events: TraceEvent[] }> {
  for (const end = performance.now() + PATIENCE_MS; performance.now() < end; ) {
    const [row] = (await server.api.rollouts(batch)).rollouts;
    const events = row === undefined ? [] : await eventsOf(server, row.rollout);
    if (row !== undefined && reached(events)) return { rollout: row.rollout, events };
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`batch ${batch} did not come to the event within ${PATIENCE_MS / 1000} s`);
}
