/** Typed access to the settings. */
import * as vscode from 'vscode';
import { DEFAULTS, SECTION, type SettingName } from '../contributions/settings.ts';

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
