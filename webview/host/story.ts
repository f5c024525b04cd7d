/** A host with sample data, for stories and tests. Its data can change while a page shows it. */
import { Emitter, Observable } from '../../src/common/emitter.ts';
import { StudioError } from '../../src/common/errors.ts';
import type { JsonObject } from '../../src/common/json.ts';
import type { You } from '../../src/protocol/access.ts';
import type { BatchRow, ServerInfo, ServerToClient } from '../../src/protocol/client.ts';
import { clientFrame } from '../../src/protocol/client.ts';
import type { FrameSocket, OpenSocket, SocketEvents } from '../../src/protocol/follow.ts';
import { type OfflineData, offlineSocket, offlineTransport } from '../../src/protocol/offline.ts';
import type { EditorBreakpoint, PageAction, PagePlace, PageVerb, ServerState } from '../../src/protocol/page.ts';
import type { WindowPrediction } from '../../src/protocol/predictedCall.ts';
import type { SharesReply } from '../../src/protocol/shares.ts';
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
  /** Events by stream: a rollout or a batch. */
  readonly events?: Readonly<Record<string, readonly TraceEvent[]>>;
  /** Base64 by sha256. */
  readonly blobs?: Readonly<Record<string, string>>;
  readonly readOnly?: boolean;
  /** What the user may do. Absent: the server does not say. */
  readonly you?: You;
  /** How the server divides what it has. Absent: it is too old to say. */
  readonly shares?: SharesReply;
  /** Other batches, newest first. */
  readonly others?: readonly Pick<StoryData, 'batch' | 'rows' | 'tasks'>[];
  /** The editor's breakpoints. */
  readonly breakpoints?: readonly EditorBreakpoint[];
  /** The editor's predictions. */
  readonly predictions?: readonly WindowPrediction[];
  /** The first place. Default: the batch. */
  readonly place?: PagePlace;
  /** Whether requests are never answered, so that the page keeps loading. */
  readonly silent?: boolean;
}

export interface StoryHost extends Host {
  /** Actions of the page, oldest first. */
  readonly actions: readonly PageAction[];
  /** Bodies of commands that the page sent, oldest first. */
  readonly commands: readonly unknown[];
  readonly places: readonly PagePlace[];
  /** Adds events to a stream. */
  push(stream: string, events: readonly TraceEvent[]): void;
  /** Adds or replaces rows of rollouts. */
  pushRows(rows: readonly RolloutRow[]): void;
  delta(stream: string, span: number, offset: number, text: string): void;
  /** Closes all connections. */
  disconnect(): void;
  /** Replaces the editor's predictions. */
  predict(predictions: readonly WindowPrediction[]): void;
  /** Makes the page navigate. */
  go(place: PagePlace): void;
}

