/** A page of stories: `#part/name&theme=dark&width=400`. Without a story in the address it lists them all. */
import { render } from 'preact';
import { z } from 'zod';
import { firstRowsShown } from '../components/afterFirstRows.ts';
import { setTheme, type ThemeKind } from '../theme/browserTheme.ts';
import { storyIds, storyOf } from './index.ts';
import '../theme/page.css';
import './batch/batchStories.tsx';
import './compare/compareStories.tsx';
import './components/controlStories.tsx';
import './components/pieceStories.tsx';
import './components/textStories.tsx';
import './trajectory/farStory.tsx';
import './trajectory/trajectoryStories.tsx';
import './try/tryStories.tsx';
import './stories.css';

z.config({ jitless: true });
firstRowsShown(); // the elements of the controls are part of what a story shows

/** What a test asks of the page. */
interface Stories {
  readonly ids: readonly string[];
  /** Shows a story and waits until nothing changes anymore. */
  show(id: string, theme: string): Promise<void>;
  /** Shows the same in another theme, as when somebody chooses one. */
  theme(theme: string): Promise<void>;
}

declare global {
  var stories: Stories;
}

const THEMES: Readonly<Record<string, ThemeKind>> = {
  dark: 'vscode-dark',
  light: 'vscode-light',
  hc: 'vscode-high-contrast',
  'hc-light': 'vscode-high-contrast-light',
};
/** A story is quiet when nothing changed for so long; one that never is counts as shown after the longer time. */
const QUIET_MS = 250;
const SHOWN_MS = 3_000;
/** What a story loads is there by then, also on a busy machine. */
const LOADED_MS = 30_000;

const root = document.querySelector('#page');

function draw(id: string | undefined, theme: string, width?: string): void {
  if (!(root instanceof HTMLElement)) return;
  setTheme(THEMES[theme] ?? 'vscode-dark');
  root.style.width = width === undefined ? '' : `${width}px`;
  render(null, root);
  root.replaceChildren();
  for (const left of document.body.querySelectorAll('.notice')) left.remove();
  window.localStorage.clear();
  const found = id === undefined ? undefined : storyOf(id);
  render(found === undefined ? <List theme={theme} /> : found.render(), root);
}

function List({ theme }: { readonly theme: string }) {
  return (
    <main class="story-list">
      <h1>Stories</h1>
      <ul>
        {storyIds().map((id) => (
          <li key={id}>
            <a href={`#${id}&theme=${theme}`}>{id}</a>
          </li>
        ))}
      </ul>
    </main>
  );
}

function fromAddress(): void {
  const [id = '', ...rest] = decodeURIComponent(window.location.hash.slice(1)).split('&');
  const given = new URLSearchParams(rest.join('&'));
  draw(id === '' ? undefined : id, given.get('theme') ?? 'dark', given.get('width') ?? undefined);
}

globalThis.stories = {
  ids: storyIds(),
  async show(id, theme) {
    const found = storyOf(id);
    if (found === undefined) throw new TypeError(`there is no story ${id}`);
    draw(id, theme);
    await Promise.all([document.fonts.ready, customElements.whenDefined('vscode-checkbox')]);
    await quiet(found.busy);
  },
  async theme(theme) {
    setTheme(THEMES[theme] ?? 'vscode-dark');
    // Drawn once: then the next frame.
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  },
};

/** Until the page stopped changing, and shows what it waited for. Rejects when that never comes. */
function quiet(busy: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const done = (): void => {
      const waits = !busy && document.querySelector('[aria-busy="true"]') !== null;
      if (waits && performance.now() - began < LOADED_MS) {
        timer = setTimeout(done, QUIET_MS);
        return;
      }
      observer.disconnect();
      clearTimeout(timer);
      clearTimeout(longest);
      if (waits) reject(new Error('the story is still loading'));
      else requestAnimationFrame(() => resolve());
    };
    let timer = setTimeout(done, QUIET_MS);
    const observer = new MutationObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(done, QUIET_MS);
    });
    observer.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    const longest = setTimeout(done, SHOWN_MS);
  });
}

window.addEventListener('hashchange', fromAddress);
fromAddress();
