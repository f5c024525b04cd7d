/** Sample batches for stories and tests: the same options give the same batch. */
import type { Json } from '../../../src/common/json.ts';
import type { BatchRow, ServerInfo } from '../../../src/protocol/client.ts';
import { outcomeOf } from '../../../src/trace/outcome.ts';
import type { ErrorClass } from '../../../src/trace/schema.ts';
import { BENCH_NAMES } from '../../../src/trace/statistics/agentWorldBench.ts';
import { type Cause, EMPTY_PROGRESS, type Progress, type RolloutRow } from '../../../src/trace/summary.ts';
import type { TaskRecord } from '../../../src/trace/task.ts';

export interface BatchOptions {
  readonly name?: string;
  readonly tasks?: number;
  readonly attempts?: number;
  readonly state?: BatchRow['state'];
  /** Share of the attempts that have started; the rest are queued. */
  readonly started?: number;
  /** Returns the probability to pass, for a task from 0 (first) to 1 (last). */
  readonly passes?: (task: number) => number;
  /** Probability of an infrastructure failure. */
  readonly failureRate?: number;
  /** Recordings have no timings, token usage, or worker. */
  readonly imported?: boolean;
  readonly longNames?: boolean;
  readonly levels?: boolean;
  readonly parent?: BatchRow['parent'];
  readonly reason?: string;
  /** Whether each attempt has its own pod. */
  readonly pods?: boolean;
  /** Whether it is paused and has released its pods. */
  readonly released?: boolean;
  /** The batch stops after this many tokens. */
  readonly tokenLimit?: number;
  /** Whether rules inject faults. */
  readonly faults?: boolean;
  /** Whether its world is a published one, which tells outcomes apart. */
  readonly outcomes?: boolean;
  /** Whether a model plays its world, whose calls say how well. */
  readonly rates?: boolean;
  /** Whether it is AgentWorldBench. */
  readonly bench?: boolean;
  /** Whether the batch has a mix. */
  readonly mix?: boolean;
  /** Whether its world has a shadow. */
  readonly predictions?: boolean;
  /** Whether a judge and a person judged attempts later. */
  readonly verdicts?: boolean;
  /** Multiplies the numbers of steps and tokens. */
  readonly scale?: number;
}

export interface SampleBatch {
  readonly batch: BatchRow;
  readonly rows: RolloutRow[];
  readonly tasks: TaskRecord[];
  readonly server: ServerInfo;
  /** Base64 by sha256. */
  readonly blobs: Readonly<Record<string, string>>;
}

const TOPICS = ['renew', 'hold', 'fine', 'search', 'move'];
const CASES = [
  'missing-copy',
  'with-expired-card',
  'for-two-members',
  'mixed-request',
  'and-explain-limit',
  'large-print',
  'overdue',
  'wrong-branch',
  'school-account',
  'twice-then-stop',
];
const ANSWERS: readonly Json[] = [
  'L-3001 is due May 22.',
  'Returned. The fine is 1.20.',
  4.8,
  ['M-204', 'M-311'],
  'No. It is on hold for M-140, who comes for it on Friday and then keeps it for two weeks.',
];
const ERRORS: readonly { readonly error?: ErrorClass; readonly message?: string; readonly cause: Cause }[] = [
  {
    error: 'tool_error',
    message: 'loan 17 is due 2026-05-08, expected 2026-05-15 or later',
    cause: { kind: 'check', text: 'loans: row not renewed' },
  },
  { cause: { kind: 'answer', text: 'answer wrong' } },
  { cause: { kind: 'answer', text: 'answer wrong' } },
  {
    error: 'invalid_arguments',
    message: 'days: must be a whole number',
    cause: { kind: 'call', text: 'renew_loan: invalid arguments', tool: 'renew_loan', class: 'invalid_arguments' },
  },
  {
    error: 'limit',
    message: 'The limit of 30 steps is reached.',
    cause: { kind: 'limit', text: 'step limit', class: 'limit' },
  },
  {
    error: 'timeout',
    message: 'pay_fine gave no answer in 30 s.',
    cause: { kind: 'call', text: 'pay_fine: timeout', tool: 'pay_fine', class: 'timeout' },
  },
];
const HOUR = 3_600_000;
const RULES = ['flaky-renewals', 'short-pages', 'slow'];

