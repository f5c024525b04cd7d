/**
 * `/view/`: serves the pages for a browser from the folder of the build. These files are public: they contain no data.
 * A page requests its data with the token in the fragment of its address.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { StudioError } from '../../common/errors.ts';
import { contentSecurityPolicy, type PageSources, pageHtml } from '../../common/pageHtml.ts';
import { VIEW_PATH } from '../../protocol/viewLink.ts';
import { type Call, param } from '../http/call.ts';
import type { RouteHandler } from '../http/router.ts';

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
/** All files, except for the chunks of the program. */
const MEDIA: Readonly<Record<string, string>> = {
  'start.js': SCRIPT,
  'page.css': 'text/css; charset=utf-8',
  'codicon.ttf': 'font/ttf',
};
/** The name of a chunk contains a hash of its content. */
const PART = /^[A-Za-z]+-[A-Z0-9]{8}\.js$/;
/** Revalidated at each load: the next version of the server uses the same addresses. */
const REVALIDATE = 'no-cache';

/** `folder`: the build output of `webview/`. */
export function viewRoutes(folder: string): RouteHandler[] {
  const page = (call: Call): undefined => sendPage(folder, call);
  const file = (call: Call): undefined => sendFile(folder, call);
  return [
    // Where people land who typed the host, or whom a proxy signed in.
    { method: 'GET', path: '/', handle: redirect },
    { method: 'GET', path: VIEW_PATH.slice(0, -1), handle: redirect },
    { method: 'GET', path: VIEW_PATH, handle: page },
    { method: 'HEAD', path: VIEW_PATH, handle: page },
    { method: 'GET', path: `${VIEW_PATH}:file`, handle: file },
    { method: 'HEAD', path: `${VIEW_PATH}:file`, handle: file },
  ];
}

/** Redirects to the page. The browser keeps the fragment. */
function redirect({ response }: Call): undefined {
  response.writeHead(308, { location: VIEW_PATH, 'content-length': 0, 'cache-control': 'no-cache' });
  response.end();
  return undefined;
}

function sendPage(folder: string, call: Call): undefined {
  read(folder, 'start.js'); // fail here, because without this file the page would stay empty
  const sources = sourcesOf(call.request.headers.host ?? '');
  const html = pageHtml({
    title: 'Rollout Studio',
    sources,
    script: { module: `${VIEW_PATH}start.js` },
    style: { url: `${VIEW_PATH}page.css` },
    bodyAttributes: { 'data-host': 'browser' },
  });
  // Only a header can set frame-ancestors.
  const bytes = Buffer.from(html);
  send(call, HTML, bytes, hashOf(bytes), REVALIDATE, {
    'content-security-policy': `${contentSecurityPolicy(sources)}; frame-ancestors 'none'`,
  });
  return undefined;
}

function sendFile(folder: string, call: Call): undefined {
  const name = param(call, 'file');
  const part = PART.test(name);
  const media = part ? SCRIPT : Object.hasOwn(MEDIA, name) ? MEDIA[name] : undefined;
  if (media === undefined) throw new StudioError('not_found', `The viewer has no file “${name.slice(0, 100)}”.`);
  const bytes = read(folder, name);
  if (part) send(call, media, bytes, `"${name}"`, 'max-age=31536000, immutable');
  else send(call, media, bytes, hashOf(bytes), REVALIDATE);
  return undefined;
}

/** `host`: the Host header, which passed the origin check. Not every browser applies `'self'` to WebSockets. */
function sourcesOf(host: string): PageSources {
  return {
    script: ["'self'"],
    style: ["'self'"],
    font: ["'self'"],
    img: ["'self'", 'data:', 'blob:'],
    connect: ["'self'", `ws://${host}`, `wss://${host}`],
    worker: ['blob:'],
  };
}

/**
 * Reads a file synchronously. An asynchronous read of a small file would wait for several turns of the event loop while
 * a server that just started is busy.
 */
function read(folder: string, name: string): Buffer {
  try {
    return readFileSync(path.join(folder, name));
  } catch (cause) {
    throw new StudioError('unavailable', `The viewer is not installed: ${name} is missing.`, {
      hint: 'Run npm run build, or reinstall Rollout Studio.',
      cause,
    });
  }
}

function hashOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`;
}

function send(
  call: Call,
  media: string,
  bytes: Buffer,
  etag: string,
  cacheControl: string,
  extraHeaders: Readonly<Record<string, string>> = {},
): void {
  const { request, response } = call;
  const same = request.headers['if-none-match'] === etag;
  response.writeHead(same ? 304 : 200, {
    'content-type': media,
    ...(same ? {} : { 'content-length': bytes.length }),
    etag: etag,
    'cache-control': cacheControl,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    ...extraHeaders,
  });
  response.end(same || request.method === 'HEAD' ? undefined : bytes);
}
