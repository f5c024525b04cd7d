/** Small ports for tests of a rollout: a scripted model, tools and a world that count, an in-memory recorder. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '../../src/common/json.ts';
import type { Submission } from '../../src/config/submission.ts';
import type { RolloutJob, RolloutPorts } from '../../src/rollout/job.ts';
import type {
  ModelCallContext,
  ModelClient,
  ModelReply,
  ModelRequest,
  PendingBlob,
  Recorder,
  Scorer,
  ToolCallContext,
  ToolHost,
  ToolOutcome,
  ToolSpec,
  World,
  WorldSession,
} from '../../src/rollout/ports.ts';
import { Rollout } from '../../src/rollout/rollout.ts';
import { untrustedWork } from '../../src/tools/builtins/readerThread/untrustedWork.ts';
import { type Change, checkEvent, type Part, type TraceEvent } from '../../src/trace/schema.ts';

// ---- models ---------------------------------------------------------------------------------------------------

export interface ScriptedReply {
  text?: string;
  reasoning?: string;
  calls?: readonly { id?: string; name: string; arguments?: Json }[];
  tokens?: { prompt: number[]; completion: number[]; logprobs?: Float32Array };
  usage?: { input_tokens: number; output_tokens: number; cached_tokens?: number };
}

export function reply(said: ScriptedReply, turn = 0): ModelReply {
  const parts: Part[] = [];
  if (said.reasoning !== undefined) parts.push({ type: 'reasoning', content: said.reasoning });
  if (said.text !== undefined) parts.push({ type: 'text', content: said.text });
  for (const [index, call] of (said.calls ?? []).entries()) {
    parts.push({
      type: 'tool_call',
      id: call.id ?? `c${turn}_${index}`,
      name: call.name,
      arguments: call.arguments ?? {},
    });
  }
  return {
    parts,
    finishReason: said.calls === undefined ? 'stop' : 'tool_calls',
    usage: said.usage ?? { input_tokens: 10, output_tokens: 5 },
    ms: 1.5,
    retries: [],
    ...(said.tokens === undefined ? {} : { tokens: said.tokens }),
  };
}

type Answer =
  | ScriptedReply
  | Error
  | ((request: ModelRequest, context: ModelCallContext) => ScriptedReply | Promise<ScriptedReply>);

/** Answers by the number of its own messages in the context, so it depends only on the request. */
export class ScriptedModel implements ModelClient {
  readonly requests: ModelRequest[] = [];
  readonly #script: readonly Answer[];

  constructor(script: readonly Answer[]) {
    this.#script = script;
  }

  async complete(request: ModelRequest, context: ModelCallContext): Promise<ModelReply> {
    this.requests.push(request);
    const turn = request.messages.filter((message) => message.role === 'assistant').length;
    const answer = this.#script[turn] ?? { text: `nothing more to say after ${turn}` };
    if (answer instanceof Error) throw answer;
    return reply(typeof answer === 'function' ? await answer(request, context) : answer, turn);
  }
}

// ---- tools ----------------------------------------------------------------------------------------------------

export interface ToolScript {
  effect?: ToolSpec['effect'];
  sessionBound?: boolean;
  parameters?: JsonObject;
  timeoutSeconds?: number;
  asksPerson?: boolean;
  retry?: ToolSpec['retry'];
  run?(args: JsonObject, context: ToolCallContext): ToolOutcome | Json | Promise<ToolOutcome | Json>;
}

function isOutcome(value: unknown): value is ToolOutcome {
  return typeof value === 'object' && value !== null && 'response' in value;
}

/** Tools that count actual executions. */
export class ScriptedTools implements ToolHost {
  readonly specs: ToolSpec[];
  readonly calls: { name: string; arguments: JsonObject; seed: number; id: string }[] = [];
  closed = 0;
  readonly #tools: Record<string, ToolScript>;

  constructor(tools: Record<string, ToolScript>, from: ToolSpec['from']['kind'] = 'module') {
    this.#tools = tools;
    this.specs = Object.entries(tools).map(([name, tool]) => ({
      name,
      description: `does ${name}`,
      parameters: tool.parameters ?? { type: 'object' },
      effect: tool.effect ?? 'pure',
      sessionBound: tool.sessionBound ?? false,
      from: { kind: from, name: 'kit' },
      ...(tool.timeoutSeconds === undefined ? {} : { timeoutSeconds: tool.timeoutSeconds }),
      ...(tool.retry === undefined ? {} : { retry: tool.retry }),
      ...(tool.asksPerson === undefined ? {} : { asksPerson: tool.asksPerson }),
    }));
  }

