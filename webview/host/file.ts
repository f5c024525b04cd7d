/** The host of a page that was saved as a file: the file contains all data, and the page is read-only. */
import { Observable } from '../../src/common/emitter.ts';
import { OFFLINE_ID, offlineSocket, offlineTransport, readOffline } from '../../src/protocol/offline.ts';
import type { ServerState } from '../../src/protocol/page.ts';
import { placeFromParams } from './address.ts';
import { browserTab } from './browser.ts';
import type { Host, Start } from './host.ts';

export function fileHost(): Host {
  const element = document.querySelector<HTMLElement>(`#${OFFLINE_ID}`);
  const data = readOffline(element?.textContent ?? '', element?.dataset['encoding']);
  const params = new URLSearchParams(window.location.hash.slice(1));
  const { start: fromAddress, can, ...tab } = browserTab(params);
  fromAddress.catch(() => undefined); // without a fragment, the file contains the place
  return {
    ...tab,
    kind: 'file',
    start: data.then(
      (file): Start => ({ place: placeFromParams(params) ?? file.place, readOnly: true, can: new Set(can) }),
    ),
    server: new Observable<ServerState>({ state: 'ok' }),
    transport: offlineTransport(data),
    openSocket: offlineSocket(data),
  };
}
