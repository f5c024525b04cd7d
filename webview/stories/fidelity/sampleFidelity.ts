/** A batch that compares a simulated library with recordings, for stories and tests. */
import type { Json } from '../../../src/common/json.ts';
import type { BatchRow } from '../../../src/protocol/client.ts';
import { predictionDifference, SeenValues } from '../../../src/trace/prediction/difference.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../../src/trace/summary.ts';
import type { TaskRecord } from '../../../src/trace/task.ts';
import { Stream } from '../../../test/support/stream.ts';
import type { StoryData } from '../../host/story.ts';
import { sampleBatch } from '../batch/sampleBatch.ts';

/** Base64 of UTF-8. */
function base64Of(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)));
}

export interface FidelityOptions {
  readonly rollouts?: number;
  /** Calls of each rollout. */
  readonly calls?: number;
  /** Whether each prediction is right. */
  readonly faithful?: boolean;
  readonly judged?: boolean;
  readonly how?: 'forced' | 'free';
  /** The last rollouts have not ended, and have no calls. */
  readonly running?: number;
  /** The recorded tasks are about several things. */
  readonly domains?: readonly string[];
  /** A batch in the other mode exists. */
  readonly other?: boolean;
}

const RECORDING = '7'.repeat(64);
const MARKS = { format: 5, factuality: 3, consistency: 4, realism: 4, quality: 3 };
const TITLES = ['Emma', 'Middlemarch', 'Dune', 'Silas Marner'];

type Fault = (real: Json) => Json | undefined;
/** Planted errors of each kind. */
const FAULTS: readonly Fault[] = [
  (real) => real,
  (real) => real,
  () => ({ error: 'The card of this member has expired.' }),
  (real) => (typeof real === 'object' && !Array.isArray(real) && real !== null ? { title: real['title'] ?? null } : []),
  (real) => (typeof real === 'object' && !Array.isArray(real) && real !== null ? { ...real, member: 'M-999' } : [1]),
  (real) => (typeof real === 'object' && !Array.isArray(real) && real !== null ? { ...real, due: 14 } : 'soon'),
  () => undefined,
];

function responseOf(tool: string, at: number): Json {
  const title = TITLES[at % TITLES.length] ?? '';
  if (tool === 'find_member') return { member: 'M-204', name: 'Ada Byron', loans: at };
  if (tool === 'list_loans') return { member: 'M-204', title, due: `2026-05-${10 + (at % 18)}`, renewals: at % 3 };
  return { title, due: `2026-06-${10 + (at % 18)}`, fine: at / 4, at: `2026-03-16T09:0${at % 10}:00Z` };
}

function eventsOf(rollout: number, { calls = 10, faithful = false, judged = false, how = 'forced' }: FidelityOptions) {
  const s = new Stream();
  s.start({ attempt: 1 });
  s.message('user', 'Renew everything overdue for Ada.');
  const tools = ['find_member', 'list_loans', 'renew_loan'];
  const seen = new SeenValues();
  for (let at = 0; at < calls; at++) {
    const tool = tools[at % tools.length] ?? '';
    const [id, args] = [`c${at}`, { member: 'M-204', title: TITLES[at % TITLES.length] ?? '' }];
    s.model('', [{ id, name: tool, arguments: args }]);
    const span = s.toolStart(id, tool, args);
    const real = responseOf(tool, at);
    s.side('shadow', 'You are the library.', 'An answer.', { parent: span });
    s.toolEnd(span, id, real, { source: 'recorded', recorded: { rollout: `rdesk${rollout}`, seq: 4 + at * 6 } });
    const drifts = how === 'free' && at > calls / 2;
    const fault = faithful ? 0 : (rollout * 3 + at * 2 + (drifts ? 3 : 0)) % FAULTS.length;
    const response = FAULTS[fault]?.(real);
    const prediction = { world: 'library-sim', how, ...(response === undefined ? {} : { response }) };
    if (response === undefined) {
      const error = { class: 'world_error' as const, message: 'The model replied 3 times without an observation.' };
      s.add('score', { scorer: 'prediction', value: null, passed: null, prediction, error }, { span });
      continue;
    }
    const { parts, accuracy } = predictionDifference({ response }, { response: real }, args, seen);
    seen.addResponse(real);
    const marks = judged ? MARKS : {};
    s.add(
      'score',
      {
        scorer: 'prediction',
        value: judged ? 0.7 : accuracy,
        passed: null,
        parts: { ...parts, ...marks },
        prediction,
        ...(judged ? { explanation: 'The format is right, but the card of the member had not expired before.' } : {}),
      },
      { span },
    );
  }
  s.model('Everything is renewed.');
  s.end({ passed: faithful });
  return s.events;
}

