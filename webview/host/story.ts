/** A host over made-up data, for stories and tests: what it holds can grow while a page looks at it. */
import { Emitter, Observable } from '../../src/common/emitter.ts';
import { StudioError } from '../../src/common/errors.ts';
import type { JsonObject } from '../../src/common/json.ts';
import type { BatchRow, ServerInfo, ServerToClient } from '../../src/protocol/client.ts';
import { clientFrame } from '../../src/protocol/client.ts';
import type { FrameSocket, OpenSocket, SocketEvents } from '../../src/protocol/follow.ts';
import { type OfflineData, offlineSocket, offlineTransport } from '../../src/protocol/offline.ts';
import type { EditorBreakpoint, PageAction, PagePlace, PageVerb, ServerState } from '../../src/protocol/page.ts';
import type { Transport, WireReply } from '../../src/protocol/transport.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import type { TaskRecord } from '../../src/trace/task.ts';
import type { Host, Start } from './host.ts';

export interface StoryData {
  readonly batch: BatchRow;
  readonly rows: readonly RolloutRow[];
  readonly tasks: readonly TaskRecord[];
  readonly server?: ServerInfo;
  /** By rollout, or by batch for its own stream. */
  readonly events?: Readonly<Record<string, readonly TraceEvent[]>>;
  /** Base64 by sha256. */
  readonly blobs?: Readonly<Record<string, string>>;
  readonly readOnly?: boolean;
  /** Other batches there are, newest first. */
  readonly others?: readonly Pick<StoryData, 'batch' | 'rows' | 'tasks'>[];
  /** Of the editor; without them it has none. */
  readonly breakpoints?: readonly EditorBreakpoint[];
  /** Where the page begins; the batch, by default. */
  readonly place?: PagePlace;
  /** Nothing is ever answered: the page stays as it is while it loads. */
  readonly silent?: boolean;
}

export interface StoryHost extends Host {
  /** What the page asked for, oldest first. */
  readonly acts: readonly PageAction[];
  /** Bodies of commands that the page sent, oldest first. */
  readonly commands: readonly unknown[];
  readonly places: readonly PagePlace[];
  /** New events of a rollout or of the batch. */
  push(stream: string, events: readonly TraceEvent[]): void;
  /** New rows of rollouts; each takes the place of the older one. */
  pushRows(rows: readonly RolloutRow[]): void;
  delta(stream: string, span: number, offset: number, text: string): void;
  /** Cuts every connection. */
  cut(): void;
  /** Asks the page to go somewhere. */
  go(place: PagePlace): void;
}

interface Subscriber {
  readonly stream: string;
  readonly sub: string;
  readonly say: (frame: ServerToClient) => void;
  readonly close: () => void;
}

const CAN: readonly PageVerb[] = [
  'open',
  'source',
  'document',
  'copy',
  'external',
  'link',
  'batch',
  'breakpoint',
  'save',
];
const SERVER: ServerInfo = {
  product: 'rollout-studio',
  protocol: 1,
  pid: 1,
  store: 'local',
  started_at: 0,
  queued: 0,
  running: 0,
  held: 0,
  workers: [],
  endpoints: [],
};

