/**
 * The pages: one tab per batch, per rollout and per task that is compared, shown again instead of opened twice, each
 * with the server it was opened on, and back after a reload of the window.
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

/** What a page keeps by `setState`. */
const kept = z.object({ place: pagePlace });
/** What is kept of all open pages beside that: a window may close before a page could say where it is. */
const MEMORY = 'pages';
/** `target`: of a page of another server than the window worked with. */
const remembered = z.array(z.object({ title: z.string(), place: pagePlace, target: z.string().optional() })).catch([]);
const REMEMBER_AFTER_MS = 500;

export interface PanelsParts {
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

  /** `active`: where the active page is, kept up to date from here. */
  constructor(services: PanelOptions['services'] & Pick<Services, 'server'>, { ways, act, active }: PanelsParts) {
    this.#services = services;
    this.#ways = ways;
    this.#act = act;
    this.#breakpoints = new EditorBreakpoints(services);
    this.#movedListener = services.server.moved(() => {
      this.#tellActive();
      this.#remember(0);
    });
    this.#active = active;
    this.#before = remembered.parse(services.context.workspaceState.get(MEMORY) ?? []);
  }

  /** `where`: the server it is on; that of the window, unless said. */
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

  /** After a reload of the window: the same page, where it was. */
  restore(view: vscode.WebviewPanel, state: unknown): void {
    const parsed = kept.safeParse(state);
    const before = this.#rememberedPage(view.title, parsed.data?.place);
    const place = parsed.data?.place ?? before?.place;
    const where = before?.target === undefined ? this.#ways.here : { ...this.#ways.here, target: before.target };
    if (place !== undefined && this.#find(panelKey(place), where) === undefined) this.#adopt(view, place, where);
    else view.dispose(); // of another version, or open already: there is nothing to show in it
  }

  /** The tabs stay: the next window brings their pages back. */
  dispose(): void {
    clearTimeout(this.#remembering);
    this.#movedListener.dispose();
    this.#breakpoints.dispose();
    for (const panel of this.#panels) panel.release();
  }

  /** `place`: where the page itself says it was. */
  #rememberedPage(title: string, place: PagePlace | undefined): z.infer<typeof remembered>[number] | undefined {
    if (place !== undefined) {
      const same = this.#before.filter((page) => panelKey(page.place) === panelKey(place));
      return same.find((page) => page.title === title) ?? same[0];
    }
    const lost = this.#before.filter((page) => ![...this.#panels].some((panel) => panel.key === panelKey(page.place)));
    return lost.find((page) => page.title === title) ?? lost[0];
  }

  /** Places change with every step through a trajectory: they are written once one rests. */
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
      activeChanged: () => this.#tellActive(),
      changed: () => this.#remember(REMEMBER_AFTER_MS),
      closed: (gone) => {
        this.#panels.delete(gone);
        this.#tellActive();
        this.#remember(0);
      },
    });
    this.#panels.add(panel);
    this.#tellActive();
    this.#remember(0);
  }

  #find(key: string, where: Where): PagePanel | undefined {
    return [...this.#panels].find((panel) => panel.key === key && whereKey(panel.way.where) === whereKey(where));
  }

  /** A page that went to where another one is takes its place. */
  #closeTwins(mover: PagePanel): void {
    for (const panel of [...this.#panels]) {
      if (panel !== mover && panel.key === mover.key && whereKey(panel.way.where) === whereKey(mover.way.where))
        panel.view.dispose();
    }
  }

  #tellActive(): void {
    const active = [...this.#panels].find((panel) => panel.view.active);
    // Commands go where the window works.
    this.#active.set(active?.way.elsewhere === true ? undefined : active?.place);
  }

  /** Until the page knows better. */
  #firstTitle(place: PagePlace): string {
    if (place.page === 'trajectory') return 'Trajectory';
    if (place.page === 'batches') return 'Two Batches';
    if (place.page === 'compare') return `Attempts at ${place.task}`;
    return this.#services.batches.rows.value.find((row) => row.batch === place.batch)?.name ?? 'Batch';
  }
}
