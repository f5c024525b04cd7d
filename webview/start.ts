/**
 * Where a page begins in VS Code and in a browser: small and one file, so that it runs at once. It asks for the rest of
 * the program and for what the page will need, lets the document's skeleton be painted, and then has the page shown.
 */

import type { PagePlace } from '../src/protocol/page.ts';
import { placeFromParams } from '../src/protocol/viewLink.ts';
import { askEarly, type Early } from './host/early.ts';
import type { VsCodeStart } from './host/vscode.ts';
import { followSystemTheme } from './theme/browserTheme.ts';
import { styled } from './theme/styled.ts';

/** What this begins; show.tsx goes on with it. */
export type StartHost = { readonly vscode: VsCodeStart } | { readonly browser: Early | undefined };

interface Start {
  readonly started: StartHost;
  /** What is to be on the screen before the program is fetched. */
  readonly first?: Promise<void>;
}

/** Files that the page's program is made of (src/build/plugins/pageStart.ts). */
declare const __PROGRAM__: readonly string[];

/** A page that nobody looks at is not painted. */
const PAINTED_MS = 300;
/** A server that has not answered by then may take longer; the program is fetched meanwhile. */
const ANSWERED_MS = 250;

/** Has the program fetched: all its files at once, not one after the other as each names the next. */
function fetchProgram(): void {
  for (const file of __PROGRAM__) {
    const link = document.createElement('link');
    link.rel = 'modulepreload';
    link.href = new URL(file, import.meta.url).href;
    document.head.append(link);
  }
}

function start(): Start {
  if (globalThis.acquireVsCodeApi !== undefined)
    return { started: { vscode: startInVsCode(globalThis.acquireVsCodeApi()) } };
  followSystemTheme();
  const params = new URLSearchParams(window.location.hash.slice(1));
  const place = placeFromParams(params);
  if (place === undefined) return { started: { browser: undefined } };
  markSkeleton(place.page);
  const early = askEarly(place, params.get('token') ?? '');
  return {
    started: { browser: early },
    first: soon(place.page === 'batch' ? firstRows(place, early) : answered(early)),
  };
}

/** For the skeleton. An editor's document says it itself. */
function markSkeleton(page: PagePlace['page']): void {
  document.body.dataset['page'] = page;
}

/** What the editor says meanwhile is kept. */
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

/** Without the part that draws them the skeleton stays. */
async function firstRows(place: Extract<PagePlace, { page: 'batch' }>, early: Early): Promise<void> {
  try {
    const { drawFirstRows } = await import('./batch/grid/firstRows.ts');
    await drawFirstRows(place, early);
  } catch {
    // the program draws them
  }
}

function answered({ socket }: Early): Promise<void> {
  return new Promise((resolve) => {
    if (socket === undefined) resolve();
    else socket.socket.addEventListener('message', () => resolve(), { once: true });
  });
}

/** Waits no longer than a server may take. */
function soon(pending: Promise<void>): Promise<void> {
  return Promise.race([pending, new Promise<void>((resolve) => setTimeout(resolve, ANSWERED_MS))]);
}

function firstPaint(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => resolve();
    // A message that the frame's own work posts arrives once the frame is out.
    requestAnimationFrame(() => port2.postMessage(0));
    setTimeout(resolve, PAINTED_MS);
  });
}

/** Lets others have their turn: no task takes all the page's time. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve));
}

async function run(started: StartHost): Promise<void> {
  await import('./shapes.ts');
  await turn();
  const { show } = await import('./show.tsx');
  await turn();
  await show(started);
}

// A browser fetches only so many files at once, and the server answers one after the other: what is to be shown goes
// first.
const { started, first } = start();
void Promise.all([first, styled()])
  .then(firstPaint)
  .then(() => {
    if ('browser' in started) started.browser?.askMore();
    fetchProgram();
    return run(started);
  });
