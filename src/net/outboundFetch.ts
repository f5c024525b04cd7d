/** A `fetch` for libraries that take one: through the proxies of this process, and with what it trusts. */
import { trustSystemAfter, trustsSystem } from './outbound.ts';
import { outboundAgent } from './outboundRequest.ts';

/**
 * Sends a request, and once more if an authority of the operating system may help. Bodies are text: libraries here
 * send JSON and forms.
 */
export async function outboundFetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
  const { method = 'GET', headers, body, signal, redirect = 'follow' } = init;
  const isText = body === undefined || body === null || typeof body === 'string' || body instanceof URLSearchParams;
  if (!isText) throw new TypeError('Only text can be sent.');
  const { fetch } = await import('undici'); // most processes need none
  const before = trustsSystem();
  const send = (): Promise<Response> =>
    fetch(url, {
      method,
      redirect,
      headers: Object.fromEntries(new Headers(headers)),
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
      dispatcher: outboundAgent(),
    });
  try {
    return await send();
  } catch (error) {
    if (!trustSystemAfter(error instanceof Error ? error.cause : undefined, before)) throw error;
    return await send();
  }
}