export const BATCH = 'b1';
const SUBMISSION = '0'.repeat(64);

export function sampleBatch(options: BatchOptions = {}): SampleBatch {
  const {
    name = 'nightly',
    tasks: count = 100,
    attempts = 32,
    state = 'running',
    imported = false,
    released = false,
    parent,
    reason,
  } = options;
  const random = randomNumbers(count * 1000 + attempts);
  const now = Date.now();
  const tasks = Array.from({ length: count }, (_, i) => taskOf(i, options));
  const rows = tasks.flatMap((task, index) =>
    Array.from({ length: attempts }, (_, at) => rowOf({ task, index, attempt: at + 1, options, random, now })),
  );
  const ended = rows.filter((row) => row.state === 'ended').map(outcomeOf);
  const of = (outcome: string): number => ended.filter((each) => each === outcome).length;
  const batch: BatchRow = {
    batch: BATCH,
    name,
    created_at: now - HOUR,
    state,
    submission: SUBMISSION,
    tasks: count,
    attempts,
    counts: {
      passed: of('passed'),
      failed: of('failed') + of('truncated'),
      unscored: of('unscored'),
      cancelled: of('cancelled'),
      infrastructure: of('infrastructure'),
      running: rows.filter((row) => row.state === 'running').length,
      held: rows.filter((row) => row.state === 'held').length,
      queued: rows.filter((row) => row.state === 'queued').length,
    },
    truncated: of('truncated'),
    steps: 0,
    input_tokens: 0,
    output_tokens: 0,
    imported,
    rev: rows.length,
    last: 0,
    ...(state === 'ended' ? { ended_at: now - 60_000 } : {}),
    ...(released ? { released } : {}),
    ...(parent === undefined ? {} : { parent }),
    ...(reason === undefined ? {} : { reason }),
  };
  return {
    batch,
    rows,
    tasks,
    server: serverOf(batch, now),
    blobs: imported ? {} : { [SUBMISSION]: btoa(JSON.stringify(submissionOf(options))) },
  };
}

/** Returns the part of a submission that a page reads. */
function submissionOf({
  name = 'nightly',
  tokenLimit,
  pods = false,
  faults = false,
  bench = false,
}: BatchOptions): Json {
  return {
    name,
    agent: { name: 'desk', file: 'agents/desk.agent.yaml', model: { name: 'qwen3-8b' } },
    git: { commit: '3f2a9c01', dirty: false },
    ...(pods ? { pods: { isolation: 'pod' } } : {}),
    stop: tokenLimit === undefined ? {} : { tokens: tokenLimit },
    ...(bench ? { scorer: { kind: 'judge', subject: 'observation', model: { name: 'gpt-5.2-2025-12-11' } } } : {}),
    ...(faults ? { world: { perturb: RULES.map((name) => ({ name })) } } : {}),
  };
}

function taskOf(i: number, { longNames = false, levels = true, bench = false }: BatchOptions): TaskRecord {
  const number = i < CASES.length ? '' : `-${i}`;
  const long = longNames ? '-asked-by-a-member-who-wrote-three-letters-and-then-came-to-the-desk-with-all-of-them' : '';
  const id = `${TOPICS[Math.floor(i / 20) % TOPICS.length] ?? ''}-${CASES[i % CASES.length] ?? ''}${long}${number}`;
  return {
    id,
    question:
      `Member ${1000 + i} asks to ${id.replaceAll('-', ' ')}. Do what the rules of the library allow, and say what ` +
      'you did.',
    answer: ANSWERS[i % ANSWERS.length] ?? '',
    ...(levels ? { level: bench ? (BENCH_NAMES[i % BENCH_NAMES.length] ?? 'mcp') : 1 + (i % 3) } : {}),
    meta: {},
  };
}

interface Cell {
  readonly task: TaskRecord;
  readonly index: number;
  readonly attempt: number;
  readonly options: BatchOptions;
  readonly random: () => number;
  readonly now: number;
}

