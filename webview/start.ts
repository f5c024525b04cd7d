/**
 * Entry of a page in VS Code and in a browser: one small file, so that it runs immediately. It requests the rest of the
 * program and the page's data, lets the browser paint the document's skeleton, and then shows the page.
 */

import type { PagePlace } from '../src/protocol/page.ts';
import { placeFromParams } from '../src/protocol/viewLink.ts';
import { type Early, requestEarly } from './host/early.ts';
import type { VsCodeStart } from './host/vscode.ts';
import { followSystemTheme } from './theme/browserTheme.ts';
import { stylesLoaded } from './theme/stylesLoaded.ts';

/** The result of the start, with which show.tsx continues. */
export type StartHost = { readonly vscode: VsCodeStart } | { readonly browser: Early | undefined };

interface Start {
  readonly started: StartHost;
  /** Resolves once the first rows are on the screen, before the program is fetched. */
  readonly first?: Promise<void>;
}

/** Files of the page's program (src/build/plugins/pageStart.ts). */
declare const __PROGRAM__: readonly string[];

/** Browsers do not paint hidden pages, so do not wait longer for it. */
const MAX_PAINT_MS = 300;
/** If the server has not responded by then, the program is fetched while waiting. */
const MAX_RESPONSE_MS = 250;

/** Fetches all files of the program in parallel, instead of one after the other as they import each other. */
function fetchProgram(): void {
  for (const file of __PROGRAM__) {
    const link = document.createElement('link');
    link.rel = 'modulepreload';
    link.href = new URL(file, import.meta.url).href;
    document.head.append(link);
  }
}

function start(): Start | Promise<Start> {
  if (globalThis.acquireVsCodeApi !== undefined)
    return { started: { vscode: startInVsCode(globalThis.acquireVsCodeApi()) } };
  followSystemTheme();
  const params = new URLSearchParams(window.location.hash.slice(1));
  const ticket = params.get('ticket');
  return ticket === null ? startInBrowser(params) : redeem(ticket, params).then(startInBrowser);
}

/**
 * Exchanges the ticket in the address for a token, which replaces it there. If it was used, it stays, and the page says
 * so.
 */
async function redeem(ticket: string, params: URLSearchParams): Promise<URLSearchParams> {
  const response = await fetch(`/v1/tickets/${ticket}`, { method: 'POST' }).catch(() => undefined);
  if (response?.ok !== true) return params;
  const { token } = (await response.json()) as { token: string }; // this server's own reply
  const own = new URLSearchParams([['token', token], ...[...params].filter(([key]) => key !== 'ticket')]);
  window.history.replaceState(null, '', `#${own.toString()}`);
  return own;
}

function startInBrowser(params: URLSearchParams): Start {
  const place = placeFromParams(params);
  if (place === undefined) return { started: { browser: undefined } };
  markSkeleton(place.page);
  const early = requestEarly(place, params.get('token') ?? '');
  return {
    started: { browser: early },
    first: withLimit(place.page === 'batch' ? firstRows(place, early) : firstMessage(early)),
  };
}

/** Sets the page's kind for the skeleton. An editor's document contains it already. */
function markSkeleton(page: PagePlace['page']): void {
  document.body.dataset['page'] = page;
}

/** Buffers messages of the editor until the page handles them. */
function startInVsCode(api: VsCodeStart['api']): VsCodeStart {
  const messages: unknown[] = [];
  const keep = (event: MessageEvent<unknown>): void => void messages.push(event.data);
  window.addEventListener('message', keep);
  api.postMessage({ type: 'ready' });
  return {
    api,
    take: () => {
      window.removeEventListener('message', keep);
      return messages;
    },
  };
}

/** Draws the first rows. If their chunk cannot be loaded, the skeleton stays. */
async function firstRows(place: Extract<PagePlace, { page: 'batch' }>, early: Early): Promise<void> {
  try {
    const { drawFirstRows } = await import('./batch/grid/firstRows.ts');
    await drawFirstRows(place, early);
  } catch {
    // the program draws them
  }
}

function firstMessage({ socket }: Early): Promise<void> {
  return new Promise((resolve) => {
    if (socket === undefined) resolve();
    else socket.socket.addEventListener('message', () => resolve(), { once: true });
  });
}

/** Waits for a promise, with a time limit. */
function withLimit(pending: Promise<void>): Promise<void> {
  return Promise.race([pending, new Promise<void>((resolve) => setTimeout(resolve, MAX_RESPONSE_MS))]);
}

function firstPaint(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve();
    // A message posted in the frame callback arrives after the frame was painted.
    requestAnimationFrame(() => port2.postMessage(0));
    setTimeout(resolve, MAX_PAINT_MS);
  });
}

/** Yields to other tasks. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

async function run(started: StartHost): Promise<void> {
  await import('./messageSchemas.ts');
  await nextTask();
  const { show } = await import('./show.tsx');
  await nextTask();
  await show(started);
}

// Browsers limit parallel requests, and the server responds one after the other, so the page's data goes first.
void Promise.resolve(start()).then(async ({ started, first }) => {
  await Promise.all([first, stylesLoaded()]);
  await firstPaint();
  if ('browser' in started) started.browser?.requestMore();
  fetchProgram();
  await run(started);
});
