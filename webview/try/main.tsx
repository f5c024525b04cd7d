/** Entry of the “Try Tool…” panel in VS Code. */
import { render } from 'preact';
import { reportFirstRows } from '../components/afterFirstRows.ts';
import '../theme/page.css';
import { TryPage } from './tryPage.tsx';
import { TrySession } from './trySession.ts';

const api = globalThis.acquireVsCodeApi?.();
const root = document.querySelector('#page');
if (api !== undefined && root !== null) {
  api.setState(JSON.parse(document.body.dataset['shown'] ?? 'null')); // VS Code restores the panel from it
  const session = new TrySession({
    post: (message) => api.postMessage(message),
    listen: (listener) => window.addEventListener('message', (event: MessageEvent<unknown>) => listener(event.data)),
  });
  root.replaceChildren();
  render(<TryPage session={session} />, root);
  reportFirstRows();
}