function rowOf({ task, index, attempt, options, random, now }: Cell): RolloutRow {
  const {
    tasks = 100,
    attempts = 32,
    state: batchState = 'running',
    started: startedShare = batchState === 'ended' ? 1 : 0.72,
    imported = false,
    scale = 1,
  } = options;
  const place = (attempt + random()) / (attempts + 1);
  const cut = batchState === 'ended' && place > startedShare - 0.04 && startedShare < 1;
  const state: RolloutRow['state'] = cut
    ? 'ended'
    : place > startedShare
      ? 'queued'
      : place > startedShare - 0.04 && startedShare < 1
        ? random() < 0.05
          ? 'held'
          : 'running'
        : 'ended';
  const end: ReturnType<typeof endOf> = cut
    ? { status: 'cancelled', passed: null, reward: null }
    : endOf(options, tasks < 2 ? 0.5 : index / (tasks - 1), random);
  const started = Math.round(
    now - HOUR * 0.9 * (1 - Math.min(1, place / Math.max(0.1, startedShare))) - 45_000 - random() * 30_000,
  );
  const steps = cut ? 0 : (3 + Math.floor(random() * 12)) * scale;
  const times = imported
    ? {}
    : {
        started_at: started,
        ...(state === 'ended' ? { ended_at: started + 40_000, ms: 20_000 + Math.round(random() * 30_000) } : {}),
      };
  const tokens = imported
    ? {}
    : { input_tokens: 900 * steps, output_tokens: 110 * steps, cached_tokens: 700 * steps, cost: 0.0004 * steps };
  const progress: Progress =
    state === 'queued'
      ? EMPTY_PROGRESS
      : {
          ...EMPTY_PROGRESS,
          steps,
          step: steps,
          tool_calls: Math.max(0, steps - 1),
          tools: ['find_member', 'loans_of', 'renew_loan'],
          ...times,
          ...tokens,
          ...(state === 'ended' ? end : {}),
          ...(options.faults === true ? faultsOf(state === 'ended', end.passed === true, attempt) : {}),
          ...(options.outcomes === true && state === 'ended' && end.status === 'done'
            ? { world_outcome: end.passed === true ? 'complete' : FAILED[(index + attempt) % FAILED.length] }
            : {}),
          ...(options.mix === true
            ? { part: attempt % 4 === 0 ? 'short-prompt' : attempt % 4 === 1 ? 'cold' : '1' }
            : {}),
          ...(options.rates === true && state === 'ended' ? { rates: RATES } : {}),
          ...(options.bench === true && state === 'ended' && end.status === 'done'
            ? { reward: 0.3 + 0.1 * ((index + attempt) % 6) }
            : {}),
          ...(options.predictions === true && state === 'ended' ? { predictions: predictionsOf(index + attempt) } : {}),
          ...(options.verdicts === true && state === 'ended' && end.status === 'done'
            ? { verdicts: verdictsOf(end.passed === true, index + attempt, now) }
            : {}),
          ...(state === 'held'
            ? { hold: { why: 'breakpoint', side: 'before', seq: 12, breakpoint: 'late renewals' } }
            : {}),
        };
  return {
    rollout: `r${index}x${attempt}`,
    batch: BATCH,
    task: task.id,
    task_index: index,
    attempt,
    try: 1,
    state,
    epoch: 1,
    last: 9,
    settles: state === 'ended' && end.status !== 'infrastructure' && end.status !== 'cancelled',
    ...(imported || state === 'queued' ? {} : { worker: `pod-${String(1 + (attempt % 16)).padStart(2, '0')}` }),
    rev: index * attempts + attempt,
    progress,
  };
}

/** The judge contradicts every fifth reward, and the person, who judged every third attempt, every sixth. */
function verdictsOf(passed: boolean, place: number, now: number): NonNullable<Progress['verdicts']> {
  const verdict = (is: boolean, by?: string): NonNullable<Progress['verdicts']>[string] => ({
    value: is ? 1 : 0,
    passed: is,
    at: now,
    ...(by === undefined ? { version: '4e1f09c2aa', run: `r2s${place}` } : { by }),
  });
  return {
    'careful judge': verdict(passed !== (place % 5 === 0)),
    ...(place % 3 === 0 ? { 'person:ada': verdict(passed !== (place % 6 === 0), 'ada') } : {}),
  };
}

