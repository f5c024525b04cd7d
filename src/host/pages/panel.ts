/** One page in a tab of the editor: its document, its relay, its title and icon. */
import * as vscode from 'vscode';
import { errorText } from '../../common/errors.ts';
import { pageHtml } from '../../common/pageHtml.ts';
import type { HostToPage, PageAction, PagePlace, PageToHost, PageVerb } from '../../protocol/page.ts';
import type { PageWay } from '../server/connections.ts';
import type { HostAction, Services } from '../services.ts';
import { chooseTarget } from '../window/settings.ts';
import type { EditorBreakpoints } from './breakpoints.ts';
import { iconOfPlace, type PageIcon } from './icon.ts';
import { panelKey } from './placeName.ts';
import { Relay } from './relay.ts';
import { pageFolder, webviewOptions } from './webviewFiles.ts';

/** All of them: this host can do everything a page may ask for. */
const CAN: readonly PageVerb[] = [
  'open',
  'source',
  'document',
  'copy',
  'external',
  'link',
  'batch',
  'debug',
  'call',
  'breakpoint',
  'save',
];

export interface PanelOptions {
  readonly services: Pick<Services, 'context' | 'log' | 'batches'>;
  /** To the page's own server; it goes with the page. */
  readonly way: PageWay;
  readonly act: (action: HostAction, way: PageWay) => Promise<void>;
  readonly breakpoints: EditorBreakpoints;
  /** The page went elsewhere by itself, e.g. to the next attempt. */
  readonly moved: (panel: PagePanel, before: string) => void;
  readonly activeChanged: () => void;
  /** Its place or its title is another. */
  readonly changed: () => void;
  readonly closed: (panel: PagePanel) => void;
}

export class PagePanel {
  readonly view: vscode.WebviewPanel;
  readonly #options: PanelOptions;
  readonly #relay: Relay;
  readonly #stop = new AbortController();
  readonly #release: () => void;
  #place: PagePlace;
  /** What the page calls itself. */
  #title: string;
  #ready = false;
  #icon: PageIcon | undefined;
  #iconWanted: Promise<void> | undefined;

