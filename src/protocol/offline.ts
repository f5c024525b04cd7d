/**
 * All data of a page in one value. A page saved as a file answers its own requests from it, like the server's routes,
 * read-only.
 */
import { z } from 'zod';
import { bytesOfBase64 } from '../common/base64.ts';
import { StudioError } from '../common/errors.ts';
import { trimmedError } from '../common/trimmed.ts';
import type { TraceEvent } from '../trace/schema.ts';
import { type RolloutRow, rolloutRow } from '../trace/summary.ts';
import { type BatchRow, batchRow, type ClientFrame, clientFrame, type ServerToClient, serverInfo } from './client.ts';
import type { FrameSocket, OpenSocket, SocketEvents } from './follow.ts';
import { lineage } from './lineage.ts';
import { pagePlace } from './page.ts';
import { taskRecord } from './task.ts';
import { taskExcerpt } from './taskExcerpt.ts';
import type { Transport, WireReply } from './transport.ts';
import { PROTOCOL } from './version.ts';

/** ID of the element with the data. Its attribute `data-encoding` is `gzip` (in base64) or missing (JSON). */
export const OFFLINE_ID = 'offline';

export const offlineData = z.object({
  version: z.literal(1),
  saved_at: z.number().int(),
  place: pagePlace,
  server: serverInfo,
  batches: z.array(batchRow),
  tasks: z.record(z.string(), z.array(taskRecord)),
  /** The included tries by batch, in order of task, attempt, try. */
  rollouts: z.record(z.string(), z.array(rolloutRow)),
  /** By batch. */
  lineages: z.record(z.string(), lineage),
  /** Events by rollout or batch. Includes the shared events of forks. */
  streams: z.record(z.string(), z.array(z.unknown()) as unknown as z.ZodType<TraceEvent[]>),
  /** Base64 by sha256. */
  blobs: z.record(z.string(), z.string()),
});
export type OfflineData = z.infer<typeof offlineData>;

/** Reads the text of the data element. Throws `version` when it has an unexpected format. */
export async function readOffline(text: string, encoding: string | undefined): Promise<OfflineData> {
  const json = encoding === 'gzip' ? await unzipped(bytesOfBase64(text.trim())) : text;
  const parsed = offlineData.safeParse(JSON.parse(json));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new StudioError(
    'version',
    `The data in this file has an unexpected format (${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}).`,
    { hint: 'Save the page again.' },
  );
}

