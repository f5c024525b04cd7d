/** Gathers from a server what a page saved as a file shows: a batch, one trajectory with the other tries of its task, or all attempts at a task. */
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
  /** Of a batch: its trajectories too, as many as fit. */
  readonly trajectories: boolean;
  /** Characters of JSON that the trajectories with their values may come to. */
  readonly limit?: number;
  readonly signal: AbortSignal;
}

export interface Gathered {
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
const LARGEST_BLOB_BYTES = 5 * 1024 * 1024;
const BASE64_CHARS_PER_BYTE = 4 / 3;

/** Throws `not_found` when there is no such batch or rollout. */
export async function gatherOffline(api: Api, { place, trajectories, limit = OFFLINE_LIMIT, signal }: GatherOptions): Promise<Gathered> {
  if (place.page === 'batches' || (place.page === 'compare' && place.with !== undefined)) throw new StudioError('unsupported', 'Two batches side by side are not saved as a file.', { mend: 'Save each of them, or use rollout compare --json.' });
  if (place.page === 'compare') return gatherCompare(api, place, limit, signal);
  return place.page === 'batch' ? gatherBatch(api, place, trajectories, limit, signal) : gatherTrajectory(api, place, limit, signal);
}

async function gatherTrajectory(api: Api, place: PagePlace & { page: 'trajectory' }, limit: number, signal: AbortSignal): Promise<Gathered> {
  const info = await api.rollout(place.rollout, signal);
  const batch = await api.batch(info.row.batch, signal);
  const rows = await Array.fromAsync(api.allRollouts(batch.batch, { task: info.row.task, all: 1 }, signal));
  const room = new Room(api, limit, signal);
  const streams = { [batch.batch]: await eventsOf(api, batch.batch, signal), ...(await room.stream(place.rollout)) };
  if (streams[place.rollout] === undefined) {
    throw new StudioError('too_large', `The trajectory is larger than ${megabytes(limit)}, which is more than a page in a browser holds.`, { mend: 'Look at it with rollout view, or export it with rollout show --json.' });
  }
  await room.values(submissionOf(batch));
  return {
    data: await dataOf(api, { place, batch, rows, lineage: info.lineage, tasks: [info.task], streams, blobs: room.blobs }, signal),
    trajectories: 1, leftOut: 0, valuesLeftOut: room.valuesLeftOut,
  };
}

/** All attempts or none: a comparison of some would say something else. */
async function gatherCompare(api: Api, place: PagePlace & { page: 'compare' }, limit: number, signal: AbortSignal): Promise<Gathered> {
  const batch = await api.batch(place.batch, signal);
  const rows = await Array.fromAsync(api.allRollouts(batch.batch, { task: place.task, all: 1 }, signal));
  const [first] = rows;
  if (first === undefined) throw new StudioError('not_found', `Batch ${batch.batch} has no attempt at a task “${place.task}”.`);
  const { lineage, task } = await api.rollout(first.rollout, signal);
  const room = new Room(api, limit, signal);
  let streams: Record<string, TraceEvent[]> = { [batch.batch]: await eventsOf(api, batch.batch, signal) };
  for (const { rollout } of rows) {
    const stream = await room.stream(rollout);
    if (stream === undefined) {
      throw new StudioError('too_large', `The trajectories of the ${rows.length} attempts are larger than ${megabytes(limit)}, which is more than a page in a browser holds.`, { mend: 'Look at them with rollout view --compare, or export the comparison with rollout compare --json.' });
    }
    streams = Object.assign(streams, stream);
  }
  await room.values(submissionOf(batch));
  return {
    data: await dataOf(api, { place, batch, rows, lineage, tasks: [task], streams, blobs: room.blobs }, signal),
    trajectories: rows.length, leftOut: 0, valuesLeftOut: room.valuesLeftOut,
  };
}

async function gatherBatch(api: Api, place: PagePlace & { page: 'batch' }, trajectories: boolean, limit: number, signal: AbortSignal): Promise<Gathered> {
  const batch = await api.batch(place.batch, signal);
  const rows = await Array.fromAsync(api.allRollouts(batch.batch, { all: 1 }, signal));
  const tasks = await Array.fromAsync(allTasks(api, batch.batch, signal));
  const first = rows[0];
  const lineage = first === undefined ? [] : (await api.rollout(first.rollout, signal)).lineage; // one for all of a batch
  const room = new Room(api, limit, signal);
  let streams: Record<string, TraceEvent[]> = { [batch.batch]: await eventsOf(api, batch.batch, signal) };
  await room.values(submissionOf(batch));
  const started = rows.filter(({ last }) => last > 0);
  let held = 0;
  if (trajectories) {
    for (const { rollout } of started) {
      const stream = await room.stream(rollout);
      if (stream === undefined) break;
      streams = Object.assign(streams, stream);
      held++;
    }
  }
  return {
    data: await dataOf(api, { place, batch, rows, lineage, tasks, streams, blobs: room.blobs }, signal),
    trajectories: held, leftOut: trajectories ? started.length - held : 0, valuesLeftOut: room.valuesLeftOut,
  };
}

async function dataOf(api: Api, found: { place: PagePlace; batch: BatchRow; rows: RolloutRow[]; lineage: OfflineData['lineages'][string]; tasks: OfflineData['tasks'][string]; streams: OfflineData['streams']; blobs: OfflineData['blobs'] }, signal: AbortSignal): Promise<OfflineData> {
  const { place, batch, rows, lineage, tasks, streams, blobs } = found;
  const { product, protocol } = await api.server(signal);
  const id = batch.batch;
  return {
    version: 1, saved_at: Date.now(), place,
    // Of the server only what it is: where its store lies and what runs there is nobody's business.
    server: { product, protocol, pid: 0, store: '', started_at: 0, queued: 0, running: 0, held: 0, workers: [], endpoints: [] },
    batches: [batch], tasks: { [id]: tasks }, rollouts: { [id]: rows }, lineages: { [id]: lineage }, streams, blobs,
  };
}

async function* allTasks(api: Api, batch: string, signal: AbortSignal): AsyncGenerator<OfflineData['tasks'][string][number]> {
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
      if (bytes.length > LARGEST_BLOB_BYTES || chars > this.#left) {
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

/** The values a page shows of an event. The bundled code of tools and the state of worlds are for running, not for reading. */
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