/** Returns a batch, as a server would have it. */
export function sampleFidelity(options: FidelityOptions = {}): StoryData {
  const own = fidelityBatch('b1', 'a'.repeat(64), options);
  if (options.other !== true) return own;
  const other = fidelityBatch('b2', 'b'.repeat(64), { ...options, how: options.how === 'free' ? 'forced' : 'free' });
  return {
    ...own,
    others: [{ batch: other.batch, rows: other.rows, tasks: other.tasks }],
    events: { ...own.events, ...other.events },
    blobs: { ...own.blobs, ...other.blobs },
  };
}

function fidelityBatch(id: string, sha: string, options: FidelityOptions): StoryData {
  const { rollouts = 8, running = 0, judged = false, how = 'forced', domains } = options;
  const sample = sampleBatch({ tasks: 1, attempts: 1, state: running > 0 ? 'running' : 'ended' });
  const tasks = Array.from({ length: rollouts }, (_, at): TaskRecord => {
    return { id: `renew-${at + 1}/1`, question: 'Renew everything overdue for Ada.', meta: {} };
  });
  const events: Record<string, readonly TraceEvent[]> = {};
  const rows = tasks.map((task, at): RolloutRow => {
    const rollout = `r${id}x${at}`;
    const isOpen = at >= rollouts - running;
    const stream = isOpen ? [] : eventsOf(at, options);
    events[rollout] = stream;
    const first = sample.rows[0];
    if (first === undefined) throw new TypeError('a batch has a row');
    return {
      ...first,
      ...{ rollout, batch: id, task: task.id, task_index: at, attempt: 1, last: stream.length, rev: at + 1 },
      state: isOpen ? 'queued' : 'ended',
      settles: !isOpen,
      progress: isOpen
        ? EMPTY_PROGRESS
        : {
            ...EMPTY_PROGRESS,
            status: 'done',
            passed: options.faithful === true,
            reward: 0.6,
            side: { calls: 10, input_tokens: 4_800, output_tokens: 620, cached_tokens: 3_000, cost: 0.0021 },
          },
    };
  });
  const batch: BatchRow = {
    ...sample.batch,
    ...{ batch: id, name: 'library-sim · desk', submission: sha, tasks: rollouts, attempts: 1, rev: rollouts },
  };
  const shadow = {
    kind: 'simulated',
    name: 'library-sim',
    file: 'worlds/library-sim.world.yaml',
    domain: 'mcp',
    model: { name: 'Qwen-AgentWorld-35B-A3B' },
  };
  const recordings = Object.fromEntries(
    tasks.map(({ id: task }, at) => [
      task,
      {
        ...{ recording: RECORDING, rollout: `rdesk${at}`, batch: 'b0', task: `renew-${at + 1}`, attempt: 1 },
        ...(domains === undefined ? {} : { domain: domains[at % domains.length] }),
      },
    ]),
  );
  const submission = {
    name: batch.name,
    agent: { name: 'desk', file: 'desk.agent.yaml', model: { name: 'recorded' } },
    world: {
      kind: 'replay',
      recordings,
      worlds: { shadow },
      shadow: { how, ...(judged ? { judge: { name: 'judge' } } : {}) },
    },
  };
  return {
    batch,
    rows,
    tasks,
    events,
    place: { page: 'fidelity', batch: id },
    blobs: {
      [sha]: base64Of(JSON.stringify(submission)),
    },
  };
}
