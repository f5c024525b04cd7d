/**
 * Manages the Try Tool panels: one per tool, with its last arguments and world. Tools run in a separate process.
 */
import path from 'node:path';
import * as vscode from 'vscode';
import { z } from 'zod';
import type { Subscription } from '../../../common/emitter.ts';
import { errorText, StudioError } from '../../../common/errors.ts';
import type { JsonObject } from '../../../common/json.ts';
import { chosenWorld, type ListedTool, type TryWorld, tryPanelState } from '../../../protocol/tryPage.ts';
import { TRY_VIEW_TYPE } from '../../contributions/names.ts';
import type { StudioFiles } from '../../files/studioFiles.ts';
import { folderOf, pathOf, workspaceFiles } from '../../files/workspaceFiles.ts';
import type { StoredValues } from '../../launch/values/storedValues.ts';
import { webviewOptions } from '../../pages/webviewFiles.ts';
import type { DoAction, RecordedArguments, Services } from '../../services.ts';
import { withProgress } from '../../window/progress.ts';
import { ToolCli } from './toolCli.ts';
import { TryPanel, type TryStart } from './tryPanel.ts';

const STATE_KEY = 'tries';
const MAX_STORED = 50;
const MAX_STORED_CHARS = 20_000;
const storedCalls = z
  .array(
    z.object({
      file: z.string(),
      tool: z.string(),
      arguments: z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>,
      world: chosenWorld.optional(),
    }),
  )
  .catch([]);

/** What the panels use besides the services. */
export interface TryPanelParts {
  readonly values: StoredValues;
  readonly act: DoAction;
  readonly files: StudioFiles;
  readonly recorded: RecordedArguments;
}

export class TryPanels implements vscode.Disposable {
  readonly #services: Pick<Services, 'cli' | 'log' | 'context'>;
  readonly #cli: ToolCli;
  readonly #act: DoAction;
  readonly #recorded: RecordedArguments;
  readonly #files: StudioFiles;
  readonly #fileListener: Subscription;
  readonly #panels = new Set<TryPanel>();