/** Of each attempt. */
const RATES: NonNullable<Progress['rates']> = {
  controllability: { checked: 2, held: 1 },
  error_handling: { checked: 5, held: 4 },
  consistency: { checked: 4, held: 4 },
};

/** Renewals are predicted badly, and some predictions of a tool fail. */
function predictionsOf(place: number): NonNullable<Progress['predictions']> {
  const two = (keys: number, deterministic: number, failed = 0) => ({
    calls: 2 + failed,
    failed,
    right: keys + deterministic === 4 ? 2 : 1,
    value: (keys + deterministic) / 2,
    parts: {
      status: { calls: 2, sum: 2 },
      keys: { calls: 2, sum: keys },
      deterministic: { calls: 2, sum: deterministic },
    },
  });
  return {
    find_member: two(2, 2),
    loans_of: two(2, place % 9 === 0 ? 1.5 : 2, place % 7 === 0 ? 1 : 0),
    renew_loan: two(1.9, place % 3 === 0 ? 1 : 1.6),
  };
}

/** Outcomes of attempts that did not pass. */
const FAILED = ['partial', 'agent_error', 'format'] as const;

/** The last rule hits nothing. */
function faultsOf(ended: boolean, passed: boolean, attempt: number): Pick<Progress, 'faults'> {
  const injected = 1 + (attempt % 3);
  const recovered = ended ? Math.min(injected, attempt % 4) : 0;
  const rest = ended ? injected - recovered : 0;
  const counts = {
    injected,
    recovered,
    worked_around: passed ? rest : 0,
    repeated: passed ? 0 : Math.floor(rest / 2),
    gave_up: passed ? 0 : Math.ceil(rest / 2),
  };
  const [first = '', second = ''] = RULES;
  return { faults: attempt % 2 === 0 ? { [first]: counts } : { [first]: counts, [second]: counts } };
}

function endOf(
  { passes = (task) => 1 - task, failureRate = 0.02 }: BatchOptions,
  task: number,
  random: () => number,
): Partial<Progress> & Pick<Progress, 'status'> {
  if (random() < failureRate)
    return {
      status: 'infrastructure',
      error_class: 'infrastructure',
      error_message: 'The pod was removed while the tool ran (exit code 137).',
    };
  if (random() < passes(task)) return { status: 'done', passed: true, reward: 1 };
  const { error, message, cause } = ERRORS[Math.floor(random() * ERRORS.length)] ?? {};
  return {
    status: error === 'limit' ? 'truncated' : 'done',
    passed: false,
    reward: 0,
    ...(cause === undefined ? {} : { cause }),
    ...(error === undefined ? {} : { error_class: error }),
    ...(message === undefined ? {} : { error_message: message }),
  };
}

function serverOf({ counts, created_at: started }: BatchRow, now: number): ServerInfo {
  return {
    product: 'rollout-studio',
    protocol: 1,
    pid: 1,
    store: 'local',
    started_at: Math.min(started, now),
    queued: counts.queued,
    running: counts.running,
    held: counts.held,
    workers: [
      { session: 's1', worker: 'pod-01', slots: 64, running: Math.min(64, counts.running), held: 0, alive: true },
    ],
    endpoints: [0.87, 0.62, 0.71].map((cache, index) => ({
      endpoint: `http://10.0.0.${index + 1}:8000/v1`,
      service: 'http://models:8000/v1',
      replica: `vllm-${index + 1}`,
      permits: 64,
      running: Math.min(64, Math.floor(counts.running / 3)),
      waiting: index,
      kv_cache: cache,
      preemptions: 0,
      state: index === 1 ? 'busy' : 'ok',
    })),
  };
}

/** Returns a generator of pseudo-random numbers from 0 to 1. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state / 0x7fff_ffff;
  };
}
