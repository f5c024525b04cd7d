/** The store and target of this window. Asks the user before one that comes with the workspace is used. */
import * as vscode from 'vscode';
import { defaultStore } from '../../client/folders.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { Emitter } from '../../common/emitter.ts';
import { errorText } from '../../common/errors.ts';
import { DEFAULTS, SECTION } from '../contributions/settings.ts';
import type { Memory } from '../launch/memory.ts';
import { setting } from '../window/settings.ts';
import { redactStore } from './serverLink.ts';
import { resolveStore } from './storeSetting.ts';
import { type ServerSetting, type SettingValues, WorkspaceServer, type WorkspaceValue } from './workspaceServer.ts';

export class ServerSettings implements vscode.Disposable {
  readonly #log: vscode.LogOutputChannel;
  readonly #values: WorkspaceServer;
  readonly #changed = new Emitter<undefined>();
  /** Fires when the window uses another store or target. */
  readonly changed = this.#changed.event;
  /** Values that the user was asked about in this window. */
  readonly #asked = new Set<string>();
  /** The store and target that were used last. */
  #used: string;
  readonly #listeners: vscode.Disposable;

  constructor(log: vscode.LogOutputChannel, memory: Memory) {
    this.#log = log;
    this.#values = new WorkspaceServer({ memory, read: valuesOf, workspace: workspaceId });
    this.#used = this.#current();
    this.#listeners = vscode.Disposable.from(
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (!event.affectsConfiguration(`${SECTION}.store`) && !event.affectsConfiguration(`${SECTION}.target`)) return;
        this.#update();
        this.#askForNew();
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.#askForNew()),
    );
    this.#askForNew();
  }

  get store(): string {
    return resolveStore(
      this.#values.value('store'),
      process.env['ROLLOUT_STORE'],
      vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === 'file')?.uri.fsPath,
      defaultStore(),
    );
  }

  /** Name of the target; `local` is this machine. */
  get target(): string {
    return this.#values.value('target').trim() || LOCAL;
  }

  /** Switches the window to a target. Stored in the workspace if there is one. */
  async switchTarget(name: string): Promise<void> {
    await this.#values.allow('target', name);
    const update = async (value: string | undefined): Promise<void> => {
      const scope =
        vscode.workspace.workspaceFolders === undefined
          ? vscode.ConfigurationTarget.Global
          : vscode.ConfigurationTarget.Workspace;
      await vscode.workspace.getConfiguration(SECTION).update('target', value, scope);
    };
    await update(name === LOCAL ? undefined : name);
    // An outer scope still sets another target.
    if (this.target !== name) await update(name);
  }

  /** The values that come with the workspace, for a review. */
  get named(): readonly WorkspaceValue[] {
    return this.#values.named;
  }

  isAllowed(value: WorkspaceValue): boolean {
    return this.#values.isAllowed(value);
  }

  /** Allows some of the values, and denies the others. */
  async decide(values: readonly WorkspaceValue[], allowed: readonly WorkspaceValue[]): Promise<void> {
    await this.#values.decide(values, allowed);
    this.#update();
  }

  dispose(): void {
    this.#listeners.dispose();
  }

  #current(): string {
    return JSON.stringify([this.target, this.store]);
  }

  #update(): void {
    const current = this.#current();
    if (current === this.#used) return;
    this.#used = current;
    this.#changed.fire(undefined);
  }

  #askForNew(): void {
    this.#ask().catch((error: unknown) =>
      this.#log.error(`Cannot ask for the store and target of the workspace: ${errorText(error)}`),
    );
  }

  async #ask(): Promise<void> {
    if (!vscode.workspace.isTrusted) return; // nothing is used in Restricted Mode
    const values = this.#values.undecided.filter(({ id }) => !this.#asked.has(id));
    if (values.length === 0) return;
    for (const { id } of values) this.#asked.add(id);
    const names = values.map((value) => `the ${value.setting} ${titleOf(value)}`).join(' and ');
    const choice = await vscode.window.showInformationMessage(
      `Use ${names}? The settings of this workspace name ${values.length === 1 ? 'it' : 'them'}. It receives the ` +
        'batches that you launch, with their secrets.',
      'Allow',
      'Don’t Allow',
    );
    if (choice === undefined) return; // asked again in the next window
    await this.decide(values, choice === 'Allow' ? values : []);
  }
}

/** Returns the value for people. */
export function titleOf({ setting: name, value }: Pick<WorkspaceValue, 'setting' | 'value'>): string {
  if (name === 'target') return `“${value === '' ? LOCAL : value}”`;
  return value === '' ? 'of your user data' : `“${redactStore(value)}”`;
}

function valuesOf(name: ServerSetting): SettingValues {
  const inspected = vscode.workspace.getConfiguration(SECTION).inspect<unknown>(name);
  const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return {
    used: setting(name),
    own: text(inspected?.globalValue) ?? DEFAULTS[name],
    workspace: text(inspected?.workspaceFolderValue) ?? text(inspected?.workspaceValue),
  };
}

function workspaceId(): string {
  const { workspaceFile, workspaceFolders } = vscode.workspace;
  return (workspaceFile ?? workspaceFolders?.[0]?.uri)?.toString() ?? '';
}