export function storyHost(given: StoryData): StoryHost {
  const { batch, readOnly = false, silent = false, others = [] } = given;
  const place: PagePlace = given.place ?? { page: 'batch', batch: batch.batch };
  const streams: Record<string, TraceEvent[]> = { [batch.batch]: [] };
  for (const other of others) streams[other.batch.batch] = [];
  for (const [stream, events] of Object.entries(given.events ?? {})) streams[stream] = [...events];
  let rows = [...given.rows];
  const data: OfflineData = {
    version: 1,
    saved_at: batch.created_at,
    place,
    server: given.server ?? SERVER,
    batches: [...others.map((other) => other.batch), batch],
    tasks: Object.fromEntries([given, ...others].map((one) => [one.batch.batch, [...one.tasks]])),
    rollouts: {
      ...Object.fromEntries(others.map((other) => [other.batch.batch, [...other.rows]])),
      [batch.batch]: rows,
    },
    lineages: {},
    streams,
    blobs: { ...given.blobs },
  };
  const subscribers = new Set<Subscriber>();
  const [acts, commands, places]: [PageAction[], unknown[], PagePlace[]] = [[], [], []];
  const went = new Emitter<PagePlace>();
  const breakpoints = new Observable<readonly EditorBreakpoint[]>(given.breakpoints ?? []);
  const tell = (stream: string, frame: (sub: string) => ServerToClient): void => {
    for (const subscriber of subscribers) if (subscriber.stream === stream) subscriber.say(frame(subscriber.sub));
  };
  /** Takes what would change something: a batch tells of its commands, as a server's does. */
  const take = (path: string, body: JsonObject): JsonObject => {
    commands.push(body);
    if (path === '/v1/forks') return { batch: body['batch'] ?? '' };
    const { command, verb, by, args } = body;
    if (
      path.startsWith('/v1/batches/') &&
      typeof command === 'string' &&
      typeof verb === 'string' &&
      typeof by === 'string' &&
      verb !== 'note'
    ) {
      const told = streams[batch.batch] ?? [];
      const event = {
        seq: told.length + 1,
        v: 1,
        at: told.at(-1)?.at ?? batch.created_at,
        kind: 'control',
        data: { command, verb, by, ...(args === undefined ? {} : { args }) },
      } as const;
      (streams[batch.batch] ??= []).push(event);
      tell(batch.batch, (sub) => ({ type: 'events', sub, events: [event] }));
    }
    return {};
  };
  return {
    kind: 'story',
    acts,
    commands,
    places,
    start: Promise.resolve<Start>({ place, readOnly, can: new Set(CAN) }),
    server: new Observable<ServerState>({ state: 'ok' }),
    went: went.event,
    breakpoints,
    transport: silent
      ? { request: () => new Promise(() => undefined) }
      : takingCommands(offlineTransport(data), readOnly, (path, body) => take(path, body)),
    openSocket: silent
      ? () => ({ send: () => undefined, close: () => undefined })
      : watched(offlineSocket(data), subscribers),
    act: (action) => {
      acts.push(action);
      return Promise.resolve();
    },
    at: (to) => void places.push(to),
    push: (stream, events) => {
      (streams[stream] ??= []).push(...events);
      tell(stream, (sub) => ({ type: 'events', sub, events: [...events] }));
    },
    pushRows: (changed) => {
      const ids = new Set(changed.map(({ rollout }) => rollout));
      rows = [...rows.filter(({ rollout }) => !ids.has(rollout)), ...changed].sort(
        (a, b) => a.task_index - b.task_index || a.attempt - b.attempt || a.try - b.try,
      );
      data.rollouts[batch.batch] = rows;
      tell(batch.batch, (sub) => ({
        type: 'rows',
        sub,
        rev: Math.max(...changed.map(({ rev }) => rev)),
        rows: [...changed],
      }));
    },
    delta: (stream, span, offset, text) => tell(stream, (sub) => ({ type: 'delta', sub, span, offset, text })),
    cut: () => {
      for (const subscriber of [...subscribers]) subscriber.close();
    },
    go: (to) => went.fire(to),
  };
}

function takingCommands(
  reading: Transport,
  readOnly: boolean,
  take: (path: string, body: JsonObject) => JsonObject,
): Transport {
  return {
    request: (request) => {
      if (request.method !== 'POST' || readOnly) return reading.request(request);
      if (typeof request.body !== 'string') return Promise.reject(new StudioError('usage', 'A command is JSON.'));
      return Promise.resolve(replyOf(take(request.path, JSON.parse(request.body) as JsonObject)));
    },
  };
}

function replyOf(body: JsonObject): WireReply {
  const text = JSON.stringify(body);
  return {
    status: 200,
    text: () => Promise.resolve(text),
    bytes: () => Promise.resolve(new TextEncoder().encode(text)),
  };
}

/** Notes who listens to what, so that more can be said later. */
function watched(open: OpenSocket, subscribers: Set<Subscriber>): OpenSocket {
  return (events: SocketEvents): FrameSocket => {
    const mine = new Set<Subscriber>();
    const inner = open({
      open: () => events.open(),
      message: (text) => events.message(text),
      close: () => {
        for (const subscriber of mine) subscribers.delete(subscriber);
        events.close();
      },
    });
    return {
      send: (text) => {
        const frame = clientFrame.parse(JSON.parse(text));
        if (frame.type === 'subscribe') {
          const subscriber: Subscriber = {
            stream: frame.stream,
            sub: frame.sub,
            say: (said) => events.message(JSON.stringify(said)),
            close: () => inner.close(),
          };
          mine.add(subscriber);
          subscribers.add(subscriber);
        }
        inner.send(text);
      },
      close: () => inner.close(),
    };
  };
}
