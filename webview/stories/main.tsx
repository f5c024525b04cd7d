/** The page that shows stories: `#part/name&theme=dark&width=400`. Without a story in the address, it lists all. */
import { render } from 'preact';
import { z } from 'zod';
import { reportFirstRows } from '../components/afterFirstRows.ts';
import { setTheme, type ThemeKind } from '../theme/browserTheme.ts';
import { storyIds, storyOf } from './index.ts';
import '../theme/page.css';
import './batch/batchStories.tsx';
import './compare/compareStories.tsx';
import './components/controlStories.tsx';
import './components/pieceStories.tsx';
import './components/textStories.tsx';
import './fidelity/fidelityStories.tsx';
import './trajectory/farStory.tsx';
import './trajectory/trajectoryStories.tsx';
import './trajectory/transcriptStories.tsx';
import './try/tryStories.tsx';
import './world/driveStories.tsx';
import './world/worldStories.tsx';
import './stories.css';

z.config({ jitless: true });
reportFirstRows(); // defines the control elements immediately

/** What tests call. */
interface Stories {
  readonly ids: readonly string[];
  /** Shows a story and waits until the page stops changing. */
  show(id: string, theme: string): Promise<void>;
  /** Waits until the current story stops changing after its window was resized. */
  resized(): Promise<void>;
  /** Switches the theme of the current story. */
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
/** A story is complete after this time without changes, and at the latest after `SHOWN_MS`. */
const QUIET_MS = 250;
/** After a resize, nothing loads. */
const RESIZED_MS = 100;
const SHOWN_MS = 3_000;
/** Time limit for loading, long enough for a busy machine. */
const LOADED_MS = 30_000;

const root = document.querySelector('#page');

function draw(id: string | undefined, theme: string, width?: string): void {
  if (!(root instanceof HTMLElement)) return;
  setTheme(THEMES[theme] ?? 'vscode-dark');
  root.style.width = width === undefined ? '' : `${width}px`;
  render(null, root);
  root.replaceChildren();
  for (const notice of document.body.querySelectorAll('.notice')) notice.remove();
  window.localStorage.clear();
  const selected = id === undefined ? undefined : storyOf(id);
  render(selected === undefined ? <List theme={theme} /> : selected.render(), root);
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

function showFromAddress(): void {
  const [id = '', ...rest] = decodeURIComponent(window.location.hash.slice(1)).split('&');
  const params = new URLSearchParams(rest.join('&'));
  draw(id === '' ? undefined : id, params.get('theme') ?? 'dark', params.get('width') ?? undefined);
}

globalThis.stories = {
  ids: storyIds(),
  async show(id, theme) {
    const selected = storyOf(id);
    if (selected === undefined) throw new TypeError(`there is no story ${id}`);
    draw(id, theme);
    await Promise.all([document.fonts.ready, customElements.whenDefined('vscode-checkbox')]);
    await untilQuiet(selected.busy, QUIET_MS);
  },
  resized: () => untilQuiet(true, RESIZED_MS),
  async theme(theme) {
    setTheme(THEMES[theme] ?? 'vscode-dark');
    // Elements follow the theme within a few frames.
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  },
};

/** Waits until the page has loaded and stops changing. Rejects if it does not finish loading. */
function untilQuiet(busy: boolean, quietMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const done = (): void => {
      const isLoading = !busy && document.querySelector('[aria-busy="true"]') !== null;
      if (isLoading && performance.now() - start < LOADED_MS) {
        timer = setTimeout(done, quietMs);
        return;
      }
      observer.disconnect();
      clearTimeout(timer);
      clearTimeout(longest);
      if (isLoading) reject(new Error('the story is still loading'));
      else requestAnimationFrame(() => resolve());
    };
    let timer = setTimeout(done, quietMs);
    const observer = new MutationObserver(() => {
      clearTimeout(timer);
      timer = setTimeout(done, quietMs);
    });
    observer.observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    const longest = setTimeout(done, SHOWN_MS);
  });
}

window.addEventListener('hashchange', showFromAddress);
showFromAddress();
