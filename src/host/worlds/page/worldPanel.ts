/** A World page: shows a world or one of its scenarios, and follows its file. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { AwmFolder } from '../../../client/published/awmFolder.ts';
import { errorText, StudioError } from '../../../common/errors.ts';
import { worldHealth } from '../../../common/worldHealth.ts';
import {
  blamedTask,
  type PageToWorld,
  pageToWorld,
  type WorldPanelState,
  type WorldToPage,
} from '../../../protocol/worldPage.ts';
import { folderOf, uriOf, workspaceFiles } from '../../files/workspaceFiles.ts';
import { ownPageHtml } from '../../pages/webviewFiles.ts';
import type { DoAction, LineCli } from '../../services.ts';
import { showScenarioPart } from '../scenarioDocuments.ts';
import type { WorkspaceWorld, WorkspaceWorlds } from '../workspaceWorlds.ts';
import { worldRef } from '../worldRef.ts';
import { DrivenWorld } from './drivenWorld.ts';
import { editedFile } from './editedFile.ts';
import { type OpenScenario, scenarioOf, worldDetails } from './worldDetails.ts';

/** What `rollout world lint --runs` prints. */
const blamed = z.object({ set_aside: z.array(blamedTask) });

const SETUP_COMMAND = 'rollout world setup';

interface WorldPanelOptions {
  readonly context: vscode.ExtensionContext;
  readonly worlds: WorkspaceWorlds;
  readonly act: DoAction;
  readonly cli: LineCli;
  readonly extract: (world: vscode.Uri, scenario: OpenScenario) => Promise<void>;
  readonly onError: (error: unknown) => void;
  readonly closed: () => void;
}

export class WorldPanel {
  readonly uri: vscode.Uri;
  readonly scenario: string | undefined;
  readonly #view: vscode.WebviewPanel;
  readonly #options: WorldPanelOptions;
  readonly #listeners: readonly vscode.Disposable[];
  readonly #ended = new AbortController();
  readonly #driven: DrivenWorld;
  /** Files that were kept in this page. */
  readonly #kept = new Set<string>();
  #world: WorkspaceWorld | undefined;
  #open: OpenScenario | undefined;
  /** Whether the user was asked to extract the scenario. */
  #hasOffered = false;
  /** Files that the page may open. */
  #files: ReadonlySet<string> = new Set();