interface Subscriber {
  readonly stream: string;
  readonly sub: string;
  readonly send: (frame: ServerToClient) => void;
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
  'pods',
  'label',
  'predict',
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

export function storyHost(sample: StoryData): StoryHost {
  const { batch, readOnly = false, silent = false, others = [] } = sample;
  const place: PagePlace = sample.place ?? { page: 'batch', batch: batch.batch };
  const streams: Record<string, TraceEvent[]> = { [batch.batch]: [] };
  for (const other of others) streams[other.batch.batch] = [];
  for (const [stream, events] of Object.entries(sample.events ?? {})) streams[stream] = [...events];
  let rows = [...sample.rows];
  const data: OfflineData = {
    version: 1,
    saved_at: batch.created_at,
    place,
    server: { ...(sample.server ?? SERVER), ...(sample.you === undefined ? {} : { you: sample.you }) },
    batches: [...others.map((other) => other.batch), batch],
    tasks: Object.fromEntries([sample, ...others].map((one) => [one.batch.batch, [...one.tasks]])),
    rollouts: {
      ...Object.fromEntries(others.map((other) => [other.batch.batch, [...other.rows]])),
      [batch.batch]: rows,
    },
    lineages: {},
    streams,
    blobs: { ...sample.blobs },
  };
  const subscribers = new Set<Subscriber>();
  const [actions, commands, places]: [PageAction[], unknown[], PagePlace[]] = [[], [], []];
  const navigated = new Emitter<PagePlace>();
  const breakpoints = new Observable<readonly EditorBreakpoint[]>(sample.breakpoints ?? []);
  const predictions = new Observable<readonly WindowPrediction[]>(sample.predictions ?? []);
  const send = (stream: string, frame: (sub: string) => ServerToClient): void => {
    for (const subscriber of subscribers) if (subscriber.stream === stream) subscriber.send(frame(subscriber.sub));
  };
  /** Handles a command. As on a server, commands to a batch become events of its stream. */
  const handleCommand = (path: string, body: JsonObject): JsonObject => {
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
      const events = streams[batch.batch] ?? [];
      const event = {
        seq: events.length + 1,
        v: 1,
        at: events.at(-1)?.at ?? batch.created_at,
        kind: 'control',
        data: { command, verb, by, ...(args === undefined ? {} : { args }) },
      } as const;
      (streams[batch.batch] ??= []).push(event);
      send(batch.batch, (sub) => ({ type: 'events', sub, events: [event] }));
    }
    return {};
  };
  return {
    kind: 'story',
    actions,
    commands,
    places,
    start: Promise.resolve<Start>({ place, readOnly, can: new Set(CAN) }),
    server: new Observable<ServerState>({ state: 'ok' }),
    onNavigate: navigated.event,
    breakpoints,
    predictions,
    transport: silent
      ? { request: () => new Promise(() => undefined) }
      : withShares(withCommands(offlineTransport(data), readOnly, handleCommand), sample.shares),
    openSocket: silent
      ? () => ({ send: () => undefined, close: () => undefined })
      : trackSubscribers(offlineSocket(data), subscribers),
    act: (action) => {
      actions.push(action);
      return Promise.resolve();
    },
    setPlace: (to) => void places.push(to),
    push: (stream, events) => {
      (streams[stream] ??= []).push(...events);
      send(stream, (sub) => ({ type: 'events', sub, events: [...events] }));
    },
    pushRows: (changed) => {
      const ids = new Set(changed.map(({ rollout }) => rollout));
      rows = [...rows.filter(({ rollout }) => !ids.has(rollout)), ...changed].sort(
        (a, b) => a.task_index - b.task_index || a.attempt - b.attempt || a.try - b.try,
      );
      data.rollouts[batch.batch] = rows;
      send(batch.batch, (sub) => ({
        type: 'rows',
        sub,
        rev: Math.max(...changed.map(({ rev }) => rev)),
        rows: [...changed],
      }));
    },
    delta: (stream, span, offset, text) => send(stream, (sub) => ({ type: 'delta', sub, span, offset, text })),
    disconnect: () => {
      for (const subscriber of [...subscribers]) subscriber.close();
    },
    predict: (changed) => predictions.set(changed),
    go: (to) => navigated.fire(to),
  };
}

function withShares(reader: Transport, shares: SharesReply | undefined): Transport {
  if (shares === undefined) return reader;
  return {
    request: (request) => (request.path === '/v1/shares' ? Promise.resolve(replyOf(shares)) : reader.request(request)),
  };
}

function withCommands(
  reader: Transport,
  readOnly: boolean,
  handle: (path: string, body: JsonObject) => JsonObject,
): Transport {
  return {
    request: (request) => {
      if (request.method !== 'POST' || readOnly) return reader.request(request);
      if (typeof request.body !== 'string') return Promise.reject(new StudioError('usage', 'A command must be JSON.'));
      return Promise.resolve(replyOf(handle(request.path, JSON.parse(request.body) as JsonObject)));
    },
  };
}

function replyOf(body: object): WireReply {
  const text = JSON.stringify(body);
  return {
    status: 200,
    text: () => Promise.resolve(text),
    bytes: () => Promise.resolve(new TextEncoder().encode(text)),
  };
}

/** Tracks the subscribers of each stream. */
function trackSubscribers(open: OpenSocket, subscribers: Set<Subscriber>): OpenSocket {
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
            send: (reply) => events.message(JSON.stringify(reply)),
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
