/** Batches, tasks, and event streams for tests: minimal, yet well-formed. */
import { createHash } from 'node:crypto';
import { newId } from '../../src/common/ids.ts';
import type { Lease, NewBatch, NewSession, Store } from '../../src/store/store.ts';
import type { EventData, EventKind, TraceEvent } from '../../src/trace/schema.ts';
import { TRACE_VERSION } from '../../src/trace/schema.ts';
import type { TaskRecord } from '../../src/trace/task.ts';

export function shaOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

export function newBatch(over: Partial<NewBatch> = {}): NewBatch {
  return {
    id: newId('b'),
    name: 'nightly',
    submission: shaOf('submission'),
    attempts: 2,
    order: 'breadth',
    priority: 0,
    retries: 2,
    debug: false,
    imported: false,
    blobs: [],
    ...over,
  };
}

export function task(id: string, over: Partial<TaskRecord> = {}): TaskRecord {
  return { id, question: `What about ${id}?`, meta: {}, ...over };
}

export function tasks(count: number): TaskRecord[] {
  return Array.from({ length: count }, (_, index) => task(`t${index}`));
}

export function newSession(batch: string, over: Partial<NewSession> = {}): NewSession {
  return { session: newId('s'), batch, worker: 'worker-1', slots: 8, server: 'server-1', ...over };
}

/** An event; `data` must fit its kind. */
export function event<K extends EventKind>(
  seq: number,
  kind: K,
  data: EventData[K],
  over: { at?: number; span?: number; parent?: number; agent?: string } = {},
): TraceEvent {
  // the signature ties data to kind
  return { seq, v: TRACE_VERSION, at: 1_795_000_000_000 + seq, kind, ...over, data } as TraceEvent;
}

/** A log line of about `bytes` bytes as JSON. */
export function logLine(seq: number, bytes = 100): TraceEvent {
  return event(seq, 'log', { stream: 'out', text: 'x'.repeat(Math.max(0, bytes - 86)) });
}

export function logLines(from: number, count: number, bytes = 100): TraceEvent[] {
  return Array.from({ length: count }, (_, index) => logLine(from + index, bytes));
}

export interface Ending {
  readonly status?: EventData['rollout.end']['status'];
  readonly passed?: boolean | null;
  readonly reward?: number | null;
  readonly touched?: boolean;
  readonly fingerprint?: string;
  /** Of the agent, and of side models. */
  readonly cost?: number;
  readonly sideCost?: number;
  /** Model steps before the end. */
  readonly steps?: number;
}

/** What the first holder of a rollout writes until its end: start, lease, steps of two events, end. */
export function wholeRollout(
  from: number,
  lease: Pick<Lease, 'epoch' | 'attempt' | 'try'> & { task: { id: string } },
  batch: string,
  ending: Ending = {},
): TraceEvent[] {
  const events: TraceEvent[] = [];
  const add = <K extends EventKind>(kind: K, data: EventData[K], over?: { span?: number }): void => {
    events.push(event(from + events.length, kind, data, over));
  };
  add('rollout.start', { batch, task: lease.task.id, attempt: lease.attempt, try: lease.try });
  add('rollout.lease', { epoch: lease.epoch, worker: 'worker-1', how: 'fresh' });
  const steps = ending.steps ?? 1;
  for (let step = 1; step <= steps; step++) {
    add('model.start', { step, model: 'm', context: [[1, step]], sampling: {} });
    add(
      'model.end',
      {
        status: 'ok',
        m: step + 1,
        usage: { input_tokens: 10, output_tokens: 5 },
        ms: 1,
        trainable: true,
        source: 'live',
      },
      { span: from + events.length - 1 },
    );
  }
  add('rollout.end', endOf(ending, steps));
  return events;
}

export function endOf(ending: Ending, steps = 0): EventData['rollout.end'] {
  const passed = ending.passed === undefined ? true : ending.passed;
  return {
    status: ending.status ?? 'done',
    passed,
    reward: ending.reward === undefined ? (passed === true ? 1 : 0) : ending.reward,
    answer: 'forty-two',
    touched: ending.touched ?? false,
    ...(ending.status === 'infrastructure'
      ? { error: { class: 'infrastructure' as const, message: 'the pod is gone' } }
      : {}),
    totals: {
      steps,
      tool_calls: 0,
      input_tokens: 10 * steps,
      output_tokens: 5 * steps,
      cached_tokens: 0,
      ms: 10,
      held_ms: 0,
      ...(ending.cost === undefined ? {} : { cost: ending.cost }),
      ...(ending.sideCost === undefined
        ? {}
        : { side: { calls: 1, input_tokens: 0, output_tokens: 0, cached_tokens: 0, cost: ending.sideCost } }),
    },
    ...(ending.fingerprint === undefined ? {} : { fingerprint: ending.fingerprint }),
  };
}

/** A sealed batch with tasks in `store`, and a session for it. */
export async function openBatch(
  store: Store,
  count: number,
  over: Partial<NewBatch> = {},
): Promise<{ batch: string; session: string }> {
  const spec = newBatch(over);
  await store.createBatch(spec);
  await store.addTasks(spec.id, 0, tasks(count));
  await store.seal(spec.id);
  const session = newSession(spec.id);
  await store.openSession(session);
  return { batch: spec.id, session: session.session };
}

/** Appends a whole rollout for a lease. Throws when the store refuses it. */
export async function finish(store: Store, batch: string, lease: Lease, ending: Ending = {}): Promise<void> {
  const events = wholeRollout(lease.last + 1, lease, batch, ending);
  const result = await store.append({ rollout: lease.rollout, epoch: lease.epoch, from: lease.last + 1, events });
  if (!result.ok) throw new Error(`${result.code}: ${result.message}`);
}

/** All events of a stream, without its lineage. */
export async function eventsOf(store: Store, stream: string): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  for (let after = 0; ; ) {
    const page = await store.read(stream, after, 256 * 1024);
    const last = page.at(-1);
    if (last === undefined) return events;
    events.push(...page.map(({ body }) => JSON.parse(body) as TraceEvent)); // the events as they were appended
    after = last.seq;
  }
}

/** Adds a person's verdict on an ended rollout, as the command `label` does. */
export async function addVerdict(
  store: Store,
  batch: string,
  verdict: EventData['score'] & { readonly rollout: string },
): Promise<number> {
  const id = newId('c');
  await store.putCommand({ id, batch, verb: 'label', args: {}, by: 'test' });
  return Number(await store.finishWith(id, { kind: 'verdict', data: verdict }, (seq) => seq));
}
