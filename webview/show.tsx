/** Draws a page in place of the document's skeleton, once it is known which. */
import { render } from 'preact';
import type { PagePlace } from '../src/protocol/page.ts';
import { App, begin } from './app.tsx';
import { browserHost } from './host/browser.ts';
import type { Host } from './host/host.ts';
import { vscodeHost } from './host/vscode.ts';
import type { Started } from './start.ts';

/** Goes on with what start.ts began. */
export function show(started: Started): Promise<void> {
  return showPage('vscode' in started ? vscodeHost(started.vscode) : browserHost(started.browser));
}

export async function showPage(host: Host): Promise<void> {
  let went: PagePlace | undefined;
  const early = host.went((place) => {
    went = place;
  });
  const begun = await begin(host);
  early.dispose();
  const root = document.querySelector('#page');
  if (root === null) return;
  root.replaceChildren();
  render(<App host={host} begun={begun} went={went} />, root);
}