async function unzipped(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

/** Answers requests from the data, once it is read. Rejects requests that would change something. */
export function offlineTransport(data: OfflineData | Promise<OfflineData>): Transport {
  return {
    request: async ({ method, path }) => {
      const loaded = await data;
      try {
        if (method !== 'GET' && method !== 'HEAD')
          throw new StudioError('forbidden', 'This is a saved page, which is read-only.', {
            hint: 'Open the rollout in Rollout Studio to change something.',
          });
        return answer(loaded, new URL(path, 'http://file'));
      } catch (error) {
        if (!StudioError.is(error)) throw error;
        return failed(error);
      }
    },
  };
}

/**
 * Creates a socket that sends the stream in the data, part by part, and then nothing more. It opens once the data is
 * read.
 */
export function offlineSocket(data: OfflineData | Promise<OfflineData>): OpenSocket {
  return (events) => {
    const socket = new OfflineSocket(events);
    Promise.resolve(data).then(
      (loaded) => socket.open(loaded),
      () => socket.close(),
    );
    return socket;
  };
}

const TASKS_AT_ONCE = 200;
const ROLLOUTS_AT_ONCE = 200;
const EVENTS_AT_ONCE = 10_000;
/** Events per frame of a subscription: few enough that a page can paint in between. */
const EVENTS_PER_FRAME = 1_000;
const ROWS_PER_FRAME = 500;

function answer(data: OfflineData, url: URL): WireReply {
  const [, , kind = '', id = '', what = ''] = url.pathname.split('/').map(decodeURIComponent);
  const query = url.searchParams;
  switch (`${kind}/${id === '' ? '' : ':id'}/${what}`) {
    case 'server//':
      return json(data.server);
    case 'batches//':
      return json({ batches: data.batches });
    case 'batches/:id/':
      return json(batchOf(data, id));
    case 'batches/:id/tasks':
      return json(tasksOf(data, id, query));
    case 'batches/:id/rollouts':
      return json(rolloutsOf(data, id, query));
    case 'rollouts/:id/':
      return json(infoOf(data, id));
    case 'streams/:id/events':
      return json(eventsOf(data, id, query));
    case 'blobs/:id/':
      return blobOf(data, id);
    default:
      throw new StudioError('not_found', `The saved page does not contain ${url.pathname}.`);
  }
}

function batchOf(data: OfflineData, id: string): BatchRow {
  const row = data.batches.find(({ batch }) => batch === id);
  if (row === undefined) throw new StudioError('not_found', `The saved page does not contain batch ${id}.`);
  return row;
}

function tasksOf(data: OfflineData, batch: string, query: URLSearchParams): unknown {
  batchOf(data, batch);
  const after = whole(query, 'after') ?? -1;
  const limit = whole(query, 'limit') ?? TASKS_AT_ONCE;
  const all = data.tasks[batch] ?? [];
  const excerpt = whole(query, 'excerpt');
  const page = all.slice(after + 1, after + 1 + limit);
  const tasks = excerpt === undefined ? page : page.map((task) => taskExcerpt(task, excerpt));
  return { tasks, ...(after + 1 + limit < all.length ? { next: after + tasks.length } : {}) };
}

function rolloutsOf(data: OfflineData, batch: string, query: URLSearchParams): unknown {
  batchOf(data, batch);
  const [task, attempt] = [query.get('task'), whole(query, 'attempt')];
  const rows = data.rollouts[batch] ?? [];
  const newest = query.get('all') === '1' ? rows : newestTries(rows);
  const matching = newest.filter(
    (row) => (task === null || row.task === task) && (attempt === undefined || row.attempt === attempt),
  );
  // The cursor is the number of rows that came before.
  const from = whole(query, 'after') ?? 0;
  const limit = whole(query, 'limit') ?? ROLLOUTS_AT_ONCE;
  const end = from + limit;
  return { rollouts: matching.slice(from, end), ...(end < matching.length ? { next: String(end) } : {}) };
}

/** `rows` are in order of task, attempt, try. */
function newestTries(rows: readonly RolloutRow[]): RolloutRow[] {
  return rows.filter((row, index) => {
    const next = rows[index + 1];
    return next?.task_index !== row.task_index || next.attempt !== row.attempt;
  });
}

function infoOf(data: OfflineData, id: string): unknown {
  const row = rowOf(data, id);
  const { submission, trimmed } = batchOf(data, row.batch);
  const task = data.tasks[row.batch]?.find((candidate) => candidate.id === row.task);
  if (task === undefined)
    throw new StudioError('not_found', `The saved page does not contain the task of rollout ${id}.`);
  return {
    ...{ row, lineage: data.lineages[row.batch] ?? [], task, submission },
    ...(trimmed === undefined ? {} : { trimmed: { ...trimmed, events: data.streams[id] ?? [] } }),
  };
}

function rowOf(data: OfflineData, id: string): RolloutRow {
  for (const rows of Object.values(data.rollouts)) {
    const row = rows.find(({ rollout }) => rollout === id);
    if (row !== undefined) return row;
  }
  throw new StudioError('not_found', `The saved page does not contain rollout ${id}.`);
}

function streamOf(data: OfflineData, id: string): readonly TraceEvent[] {
  for (const { batch, trimmed } of data.batches)
    if (trimmed !== undefined && data.rollouts[batch]?.some(({ rollout }) => rollout === id) === true)
      throw trimmedError(batch, trimmed);
  const events = Object.hasOwn(data.streams, id) ? data.streams[id] : undefined;
  if (events !== undefined) return events;
  throw new StudioError('gone', `The saved page does not contain the trajectory of ${id}.`, {
    hint: 'Save the page again with its trajectories, or open the rollout in Rollout Studio.',
  });
}

function eventsOf(data: OfflineData, id: string, query: URLSearchParams): unknown {
  const events = streamOf(data, id);
  const after = whole(query, 'after') ?? 0;
  const until = whole(query, 'until') ?? Infinity;
  const limit = whole(query, 'limit') ?? EVENTS_AT_ONCE;
  return {
    events: events.filter(({ seq }) => seq > after && seq <= until).slice(0, limit),
    last: events.at(-1)?.seq ?? 0,
  };
}

function blobOf(data: OfflineData, sha: string): WireReply {
  const base64 = Object.hasOwn(data.blobs, sha) ? data.blobs[sha] : undefined;
  if (base64 === undefined)
    throw new StudioError('not_found', 'This value was too large for the saved page.', {
      hint: 'Open the rollout in Rollout Studio to see it.',
    });
  const bytes = (): Uint8Array => bytesOfBase64(base64);
  return {
    status: 200,
    text: () => Promise.resolve(new TextDecoder().decode(bytes())),
    bytes: () => Promise.resolve(bytes()),
  };
}

function whole(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new StudioError('usage', `${name} must be a whole number, not “${text}”.`);
  return Number(text);
}

function json(value: unknown, status = 200): WireReply {
  const text = JSON.stringify(value);
  return { status, text: () => Promise.resolve(text), bytes: () => Promise.resolve(new TextEncoder().encode(text)) };
}

function failed({ code, message, hint }: StudioError): WireReply {
  return json(
    { error: { code, message, ...(hint === undefined ? {} : { hint }) } },
    code === 'forbidden' ? 403 : code === 'usage' ? 400 : code === 'gone' ? 410 : 404,
  );
}

class OfflineSocket implements FrameSocket {
  readonly #events: SocketEvents;
  /** What is left to send. Like a server, it waits until the client has seen a part before it sends the next one. */
  readonly #frames: ServerToClient[] = [];
  #data: OfflineData | undefined;
  #closed = false;

  constructor(events: SocketEvents) {
    this.#events = events;
  }

  open(data: OfflineData): void {
    if (this.#closed) return;
    this.#data = data;
    this.#events.open();
  }

  send(text: string): void {
    const data = this.#data;
    if (data === undefined) return;
    const frame = clientFrame.parse(JSON.parse(text));
    queueMicrotask(() => this.#handle(data, frame));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    queueMicrotask(() => this.#events.close());
  }

  #handle(data: OfflineData, frame: ClientFrame): void {
    if (frame.type === 'hello') {
      this.#emit({
        type: 'welcome',
        protocol: PROTOCOL,
        product: data.server.product,
        clock: data.saved_at,
        ...(data.server.you === undefined ? {} : { you: data.server.you }),
      });
    } else if (frame.type === 'subscribe') {
      try {
        this.#frames.push(...framesOf(data, frame));
        this.#emitNext();
      } catch (error) {
        if (!StudioError.is(error)) throw error;
        this.#emit({ type: 'error', sub: frame.sub, code: error.code, message: error.message });
      }
    } else if (frame.type === 'seen') {
      // In another task, so that the page paints the first part before it handles the others.
      void nextTask().then(() => this.#emitNext());
    }
  }

  /** Emits the next part of the stream, and what follows the last one. */
  #emitNext(): void {
    for (let frame = this.#frames.shift(); frame !== undefined; frame = this.#frames.shift()) {
      this.#emit(frame);
      const next = this.#frames[0]?.type;
      if (next === 'events' || next === 'rows') return;
    }
  }

  #emit(frame: ServerToClient): void {
    if (!this.#closed) this.#events.message(JSON.stringify(frame));
  }
}

