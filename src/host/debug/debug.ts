/** The debugger in this editor: its adapter, its configurations, and the page that goes with it. */
import * as vscode from 'vscode';
import { DEBUG_TYPE, TRAJECTORY_LANGUAGE } from '../contributions/debuggers.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import type { RegisterCommand, Services } from '../services.ts';
import { adapterFactory } from './adapterFactory.ts';
import { registerDebugCommands } from './commands.ts';
import { ConfigurationProvider } from './configurations.ts';
import { registerHeads } from './heads.ts';
import { InlineToolValues } from './inlineValues.ts';
import { TrajectoryDocuments } from './trajectoryDocuments.ts';

export function registerDebug(services: Services, register: RegisterCommand, { values }: { readonly values: StoredValues }): vscode.Disposable {
  const documents = new TrajectoryDocuments(services.server);
  return vscode.Disposable.from(
    documents,
    vscode.debug.registerDebugAdapterDescriptorFactory(DEBUG_TYPE, adapterFactory(services, values)),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, new ConfigurationProvider(services)),
    vscode.languages.registerInlineValuesProvider([{ language: 'typescript' }, { language: 'javascript' }, { language: TRAJECTORY_LANGUAGE }], new InlineToolValues()),
    registerHeads(services, documents),
    registerDebugCommands(services, register),
  );
}
