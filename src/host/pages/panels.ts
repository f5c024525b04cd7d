/**
 * Manages the page tabs: one per batch, rollout, and compared task. Reuses open tabs, keeps each on the server it was
 * opened with, and restores them after a window reload.
 */
import * as vscode from 'vscode';
import { z } from 'zod';
import type { Observable } from '../../common/emitter.ts';
import { type PagePlace, pagePlace } from '../../protocol/page.ts';
import { PAGE_VIEW_TYPE } from '../contributions/names.ts';
import { type ServerConnections, type ServerId, serverKey } from '../server/connections.ts';
import type { Services } from '../services.ts';
import { EditorBreakpoints } from './breakpoints.ts';
import { PagePanel, type PanelOptions } from './panel.ts';
import { panelKey } from './placeName.ts';
import { webviewOptions } from './webviewFiles.ts';

/** State that a page stores with `setState`. */
const pageState = z.object({ place: pagePlace });
/** Memento key for the open pages, because a window may close before a page stored its state. */
const STATE_KEY = 'pages';
/** `target` is set for pages of another server than the window's. */
const storedPages = z.array(z.object({ title: z.string(), place: pagePlace, target: z.string().optional() })).catch([]);
const SAVE_DELAY_MS = 500;

interface PanelsParts {
  readonly connections: ServerConnections;
  readonly act: PanelOptions['act'];
  readonly active: Observable<PagePlace | undefined>;
}

export class PagePanels {
  readonly #panels = new Set<PagePanel>();
  readonly #services: PanelOptions['services'];
  readonly #connections: ServerConnections;
  readonly #act: PanelOptions['act'];
  readonly #serverListener: { dispose(): void };
  readonly #breakpoints: EditorBreakpoints;
  readonly #active: Observable<PagePlace | undefined>;
  readonly #previousPages: z.infer<typeof storedPages>;
  #saveTimer: NodeJS.Timeout | undefined;

  /** @param active Updated with the place of the active page. */
  constructor(
    services: PanelOptions['services'] & Pick<Services, 'server'>,
    { connections, act, active }: PanelsParts,
  ) {
    this.#services = services;
    this.#connections = connections;
    this.#act = act;
    this.#breakpoints = new EditorBreakpoints(services);
    this.#serverListener = services.server.serverChanged(() => {
      this.#updateActive();
      this.#savePages(0);
    });
    this.#active = active;
    this.#previousPages = storedPages.parse(services.context.workspaceState.get(STATE_KEY) ?? []);
  }

  /** Opens a page. `id` is its server and defaults to the window's. */
  open(
    place: PagePlace,
    options: { readonly toSide?: boolean; readonly preserveFocus?: boolean; readonly id?: ServerId } = {},
  ): void {
    const { preserveFocus = false, id = this.#connections.current } = options;
    const open = this.#find(panelKey(place), id);
    if (open !== undefined) {
      open.show(place, { preserveFocus });
      return;
    }
    const viewColumn = options.toSide === true ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
    const view = vscode.window.createWebviewPanel(
      PAGE_VIEW_TYPE,
      this.#firstTitle(place),
      { viewColumn, preserveFocus },
      {
        ...webviewOptions(this.#services.context),
        retainContextWhenHidden: true,
        enableFindWidget: false,
      },
    );
    this.#addPanel(view, place, id);
  }

  shows(place: PagePlace): boolean {
    return this.#find(panelKey(place), this.#connections.current) !== undefined;
  }

  /** Restores a page after a window reload. */
  restore(view: vscode.WebviewPanel, state: unknown): void {
    const parsed = pageState.safeParse(state);
    const previous = this.#previousPage(view.title, parsed.data?.place);
    const place = parsed.data?.place ?? previous?.place;
    const id =
      previous?.target === undefined
        ? this.#connections.current
        : { ...this.#connections.current, target: previous.target };
    if (place !== undefined && this.#find(panelKey(place), id) === undefined) this.#addPanel(view, place, id);
    else view.dispose(); // written by another version, or already open
  }

  /** Keeps the tabs, which the next window restores. */
  dispose(): void {
    clearTimeout(this.#saveTimer);
    this.#serverListener.dispose();
    this.#breakpoints.dispose();
    for (const panel of this.#panels) panel.release();
  }

  /** @param place The place that the page stored. */
  #previousPage(title: string, place: PagePlace | undefined): z.infer<typeof storedPages>[number] | undefined {
    if (place !== undefined) {
      const same = this.#previousPages.filter((page) => panelKey(page.place) === panelKey(place));
      return same.find((page) => page.title === title) ?? same[0];
    }
    const missing = this.#previousPages.filter(
      (page) => ![...this.#panels].some((panel) => panel.key === panelKey(page.place)),
    );
    return missing.find((page) => page.title === title) ?? missing[0];
  }

  /** Debounces writes, because the place changes with every step through a trajectory. */
  #savePages(delay: number): void {
    clearTimeout(this.#saveTimer);
    this.#saveTimer = setTimeout(() => {
      const pages = [...this.#panels].map(({ view, place, server }) => ({
        title: view.title,
        place,
        ...(server.elsewhere ? { target: server.id.target } : {}),
      }));
      void this.#services.context.workspaceState.update(STATE_KEY, pages);
    }, delay);
  }

  #addPanel(view: vscode.WebviewPanel, place: PagePlace, id: ServerId): void {
    const panel = new PagePanel(view, place, {
      services: this.#services,
      server: this.#connections.open(id),
      act: this.#act,
      breakpoints: this.#breakpoints,
      navigated: (navigatedPanel) => this.#closeDuplicates(navigatedPanel),
      activeChanged: () => this.#updateActive(),
      changed: () => this.#savePages(SAVE_DELAY_MS),
      closed: (panel) => {
        this.#panels.delete(panel);
        this.#updateActive();
        this.#savePages(0);
      },
    });
    this.#panels.add(panel);
    this.#updateActive();
    this.#savePages(0);
  }

  #find(key: string, id: ServerId): PagePanel | undefined {
    return [...this.#panels].find((panel) => panel.key === key && serverKey(panel.server.id) === serverKey(id));
  }

  /** Closes other tabs of a page that this one navigated to. */
  #closeDuplicates(navigatedPanel: PagePanel): void {
    for (const panel of [...this.#panels]) {
      if (
        panel !== navigatedPanel &&
        panel.key === navigatedPanel.key &&
        serverKey(panel.server.id) === serverKey(navigatedPanel.server.id)
      )
        panel.view.dispose();
    }
  }

  #updateActive(): void {
    const active = [...this.#panels].find((panel) => panel.view.active);
    // Commands use the window's server.
    this.#active.set(active?.server.elsewhere === true ? undefined : active?.place);
  }

  /** Returns a title for use until the page reports its own. */
  #firstTitle(place: PagePlace): string {
    if (place.page === 'trajectory') return 'Trajectory';
    if (place.page === 'batches') return 'Two Batches';
    if (place.page === 'fidelity') return 'Fidelity';
    if (place.page === 'compare') return `Attempts of ${place.task}`;
    return this.#services.batches.rows.value.find((row) => row.batch === place.batch)?.name ?? 'Batch';
  }
}