  async call(
    call: { id: string; name: string; arguments: JsonObject },
    context: ToolCallContext,
  ): Promise<ToolOutcome> {
    this.calls.push({ name: call.name, arguments: call.arguments, seed: context.seed, id: call.id });
    const gave = await this.#tools[call.name]!.run!(call.arguments, context);
    return isOutcome(gave) ? gave : { response: gave };
  }

  close(): Promise<void> {
    this.closed++;
    return Promise.resolve();
  }
}

// ---- a world --------------------------------------------------------------------------------------------------

/** A world with one number: `add {n}` changes it, `peek` reads it, `burn` does something irreversible. */
export class NumberWorld implements World {
  readonly name = 'numbers';
  readonly kind = 'module';
  readonly snapshots: boolean;
  /** Calls, over all sessions. */
  readonly calls: string[] = [];
  readonly opened: { seed: number; from: string | undefined }[] = [];
  closed = 0;
  /** The state of the newest session. */
  value = 0;

  constructor(options: { snapshots?: boolean } = {}) {
    this.snapshots = options.snapshots ?? true;
  }

  open(input: { seed: number; from?: Uint8Array }): Promise<WorldSession> {
    const from = input.from === undefined ? undefined : Buffer.from(input.from).toString();
    this.opened.push({ seed: input.seed, from });
    let value = from === undefined ? 0 : Number(from);
    this.value = value;
    let busy = false;
    const spec = (name: string, effect: ToolSpec['effect']): ToolSpec => ({
      name,
      description: name,
      parameters: { type: 'object', properties: { n: { type: 'integer' } } },
      effect,
      sessionBound: false,
      from: { kind: 'world', name: 'numbers' },
    });
    return Promise.resolve({
      specs: [spec('add', 'restorable'), spec('peek', 'pure'), spec('burn', 'irreversible')],
      call: async (call) => {
        assert.equal(busy, false, 'calls of one session come one after the other');
        busy = true;
        await Promise.resolve();
        this.calls.push(call.arguments['n'] === undefined ? call.name : `${call.name} ${plain(call.arguments['n'])}`);
        const before = value;
        if (call.name !== 'peek') value += Number(call.arguments['n'] ?? 1);
        this.value = value;
        busy = false;
        const changes: Change[] =
          before === value ? [] : [{ table: 'numbers', key: 1, op: 'update', before, after: value }];
        return { response: { value }, changes };
      },
      verify: () => Promise.resolve({ value, passed: value > 0 }),
      ...(this.snapshots ? { snapshot: () => Promise.resolve(Buffer.from(String(value))) } : {}),
      close: () => {
        this.closed++;
        return Promise.resolve();
      },
    });
  }
}

// ---- recording ------------------------------------------------------------------------------------------------

/** Keeps events as text, as a store does. Checks every event. */
export class MemoryRecorder implements Recorder {
  readonly events: TraceEvent[] = [];
  /** Last seq of each append. */
  readonly boundaries: number[] = [];
  readonly blobs: Map<string, Uint8Array>;
  readonly deltas: string[] = [];
  /** Resolvers by the event they wait for. */
  readonly #waiting: { matches: (event: TraceEvent) => boolean; found: (event: TraceEvent) => void }[] = [];
  readonly #first: number;
  readonly reads: string[] = [];

  constructor(last = 0, blobs = new Map<string, Uint8Array>()) {
    this.#first = last + 1;
    this.blobs = blobs;
  }