  constructor(services: Pick<Services, 'cli' | 'log' | 'context'>, { values, act, files, recorded }: TryPanelParts) {
    this.#services = services;
    this.#act = act;
    this.#recorded = recorded;
    this.#files = files;
    this.#fileListener = files.changed((kind) => {
      if (kind === 'batch') for (const panel of this.#panels) panel.showWorlds();
    });
    this.#cli = new ToolCli(services.cli, values);
  }

  /** Keeps the tabs, which the next window restores. */
  dispose(): void {
    this.#fileListener.dispose();
    for (const panel of this.#panels) panel.release();
  }

  /**
   * Opens or reveals the panel of a tool. Asks which tool if `name` is undefined. `args` are the initial arguments.
   */
  async open(file: string, name?: string, args?: JsonObject): Promise<void> {
    await vscode.workspace.saveAll(false); // its code is read from disk
    const { tools, problems } = await withProgress(`Reading the tools of ${path.basename(file)}`, ({ signal }) =>
      this.#cli.list(file, signal),
    );
    for (const problem of problems) this.#services.log.warn(problem);
    const tool =
      name === undefined ? await pickTool(tools, problems, file) : tools.find((candidate) => candidate.name === name);
    if (tool === undefined) {
      if (name === undefined) return;
      throw new StudioError('not_found', `${path.basename(file)} has no tool ${name}.`, {
        hint: problems[0] ?? 'Export it.',
      });
    }
    const open = [...this.#panels].find((panel) => panel.file === file && panel.tool === tool.name);
    if (open !== undefined) {
      open.show(tool, args);
      return;
    }
    this.#show(
      vscode.window.createWebviewPanel(TRY_VIEW_TYPE, `Try ${tool.name}`, vscode.ViewColumn.Active, {
        ...webviewOptions(this.#services.context),
        retainContextWhenHidden: true,
      }),
      file,
      tool,
      args,
    );
  }

  /** Restores a panel. Requires trust, because listing a tool runs its module. */
  async restore(view: vscode.WebviewPanel, saved: unknown): Promise<void> {
    const state = tryPanelState.safeParse(saved);
    if (!state.success || !vscode.workspace.isTrusted) {
      view.dispose();
      return;
    }
    const { file, tool: name } = state.data;
    const ended = new AbortController();
    const closed = view.onDidDispose(() => ended.abort());
    try {
      const tool = (await this.#cli.list(file, ended.signal)).tools.find((candidate) => candidate.name === name);
      if (tool === undefined) throw new StudioError('not_found', `${path.basename(file)} has no tool ${name} anymore.`);
      view.webview.options = webviewOptions(this.#services.context);
      this.#show(view, file, tool);
    } catch (error) {
      if (ended.signal.aborted) return;
      this.#services.log.warn(`Cannot restore the panel of ${name}: ${errorText(error)}`);
      view.dispose();
    } finally {
      closed.dispose();
    }
  }

  #show(view: vscode.WebviewPanel, file: string, tool: ListedTool, initial?: JsonObject): void {
    const last = this.#storedCalls().find((stored) => stored.file === file && stored.tool === tool.name);
    const args = initial ?? last?.arguments;
    const start: TryStart = {
      ...(args === undefined ? {} : { arguments: args }),
      ...(last?.world === undefined ? {} : { world: last.world }),
    };
    const panel: TryPanel = new TryPanel(view, file, tool, start, {
      context: this.#services.context,
      cli: this.#cli,
      act: this.#act,
      onError: (error) => this.#showError(error),
      worlds: (name) => this.#worlds(file, name),
      recorded: (name) => this.#recorded(file, name),
      store: (call) => this.#store(file, tool.name, call),
      closed: () => this.#panels.delete(panel),
    });
    this.#panels.add(panel);
  }

  async #worlds(file: string, tool: string): Promise<TryWorld[]> {
    const uri = vscode.Uri.file(file);
    const [{ toolWorlds }, batches] = await Promise.all([import('./toolWorlds.ts'), this.#files.index.all()]);
    const onDisk = batches
      .filter((batch) => batch.uri.scheme === 'file')
      .map((batch) => ({ ...batch, file: batch.uri.fsPath, name: vscode.workspace.asRelativePath(batch.uri) }));
    return toolWorlds(onDisk, { name: tool, path: pathOf(uri) }, workspaceFiles(folderOf(uri)));
  }

  #showError(error: unknown): void {
    this.#services.log.error(error instanceof Error ? error : String(error));
    void vscode.window.showErrorMessage(errorText(error));
  }

  #storedCalls(): z.infer<typeof storedCalls> {
    return storedCalls.parse(this.#services.context.workspaceState.get(STATE_KEY) ?? []);
  }

  /** Stores the last arguments and world of a tool. Large ones are not stored. */
  #store(file: string, tool: string, call: TryStart & { readonly arguments: JsonObject }): void {
    if (JSON.stringify(call.arguments).length > MAX_STORED_CHARS) return;
    const others = this.#storedCalls().filter((stored) => stored.file !== file || stored.tool !== tool);
    this.#services.context.workspaceState
      .update(STATE_KEY, [{ file, tool, ...call }, ...others].slice(0, MAX_STORED))
      .then(undefined, (error: unknown) =>
        this.#services.log.warn(`Cannot store the arguments of ${tool}: ${errorText(error)}`),
      );
  }
}

async function pickTool(
  tools: readonly ListedTool[],
  problems: readonly string[],
  file: string,
): Promise<ListedTool | undefined> {
  if (tools.length === 0)
    throw new StudioError('not_found', `${path.basename(file)} has no tools.`, {
      hint: problems[0] ?? 'Export one, or add one under `tools:`.',
    });
  if (tools.length === 1 && problems.length === 0) return tools[0];
  const items = tools.map((tool) => ({
    label: tool.name,
    description: `${tool.from.name} · ${tool.effect}`,
    detail: tool.description.split('\n')[0] ?? '',
    tool,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    title: 'Try Tool',
    placeHolder: problems.length === 0 ? 'Select a tool' : `Select a tool. ${problems[0] ?? ''}`,
    matchOnDetail: true,
  });
  return picked?.tool;
}
