/**
 * Exposes the editor's breakpoints to pages: function breakpoints on tools, and those on trajectory document lines.
 */
import * as vscode from 'vscode';
import { Observable } from '../../common/emitter.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { TRAJECTORY_SCHEME } from '../../debug/sources/frameSource.ts';
import { TrajectoryDocument } from '../../debug/sources/trajectoryDocument.ts';
import type { EditorBreakpoint, PageAction } from '../../protocol/page.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import { readEvent } from '../../trace/upgrades.ts';
import type { Services } from '../services.ts';

type BreakpointAction = Extract<PageAction, { do: 'breakpoint' }>;

/** The loaded text of a rollout, with the position of each event. */
interface RolloutText {
  readonly model: TrajectoryModel;
  readonly document: TrajectoryDocument;
  readonly title: string;
}

export class EditorBreakpoints {
  /** Breakpoints in the editor's order. */
  readonly all = new Observable<readonly EditorBreakpoint[]>([]);
  readonly #services: Pick<Services, 'server' | 'log'>;
  readonly #texts = new Map<string, RolloutText>();
  readonly #listener: vscode.Disposable;

  constructor(services: Pick<Services, 'server' | 'log'>) {
    this.#services = services;
    this.#listener = vscode.debug.onDidChangeBreakpoints(() => this.#refresh());
    this.#refresh();
  }

  /** Sets, replaces, or removes a breakpoint for a page. */
  async set({ on, set }: BreakpointAction): Promise<void> {
    const place = 'rollout' in on ? await this.#locationOf(on) : undefined;
    const existing = vscode.debug.breakpoints.filter((breakpoint) =>
      'name' in on
        ? breakpoint instanceof vscode.FunctionBreakpoint && breakpoint.functionName === on.name
        : breakpoint instanceof vscode.SourceBreakpoint && place !== undefined && isAt(breakpoint.location, place),
    );
    vscode.debug.removeBreakpoints(existing);
    if (set === undefined) return;
    const { when, hits, log } = set;
    vscode.debug.addBreakpoints([
      place === undefined
        ? new vscode.FunctionBreakpoint('name' in on ? on.name : '', true, when, hits, log)
        : new vscode.SourceBreakpoint(place, true, when, hits, log),
    ]);
  }

  dispose(): void {
    this.#listener.dispose();
  }

  #refresh(): void {
    this.#read().then(
      (all) => this.all.set(all),
      (error: unknown) => this.#services.log.debug(`Cannot place the breakpoints of a trajectory: ${errorText(error)}`),
    );
  }

  async #read(): Promise<EditorBreakpoint[]> {
    const found: EditorBreakpoint[] = [];
    for (const breakpoint of vscode.debug.breakpoints) {
      const on = await this.#placeOf(breakpoint);
      if (on === undefined) continue;
      const { id, enabled, condition, hitCondition, logMessage } = breakpoint;
      found.push({
        id,
        on,
        enabled,
        ...(condition === undefined ? {} : { when: condition }),
        ...(hitCondition === undefined ? {} : { hits: hitCondition }),
        ...(logMessage === undefined ? {} : { log: logMessage }),
      });
    }
    return found;
  }

  async #placeOf(breakpoint: vscode.Breakpoint): Promise<EditorBreakpoint['on'] | undefined> {
    if (breakpoint instanceof vscode.FunctionBreakpoint) return { name: breakpoint.functionName };
    if (!(breakpoint instanceof vscode.SourceBreakpoint) || breakpoint.location.uri.scheme !== TRAJECTORY_SCHEME)
      return undefined;
    const rollout = breakpoint.location.uri.path.split('/')[1] ?? '';
    const line = breakpoint.location.range.start.line + 1;
    const { document } = await this.#textOf(rollout, (text) => line <= text.document.lineCount);
    const seq = document.stopAt(line);
    return seq === undefined ? undefined : { rollout, seq };
  }

  async #locationOf({ rollout, seq }: { readonly rollout: string; readonly seq: number }): Promise<vscode.Location> {
    const { document, title } = await this.#textOf(rollout, (text) => seq <= text.model.last);
    // Use the debugger's name, so that its breakpoints match these.
    const uri = vscode.Uri.parse(
      `${TRAJECTORY_SCHEME}:/${rollout}/${encodeURIComponent(title.replaceAll('/', '∕'))}.trajectory`,
    );
    return new vscode.Location(uri, new vscode.Position(document.lineOf(seq) - 1, 0));
  }

  /** Returns a rollout's text. Loads more if it is not `enough`. */
  async #textOf(rollout: string, enough: (text: RolloutText) => boolean): Promise<RolloutText> {
    const loaded = this.#texts.get(rollout);
    if (loaded !== undefined && enough(loaded)) return loaded;
    const { api } = await this.#services.server.connection();
    const { row } = await api.rollout(rollout);
    const model = new TrajectoryModel();
    for await (const page of api.allEvents(rollout)) model.push(page.map((event) => readEvent(event)));
    if (model.last === 0) throw new StudioError('not_found', 'This rollout has no recorded events yet.');
    const title = `${row.task} · attempt ${row.attempt}`;
    const text = { model, title, document: new TrajectoryDocument(model, `${title} · ${rollout}`) };
    this.#texts.set(rollout, text);
    return text;
  }
}

function isAt(location: vscode.Location, { uri, range }: vscode.Location): boolean {
  return location.uri.toString() === uri.toString() && location.range.start.line === range.start.line;
}