  constructor(view: vscode.WebviewPanel, uri: vscode.Uri, scenario: string | undefined, options: WorldPanelOptions) {
    this.uri = uri;
    this.scenario = scenario;
    this.#view = view;
    this.#options = options;
    this.#driven = new DrivenWorld(options.cli, {
      message: (message) => {
        if (message.type === 'kept') this.#kept.add(message.file);
        this.#post({ type: 'drive', message });
      },
      ended: (text) => this.#postEnded(text),
      log: (text) => options.worlds.log(text),
    });
    view.iconPath = vscode.Uri.joinPath(options.context.extensionUri, 'media', 'icons', 'pages', 'world.svg');
    this.#listeners = [
      view.webview.onDidReceiveMessage((raw: unknown) => this.#handleMessage(raw)),
      vscode.workspace.onDidSaveTextDocument((saved) => {
        if (saved.uri.toString() === uri.toString() || this.#files.has(saved.uri.path)) this.#start(this.#sendWorld());
      }),
      view.onDidDispose(() => {
        this.release();
        options.closed();
      }),
    ];
    view.webview.html = ownPageHtml(view, options.context, 'world', {
      file: uri.toString(),
      ...(scenario === undefined ? {} : { scenario }),
    } satisfies WorldPanelState);
  }

  reveal(): void {
    this.#view.reveal();
  }

  /** Reads the files again. */
  refresh(): void {
    this.#start(this.#sendWorld());
  }

  /** Stops reading but keeps the tab. */
  release(): void {
    this.#ended.abort();
    this.#driven.dispose();
    for (const listener of this.#listeners) listener.dispose();
  }

  #handleMessage(raw: unknown): void {
    const message = pageToWorld.safeParse(raw);
    if (message.success) this.#start(this.#perform(message.data));
    else
      this.#options.onError(
        new StudioError('internal', 'A World page sent an invalid message.', { cause: message.error }),
      );
  }

  /** Shows failures in the page. */
  #start(work: Promise<void>): void {
    work.catch((error: unknown) => {
      if (this.#ended.signal.aborted) return;
      const isKnown = StudioError.is(error);
      if (!isKnown) this.#options.onError(error);
      this.#post({
        type: 'problem',
        text: isKnown ? error.message : errorText(error),
        hint: isKnown ? (error.hint ?? '') : '',
      });
    });
  }

  async #perform(message: PageToWorld): Promise<void> {
    const { worlds, act } = this.#options;
    const { signal } = this.#ended;
    switch (message.type) {
      case 'ready':
        await this.#sendWorld();
        return;
      case 'reload':
        await worlds.clear();
        await this.#sendWorld();
        return;
      case 'rows': {
        const { published, scenario } = this.#scenario();
        this.#post({ type: 'rows', rows: await published.rows(scenario.key, message.table, signal) });
        return;
      }
      case 'code':
        this.#post({ type: 'code', text: await this.#code() });
        return;
      case 'verifiers': {
        const { published, scenario } = this.#scenario();
        const verifiers = await published.verifiers(scenario.key, message.task, signal);
        this.#post({ type: 'verifiers', task: message.task, verifiers });
        return;
      }
      case 'open':
        await this.#openPart(message.part, message.task, message.line);
        return;
      case 'file':
        await this.#openFile(message.file, message.line);
        return;
      case 'source':
        await act({ do: 'source', place: message.place });
        return;
      case 'published':
        await this.#openPublished(message.file, message.line, message.column);
        return;
      case 'worldFile':
        await vscode.window.showTextDocument(this.uri);
        return;
      case 'run':
        await vscode.commands.executeCommand('rollout.runWorld', this.uri);
        return;
      case 'openDrive':
        await this.#openDrive(message.task);
        return;
      case 'setUpPython':
        await this.#setUpPython(message.task);
        return;
      case 'drive':
        this.#driven.send(message.request);
        return;
      case 'closeDrive':
        this.#driven.close();
        return;
      case 'kept':
        await this.#openKept(message.file, message.how);
        return;
      case 'check':
        await this.#check();
        return;
      case 'setAside':
        await this.#setAside(message.task, message.isSetAside);
        return;
      case 'blame':
        await this.#blame(message.batch);
        return;
      case 'extract':
        await this.#options.extract(this.uri, this.#scenario());
        return;
      case 'batch':
        await act({ do: 'open', place: { page: 'batch', batch: message.batch } });
        return;
      case 'document': {
        const { title, text, language } = message;
        await act({ do: 'document', title, text, language });
        return;
      }
      case 'copy':
        await act({ do: 'copy', text: message.text });
    }
  }

  async #sendWorld(): Promise<void> {
    const { worlds } = this.#options;
    const world = await worlds.read(this.uri);
    if (world === undefined)
      throw new StudioError('not_found', `${vscode.workspace.asRelativePath(this.uri)} cannot be read.`, {
        hint: 'Close this page, or restore the file.',
      });
    this.#world = world;
    this.#open = await scenarioOf(worlds, world, this.scenario);
    const details = await worldDetails(worlds, world, this.#open, this.#ended.signal);
    this.#files = new Set([
      ...(world.ref.module === undefined ? [] : [world.ref.module]),
      ...details.tools.flatMap(({ file }) => file ?? []),
    ]);
    this.#view.title = details.title;
    this.#post({ type: 'world', details });
  }

  async #openDrive(task: string | undefined): Promise<void> {
    try {
      const tasks = await this.#tasksToDrive();
      await vscode.workspace.saveAll(false); // code is read from disk
      await this.#driven.open(this.uri.fsPath, tasks, task, folderOf(this.uri).fsPath);
    } catch (error) {
      this.#postEnded(errorText(error));
    }
  }

  /** Returns the options of `rollout world drive` that say which tasks there are. */
  async #tasksToDrive(): Promise<readonly string[]> {
    if (this.#open !== undefined) return ['--scenario', this.#open.scenario.key];
    const world = this.#world;
    const [batch] = world === undefined ? [] : await this.#options.worlds.batchesOf(world.ref);
    if (batch !== undefined) return ['--batch', batch.uri.fsPath];
    throw new StudioError('not_found', 'No batch file of this workspace uses this world.', {
      hint: 'Create one with Rollout: New Batch…: it says which tasks there are.',
    });
  }

  /** Errors for missing Python name the command that sets it up. */
  #postEnded(text: string | undefined): void {
    const needsPython = text?.includes(SETUP_COMMAND) === true;
    this.#post({
      type: 'driveEnded',
      ...(text === undefined ? {} : { text }),
      ...(needsPython ? { needsPython } : {}),
    });
  }

  async #setUpPython(task: string | undefined): Promise<void> {
    const { setUpPython } = await import('../setUpPython.ts');
    if (await setUpPython(this.#options.cli, folderOf(this.uri).fsPath)) await this.#openDrive(task);
  }

  async #openKept(file: string, how: 'open' | 'import'): Promise<void> {
    if (!this.#kept.has(file)) throw new StudioError('not_found', `${file} was not kept in this page.`);
    if (how === 'open') await vscode.window.showTextDocument(vscode.Uri.file(file));
    else await vscode.commands.executeCommand('rollout.import', vscode.Uri.file(file));
  }

  /** Runs the lint in another process. */
  async #check(): Promise<void> {
    const { published, scenario } = this.#scenario();
    const { cli } = this.#options;
    const result = await cli.json(['world', 'lint', this.uri.fsPath, scenario.key], {
      cwd: folderOf(this.uri).fsPath,
      signal: this.#ended.signal,
    });
    const [health] = worldHealth.parse(result).scenarios;
    if (health === undefined)
      throw new StudioError('not_found', `The lint did not find ${scenario.key} in ${published.folder}.`);
    this.#post({ type: 'health', health, at: Date.now() });
  }

  /** Changes the world file, which is saved with what is unsaved in it. */
  async #setAside(task: string, isSetAside: boolean): Promise<void> {
    const { withSetAside } = await import('../../../config/setAside.ts');
    const document = await vscode.workspace.openTextDocument(this.uri);
    const text = document.getText();
    const others = (worldRef(this.uri.path, text).setAside ?? []).filter((each) => each !== task);
    const name = vscode.workspace.asRelativePath(this.uri);
    const edit = new vscode.WorkspaceEdit();
    const all = new vscode.Range(document.positionAt(0), document.positionAt(text.length));
    edit.replace(this.uri, all, withSetAside(name, text, isSetAside ? [...others, task] : others));
    if (!(await vscode.workspace.applyEdit(edit)) || !(await document.save()))
      throw new StudioError('unavailable', `${name} cannot be changed.`, { hint: 'Check that it is writable.' });
  }

  /** Reads the attempts of a batch in another process. */
  async #blame(batch: string): Promise<void> {
    const { scenario } = this.#scenario();
    const result = await this.#options.cli.json(['world', 'lint', '--runs', batch], {
      cwd: folderOf(this.uri).fsPath,
      signal: this.#ended.signal,
    });
    const own = new Set(scenario.tasks.map((_, index) => `${scenario.key}-${index}`));
    const tasks = blamed.parse(result).set_aside.filter(({ task }) => own.has(task));
    this.#post({ type: 'blamed', batch, tasks });
  }

  #scenario(): OpenScenario {
    if (this.#open !== undefined) return this.#open;
    throw new StudioError('not_found', 'This world has no published scenarios.');
  }

  async #code(): Promise<string> {
    if (this.#open !== undefined) {
      const { published, scenario } = this.#open;
      return (await published.part('code', scenario.key, 0, this.#ended.signal)) ?? '';
    }
    const module = this.#world?.ref.module;
    return module === undefined ? '' : workspaceFiles(folderOf(this.uri)).readText(module);
  }

  async #openPart(part: string, task: number | undefined, line: number | undefined): Promise<void> {
    if (this.#open === undefined) {
      await this.#openFile(this.#world?.ref.module ?? '', line);
      return;
    }
    const { published, scenario } = this.#open;
    const { key } = scenario;
    const edited = await editedFile(published.folder, part, key, task);
    if (edited !== undefined) {
      const position = new vscode.Position((line ?? 1) - 1, 0);
      await vscode.window.showTextDocument(edited, { selection: new vscode.Range(position, position) });
      return;
    }
    const from = this.#world?.ref.from ?? '';
    await showScenarioPart({ from, key, part, ...(task === undefined ? {} : { task }) }, line);
    if (line !== undefined && published instanceof AwmFolder) this.#start(this.#offerToExtract(this.#open));
  }

  /** Published files are read-only here, and one row of them has the code of a scenario. */
  async #offerToExtract(open: OpenScenario): Promise<void> {
    if (this.#hasOffered) return;
    this.#hasOffered = true;
    const label = 'Extract to Workspace';
    const text = `The published files of ${open.scenario.name} are read-only. Extract the scenario to edit it.`;
    if ((await vscode.window.showInformationMessage(text, label)) === label)
      await this.#options.extract(this.uri, open);
  }

  async #openFile(file: string, line = 1): Promise<void> {
    if (!this.#files.has(file)) throw new StudioError('not_found', `${file} is no file of this world.`);
    const position = new vscode.Position(line - 1, 0);
    await vscode.window.showTextDocument(uriOf(this.uri, file), { selection: new vscode.Range(position, position) });
  }

  async #openPublished(file: string, line: number, column: number): Promise<void> {
    const folder = vscode.Uri.file(this.#scenario().published.folder);
    const uri = vscode.Uri.joinPath(folder, file);
    if (!uri.path.startsWith(`${folder.path}/`))
      throw new StudioError('not_found', `${file} is no file of this world.`);
    const position = new vscode.Position(line - 1, column - 1);
    await vscode.window.showTextDocument(uri, { selection: new vscode.Range(position, position) });
  }

  /** Ignores messages after the tab was closed. */
  #post(message: WorldToPage): void {
    if (!this.#ended.signal.aborted) void this.#view.webview.postMessage(message);
  }
}
