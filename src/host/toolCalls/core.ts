/** All that shows calls of tools where they are written; read when a tool first comes into sight. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { place } from '../../trace/schema.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import { openSource } from '../pages/actions.ts';
import type { CommandGroup, Services } from '../services.ts';
import { chooseBatch, showCallsHere } from './editor/commands.ts';
import { toolHover } from './editor/hovers.ts';
import { toolInlays } from './editor/inlays.ts';
import { toolLenses } from './editor/lenses.ts';
import { Lookup } from './editor/lookup.ts';
import { ThrownMarks } from './editor/marks.ts';
import { CallDocuments, callsOf, showCalls } from './editor/showCalls.ts';
import type { ToolCallCommand } from './lensCommands.ts';
import { type CallPlace, callPlace } from './rerun/described.ts';
import type { FormFiles } from './rerun/formFiles.ts';
import { Reruns } from './rerun/reruns.ts';
import { moduleOf, saveTest } from './rerun/saveTest.ts';
import { CALLS_SCHEME, FORM_SCHEME } from './schemes.ts';
import { followBatch } from './state/openBatches.ts';
import { Figures } from './state/toolFigures.ts';

const sourcePlace = z.object({ place, rollout: z.string() });

export interface CoreParts {
  readonly services: Services;
  readonly values: StoredValues;
  readonly forms: FormFiles;
  /** Lenses and hints are to be asked for again. */
  readonly changed: () => void;
}

export class ToolCallsCore implements vscode.Disposable {
  readonly figures: Figures;
  readonly documents = new CallDocuments();
  readonly reruns: Reruns;
  readonly #lookup: Lookup;
  readonly #services: Services;
  readonly #marks: ThrownMarks;
  readonly #listener: { dispose(): void };

  constructor({ services, values, forms, changed }: CoreParts) {
    const log = (text: string): void => services.log.warn(text);
    this.#services = services;
    this.figures = new Figures({
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
    this.#lookup = new Lookup(this.figures);
    this.reruns = new Reruns(services, values, forms);
    this.#marks = new ThrownMarks(
      this.figures,
      vscode.Uri.joinPath(services.context.extensionUri, 'media', 'icons', 'thrown.svg'),
      log,
    );
    this.#listener = this.figures.changed(() => {
      changed();
      this.#marks.look();
    });
  }

  dispose(): void {
    this.#listener.dispose();
    this.figures.dispose();
    this.#marks.dispose();
    this.reruns.dispose();
  }

  lenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    return toolLenses(this.#lookup, document);
  }

  hover(document: vscode.TextDocument, position: vscode.Position): Promise<vscode.Hover | undefined> {
    return toolHover(this.#lookup, document, position);
  }

  inlays(document: vscode.TextDocument, range: vscode.Range): Promise<vscode.InlayHint[]> {
    return toolInlays(this.#lookup, document, range);
  }

  /** Other editors are in sight, or settings changed. */
  look(): void {
    this.#marks.look();
  }

  /** A file that may hold tools, or lead to some, was saved. */
  saved(): void {
    this.figures.filesChanged();
  }

  readonly commands: CommandGroup<ToolCallCommand> = {
    'rollout.showCalls': async (asked) => {
      const of = callsOf.safeParse(asked);
      await (of.success
        ? showCalls(this.figures, this.documents, of.data)
        : showCallsHere(this.figures, this.#lookup, this.documents));
    },
    'rollout.chooseToolBatch': () => chooseBatch(this.figures, this.#lookup, undefined),
    'rollout.rerunCall': async (asked) => this.reruns.open(await this.#call(asked)),
    'rollout.runCall': (uri, code) =>
      this.reruns.run(uri instanceof vscode.Uri ? uri : undefined, code === 'recorded' ? code : 'now'),
    'rollout.saveTestCase': (asked) => this.#save(asked),
    'rollout.toolCalls.chooseBatch': (asked) => chooseBatch(this.figures, this.#lookup, callsOf.parse(asked)),
    'rollout.toolCalls.openStep': async (asked) => {
      const { rollout, seq } = callPlace.parse(asked);
      await this.#services.pages.open({ page: 'trajectory', rollout, seq }, { beside: true });
    },
    'rollout.toolCalls.compare': (uri) => this.reruns.compare(uri instanceof vscode.Uri ? uri : undefined),
    'rollout.toolCalls.try': (asked) => this.#try(asked),
    'rollout.toolCalls.openSource': async (asked) => {
      const { place: at, rollout } = sourcePlace.parse(asked);
      await openSource(this.#services, at, rollout);
    },
  };

  /** The tool of a call alone, in its panel, with the call's arguments or those of its form. */
  async #try(asked: unknown): Promise<void> {
    const form = asked instanceof vscode.Uri ? this.reruns.formOf(asked) : undefined;
    const call = await this.reruns.describe(form ?? (await this.#call(asked)));
    if (call.of_world)
      throw new StudioError('unsupported', `${call.name} is a tool of a world. It cannot be called alone.`, {
        hint: '“Re-run This Call” calls it in the world as it was.',
      });
    await vscode.commands.executeCommand(
      'rollout.tryTool',
      await moduleOf(call),
      call.name,
      form?.arguments ?? call.arguments,
    );
  }

  /** The call a command is about: told, or that of the active page or document. */
  async #call(asked: unknown): Promise<CallPlace> {
    const told = callPlace.safeParse(asked);
    if (told.success) return told.data;
    const page = this.#services.pages.active.value;
    if (page?.page === 'trajectory' && page.seq !== undefined)
      return { rollout: page.rollout, seq: await this.#startOf(page.rollout, page.seq) };
    const editor = vscode.window.activeTextEditor;
    const here =
      editor?.document.uri.scheme === CALLS_SCHEME
        ? this.documents.callAt(editor.document.uri, editor.selection.active.line)
        : undefined;
    if (here !== undefined) return here;
    throw new StudioError('usage', 'No call is selected.', {
      hint: 'Select a tool call in a trajectory, or show the calls of a tool.',
    });
  }

  /** The start of the call that an event of it belongs to. */
  async #startOf(rollout: string, seq: number): Promise<number> {
    const { api } = await this.#services.server.connection();
    const [event] = (await api.events(rollout, { after: seq - 1, limit: 1 })).events;
    return event?.kind === 'tool.start' ? seq : (event?.span ?? seq);
  }

  async #save(asked: unknown): Promise<void> {
    const uri = asked instanceof vscode.Uri ? asked : vscode.window.activeTextEditor?.document.uri;
    if (uri?.scheme === FORM_SCHEME && !callPlace.safeParse(asked).success) {
      // What other arguments give is known once they were tried.
      let form = this.reruns.formOf(uri);
      if (form.outcome === undefined) {
        await this.reruns.run(uri);
        form = this.reruns.formOf(uri);
        if (form.outcome === undefined) return;
      }
      await saveTest(this.#services, {
        call: await this.reruns.describe(form),
        made: { arguments: form.arguments, outcome: form.outcome },
      });
      return;
    }
    await saveTest(this.#services, { call: await this.reruns.describe(await this.#call(asked)), made: undefined });
  }
}
