/** Shows tool calls next to the tools' code. Loaded when a tool first becomes visible. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { JsonObject } from '../../common/json.ts';
import { place } from '../../trace/schema.ts';
import { distinctArguments } from '../../trace/toolCalls/fact.ts';
import { DEBUG_TYPE } from '../contributions/names.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import { openSource } from '../pages/actions.ts';
import type { CommandGroup, Services } from '../services.ts';
import { chooseBatch, showCallsHere } from './editor/commands.ts';
import { scenarioOfCode } from './editor/documentErrors.ts';
import { errorLenses } from './editor/errorLenses.ts';
import { toolHover } from './editor/hovers.ts';
import { toolInlays } from './editor/inlays.ts';
import { toolLenses } from './editor/lenses.ts';
import { ToolLookup } from './editor/lookup.ts';
import { ErrorMarks } from './editor/marks.ts';
import { CallDocuments, callsQuery, showCalls } from './editor/showCalls.ts';
import { CALLS_SCHEME, FORM_SCHEME, type ToolCallCommand } from './ids.ts';
import { Predictions } from './predict/predictions.ts';
import { type CallPlace, callPlace } from './rerun/callOutput.ts';
import type { FormFiles } from './rerun/formFiles.ts';
import { Reruns } from './rerun/reruns.ts';
import { moduleOf, saveTest } from './rerun/saveTest.ts';
import { followBatch } from './state/openBatches.ts';
import { toolFileKind } from './state/toolLocations.ts';
import { ToolStatistics } from './state/toolStatistics.ts';

/** Recorded arguments to offer. */
const MAX_RECORDED = 20;
const sourcePlace = z.object({ place, rollout: z.string() });

interface CoreParts {
  readonly services: Services;
  readonly values: StoredValues;
  readonly forms: FormFiles;
  /** Fires when lenses and hints must be refreshed. */
  readonly changed: () => void;
}

export class ToolCallsCore implements vscode.Disposable {
  readonly statistics: ToolStatistics;
  readonly documents = new CallDocuments();
  readonly reruns: Reruns;
  readonly #predictions: Predictions;
  readonly #lookup: ToolLookup;
  readonly #services: Services;
  readonly #marks: ErrorMarks;
  readonly #listener: { dispose(): void };

