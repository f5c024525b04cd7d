/** The settings, typed by their table. */
import * as vscode from 'vscode';
import { defaultStore } from '../../client/folders.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { DEFAULTS, SECTION, type SettingName } from '../contributions/settings.ts';
import { storeOf } from './storeSetting.ts';

type SettingValue<Name extends SettingName> = (typeof DEFAULTS)[Name] extends boolean
  ? boolean
  : (typeof DEFAULTS)[Name] extends number
    ? number
    : string;

/** The value of a setting; its default when what was set is of another type. */
export function setting<Name extends SettingName>(name: Name): SettingValue<Name> {
  const standard: string | number | boolean = DEFAULTS[name];
  const value = vscode.workspace.getConfiguration(SECTION).get<unknown>(name);
  // compared with the type of the default
  return (typeof value === typeof standard ? value : standard) as SettingValue<Name>;
}

/** The target the window works with; `local`: this machine. */
export function chosenTarget(): string {
  const name = setting('target').trim();
  return name === '' ? LOCAL : name;
}

/** From now on the window works with this target: of a workspace, that is kept with it. */
export async function chooseTarget(name: string): Promise<void> {
  const where =
    vscode.workspace.workspaceFolders === undefined
      ? vscode.ConfigurationTarget.Global
      : vscode.ConfigurationTarget.Workspace;
  await vscode.workspace.getConfiguration(SECTION).update('target', name === LOCAL ? undefined : name, where);
  // What is set further out still says another one.
  if (chosenTarget() !== name) await vscode.workspace.getConfiguration(SECTION).update('target', name, where);
}

/** The store that settings and environment name. */
export function chosenStore(): string {
  return storeOf(
    setting('store'),
    process.env['ROLLOUT_STORE'],
    vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === 'file')?.uri.fsPath,
    defaultStore(),
  );
}
