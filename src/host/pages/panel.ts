/** A page in an editor tab: its document, relay, title, and icon. */
import * as vscode from 'vscode';
import { errorText } from '../../common/errors.ts';
import { sha256Hex } from '../../common/hash.ts';
import { pageHtml } from '../../common/pageHtml.ts';
import type { HostToPage, PageAction, PagePlace, PageToHost, PageVerb } from '../../protocol/page.ts';
import type { WindowPrediction } from '../../protocol/predictedCall.ts';
import type { PageServer } from '../server/connections.ts';
import type { HostAction, Services } from '../services.ts';
import type { EditorBreakpoints } from './breakpoints.ts';
import { iconOfPlace, type PageIcon } from './icon.ts';
import { panelKey } from './placeName.ts';
import { Relay } from './relay.ts';
import { pageFolder, webviewOptions } from './webviewFiles.ts';

/** This host supports all page actions. */
const ACTIONS: readonly PageVerb[] = [
  'open',
  'source',
  'world',
  'document',
  'copy',
  'external',
  'link',
  'batch',
  'pods',
  'debug',
  'call',
  'label',
  'predict',
  'breakpoint',
  'save',
];

export interface PanelOptions {
  readonly services: Pick<Services, 'context' | 'log' | 'batches' | 'settings' | 'predictions'>;
  /** Connection to the page's server, disposed with the page. */
  readonly server: PageServer;
  readonly act: (action: HostAction, server: PageServer) => Promise<void>;
  readonly breakpoints: EditorBreakpoints;
  /** Called when the page navigated, e.g. to the next attempt. */
  readonly navigated: (panel: PagePanel, previousKey: string) => void;
  readonly activeChanged: () => void;
  /** Called when the place or title changed. */
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
  /** Title that the page reported. */
  #title: string;
  #ready = false;
  #icon: PageIcon | undefined;
  #iconUpdate: Promise<void> | undefined;