  append(events: readonly TraceEvent[], blobs: readonly PendingBlob[]): void {
    for (const blob of blobs) this.blobs.set(blob.sha, blob.bytes);
    assert.notEqual(events.length, 0);
    for (const event of events) {
      assert.equal(event.seq, this.#first + this.events.length, 'seqs have no gaps');
      const stored = JSON.parse(JSON.stringify(event)) as TraceEvent;
      const check = checkEvent(stored);
      assert.ok(check.ok, check.ok ? '' : `${stored.kind}: ${check.path}: ${check.message}`);
      this.events.push(stored);
    }
    this.boundaries.push(events.at(-1)!.seq);
    for (const waiting of [...this.#waiting]) {
      const event = this.events.find((candidate) => waiting.matches(candidate));
      if (event === undefined) continue;
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.found(event);
    }
  }

  waitForRoom(): Promise<void> {
    return Promise.resolve();
  }

  flushed(): Promise<void> {
    return Promise.resolve();
  }

  delta(_span: number, text: string): void {
    this.deltas.push(text);
  }

  readBlob(sha: string): Promise<Uint8Array> {
    this.reads.push(sha);
    const bytes = this.blobs.get(sha);
    return bytes === undefined ? Promise.reject(new Error(`no blob ${sha}`)) : Promise.resolve(bytes);
  }

  /** The first event that matches, recorded already or later. */
  when(matches: (event: TraceEvent) => boolean): Promise<TraceEvent> {
    const found = this.events.find(matches);
    if (found !== undefined) return Promise.resolve(found);
    return new Promise((resolve) => this.#waiting.push({ matches, found: resolve }));
  }

  /** Texts of the `log` events. */
  get logs(): string[] {
    return this.of('log').map((event) => plain(event.data.text));
  }

  of<K extends TraceEvent['kind']>(kind: K): Extract<TraceEvent, { kind: K }>[] {
    return this.events.filter((event): event is Extract<TraceEvent, { kind: K }> => event.kind === kind);
  }
}

// ---- jobs -----------------------------------------------------------------------------------------------------

const MODEL: Submission['agent']['model'] = {
  endpoints: ['http://model.test/v1'],
  name: 'scripted',
  headers: {},
  sampling: { temperature: 1 },
  capture: { token_ids: true, logprobs: true },
  endpoint_wait_seconds: 1,
  price: { input: 1, output: 2 },
};

export function submission(agent: Partial<Submission['agent']> = {}, more: Partial<Submission> = {}): Submission {
  return {
    version: 1,
    name: 'batch',
    file: 'batches/b.batch.yaml',
    scorer: { kind: 'exact' },
    attempts: 2,
    seed: 7,
    stop: {},
    retry: { infrastructure: 3 },
    order: 'breadth',
    priority: 0,
    concurrency: 'auto',
    hold_limit_seconds: 60,
    env: { names: [], shown: [] },
    product: '0.1.0',
    agent: {
      name: 'desk',
      file: 'agents/desk.agent.yaml',
      model: MODEL,
      prompt: { text: 'You work at a desk. Task {{task.id}}.' },
      tools: [],
      answer: { kind: 'last_message' },
      context: { reasoning: 'keep', tool_result_tokens: 1000, overflow: 'fail' },
      limits: { steps: 20, seconds: 60, tool_seconds: 10, tokens: 100_000 },
      ...agent,
    },
    ...more,
  };
}

export const USER: NonNullable<NonNullable<Submission['world']>['user']> = {
  model: { ...MODEL, name: 'user-model' },
  prompt: 'You want {{task.meta.wish}}.',
};

export function worldWithUser(): NonNullable<Submission['world']> {
  return {
    name: 'numbers',
    file: 'worlds/n.world.yaml',
    kind: 'module',
    module: { file: 'n.ts', bundle: '0'.repeat(64), map: '0'.repeat(64) },
    perturb: [],
    user: USER,
  };
}

/** 1 for an answer that contains "42", and for a world above zero. */
export const SCORER: Scorer = {
  name: 'kit',
  score: async ({ answer, world, signal, ask }) => {
    if (world?.verify !== undefined) return world.verify({ answer, expected: undefined }, { signal, ask });
    const passed = typeof answer === 'string' && answer.includes('42');
    return { value: passed ? 1 : 0, passed };
  },
};

export interface KitOptions {
  job?: Partial<RolloutJob> | undefined;
  model?: ModelClient;
  user?: ModelClient;
  tools?: ToolHost;
  world?: World;
  scorer?: Scorer;
  ports?: Partial<RolloutPorts>;
  /** The prefix: the record and the blobs of another kit. */
  after?: { events: readonly TraceEvent[]; blobs: Map<string, Uint8Array> };
}

export interface Kit {
  readonly rollout: Rollout;
  readonly recorder: MemoryRecorder;
  readonly job: RolloutJob;
  readonly slot: { released: number; acquired: number };
  /** The whole stream: the prefix and the new events. */
  stream(): TraceEvent[];
  run(): Promise<TraceEvent[]>;
  command(verb: string, args?: Json, command?: string): ReturnType<Rollout['command']>;
}

const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

export function kit(options: KitOptions): Kit {
  const before = options.after?.events ?? [];
  const recorder = new MemoryRecorder(before.at(-1)?.seq ?? 0, options.after?.blobs);
  const slot = { released: 0, acquired: 0 };
  const job: RolloutJob = {
    rollout: 'r1',
    batch: 'b1',
    task: { id: 't1', question: 'What is six times seven?', meta: { wish: 'the product' } },
    attempt: 1,
    try: 1,
    epoch: 1,
    worker: 'w1',
    how: 'fresh',
    submission: submission(),
    edits: [],
    prefix: before,
    last: before.at(-1)?.seq ?? 0,
    held: false,
    breakpoints: [],
    paused: false,
    ...options.job,
  };
  const rollout = new Rollout(job, {
    model: options.model ?? new ScriptedModel([{ text: '42' }]),
    ...(options.user === undefined ? {} : { user: options.user }),
    openTools: () => Promise.resolve(options.tools ?? new ScriptedTools({})),
    ...(options.world === undefined ? {} : { world: options.world }),
    scorer: options.scorer ?? SCORER,
    recorder,
    clock: { now: () => Date.now() },
    slot: {
      release: () => {
        slot.released++;
      },
      acquire: () => {
        slot.acquired++;
        return Promise.resolve();
      },
    },
    claim: () => Promise.resolve(true),
    holdPermits: { acquire: () => true, release: () => undefined },
    untrusted: untrustedWork,
    sha256,
    ...options.ports,
  });
  const stream = (): TraceEvent[] => [...before, ...recorder.events];
  let commands = 0;
  return {
    rollout,
    recorder,
    job,
    slot,
    stream,
    run: async () => {
      await rollout.run();
      return stream();
    },
    command: (verb, args = {}, command = `k${++commands}`) => rollout.command({ command, verb, args, by: 'ann' }),
  };
}

export function end(events: readonly TraceEvent[]): Extract<TraceEvent, { kind: 'rollout.end' }>['data'] {
  const last = events.at(-1);
  if (last?.kind !== 'rollout.end') assert.fail(`the stream ends with ${last?.kind ?? 'nothing'}`);
  return last.data;
}

/** A JSON value as text; strings are unchanged. */
export function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function kinds(events: readonly TraceEvent[]): string[] {
  return events.map((event) => event.kind);
}

const ENDS: Record<string, string> = {
  'model.start': 'model.end',
  'tool.start': 'tool.end',
  'world.open': 'world.close',
};

/**
 * What happened in a stream, regardless of who held it and when: without leases, times, spans that were closed because
 * a worker was lost, and the opening of the world. Every end carries the request of its start.
 */
export function normalizedEvents(events: readonly TraceEvent[]): unknown[] {
  const starts = new Map<number, TraceEvent>();
  const out: unknown[] = [];
  for (const event of events) {
    if (event.kind in ENDS) {
      starts.set(event.seq, event);
      continue;
    }
    if (event.kind === 'rollout.lease' || event.kind === 'rollout.handover' || event.kind === 'world.close') continue;
    const data = structuredClone(event.data) as Record<string, unknown>;
    if ((event.kind === 'model.end' || event.kind === 'tool.end') && event.data.error?.class === 'infrastructure')
      continue;
    Object.assign(data, { ms: 0, held_ms: 0, queue_ms: 0 });
    if (event.kind === 'rollout.end') data['totals'] = { ...event.data.totals, ms: 0, held_ms: 0 };
    const start = event.span === undefined ? undefined : starts.get(event.span);
    if ('tokens' in data) data['tokens'] = 'tokens';
    out.push({
      kind: event.kind,
      agent: event.agent,
      data,
      request: start?.kind === 'world.open' ? undefined : start?.data,
    });
  }
  return out;
}

/** Complete recorded effects in a prefix. */
export function completed(events: readonly TraceEvent[], kind: 'model.end' | 'tool.end'): number {
  return events.filter(
    (event) => event.kind === kind && !('error' in event.data && event.data.error?.class === 'infrastructure'),
  ).length;
}
