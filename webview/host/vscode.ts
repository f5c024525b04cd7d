/** The host of a page in VS Code. All communication is by messages to the extension. */
import { Emitter, Observable } from '../../src/common/emitter.ts';
import { type ErrorCode, StudioError } from '../../src/common/errors.ts';
import type { FrameSocket, SocketEvents } from '../../src/protocol/follow.ts';
import {
  type EditorBreakpoint,
  type HostToPage,
  hostToPage,
  type PagePlace,
  type PageToHost,
  type PageVerb,
  type ServerState,
} from '../../src/protocol/page.ts';
import type { WindowPrediction } from '../../src/protocol/predictedCall.ts';
import type { Transport, WireReply } from '../../src/protocol/transport.ts';
import type { Host, Start } from './host.ts';

interface VsCodeApi {
  postMessage(message: unknown): void;
  setState(state: unknown): void;
}

declare global {
  /** Defined only in webviews of VS Code. Can be called once. */
  var acquireVsCodeApi: (() => VsCodeApi) | undefined;
}

interface PendingReply<T> {
  resolve(value: T): void;
  reject(error: StudioError): void;
}

/** A page that connected to its editor before its program was loaded. */
export interface VsCodeStart {
  readonly api: VsCodeApi;
  /** Stops buffering and returns the messages so far. The caller listens from then on. */
  readonly take: () => readonly unknown[];
}

export function vscodeHost({ api, take: takeEarly }: VsCodeStart): Host {
  let last = 0;
  const requests = new Map<number, PendingReply<WireReply>>();
  const actions = new Map<number, PendingReply<undefined>>();
  const sockets = new Map<number, SocketEvents>();
  const navigated = new Emitter<PagePlace>();
  const server = new Observable<ServerState>({ state: 'ok' });
  const breakpoints = new Observable<readonly EditorBreakpoint[]>([]);
  const predictions = new Observable<readonly WindowPrediction[]>([]);
  const post = (message: PageToHost): void => api.postMessage(message);
  const started = Promise.withResolvers<Start>();

  const handle = (message: HostToPage): void => {
    switch (message.type) {
      case 'init':
        server.set(message.server);
        api.setState({ place: message.place }); // VS Code restores the page from it when the window reloads
        started.resolve({ place: message.place, readOnly: message.read_only, can: new Set(message.can as PageVerb[]) });
        return;
      case 'reply':
        settle(requests, message.id)?.resolve(replyOf(message));
        return;
      case 'failed': {
        const error = new StudioError(
          message.code as ErrorCode,
          message.message,
          message.hint === undefined ? {} : { hint: message.hint },
        );
        settle(requests, message.id)?.reject(error);
        return;
      }
      case 'done':
        if (message.error === undefined) settle(actions, message.id)?.resolve(undefined);
        else settle(actions, message.id)?.reject(new StudioError('internal', message.error));
        return;
      case 'socket':
        if (message.what === 'open') sockets.get(message.id)?.open();
        else closeSocket(message.id);
        return;
      case 'message':
        sockets.get(message.id)?.message(message.text);
        return;
      case 'go':
        navigated.fire(message.place);
        return;
      case 'server':
        server.set(message.server);
        return;
      case 'breakpoints':
        breakpoints.set(message.breakpoints);
        return;
      case 'predictions':
        predictions.set(message.predictions);
    }
  };
  const closeSocket = (id: number): void => {
    const events = sockets.get(id);
    sockets.delete(id);
    events?.close();
  };
  const parse = (data: unknown): void => {
    const parsed = hostToPage.safeParse(data);
    if (parsed.success) handle(parsed.data);
    else console.error('invalid message of the extension:', parsed.error.issues[0]?.message);
  };
  const buffered = takeEarly();
  window.addEventListener('message', (event: MessageEvent<unknown>) => parse(event.data));
  for (const data of buffered) parse(data);

  const transport: Transport = {
    request: ({ method, path, body, range, signal }) =>
      new Promise((resolve, reject) => {
        if (method !== 'GET' && method !== 'POST') {
          reject(new StudioError('internal', `Pages cannot send ${method} requests.`));
          return;
        }
        const id = ++last;
        requests.set(id, { resolve, reject });
        post({
          type: 'request',
          id,
          method,
          path,
          ...(typeof body === 'string' ? { body } : {}),
          ...(path.startsWith('/v1/blobs/') ? { bytes: true } : {}),
          ...(range === undefined ? {} : { range }),
        });
        signal?.addEventListener(
          'abort',
          () => {
            if (settle(requests, id) === undefined) return;
            post({ type: 'cancel', id });
            reject(new StudioError('cancelled', 'The request was cancelled.'));
          },
          { once: true },
        );
      }),
  };
  return {
    kind: 'vscode',
    start: started.promise,
    server,
    onNavigate: navigated.event,
    breakpoints,
    predictions,
    transport,
    openSocket: (events): FrameSocket => {
      const id = ++last;
      sockets.set(id, events);
      post({ type: 'socket', id, what: 'open' });
      return {
        send: (text) => post({ type: 'send', id, text }),
        close: () => {
          if (!sockets.has(id)) return;
          post({ type: 'socket', id, what: 'close' });
          queueMicrotask(() => closeSocket(id));
        },
      };
    },
    act: (action) =>
      new Promise<undefined>((resolve, reject) => {
        const id = ++last;
        actions.set(id, { resolve, reject });
        post({ type: 'action', id, action });
      }),
    setPlace: (place, title) => {
      api.setState({ place });
      post({ type: 'place', place, title });
    },
  };
}

function settle<T>(pending: Map<number, PendingReply<T>>, id: number): PendingReply<T> | undefined {
  const reply = pending.get(id);
  pending.delete(id);
  return reply;
}

function replyOf({ status, text, bytes }: Extract<HostToPage, { type: 'reply' }>): WireReply {
  return {
    status,
    text: () => Promise.resolve(text ?? new TextDecoder().decode(bytes)),
    bytes: () => Promise.resolve(bytes ?? new TextEncoder().encode(text)),
  };
}
