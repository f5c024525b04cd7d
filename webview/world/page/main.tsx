/** Entry of a World page in VS Code. */
import { render } from 'preact';
import { reportFirstRows } from '../../components/afterFirstRows.ts';
import '../../theme/page.css';
import { WorldPage } from './worldPage.tsx';
import { WorldSession } from './worldSession.ts';

const api = globalThis.acquireVsCodeApi?.();
const root = document.querySelector('#page');
if (api !== undefined && root !== null) {
  api.setState(JSON.parse(document.body.dataset['shown'] ?? 'null')); // VS Code restores the panel from it
  const session = new WorldSession({
    post: (message) => api.postMessage(message),
    listen: (listener) => window.addEventListener('message', (event: MessageEvent<unknown>) => listener(event.data)),
  });
  root.replaceChildren();
  render(<WorldPage session={session} />, root);
  reportFirstRows();
}