  constructor(view: vscode.WebviewPanel, place: PagePlace, options: PanelOptions) {
    this.view = view;
    this.#place = place;
    this.#options = options;
    const { services, server } = options;
    // The title of a restored tab includes the suffix.
    this.#title = view.title.endsWith(this.#suffix) ? view.title.slice(0, -this.#suffix.length) : view.title;
    this.#relay = new Relay({
      server,
      post: (message) => this.#post(message),
      other: (message) => this.#handleMessage(message),
      invalid: (why) => services.log.warn(`A page sent an invalid message: ${why}`),
    });
    const listeners: vscode.Disposable[] = [
      view.webview.onDidReceiveMessage((raw: unknown) => this.#relay.take(raw)),
      view.onDidChangeViewState(() => {
        options.activeChanged();
        this.#refreshIcon();
      }),
    ];
    // Keep the tab icon up to date, even if the tab is hidden.
    const batchListener = services.batches.rows.changed(() => this.#refreshIcon());
    const watch = services.batches.watch();
    const stateListener = server.state.changed(() => this.#refreshTitle());
    const breakpoints = options.breakpoints.all.changed(() => this.#sendBreakpoints());
    const predictions = services.predictions.changed(() => this.#sendPredictions());
    this.#release = () => {
      this.#stop.abort();
      this.#relay.dispose();
      stateListener.dispose();
      server.dispose();
      for (const listener of listeners) listener.dispose();
      batchListener.dispose();
      watch.dispose();
      breakpoints.dispose();
      predictions.dispose();
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

  /** Connection to the page's server. */
  get server(): PageServer {
    return this.#options.server;
  }

  /** Shows the panel, at `place`. */
  show(place: PagePlace, options: { readonly preserveFocus: boolean }): void {
    this.view.reveal(undefined, options.preserveFocus);
    if (!isSpecific(place)) return;
    this.#place = place;
    if (this.#ready) this.#post({ type: 'go', place });
  }

  /** Releases everything but the tab, which the next window restores. */
  release(): void {
    this.#release();
  }

  #handleMessage(message: Exclude<PageToHost, { type: 'request' | 'cancel' | 'socket' | 'send' }>): void {
    switch (message.type) {
      case 'ready':
        // A reloaded page (a moved tab, a developer's reload) starts over.
        this.#relay.reset();
        this.#ready = true;
        this.#post({
          type: 'init',
          place: this.#place,
          read_only: false,
          can: [...ACTIONS],
          server: this.server.state.value,
        });
        this.#sendBreakpoints();
        if (this.#predictions().length > 0) this.#sendPredictions();
        return;
      case 'place': {
        const previousKey = this.key;
        this.#place = message.place;
        if (message.title !== '') this.#title = message.title;
        this.#refreshTitle();
        if (this.key !== previousKey) {
          this.#options.navigated(this, previousKey);
          this.#sendPredictions();
        }
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
      else if (action.do === 'elsewhere') await this.#switchOrClose(action.what);
      else await this.#options.act(action, this.server);
      this.#post({ type: 'done', id });
    } catch (error) {
      this.#options.services.log.warn(`${action.do}: ${errorText(error)}`);
      this.#post({ type: 'done', id, error: errorText(error) });
    }
  }

  async #switchOrClose(choice: 'use' | 'close'): Promise<void> {
    if (choice === 'use') await this.#options.services.settings.switchTarget(this.server.id.target);
    else this.view.dispose();
  }

  /** Title suffix of a page whose server is not the window's. */
  get #suffix(): string {
    return ` · ${this.server.id.target}`;
  }

  #refreshTitle(): void {
    const title = this.server.elsewhere ? this.#title + this.#suffix : this.#title;
    if (this.view.title !== title) this.view.title = title;
  }

  #sendBreakpoints(): void {
    if (this.#ready) this.#post({ type: 'breakpoints', breakpoints: [...this.#options.breakpoints.all.value] });
  }

  #sendPredictions(): void {
    if (this.#ready) this.#post({ type: 'predictions', predictions: this.#predictions() });
  }

  /** Returns the predictions of the page's rollout. */
  #predictions(): WindowPrediction[] {
    const place = this.#place;
    if (place.page !== 'trajectory') return [];
    return this.#options.services.predictions.value.filter(({ rollout }) => rollout === place.rollout);
  }

  #post(message: HostToPage): void {
    if (!this.#stop.signal.aborted) void this.view.webview.postMessage(message);
  }

  /** Runs one icon update at a time; the next change triggers another. */
  #refreshIcon(): void {
    if (this.#stop.signal.aborted) return;
    this.#iconUpdate ??= iconOfPlace(
      { server: this.server, batches: this.#options.services.batches },
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
      ) // the page reports a missing server
      .finally(() => {
        this.#iconUpdate = undefined;
      });
  }
}

function documentOf(view: vscode.WebviewPanel, place: PagePlace, context: vscode.ExtensionContext): string {
  const { webview } = view;
  const url = (file: string): string => webview.asWebviewUri(vscode.Uri.joinPath(pageFolder(context), file)).toString();
  const own = webview.cspSource;
  return pageHtml({
    title: view.title,
    // The worker's code is inlined in the page, because webviews have another origin than their files.
    sources: { script: [own], style: [own], font: [own], img: [own, 'data:', 'blob:'], connect: [], worker: ['blob:'] },
    script: { module: url('start.js') },
    style: { url: url('page.css') },
    bodyAttributes: { 'data-host': 'vscode', 'data-page': place.page, ...workspaceAttribute() },
  });
}

/** Identifies the workspace, for choices that pages remember for each. */
function workspaceAttribute(): Readonly<Record<string, string>> {
  const uri = vscode.workspace.workspaceFile ?? vscode.workspace.workspaceFolders?.[0]?.uri;
  return uri === undefined ? {} : { 'data-workspace': sha256Hex(uri.toString()).slice(0, 12) };
}

/** Returns whether a place is more specific than its page, so that an open page must navigate. */
function isSpecific(place: PagePlace): boolean {
  if (place.page === 'batch') return place.filter !== undefined;
  if (place.page === 'compare') return place.rollout !== undefined;
  if (place.page === 'batches' || place.page === 'fidelity') return false;
  const { seq, step, tab, fork } = place;
  return seq !== undefined || step !== undefined || tab !== undefined || fork === true;
}
