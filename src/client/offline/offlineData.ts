/**
 * Gathers from a server what a page saved as a file shows: a batch, two of them, one trajectory with the other tries of
 * its task, or all attempts at a task.
 */
import { StudioError } from '../../common/errors.ts';
import type { Api } from '../../protocol/api.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { OfflineData } from '../../protocol/offline.ts';
import type { PagePlace } from '../../protocol/page.ts';
import type { TraceEvent } from '../../trace/schema.ts';
import { blobsOf } from '../../trace/spill.ts';
import type { RolloutRow } from '../../trace/summary.ts';

export interface GatherOptions {
  readonly place: PagePlace;
  /** Of batches: their trajectories too, as many as fit. */
  readonly trajectories: boolean;
  /** Characters of JSON that the trajectories with their values may come to. */
  readonly limit?: number;
  readonly signal: AbortSignal;
}

export interface OfflineContents {
  readonly data: OfflineData;
  /** Rollouts whose trajectory is in the data. */
  readonly trajectories: number;
  /** Rollouts of the page whose trajectory did not fit. */
  readonly leftOut: number;
  /** Values that were too large, or did not fit. */
  readonly valuesLeftOut: number;
}

/** Browsers hold this much, compressed, in one document without trouble. */
export const OFFLINE_LIMIT = 128 * 1024 * 1024;
const MAX_BLOB_BYTES = 5 * 1024 * 1024;
const BASE64_CHARS_PER_BYTE = 4 / 3;

/** Throws `not_found` when there is no such batch or rollout. */
export async function gatherOffline(
  api: Api,
  { place, trajectories, limit = OFFLINE_LIMIT, signal }: GatherOptions,
): Promise<OfflineContents> {
  const gathering: OfflineDataBuilder = { api, room: new Room(api, limit, signal), limit, signal };
  switch (place.page) {
    case 'trajectory':
      return gatherTrajectory(place, gathering);
    case 'compare':
      return gatherCompare(place, gathering);
    case 'batches':
      return gatherBatches(place, [place.batch, place.with], trajectories, gathering);
    case 'batch':
      return gatherBatches(place, [place.batch], trajectories, gathering);
  }
}

interface OfflineDataBuilder {
  readonly api: Api;
  readonly room: Room;
  readonly limit: number;
  readonly signal: AbortSignal;
}

/** What is in the file of one batch. */
interface Part {
  readonly batch: BatchRow;
  readonly rows: RolloutRow[];
  readonly lineage: OfflineData['lineages'][string];
  readonly tasks: OfflineData['tasks'][string];
}

async function gatherTrajectory(
  place: PagePlace & { page: 'trajectory' },
  gathering: OfflineDataBuilder,
): Promise<OfflineContents> {
  const { api, room, limit, signal } = gathering;
  const info = await api.rollout(place.rollout, signal);
  const batch = await api.batch(info.row.batch, signal);
  const rows = await Array.fromAsync(api.allRollouts(batch.batch, { task: info.row.task, all: 1 }, signal));
  const stream = await room.stream(place.rollout);
  if (stream === undefined) {
    throw new StudioError(
      'too_large',
      `The trajectory is larger than ${megabytes(limit)}, which is more than a page in a browser holds.`,
      { hint: 'Look at it with rollout view, or export it with rollout show --json.' },
    );
  }
  return gathered(
    place,
    [{ batch, rows, lineage: info.lineage, tasks: [info.task] }],
    stream,
    { trajectories: 1, leftOut: 0 },
    gathering,
  );
}

/** All attempts or none: a comparison of some would say something else. */
async function gatherCompare(
  place: PagePlace & { page: 'compare' },
  gathering: OfflineDataBuilder,
): Promise<OfflineContents> {
  const { room, limit } = gathering;
  const parts: Part[] = [];
  for (const batch of [place.batch, ...(place.with === undefined ? [] : [place.with])])
    parts.push(await attemptsAt(batch, place.task, gathering));
  const rows = parts.flatMap((part) => part.rows);
  const streams: Record<string, TraceEvent[]> = {};
  for (const { rollout } of rows) {
    const stream = await room.stream(rollout);
    if (stream === undefined) {
      throw new StudioError(
        'too_large',
        `The trajectories of the ${rows.length} attempts are larger than ${megabytes(limit)}, which is more than ` +
          'a page in a browser holds.',
        { hint: 'Look at them with rollout view --compare, or export the comparison with rollout compare --json.' },
      );
    }
    Object.assign(streams, stream);
  }
  return gathered(place, parts, streams, { trajectories: rows.length, leftOut: 0 }, gathering);
}

