/** What is between a client and a server may refuse WebSockets, while all other requests pass. */
import type { IncomingMessage } from 'node:http';
import { StudioError } from '../common/errors.ts';
import { isJsonObject, jsonOf } from '../common/json.ts';

/** The server's own refusals are shorter. */
const MAX_BODY = 16 * 1024;
/** Replies of a gateway that is restarted, or that limits calls. Another attempt may succeed. */
const TEMPORARY: ReadonlySet<number> = new Set([401, 408, 425, 429]);

/** Returns why the WebSocket was refused, or undefined if the server itself did, or if that may change. */
export async function socketRefusal(url: string, response: IncomingMessage): Promise<StudioError | undefined> {
  const status = response.statusCode ?? 0;
  if (status < 200 || status >= 500 || TEMPORARY.has(status)) return undefined;
  let body = '';
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      body += String(chunk);
      if (body.length > MAX_BODY) break;
    }
  } catch {
    return undefined;
  }
  const parsed = jsonOf(body);
  const own = isJsonObject(parsed) ? parsed['error'] : undefined;
  // The server has such a path, but only for WebSockets: the request that it got was none.
  if (isJsonObject(own) && own['code'] !== 'not_found') return undefined;
  return new StudioError(
    'unsupported',
    `What is in front of ${new URL(url).host} refuses WebSockets (HTTP ${status}).`,
    {
      hint:
        'Let it pass WebSockets to /v1/client: nginx needs proxy_http_version 1.1 and the headers Upgrade and ' +
        'Connection, an Ingress of Contour the annotation projectcontour.io/websocket-routes=/.',
    },
  );
}
