/**
 * Gathers the data of a page that is saved as a file: a batch, two batches, a trajectory with the other tries of its
 * task, or all attempts of a task.
 */
import { StudioError } from '../../common/errors.ts';
import type { Api } from '../../protocol/api.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { OfflineData } from '../../protocol/offline.ts';
import type { PagePlace } from '../../protocol/page.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import { blobsOf } from '../../trace/spill.ts';
import type { RolloutRow } from '../../trace/summary.ts';

interface GatherOptions {
  readonly place: PagePlace;
  /** For batches: include as many trajectories as fit. */
  readonly trajectories: boolean;
  /** Maximum size of the trajectories and their values, in characters of JSON. */
  readonly limit?: number;
  readonly signal: AbortSignal;
}

export interface OfflineContents {
  readonly data: OfflineData;
  /** Number of rollouts whose trajectory is included. */
  readonly trajectories: number;
  /** Number of rollouts whose trajectory did not fit. */
  readonly leftOut: number;
  /** Number of values that were too large or did not fit. */
  readonly valuesLeftOut: number;
}

/** Browsers reliably handle this much compressed data in one document. */
const OFFLINE_LIMIT = 128 * 1024 * 1024;
const MAX_BLOB_BYTES = 5 * 1024 * 1024;
const BASE64_CHARS_PER_BYTE = 4 / 3;

/** Throws StudioError `not_found` if the batch or rollout does not exist. */
export async function gatherOffline(
  api: Api,
  { place, trajectories, limit = OFFLINE_LIMIT, signal }: GatherOptions,
): Promise<OfflineContents> {
  const context: GatherContext = { api, budget: new SizeBudget(api, limit, signal), limit, signal };
  switch (place.page) {
    case 'trajectory':
      return gatherTrajectory(place, context);
    case 'compare':
      return gatherCompare(place, context);
    case 'batches':
      return gatherBatches(place, [place.batch, place.with], trajectories, context);
    case 'batch':
      return gatherBatches(place, [place.batch], trajectories, context);
    case 'fidelity': // the predictions are in the trajectories
      return gatherBatches(place, [place.batch], true, context);
  }
}