async function attemptsAt(id: string, name: string, { api, signal }: OfflineDataBuilder): Promise<Part> {
  const batch = await api.batch(id, signal);
  const rows = await Array.fromAsync(api.allRollouts(id, { task: name, all: 1 }, signal));
  const [first] = rows;
  if (first === undefined) throw new StudioError('not_found', `Batch ${id} has no attempt at a task “${name}”.`);
  const { lineage, task } = await api.rollout(first.rollout, signal);
  return { batch, rows, lineage, tasks: [task] };
}

async function gatherBatches(
  place: PagePlace,
  ids: readonly string[],
  trajectories: boolean,
  gathering: OfflineDataBuilder,
): Promise<OfflineContents> {
  const { room } = gathering;
  const parts: Part[] = [];
  for (const id of ids) parts.push(await wholeBatch(id, gathering));
  for (const { batch } of parts) await room.values(submissionOf(batch));
  // Those of one task together: where not all fit, what is there can be compared.
  const started = parts
    .flatMap(({ rows }) => rows.filter(({ last }) => last > 0))
    .sort((a, b) => a.task_index - b.task_index);
  const streams: Record<string, TraceEvent[]> = {};
  let held = 0;
  if (trajectories) {
    for (const { rollout } of started) {
      const stream = await room.stream(rollout);
      if (stream === undefined) break;
      Object.assign(streams, stream);
      held++;
    }
  }
  return gathered(
    place,
    parts,
    streams,
    { trajectories: held, leftOut: trajectories ? started.length - held : 0 },
    gathering,
  );
}

async function wholeBatch(id: string, { api, signal }: OfflineDataBuilder): Promise<Part> {
  const batch = await api.batch(id, signal);
  const rows = await Array.fromAsync(api.allRollouts(id, { all: 1 }, signal));
  const tasks = await Array.fromAsync(allTasks(api, id, signal));
  const [first] = rows;
  // one for all of a batch
  const lineage = first === undefined ? [] : (await api.rollout(first.rollout, signal)).lineage;
  return { batch, rows, lineage, tasks };
}

async function gathered(
  place: PagePlace,
  parts: readonly Part[],
  trajectories: OfflineData['streams'],
  counts: Pick<OfflineContents, 'trajectories' | 'leftOut'>,
  { api, room, signal }: OfflineDataBuilder,
): Promise<OfflineContents> {
  const { product, protocol } = await api.server(signal);
  const streams: OfflineData['streams'] = {};
  for (const { batch } of parts) {
    streams[batch.batch] = await eventsOf(api, batch.batch, signal);
    await room.values(submissionOf(batch));
  }
  const byBatch = <T>(value: (part: Part) => T): Record<string, T> =>
    Object.fromEntries(parts.map((part) => [part.batch.batch, value(part)]));
  const data: OfflineData = {
    version: 1,
    saved_at: Date.now(),
    place,
    // Of the server only what it is: where its store lies and what runs there is nobody's business.
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
    blobs: room.blobs,
  };
  return { data, ...counts, valuesLeftOut: room.valuesLeftOut };
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

/** Of an import it is the recording itself, which no page shows. */
function submissionOf(batch: BatchRow): string[] {
  return batch.imported ? [] : [batch.submission];
}

/** What still fits. */
class Room {
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

  /** The events of a rollout, and their values into `blobs`; undefined when they do not fit. */
  async stream(rollout: string): Promise<Record<string, TraceEvent[]> | undefined> {
    const events: TraceEvent[] = [];
    let size = 0;
    for await (const page of this.#api.allEvents(rollout, this.#signal)) {
      for (const event of page) {
        size += JSON.stringify(event).length;
        events.push(event);
      }
      if (size > this.#left) return undefined;
    }
    this.#left -= size;
    const wanted = new Set<string>();
    for (const event of events) for (const sha of shownBlobs(event)) wanted.add(sha);
    await this.values(wanted);
    return { [rollout]: events };
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

  /** undefined: an event may name what was never stored, such as the sha of a configuration. */
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
 * The values a page shows of an event. The bundled code of tools and the state of worlds are for running, not for
 * reading.
 */
function shownBlobs(event: TraceEvent): string[] {
  const hidden = new Set<string | undefined>();
  if (event.kind === 'rollout.start') hidden.add(event.data.code);
  if (event.kind === 'rollout.lease' || event.kind === 'world.snapshot') hidden.add(event.data.snapshot);
  if (event.kind === 'world.open') hidden.add(event.data.from);
  return blobsOf(event).filter((sha) => !hidden.has(sha));
}

function megabytes(chars: number): string {
  return `${Math.round(chars / (1024 * 1024))} MB`;
}