  constructor({ services, values, forms, changed }: CoreParts) {
    const log = (text: string): void => services.log.warn(text);
    this.#services = services;
    this.statistics = new ToolStatistics({
      server: services.server,
      batches: services.batches,
      log,
      follow: followBatch,
      memory: services.context.workspaceState,
      folders: () =>
        (vscode.workspace.workspaceFolders ?? [])
          .filter(({ uri }) => uri.scheme === 'file')
          .map(({ uri }) => uri.fsPath),
    });
    this.#lookup = new ToolLookup(this.statistics);
    this.reruns = new Reruns(services, values, forms);
    this.#predictions = new Predictions(services, values);
    this.#marks = new ErrorMarks(
      this.statistics,
      vscode.Uri.joinPath(services.context.extensionUri, 'media', 'icons', 'thrown.svg'),
      log,
    );
    this.#listener = this.statistics.changed(() => {
      changed();
      this.#marks.refresh();
    });
  }

  dispose(): void {
    this.#listener.dispose();
    this.statistics.dispose();
    this.#marks.dispose();
    this.reruns.dispose();
    this.#predictions.dispose();
  }

  lenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    return scenarioOfCode(document.uri) === undefined
      ? toolLenses(this.#lookup, document)
      : errorLenses(this.statistics, document);
  }

  hover(document: vscode.TextDocument, position: vscode.Position): Promise<vscode.Hover | undefined> {
    return toolHover(this.#lookup, document, position);
  }

  inlays(document: vscode.TextDocument, range: vscode.Range): Promise<vscode.InlayHint[]> {
    return toolInlays(this.#lookup, document, range);
  }

  /** Returns the distinct arguments of a tool's recorded calls, newest first; none if no listed batch used the tool. */
  async recordedArguments(file: string, tool: string): Promise<readonly JsonObject[]> {
    const kind = toolFileKind(file);
    const statistics = kind === undefined ? undefined : await this.statistics.of(kind, file, [tool]);
    return statistics === undefined ? [] : distinctArguments(statistics.calls.calls(new Set([tool])), MAX_RECORDED);
  }

  /** Called when visible editors or settings changed. */
  refreshMarks(): void {
    this.#marks.refresh();
  }

  /** Called when a file that may define or reference tools was saved. */
  fileSaved(): void {
    this.statistics.filesChanged();
  }

  readonly commands: CommandGroup<ToolCallCommand> = {
    'rollout.showCalls': async (argument) => {
      const of = callsQuery.safeParse(argument);
      await (of.success
        ? showCalls(this.statistics, this.documents, of.data)
        : showCallsHere(this.statistics, this.#lookup, this.documents));
    },
    'rollout.chooseToolBatch': () => chooseBatch(this.statistics, this.#lookup, undefined),
    'rollout.rerunCall': async (argument) => this.reruns.open(await this.#call(argument)),
    'rollout.predictCall': (argument, what) => this.#predict(argument, what),
    'rollout.runCall': (uri, code) =>
      this.reruns.run(uri instanceof vscode.Uri ? uri : undefined, code === 'recorded' ? code : 'now'),
    'rollout.saveTestCase': (argument) => this.#save(argument),
    'rollout.toolCalls.chooseBatch': (argument) =>
      chooseBatch(this.statistics, this.#lookup, callsQuery.parse(argument)),
    'rollout.toolCalls.openStep': async (argument) => {
      const { rollout, seq } = callPlace.parse(argument);
      await this.#services.pages.open({ page: 'trajectory', rollout, seq }, { toSide: true });
    },
    'rollout.toolCalls.compare': (uri) => this.reruns.compare(uri instanceof vscode.Uri ? uri : undefined),
    'rollout.toolCalls.try': (argument) => this.#try(argument),
    'rollout.toolCalls.openSource': async (argument) => {
      const { place: at, rollout } = sourcePlace.parse(argument);
      await openSource(this.#services, at, rollout);
    },
  };

  /** Opens the Try Tool panel with the arguments of a call or form. */
  async #try(argument: unknown): Promise<void> {
    const form = argument instanceof vscode.Uri ? this.reruns.formOf(argument) : undefined;
    const call = await this.reruns.describe(form ?? (await this.#call(argument)));
    if (call.of_world)
      throw new StudioError('unsupported', `${call.name} belongs to a world and cannot be called alone.`, {
        hint: '“Re-run This Call” calls it in the world as it was.',
      });
    await vscode.commands.executeCommand(
      'rollout.tryTool',
      await moduleOf(call),
      call.name,
      form?.arguments ?? call.arguments,
    );
  }

  /** `what`: as in the action of a page. The command itself lets the user choose the world. */
  async #predict(argument: unknown, what: unknown): Promise<void> {
    const call = await this.#call(argument);
    if (what === 'stop') this.#predictions.stop(call);
    else await this.#predictions.predict(call, what !== 'predict');
  }

  /** Returns the call for a command: its argument, or the call in the active page or document. */
  async #call(argument: unknown): Promise<CallPlace> {
    const parsed = callPlace.safeParse(argument);
    if (parsed.success) return parsed.data;
    const page = this.#services.pages.active.value;
    if (page?.page === 'trajectory' && page.seq !== undefined)
      return { rollout: page.rollout, seq: await this.#startOf(page.rollout, page.seq) };
    const debugged = page === undefined ? await this.#debugged() : undefined;
    if (debugged !== undefined) return { ...debugged, seq: await this.#startOf(debugged.rollout, debugged.seq) };
    const editor = vscode.window.activeTextEditor;
    const atCursor =
      editor?.document.uri.scheme === CALLS_SCHEME
        ? this.documents.callAt(editor.document.uri, editor.selection.active.line)
        : undefined;
    if (atCursor !== undefined) return atCursor;
    throw new StudioError('usage', 'No call is selected.', {
      hint: 'Select a tool call in a trajectory, or show the calls of a tool.',
    });
  }

  /** Returns where the debugger is. */
  async #debugged(): Promise<CallPlace | undefined> {
    const session = vscode.debug.activeDebugSession;
    if (session?.type !== DEBUG_TYPE) return undefined;
    return callPlace.parse(await session.customRequest('place', {}));
  }

  /** Returns the seq of the start event of a call, given any of its events. */
  async #startOf(rollout: string, seq: number): Promise<number> {
    const { api } = await this.#services.server.connection();
    const [event] = (await api.events(rollout, { after: seq - 1, limit: 1 })).events;
    return event?.kind === 'tool.start' ? seq : (event?.span ?? seq);
  }

  async #save(argument: unknown): Promise<void> {
    const uri = argument instanceof vscode.Uri ? argument : vscode.window.activeTextEditor?.document.uri;
    if (uri?.scheme === FORM_SCHEME && !callPlace.safeParse(argument).success) {
      // A form with changed arguments must run first.
      let form = this.reruns.formOf(uri);
      if (form.outcome === undefined) {
        await this.reruns.run(uri);
        form = this.reruns.formOf(uri);
        if (form.outcome === undefined) return;
      }
      await saveTest(this.#services, {
        call: await this.reruns.describe(form),
        rerun: { arguments: form.arguments, outcome: form.outcome },
      });
      return;
    }
    await saveTest(this.#services, { call: await this.reruns.describe(await this.#call(argument)), rerun: undefined });
  }
}