  constructor(view: vscode.WebviewPanel, place: PagePlace, options: PanelOptions) {
    this.view = view;
    this.#place = place;
    this.#options = options;
    const { services, way } = options;
    // A tab that comes back has what was put behind its title.
    this.#title = view.title.endsWith(this.#suffix) ? view.title.slice(0, -this.#suffix.length) : view.title;
    this.#relay = new Relay({
      server: way,
      post: (message) => this.#post(message),
      other: (message) => this.#take(message),
      strange: (why) => services.log.warn(`A page sent a message that could not be read: ${why}`),
    });
    const listeners: vscode.Disposable[] = [
      view.webview.onDidReceiveMessage((raw: unknown) => this.#relay.take(raw)),
      view.onDidChangeViewState(() => {
        options.activeChanged();
        this.#refreshIcon();
      }),
    ];
    // While a page is open its tab tells what became of it, looked at or not.
    const batchListener = services.batches.rows.changed(() => this.#refreshIcon());
    const watch = services.batches.watch();
    const wayListener = way.state.changed(() => this.#refreshTitle());
    const breakpoints = options.breakpoints.all.changed(() => this.#tellBreakpoints());
    this.#release = () => {
      this.#stop.abort();
      this.#relay.dispose();
      wayListener.dispose();
      way.dispose();
      for (const listener of listeners) listener.dispose();
      batchListener.dispose();
      watch.dispose();
      breakpoints.dispose();
    };
    listeners.push(
      view.onDidDispose(() => {
        this.#release();
        options.closed(this);
      }),
    );
    view.webview.options = webviewOptions(services.context);
    view.webview.html = documentOf(view, place, services.context);
    this.#refreshIcon();
    this.#refreshTitle();
  }

  get place(): PagePlace {
    return this.#place;
  }

  get key(): string {
    return panelKey(this.#place);
  }

  /** To its server. */
  get way(): PageWay {
    return this.#options.way;
  }

  /** Shows the panel, at `place`. */
  show(place: PagePlace, options: { readonly preserveFocus: boolean }): void {
    this.view.reveal(undefined, options.preserveFocus);
    if (!goesFurther(place)) return;
    this.#place = place;
    if (this.#ready) this.#post({ type: 'go', place });
  }

  /** Lets go of everything but the tab: it stays for the window that comes after this one. */
  release(): void {
    this.#release();
  }

  #take(message: Exclude<PageToHost, { type: 'request' | 'cancel' | 'socket' | 'send' }>): void {
    switch (message.type) {
      case 'ready':
        // A page that is loaded once more (a moved tab, a developer's reload) begins anew.
        this.#relay.reset();
        this.#ready = true;
        this.#post({ type: 'init', place: this.#place, read_only: false, can: [...CAN], server: this.way.state.value });
        this.#tellBreakpoints();
        return;
      case 'place': {
        const before = this.key;
        this.#place = message.place;
        if (message.title !== '') this.#title = message.title;
        this.#refreshTitle();
        if (this.key !== before) this.#options.moved(this, before);
        this.#options.activeChanged();
        this.#options.changed();
        this.#refreshIcon();
        return;
      }
      case 'action':
        void this.#act(message.id, message.action);
    }
  }

  async #act(id: number, action: PageAction): Promise<void> {
    try {
      if (action.do === 'breakpoint') await this.#options.breakpoints.set(action);
      else if (action.do === 'elsewhere') await this.#leave(action.what);
      else await this.#options.act(action, this.way);
      this.#post({ type: 'done', id });
    } catch (error) {
      this.#options.services.log.warn(`${action.do}: ${errorText(error)}`);
      this.#post({ type: 'done', id, error: errorText(error) });
    }
  }

  async #leave(what: 'use' | 'close'): Promise<void> {
    if (what === 'use') await chooseTarget(this.way.where.target);
    else this.view.dispose();
  }

  /** Of a page whose server the window does not work with. */
  get #suffix(): string {
    return ` · ${this.way.where.target}`;
  }

  #refreshTitle(): void {
    const title = this.way.elsewhere ? this.#title + this.#suffix : this.#title;
    if (this.view.title !== title) this.view.title = title;
  }

  #tellBreakpoints(): void {
    if (this.#ready) this.#post({ type: 'breakpoints', breakpoints: [...this.#options.breakpoints.all.value] });
  }

  #post(message: HostToPage): void {
    if (!this.#stop.signal.aborted) void this.view.webview.postMessage(message);
  }

  /** One look at a time; what changes meanwhile is looked at by the next change. */
  #refreshIcon(): void {
    if (this.#stop.signal.aborted) return;
    this.#iconWanted ??= iconOfPlace(
      { server: this.way, batches: this.#options.services.batches },
      this.#place,
      this.#stop.signal,
    )
      .then(
        (icon) => {
          if (this.#stop.signal.aborted || icon === this.#icon) return;
          this.#icon = icon;
          this.view.iconPath = vscode.Uri.joinPath(
            this.#options.services.context.extensionUri,
            'media',
            'icons',
            'pages',
            `${icon}.svg`,
          );
        },
        () => undefined,
      ) // a server that is not there is told by the page itself
      .finally(() => {
        this.#iconWanted = undefined;
      });
  }
}

function documentOf(view: vscode.WebviewPanel, place: PagePlace, context: vscode.ExtensionContext): string {
  const { webview } = view;
  const url = (file: string): string => webview.asWebviewUri(vscode.Uri.joinPath(pageFolder(context), file)).toString();
  const own = webview.cspSource;
  return pageHtml({
    title: view.title,
    // The worker's program is in the page's: an editor's page is of another origin than its files. Nothing is fetched.
    sources: { script: [own], style: [own], font: [own], img: [own, 'data:', 'blob:'], connect: [], worker: ['blob:'] },
    script: { module: url('start.js') },
    style: { url: url('page.css') },
    bodyAttributes: { 'data-host': 'vscode', 'data-page': place.page },
  });
}

/** Whether a place says more than which page it is: only then an open page has somewhere to go. */
function goesFurther(place: PagePlace): boolean {
  if (place.page === 'batch') return place.filter !== undefined;
  if (place.page === 'compare' || place.page === 'batches') return false;
  return place.seq !== undefined || place.step !== undefined || place.tab !== undefined;
}
