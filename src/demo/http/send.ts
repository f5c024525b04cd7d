import type { ServerResponse } from 'node:http';
import type { HttpError } from './errors.ts';

export function sendJson(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}

export function sendError(response: ServerResponse, { status, body, headers }: HttpError): void {
  sendJson(response, status, JSON.stringify(body), headers);
}
