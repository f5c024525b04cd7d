/**
 * Manages the page tabs: one per batch, rollout, and compared task. Reuses open tabs, keeps each on the server it was
 * opened with, and restores them after a window reload.
 */
import * as vscode from 'vscode';
import { z } from 'zod';
import type { Observable } from '../../common/emitter.ts';
import { type PagePlace, pagePlace } from '../../protocol/page.ts';
import { PAGE_VIEW_TYPE } from '../contributions/names.ts';
import { type ServerConnections, type Where, whereKey } from '../server/connections.ts';
import type { Services } from '../services.ts';
import { EditorBreakpoints } from './breakpoints.ts';
import { PagePanel, type PanelOptions } from './panel.ts';
import { panelKey } from './placeName.ts';
import { webviewOptions } from './webviewFiles.ts';

/** State that a page stores with `setState`. */
const kept = z.object({ place: pagePlace });
/** Memento key for the open pages, because a window may close before a page stored its state. */
const MEMORY = 'pages';
/** `target` is set for pages of another server than the window's. */
const remembered = z.array(z.object({ title: z.string(), place: pagePlace, target: z.string().optional() })).catch([]);
const REMEMBER_AFTER_MS = 500;

interface PanelsParts {
  readonly ways: ServerConnections;
  readonly act: PanelOptions['act'];
  readonly active: Observable<PagePlace | undefined>;
}

export class PagePanels {
  readonly #panels = new Set<PagePanel>();
  readonly #services: PanelOptions['services'];
  readonly #ways: ServerConnections;
  readonly #act: PanelOptions['act'];
  readonly #movedListener: { dispose(): void };
  readonly #breakpoints: EditorBreakpoints;
  readonly #active: Observable<PagePlace | undefined>;
  readonly #before: z.infer<typeof remembered>;
  #remembering: NodeJS.Timeout | undefined;

  /** @param active Updated with the place of the active page. */
  constructor(services: PanelOptions['services'] & Pick<Services, 'server'>, { ways, act, active }: PanelsParts) {
    this.#services = services;
    this.#ways = ways;
    this.#act = act;
    this.#breakpoints = new EditorBreakpoints(services);
    this.#movedListener = services.server.moved(() => {
      this.#updateActive();
      this.#remember(0);
    });
    this.#active = active;
    this.#before = remembered.parse(services.context.workspaceState.get(MEMORY) ?? []);
  }

  /** Opens a page. `where` is its server and defaults to the window's. */
  open(
    place: PagePlace,
    options: { readonly beside?: boolean; readonly preserveFocus?: boolean; readonly where?: Where } = {},
  ): void {
    const { preserveFocus = false, where = this.#ways.here } = options;
    const open = this.#find(panelKey(place), where);
    if (open !== undefined) {
      open.show(place, { preserveFocus });
      return;
    }
    const viewColumn = options.beside === true ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
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
    this.#adopt(view, place, where);
  }

  shows(place: PagePlace): boolean {
    return this.#find(panelKey(place), this.#ways.here) !== undefined;
  }

  /** Restores a page after a window reload. */
  restore(view: vscode.WebviewPanel, state: unknown): void {
    const parsed = kept.safeParse(state);
    const before = this.#rememberedPage(view.title, parsed.data?.place);
    const place = parsed.data?.place ?? before?.place;
    const where = before?.target === undefined ? this.#ways.here : { ...this.#ways.here, target: before.target };
    if (place !== undefined && this.#find(panelKey(place), where) === undefined) this.#adopt(view, place, where);
    else view.dispose(); // written by another version, or already open
  }

  /** Keeps the tabs, which the next window restores. */
  dispose(): void {
    clearTimeout(this.#remembering);
    this.#movedListener.dispose();
    this.#breakpoints.dispose();
    for (const panel of this.#panels) panel.release();
  }

  /** @param place The place that the page stored. */
  #rememberedPage(title: string, place: PagePlace | undefined): z.infer<typeof remembered>[number] | undefined {
    if (place !== undefined) {
      const same = this.#before.filter((page) => panelKey(page.place) === panelKey(place));
      return same.find((page) => page.title === title) ?? same[0];
    }
    const lost = this.#before.filter((page) => ![...this.#panels].some((panel) => panel.key === panelKey(page.place)));
    return lost.find((page) => page.title === title) ?? lost[0];
  }

  /** Debounces writes, because the place changes with every step through a trajectory. */
  #remember(delay: number): void {
    clearTimeout(this.#remembering);
    this.#remembering = setTimeout(() => {
      const pages = [...this.#panels].map(({ view, place, way }) => ({
        title: view.title,
        place,
        ...(way.elsewhere ? { target: way.where.target } : {}),
      }));
      void this.#services.context.workspaceState.update(MEMORY, pages);
    }, delay);
  }

  #adopt(view: vscode.WebviewPanel, place: PagePlace, where: Where): void {
    const panel = new PagePanel(view, place, {
      services: this.#services,
      way: this.#ways.open(where),
      act: this.#act,
      breakpoints: this.#breakpoints,
      moved: (mover) => this.#closeTwins(mover),
      activeChanged: () => this.#updateActive(),
      changed: () => this.#remember(REMEMBER_AFTER_MS),
      closed: (panel) => {
        this.#panels.delete(panel);
        this.#updateActive();
        this.#remember(0);
      },
    });
    this.#panels.add(panel);
    this.#updateActive();
    this.#remember(0);
  }

  #find(key: string, where: Where): PagePanel | undefined {
    return [...this.#panels].find((panel) => panel.key === key && whereKey(panel.way.where) === whereKey(where));
  }

  /** Closes other tabs of a page that this one navigated to. */
  #closeTwins(mover: PagePanel): void {
    for (const panel of [...this.#panels]) {
      if (panel !== mover && panel.key === mover.key && whereKey(panel.way.where) === whereKey(mover.way.where))
        panel.view.dispose();
    }
  }

  #updateActive(): void {
    const active = [...this.#panels].find((panel) => panel.view.active);
    // Commands use the window's server.
    this.#active.set(active?.way.elsewhere === true ? undefined : active?.place);
  }

  /** Returns a title for use until the page reports its own. */
  #firstTitle(place: PagePlace): string {
    if (place.page === 'trajectory') return 'Trajectory';
    if (place.page === 'batches') return 'Two Batches';
    if (place.page === 'compare') return `Attempts of ${place.task}`;
    return this.#services.batches.rows.value.find((row) => row.batch === place.batch)?.name ?? 'Batch';
  }
}