/** Returns the frames of a subscription. Throws `gone` if the data does not contain the stream. */
function framesOf(
  data: OfflineData,
  { sub, stream, after, after_rev: afterRev = 0, deltas }: ClientFrame & { type: 'subscribe' },
): ServerToClient[] {
  const batch = data.batches.find((row) => row.batch === stream);
  const events = streamOf(data, stream);
  const cursor = events.at(-1)?.seq ?? 0;
  const newer = events.filter(({ seq }) => seq > after);
  const frames: ServerToClient[] = [...inParts(newer, EVENTS_PER_FRAME)].map((some) => ({
    type: 'events',
    sub,
    events: some,
  }));
  if (batch === undefined)
    return [
      ...frames,
      { type: 'head', sub, cursor },
      ...(deltas === true ? [{ type: 'open' as const, sub, spans: [] }] : []),
    ];
  const rows = (data.rollouts[stream] ?? []).filter(({ rev }) => rev > afterRev).sort((a, b) => a.rev - b.rev);
  for (const some of inParts(rows, ROWS_PER_FRAME))
    frames.push({ type: 'rows', sub, rev: some.at(-1)?.rev ?? afterRev, rows: some });
  return [...frames, { type: 'head', sub, cursor, rev: batch.rev }];
}

function* inParts<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

/** Without the delay that browsers add to nested timers. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(undefined);
  });
}
