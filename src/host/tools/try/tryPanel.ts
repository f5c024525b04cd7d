/** A Try Tool panel: shows a tool, runs its calls, and reloads it when its file changes. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { errorText, StudioError } from '../../../common/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../common/json.ts';
import {
  type ChosenWorld,
  type ListedTool,
  type PageToTry,
  pageToTry,
  type TriedCall,
  type TryPanelState,
  type TryToPage,
  type TryWorld,
  triedCall,
} from '../../../protocol/tryPage.ts';
import type { Place } from '../../../trace/schema.ts';
import { ownPageHtml } from '../../pages/webviewFiles.ts';
import type { DoAction } from '../../services.ts';
import type { ToolCli } from './toolCli.ts';

/** Initial state of a panel. */
export interface TryStart {
  readonly arguments?: JsonObject;
  readonly world?: ChosenWorld;
}

interface TryPanelOptions {
  readonly context: vscode.ExtensionContext;
  readonly cli: ToolCli;
  /** Handles actions that all pages support. */
  readonly act: DoAction;
  /** Shows the error of an action. */
  readonly onError: (error: unknown) => void;
  /** Finds the worlds for the tool in the current workspace files. */
  readonly worlds: (tool: string) => Promise<TryWorld[]>;
  /** Finds the arguments of recorded calls, newest first. */
  readonly recorded: (tool: string) => Promise<readonly JsonObject[]>;
  /** Stores the arguments and world of the last call. */
  readonly store: (last: TryStart & { readonly arguments: JsonObject }) => void;
  readonly closed: () => void;
}

export class TryPanel {
  readonly file: string;
  readonly #view: vscode.WebviewPanel;
  readonly #options: TryPanelOptions;
  readonly #listeners: readonly vscode.Disposable[];
  #tool: ListedTool;
  /** Initial state, sent when the page is ready. */
  readonly #start: TryStart;
  #calling: AbortController | undefined;
  #reloading: AbortController | undefined;
  /** Whether the page is ready. */
  #isReady = false;
  #isReleased = false;
  /** Why its file could not be reloaded. */
  #problem: string | undefined;
  /** Whether the user confirmed irreversible calls. */
  #isConfirmed = false;