interface GatherContext {
  readonly api: Api;
  readonly budget: SizeBudget;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** The data of one batch. */
interface BatchPart {
  readonly batch: BatchRow;
  readonly rows: RolloutRow[];
  readonly lineage: OfflineData['lineages'][string];
  readonly tasks: OfflineData['tasks'][string];
}

async function gatherTrajectory(
  place: PagePlace & { page: 'trajectory' },
  context: GatherContext,
): Promise<OfflineContents> {
  const { api, budget, limit, signal } = context;
  const info = await api.rollout(place.rollout, signal);
  const batch = await api.batch(info.row.batch, signal);
  const rows = await Array.fromAsync(api.allRollouts(batch.batch, { task: info.row.task, all: 1 }, signal));
  const stream = await budget.stream(place.rollout);
  if (stream === undefined) {
    throw new StudioError(
      'too_large',
      `The trajectory is larger than ${megabytes(limit)}, which is too large for a single page.`,
      { hint: 'Open it with rollout view, or export it with rollout show --json.' },
    );
  }
  return gathered(
    place,
    [{ batch, rows, lineage: info.lineage, tasks: [info.task] }],
    stream,
    { trajectories: 1, leftOut: 0 },
    context,
  );
}

/** Includes all attempts or fails, because comparing only some would be misleading. */
async function gatherCompare(place: PagePlace & { page: 'compare' }, context: GatherContext): Promise<OfflineContents> {
  const { budget, limit } = context;
  const parts: BatchPart[] = [];
  for (const batch of [place.batch, ...(place.with === undefined ? [] : [place.with])])
    parts.push(await attemptsAt(batch, place.task, context));
  const rows = parts.flatMap((part) => part.rows);
  const streams: Record<string, TraceEvent[]> = {};
  for (const { rollout } of rows) {
    const stream = await budget.stream(rollout);
    if (stream === undefined) {
      throw new StudioError(
        'too_large',
        `The trajectories of the ${rows.length} attempts are larger than ${megabytes(limit)}, which is too large for ` +
          'a single page.',
        { hint: 'Open them with rollout view --compare, or export the comparison with rollout compare --json.' },
      );
    }
    Object.assign(streams, stream);
  }
  return gathered(place, parts, streams, { trajectories: rows.length, leftOut: 0 }, context);
}

async function attemptsAt(id: string, name: string, { api, signal }: GatherContext): Promise<BatchPart> {
  const batch = await api.batch(id, signal);
  const rows = await Array.fromAsync(api.allRollouts(id, { task: name, all: 1 }, signal));
  const [first] = rows;
  if (first === undefined) throw new StudioError('not_found', `Batch ${id} has no attempts of task “${name}”.`);
  const { lineage, task } = await api.rollout(first.rollout, signal);
  return { batch, rows, lineage, tasks: [task] };
}

async function gatherBatches(
  place: PagePlace,
  ids: readonly string[],
  trajectories: boolean,
  context: GatherContext,
): Promise<OfflineContents> {
  const { budget } = context;
  const parts: BatchPart[] = [];
  for (const id of ids) parts.push(await wholeBatch(id, context));
  for (const { batch } of parts) await budget.values(submissionOf(batch));
  // Sort by task, so that if not all fit, the attempts of a task are still complete.
  const started = parts
    .flatMap(({ rows }) => rows.filter(({ last }) => last > 0))
    .sort((a, b) => a.task_index - b.task_index);
  const streams: Record<string, TraceEvent[]> = {};
  let included = 0;
  if (trajectories) {
    for (const { rollout } of started) {
      const stream = await budget.stream(rollout);
      if (stream === undefined) break;
      Object.assign(streams, stream);
      included++;
    }
  }
  return gathered(
    place,
    parts,
    streams,
    { trajectories: included, leftOut: trajectories ? started.length - included : 0 },
    context,
  );
}

async function wholeBatch(id: string, { api, signal }: GatherContext): Promise<BatchPart> {
  const batch = await api.batch(id, signal);
  const rows = await Array.fromAsync(api.allRollouts(id, { all: 1 }, signal));
  const tasks = await Array.fromAsync(allTasks(api, id, signal));
  const [first] = rows;
  // All rollouts of a batch have the same lineage.
  const lineage = first === undefined ? [] : (await api.rollout(first.rollout, signal)).lineage;
  return { batch, rows, lineage, tasks };
}

async function gathered(
  place: PagePlace,
  parts: readonly BatchPart[],
  trajectories: OfflineData['streams'],
  counts: Pick<OfflineContents, 'trajectories' | 'leftOut'>,
  { api, budget, signal }: GatherContext,
): Promise<OfflineContents> {
  const { product, protocol } = await api.server(signal);
  const streams: OfflineData['streams'] = {};
  for (const { batch } of parts) {
    streams[batch.batch] = await eventsOf(api, batch.batch, signal);
    await budget.values(submissionOf(batch));
  }
  const byBatch = <T>(value: (part: BatchPart) => T): Record<string, T> =>
    Object.fromEntries(parts.map((part) => [part.batch.batch, value(part)]));
  const data: OfflineData = {
    version: 1,
    saved_at: Date.now(),
    place,
    // Omit private details of the server, such as its store and what it runs.
    server: {
      product,
      protocol,
      pid: 0,
      store: '',
      started_at: 0,
      queued: 0,
      running: 0,
      held: 0,
      workers: [],
      endpoints: [],
    },
    batches: parts.map(({ batch }) => batch),
    tasks: byBatch(({ tasks }) => tasks),
    rollouts: byBatch(({ rows }) => rows),
    lineages: byBatch(({ lineage }) => lineage),
    streams: { ...streams, ...trajectories },
    blobs: budget.blobs,
  };
  return { data, ...counts, valuesLeftOut: budget.valuesLeftOut };
}

async function* allTasks(
  api: Api,
  batch: string,
  signal: AbortSignal,
): AsyncGenerator<OfflineData['tasks'][string][number]> {
  let after: number | undefined;
  do {
    const page = await api.tasks(batch, { limit: 1000, ...(after === undefined ? {} : { after }) }, signal);
    yield* page.tasks;
    after = page.next;
  } while (after !== undefined);
}

async function eventsOf(api: Api, stream: string, signal: AbortSignal): Promise<TraceEvent[]> {
  const events: TraceEvent[] = [];
  for await (const page of api.allEvents(stream, signal)) events.push(...page);
  return events;
}

/** Returns the submission's SHA. Excludes imports, whose submission is the recording itself and is never shown. */
function submissionOf(batch: BatchRow): string[] {
  return batch.imported ? [] : [batch.submission];
}

/** Collects streams and values while they fit into the size limit. */
class SizeBudget {
  readonly blobs: Record<string, string> = {};
  valuesLeftOut = 0;
  readonly #api: Api;
  readonly #signal: AbortSignal;
  readonly #seen = new Set<string>();
  #left: number;

