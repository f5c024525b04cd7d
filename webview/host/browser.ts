/** The host of a page in a browser, served under `/view/`. The token is in the fragment, which servers do not get. */
import { Emitter, Observable } from '../../src/common/emitter.ts';
import { StudioError } from '../../src/common/errors.ts';
import { Api } from '../../src/protocol/api.ts';
import { editorUrl } from '../../src/protocol/editorLink.ts';
import type { OpenSocket } from '../../src/protocol/follow.ts';
import type { PageAction, PagePlace, PageVerb, ServerState } from '../../src/protocol/page.ts';
import { fetchTransport, type ServerAddress, type Transport } from '../../src/protocol/transport.ts';
import { placeFromParams, placeToParams } from './address.ts';
import { clientSocket, type Early, withEarlyReplies, withEarlySocket } from './early.ts';
import type { Host, Start } from './host.ts';
import { openLink } from './openLink.ts';

const CAN: readonly PageVerb[] = ['open', 'copy', 'external', 'link', 'batch'];
/** The fragment follows the cursor, but browsers limit how often it may change. */
const ADDRESS_INTERVAL_MS = 400;

const COMPLETE = { hint: 'Open the complete address that `rollout view` printed.' };

/** `early`: requests that were sent before the program was loaded. */
export function browserHost(early: Early | undefined): Host {
  const params = new URLSearchParams(window.location.hash.slice(1));
  const token = params.get('token') ?? '';
  const address = (): ServerAddress => ({ url: window.location.origin, token });
  const server = new Observable<ServerState>({ state: 'ok' });
  const fetching = fetchTransport(address);
  const tab = browserTab(params);
  // Whoever is signed in at the proxy of the server needs no complete address.
  const isPlain = token === '' && placeFromParams(params) === undefined && !params.has('ticket');
  if (isPlain) tab.start.catch(() => undefined);
  return {
    ...tab,
    ...(isPlain ? { start: newestBatch(fetching, params, tab.can) } : {}),
    kind: 'browser',
    server,
    transport: reportState(early === undefined ? fetching : withEarlyReplies(fetching, early), server),
    openSocket: withEarlySocket(browserSocket(address, server), early?.socket),
  };
}

/** Starts with the batch that was launched last. */
async function newestBatch(transport: Transport, params: URLSearchParams, can: readonly PageVerb[]): Promise<Start> {
  const { batches } = await new Api(transport).batches({ limit: 1 });
  const [newest] = batches;
  if (newest === undefined) throw new StudioError('not_found', 'There are no batches that you may see.', COMPLETE);
  return { place: { page: 'batch', batch: newest.batch }, readOnly: params.get('edit') === null, can: new Set(can) };
}

/** Returns the part of a host that a browser tab provides: its address is the place, and Back and Forward navigate. */
export function browserTab(params: URLSearchParams): Pick<
  Host,
  'start' | 'onNavigate' | 'act' | 'setPlace' | 'breakpoints' | 'predictions'
> & {
  readonly can: readonly PageVerb[];
} {
  const keep = new URLSearchParams([...params].filter(([key]) => key === 'token' || key === 'edit'));
  const readOnly = params.get('edit') === null;
  const navigated = new Emitter<PagePlace>();
  const urlOf = (place: PagePlace): string => `#${new URLSearchParams([...keep, ...placeToParams(place)]).toString()}`;
  const can = readOnly ? CAN.filter((verb) => verb !== 'batch') : CAN;
  window.addEventListener('popstate', () => {
    const place = placeFromParams(new URLSearchParams(window.location.hash.slice(1)));
    if (place !== undefined) navigated.fire(place);
  });
  let latest: string | undefined;
  const place = placeFromParams(params);
  return {
    can,
    onNavigate: navigated.event,
    breakpoints: new Observable<Host['breakpoints']['value']>([]),
    predictions: new Observable<Host['predictions']['value']>([]),
    start:
      place === undefined || params.has('ticket')
        ? Promise.reject(
            place === undefined
              ? new StudioError('usage', 'This address has no batch or rollout.', COMPLETE)
              : new StudioError('unauthorized', 'This address was opened before, or is older than a minute.', COMPLETE),
          )
        : Promise.resolve<Start>({ place, readOnly, can: new Set(can) }),
    act: (action) => act(action, urlOf, (to) => navigated.fire(to)),
    setPlace: (to, title) => {
      if (title !== '') document.title = title;
      if (latest === undefined) {
        setTimeout(() => {
          window.history.replaceState(null, '', latest);
          latest = undefined;
        }, ADDRESS_INTERVAL_MS);
      }
      latest = urlOf(to);
    },
  };
}

async function act(
  action: PageAction,
  urlOf: (place: PagePlace) => string,
  go: (place: PagePlace) => void,
): Promise<void> {
  switch (action.do) {
    case 'open':
      if (action.beside === true) {
        window.open(urlOf(action.place), '_blank');
        return;
      }
      window.history.pushState(null, '', urlOf(action.place));
      go(action.place);
      return;
    case 'copy':
      await navigator.clipboard.writeText(action.text);
      return;
    case 'link':
      await navigator.clipboard.writeText(
        action.for === 'editor' ? editorUrl(action.place) : new URL(urlOf(action.place), window.location.href).href,
      );
      return;
    case 'external':
      openLink(action.url);
      return;
    default:
      throw new StudioError('unsupported', 'This action is only available in VS Code.', {
        hint: 'Open the page in VS Code.',
      });
  }
}

function browserSocket(address: () => ServerAddress, server: Observable<ServerState>): OpenSocket {
  return (events) => {
    const { url, token } = address();
    const socket = clientSocket(url, token);
    socket.addEventListener('open', () => {
      server.set({ state: 'ok' });
      events.open();
    });
    socket.addEventListener('message', (event: MessageEvent<unknown>) => events.message(String(event.data)));
    socket.addEventListener('close', () => events.close());
    return {
      send: (text) => {
        if (socket.readyState === WebSocket.OPEN) socket.send(text);
      },
      close: () => socket.close(),
    };
  };
}

/** Reports whether the server responds. */
function reportState(transport: Transport, server: Observable<ServerState>): Transport {
  return {
    async request(request) {
      try {
        const reply = await transport.request(request);
        server.set({ state: 'ok' });
        return reply;
      } catch (error) {
        if (StudioError.is(error, 'unavailable'))
          server.set({ state: 'lost', text: 'The rollout server does not respond.' });
        throw error;
      }
    },
  };
}
