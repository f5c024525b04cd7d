/** The page as a file from the disk: all it shows is in the file itself, and nothing can be changed. */
import { Observable } from '../../src/common/emitter.ts';
import { OFFLINE_ID, offlineSocket, offlineTransport, readOffline } from '../../src/protocol/offline.ts';
import type { ServerState } from '../../src/protocol/page.ts';
import { placeFromParams } from './address.ts';
import { tab } from './browser.ts';
import type { Host, Start } from './host.ts';

export function fileHost(): Host {
  const element = document.querySelector<HTMLElement>(`#${OFFLINE_ID}`);
  const data = readOffline(element?.textContent ?? '', element?.dataset['encoding']);
  const given = new URLSearchParams(window.location.hash.slice(1));
  const { start: asked, can, ...here } = tab(given);
  asked.catch(() => undefined); // without a fragment the file says where to begin
  return {
    ...here,
    kind: 'file',
    start: data.then(
      (held): Start => ({ place: placeFromParams(given) ?? held.place, readOnly: true, can: new Set(can) }),
    ),
    server: new Observable<ServerState>({ state: 'ok' }),
    transport: offlineTransport(data),
    openSocket: offlineSocket(data),
  };
}
