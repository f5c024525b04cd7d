/** Typed access to the settings. */
import * as vscode from 'vscode';
import { defaultStore } from '../../client/folders.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { DEFAULTS, SECTION, type SettingName } from '../contributions/settings.ts';
import { resolveStore } from './storeSetting.ts';

type SettingValue<Name extends SettingName> = (typeof DEFAULTS)[Name] extends boolean
  ? boolean
  : (typeof DEFAULTS)[Name] extends number
    ? number
    : string;

/** Returns the value of a setting, or its default if the value has the wrong type. */
export function setting<Name extends SettingName>(name: Name): SettingValue<Name> {
  const defaultValue: string | number | boolean = DEFAULTS[name];
  const value = vscode.workspace.getConfiguration(SECTION).get<unknown>(name);
  // checked against the type of the default
  return (typeof value === typeof defaultValue ? value : defaultValue) as SettingValue<Name>;
}

/** Returns the window's target; `local` is this machine. */
export function currentTarget(): string {
  const name = setting('target').trim();
  return name === '' ? LOCAL : name;
}

/** Switches the window to a target. Stored in the workspace if there is one. */
export async function switchTarget(name: string): Promise<void> {
  const scope =
    vscode.workspace.workspaceFolders === undefined
      ? vscode.ConfigurationTarget.Global
      : vscode.ConfigurationTarget.Workspace;
  await vscode.workspace.getConfiguration(SECTION).update('target', name === LOCAL ? undefined : name, scope);
  // An outer scope still sets another target.
  if (currentTarget() !== name) await vscode.workspace.getConfiguration(SECTION).update('target', name, scope);
}

/** Returns the store in the settings or the environment. */
export function currentStore(): string {
  return resolveStore(
    setting('store'),
    process.env['ROLLOUT_STORE'],
    vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === 'file')?.uri.fsPath,
    defaultStore(),
  );
}
