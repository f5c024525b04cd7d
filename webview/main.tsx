/** Where a page begins: finds out what it runs in, and draws. */
import { render } from 'preact';
import { z } from 'zod';
import { App } from './app.tsx';
import { browserHost } from './host/browser.ts';
import { fileHost } from './host/file.ts';
import type { Host } from './host/host.ts';
import { vscodeHost } from './host/vscode.ts';
import { followSystemTheme } from './theme/browserTheme.ts';
import './theme/page.css';

// The pages' policy forbids code made from text, which zod would try.
z.config({ jitless: true });

function host(): Host {
  if (globalThis.acquireVsCodeApi !== undefined) return vscodeHost(globalThis.acquireVsCodeApi());
  followSystemTheme();
  return document.querySelector('#offline') === null ? browserHost() : fileHost();
}

const root = document.querySelector('#page');
if (root !== null) {
  root.replaceChildren(); // the skeleton that stood there until now
  render(<App host={host()} />, root);
}