  /** @param file The tool module or agent file. */
  constructor(view: vscode.WebviewPanel, file: string, tool: ListedTool, start: TryStart, options: TryPanelOptions) {
    this.file = file;
    this.#tool = tool;
    this.#start = start;
    this.#options = options;
    const { context } = options;
    this.#view = view;
    this.#view.iconPath = vscode.Uri.joinPath(context.extensionUri, 'media', 'icons', 'pages', 'try.svg');
    this.#listeners = [
      this.#view.webview.onDidReceiveMessage((raw: unknown) => this.#handleMessage(raw)),
      vscode.workspace.onDidSaveTextDocument(({ uri }) => {
        if (this.#isSource(uri)) void this.#reload();
      }),
      this.#view.onDidDispose(() => {
        this.release();
        options.closed();
      }),
    ];
    this.#view.webview.html = ownPageHtml(this.#view, context, 'try', {
      file,
      tool: tool.name,
    } satisfies TryPanelState);
  }

  get tool(): string {
    return this.#tool.name;
  }

  /** Reveals the panel with the current version of the tool. */
  show(tool: ListedTool, args: JsonObject | undefined): void {
    this.#view.reveal();
    this.#tool = tool;
    this.#problem = undefined;
    this.#sendSoon(args === undefined ? {} : { arguments: args });
  }

  /** Called when batch files changed. */
  showWorlds(): void {
    if (this.#isReady) this.#sendSoon({});
  }

  /** Cancels running calls but keeps the tab. */
  release(): void {
    this.#isReleased = true;
    this.#calling?.abort();
    this.#reloading?.abort();
    for (const listener of this.#listeners) listener.dispose();
  }

  #handleMessage(raw: unknown): void {
    const message = pageToTry.safeParse(raw);
    if (!message.success)
      this.#options.onError(
        new StudioError('internal', 'A Try Tool panel sent an invalid message.', {
          cause: message.error,
        }),
      );
    else this.#perform(message.data).catch((error: unknown) => this.#options.onError(error));
  }

  async #perform(message: PageToTry): Promise<void> {
    switch (message.type) {
      case 'ready':
        this.#isReady = true;
        await this.#send(this.#start);
        return;
      case 'run':
        await this.#run(message.arguments, message.world);
        return;
      case 'cancel':
        this.#calling?.abort();
        return;
      case 'source':
        await this.#open(message.place);
        return;
      case 'document':
        await this.#options.act({
          do: 'document',
          title: message.title,
          text: message.text,
          language: message.language,
        });
        return;
      case 'copy':
        await this.#options.act({ do: 'copy', text: message.text });
    }
  }

  async #run(args: Json, world: ChosenWorld | undefined): Promise<void> {
    if (this.#calling !== undefined) return;
    const calling = new AbortController();
    this.#calling = calling;
    try {
      if (isJsonObject(args)) this.#options.store({ arguments: args, ...(world === undefined ? {} : { world }) });
      if (!(await this.#confirm())) {
        this.#post({ type: 'noResult', why: 'cancelled', text: 'The call was cancelled.' });
        return;
      }
      await vscode.workspace.saveAll(false); // its code is read from disk
      this.#post({ type: 'result', call: await this.#call(args, world ?? null, calling.signal) });
    } catch (error) {
      this.#post({
        type: 'noResult',
        why: calling.signal.aborted || StudioError.is(error, 'cancelled') ? 'cancelled' : 'failed',
        text: errorText(error),
      });
    } finally {
      this.#calling = undefined;
    }
  }

  async #call(args: Json, world: ChosenWorld, signal: AbortSignal): Promise<TriedCall> {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'rollout-form-'));
    try {
      const file = path.join(folder, 'arguments.json');
      await writeFile(file, JSON.stringify(args));
      const place =
        world === null ? [] : ['--batch', world.batch, ...(world.task === '' ? [] : ['--task', world.task])];
      return triedCall.parse(
        await this.#options.cli.json(
          this.file,
          ['try', this.file, this.#tool.name, '--arguments', file, ...place],
          signal,
          (text) => this.#post({ type: 'output', text }),
        ),
      );
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #confirm(): Promise<boolean> {
    if (this.#tool.effect !== 'irreversible' || this.#isConfirmed) return true;
    const detail =
      'The tool is not declared as pure or restorable, so its changes may be irreversible. This panel ' +
      'asks only once.';
    this.#isConfirmed =
      (await vscode.window.showWarningMessage(`Call ${this.#tool.name}?`, { modal: true, detail }, 'Call')) !==
      undefined;
    return this.#isConfirmed;
  }

  /** Returns whether a file defines the tool: its file, or a module that the file references. */
  #isSource(uri: vscode.Uri): boolean {
    if (uri.scheme !== 'file') return false;
    const { place } = this.#tool;
    const files = [this.file, ...(place === undefined ? [] : [fileAbove(this.file, place.file) ?? ''])];
    return files.some((file) => path.relative(file, uri.fsPath) === '');
  }

  /** Discards results of outdated reads. */
  async #reload(): Promise<void> {
    this.#reloading?.abort();
    const reload = new AbortController();
    this.#reloading = reload;
    try {
      const { tools, problems } = await this.#options.cli.list(this.file, reload.signal);
      const found = tools.find(({ name }) => name === this.#tool.name);
      if (found !== undefined) this.#tool = found;
      if (reload.signal.aborted) return;
      this.#problem =
        found === undefined
          ? (problems[0] ?? `${path.basename(this.file)} has no tool ${this.#tool.name} anymore.`)
          : undefined;
    } catch (error) {
      if (reload.signal.aborted) return;
      this.#problem = errorText(error);
    }
    this.#sendSoon({});
  }

  /** Opens a stack location, the tool, or its file: to the side of the panel, unless the file is visible. */
  async #open(place: Place | undefined): Promise<void> {
    const at = place ?? this.#tool.place;
    const file = at === undefined ? this.file : fileAbove(this.file, at.file);
    if (file === undefined) throw new StudioError('not_found', `File not found: ${at?.file ?? ''}.`);
    const uri = vscode.Uri.file(file);
    const visibleEditor = vscode.window.visibleTextEditors.find(
      ({ document }) => document.uri.toString() === uri.toString(),
    );
    const document = await vscode.workspace.openTextDocument(uri);
    const position = document.validatePosition(new vscode.Position((at?.line ?? 1) - 1, (at?.column ?? 1) - 1));
    await vscode.window.showTextDocument(document, {
      viewColumn: visibleEditor?.viewColumn ?? vscode.ViewColumn.Beside,
      selection: new vscode.Range(position, position),
    });
  }

  #sendSoon(start: TryStart): void {
    this.#send(start).catch((error: unknown) => this.#options.onError(error));
  }

  /**
   * Sends the form before the worlds, because finding batch files can take a while, especially in a new window.
   */
  async #send({ arguments: args, world }: TryStart): Promise<void> {
    this.#post({ ...this.#message(), ...(args === undefined ? {} : { arguments: args }) });
    const worlds = await this.#options.worlds(this.#tool.name);
    this.#post({ ...this.#message(), worlds, ...(world === undefined ? {} : { world }) });
    const recorded = await this.#options.recorded(this.#tool.name);
    if (recorded.length > 0) this.#post({ ...this.#message(), recorded: [...recorded] });
  }

  #message(): Extract<TryToPage, { type: 'tool' }> {
    return {
      type: 'tool',
      tool: this.#tool,
      file: vscode.workspace.asRelativePath(this.file, false),
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
    };
  }

  /** Ignores messages after the tab was closed. */
  #post(message: TryToPage): void {
    if (this.#isReleased) return;
    void this.#view.webview.postMessage(message);
  }
}

/** Resolves a stack's file path, which is relative to a parent folder of the tool. */
function fileAbove(tool: string, named: string): string | undefined {
  if (path.isAbsolute(named)) return named;
  for (let folder = path.dirname(tool); ; folder = path.dirname(folder)) {
    const candidate = path.join(folder, ...named.split('/'));
    if (existsSync(candidate)) return candidate;
    if (folder === path.dirname(folder)) return undefined;
  }
}
