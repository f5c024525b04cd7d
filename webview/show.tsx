/** Replaces the document's skeleton with the page. */
import { render } from 'preact';
import type { PagePlace } from '../src/protocol/page.ts';
import { App, begin } from './app.tsx';
import { WITH_ROWS } from './batch/grid/firstRows.ts';
import { afterFirstRows } from './components/afterFirstRows.ts';
import { browserHost } from './host/browser.ts';
import type { Host } from './host/host.ts';
import { vscodeHost } from './host/vscode.ts';
import type { StartHost } from './start.ts';

/** Continues what start.ts has started. */
export function show(started: StartHost): Promise<void> {
  return showPage('vscode' in started ? vscodeHost(started.vscode) : browserHost(started.browser));
}

export async function showPage(host: Host): Promise<void> {
  let navigated: PagePlace | undefined;
  const subscription = host.onNavigate((place) => {
    navigated = place;
  });
  const result = await begin(host);
  subscription.dispose();
  const root = document.querySelector('#page');
  if (root === null) return;
  makeRoom(root);
  render(<App host={host} result={result} navigated={navigated} />, root);
}

/** Removes the document's skeleton. One that already shows rows stays above the page until the page shows them too. */
function makeRoom(root: Element): void {
  const skeleton = root.firstElementChild;
  root.replaceChildren();
  if (skeleton?.classList.contains(WITH_ROWS) !== true) return;
  document.body.append(skeleton);
  afterFirstRows(() => skeleton.remove());
}