  constructor(api: Api, limit: number, signal: AbortSignal) {
    this.#api = api;
    this.#left = limit;
    this.#signal = signal;
  }

  /** Returns the events of a rollout and adds their values to `blobs`. Returns undefined if the events do not fit. */
  async stream(rollout: string): Promise<Record<string, TraceEvent[]> | undefined> {
    const events: TraceEvent[] = [];
    let size = 0;
    for await (const page of this.#pages(rollout)) {
      for (const event of page) {
        size += JSON.stringify(event).length;
        events.push(event);
      }
      if (size > this.#left) return undefined;
    }
    this.#left -= size;
    const shas = new Set<string>();
    for (const event of events) for (const sha of visibleBlobs(event)) shas.add(sha);
    await this.values(shas);
    return { [rollout]: events };
  }

  /** Yields all events, or those that are left of a trajectory that was trimmed. */
  async *#pages(rollout: string): AsyncGenerator<readonly TraceEvent[]> {
    try {
      yield* this.#api.allEvents(rollout, this.#signal);
    } catch (error) {
      const kept = StudioError.is(error, 'gone') ? (await this.#api.rollout(rollout, this.#signal)).trimmed : undefined;
      if (kept === undefined) throw error;
      yield kept.events;
    }
  }

  async values(shas: Iterable<string>): Promise<void> {
    for (const sha of shas) {
      if (this.#seen.has(sha)) continue;
      this.#seen.add(sha);
      const bytes = await this.#read(sha);
      if (bytes === undefined) continue;
      const chars = bytes.length * BASE64_CHARS_PER_BYTE;
      if (bytes.length > MAX_BLOB_BYTES || chars > this.#left) {
        this.valuesLeftOut++;
        continue;
      }
      this.blobs[sha] = Buffer.from(bytes).toString('base64');
      this.#left -= chars;
    }
  }

  /** Returns undefined for a missing blob: events can reference one that was never stored, such as a configuration. */
  async #read(sha: string): Promise<Uint8Array | undefined> {
    try {
      return await this.#api.getBlob(sha, this.#signal);
    } catch (error) {
      if (StudioError.is(error, 'not_found')) return undefined;
      throw error;
    }
  }
}

/**
 * Returns the values that a page shows for an event. Bundled tool code and world snapshots are only needed to run.
 */
function visibleBlobs(event: TraceEvent): string[] {
  const hidden = new Set<string | undefined>();
  if (event.kind === 'rollout.start') hidden.add(event.data.code);
  if (event.kind === 'rollout.lease' || event.kind === 'world.snapshot') hidden.add(event.data.snapshot);
  if (event.kind === 'world.open') hidden.add(event.data.from);
  return blobsOf(event).filter((sha) => !hidden.has(sha));
}

function megabytes(chars: number): string {
  return `${Math.round(chars / (1024 * 1024))} MB`;
}
