/**
 * Decides which store and target a window uses. Values that come with a workspace count only after the user allowed
 * them: using them starts a server and sends it submissions with their secrets. Does not depend on VS Code.
 */
import { createHash } from 'node:crypto';
import type { Memory } from '../launch/memory.ts';
import { Decisions } from '../window/decisions.ts';

export type ServerSetting = 'store' | 'target';

/** The values of a setting in its scopes; undefined where it is not set. */
export interface SettingValues {
  /** The value that VS Code chose. */
  readonly used: string;
  /** The user's, or the default. */
  readonly own: string;
  /** The one in the settings of the workspace or its folder. */
  readonly workspace: string | undefined;
}

/** A value that comes with the workspace. */
export interface WorkspaceValue {
  readonly id: string;
  readonly setting: ServerSetting;
  readonly value: string;
}

export interface WorkspacePorts {
  readonly memory: Memory;
  readonly read: (setting: ServerSetting) => SettingValues;
  /** Identifies the workspace: a decision counts only there, where a relative folder means the same. */
  readonly workspace: () => string;
}

export class WorkspaceServer {
  readonly #ports: WorkspacePorts;
  readonly #decisions: Decisions;

  constructor(ports: WorkspacePorts) {
    this.#ports = ports;
    this.#decisions = new Decisions(ports.memory, 'server.workspaceDecisions');
  }

  /** Returns the value to use: the workspace's if it is allowed, otherwise the user's own. */
  value(setting: ServerSetting): string {
    const named = this.#named(setting);
    return named === undefined || this.isAllowed(named)
      ? this.#ports.read(setting).used
      : this.#ports.read(setting).own;
  }

  /** The values that the workspace sets and that differ from the user's own. */
  get named(): readonly WorkspaceValue[] {
    return (['target', 'store'] as const).flatMap((setting) => this.#named(setting) ?? []);
  }

  get undecided(): readonly WorkspaceValue[] {
    const decisions = this.#decisions.all;
    return this.named.filter(({ id }) => !decisions.has(id));
  }

  isAllowed({ id }: WorkspaceValue): boolean {
    return this.#decisions.all.get(id) === true;
  }

  /** Allows some of the values, and denies the others. */
  async decide(values: readonly WorkspaceValue[], allowed: readonly WorkspaceValue[]): Promise<void> {
    await this.#decisions.add(values.map((value) => [value.id, allowed.includes(value)]));
  }

  /** Allows a value that the user chose in the window. */
  async allow(setting: ServerSetting, value: string): Promise<void> {
    await this.#decisions.add([[this.#id(setting, value), true]]);
  }

  #named(setting: ServerSetting): WorkspaceValue | undefined {
    const { used, own, workspace } = this.#ports.read(setting);
    const value = workspace?.trim();
    if (value === undefined || value === own.trim() || value !== used.trim()) return undefined;
    return { id: this.#id(setting, value), setting, value };
  }

  #id(setting: ServerSetting, value: string): string {
    const content = JSON.stringify([setting, value.trim(), this.#ports.workspace()]);
    return createHash('sha256').update(content).digest('hex'); // read at activation, so without a library
  }
}
