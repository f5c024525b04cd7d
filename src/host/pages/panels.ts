/** The pages: one tab per batch, per rollout and per task that is compared, shown again instead of opened twice, and back after a reload of the window. */
import * as vscode from 'vscode';
import { z } from 'zod';
import type { Observable } from '../../common/emitter.ts';
import { pagePlace, type PagePlace } from '../../protocol/page.ts';
import { PAGE_VIEW_TYPE } from '../contributions/names.ts';
import type { DoAction } from '../services.ts';
import { EditorBreakpoints } from './breakpoints.ts';
import { PagePanel, webviewOptions, type PanelOptions } from './panel.ts';
import { panelKey } from './placeName.ts';

/** What a page keeps by `setState`. */
const kept = z.object({ place: pagePlace });
/** What is kept of all open pages beside that: a window may close before a page could say where it is. */
const MEMORY = 'pages';
const remembered = z.array(z.object({ title: z.string(), place: pagePlace })).catch([]);
const REMEMBER_AFTER_MS = 500;

export class PagePanels {
  readonly #panels = new Set<PagePanel>();
  readonly #services: PanelOptions['services'];
  readonly #act: DoAction;
  readonly #breakpoints: EditorBreakpoints;
  readonly #active: Observable<PagePlace | undefined>;
  readonly #before: z.infer<typeof remembered>;
  #remembering: NodeJS.Timeout | undefined;

  /** `active`: where the active page is, kept up to date from here. */
  constructor(services: PanelOptions['services'], act: DoAction, active: Observable<PagePlace | undefined>) {
    this.#services = services;
    this.#act = act;
    this.#breakpoints = new EditorBreakpoints(services);
    this.#active = active;
    this.#before = remembered.parse(services.context.workspaceState.get(MEMORY) ?? []);
  }

  open(place: PagePlace, options: { readonly beside?: boolean; readonly preserveFocus?: boolean } = {}): void {
    const preserveFocus = options.preserveFocus ?? false;
    const open = this.#find(panelKey(place));
    if (open !== undefined) {
      open.show(place, { preserveFocus });
      return;
    }
    const viewColumn = options.beside === true ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
    const view = vscode.window.createWebviewPanel(PAGE_VIEW_TYPE, this.#firstTitle(place), { viewColumn, preserveFocus }, {
      ...webviewOptions(this.#services.context), retainContextWhenHidden: true, enableFindWidget: false,
    });
    this.#adopt(view, place);
  }

  shows(place: PagePlace): boolean {
    return this.#find(panelKey(place)) !== undefined;
  }

  /** After a reload of the window: the same page, where it was. */
  restore(view: vscode.WebviewPanel, state: unknown): void {
    const parsed = kept.safeParse(state);
    const place = parsed.success ? parsed.data.place : this.#rememberedPlace(view.title);
    if (place !== undefined && this.#find(panelKey(place)) === undefined) this.#adopt(view, place);
    else view.dispose(); // of another version, or open already: there is nothing to show in it
  }

  /** The tabs stay: the next window brings their pages back. */
  dispose(): void {
    clearTimeout(this.#remembering);
    this.#breakpoints.dispose();
    for (const panel of this.#panels) panel.release();
  }

  #rememberedPlace(title: string): PagePlace | undefined {
    const lost = this.#before.filter(({ place }) => this.#find(panelKey(place)) === undefined);
    return (lost.find((page) => page.title === title) ?? lost[0])?.place;
  }

  /** Places change with every step through a trajectory: they are written once one rests. */
  #remember(delay: number): void {
    clearTimeout(this.#remembering);
    this.#remembering = setTimeout(() => {
      const pages = [...this.#panels].map(({ view, place }) => ({ title: view.title, place }));
      void this.#services.context.workspaceState.update(MEMORY, pages);
    }, delay);
  }

  #adopt(view: vscode.WebviewPanel, place: PagePlace): void {
    const panel = new PagePanel(view, place, {
      services: this.#services,
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

  #find(key: string): PagePanel | undefined {
    return [...this.#panels].find((panel) => panel.key === key);
  }

  /** A page that went to where another one is takes its place. */
  #closeTwins(mover: PagePanel): void {
    for (const panel of [...this.#panels]) {
      if (panel !== mover && panel.key === mover.key) panel.view.dispose();
    }
  }

  #tellActive(): void {
    this.#active.set([...this.#panels].find((panel) => panel.view.active)?.place);
  }

  /** Until the page knows better. */
  #firstTitle(place: PagePlace): string {
    if (place.page === 'trajectory') return 'Trajectory';
    if (place.page === 'batches') return 'Two Batches';
    if (place.page === 'compare') return `Attempts at ${place.task}`;
    return this.#services.batches.rows.value.find((row) => row.batch === place.batch)?.name ?? 'Batch';
  }
}
