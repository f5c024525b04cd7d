/** Registers the debugger: its adapter, its configurations, and the page that follows it. */
import * as vscode from 'vscode';
import { DEBUG_TYPE, TRAJECTORY_LANGUAGE } from '../contributions/names.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import type { Services } from '../services.ts';
import { ConfigurationProvider } from './configurations.ts';
import { InlineToolValues } from './inlineValues.ts';
import { registerPositionSync } from './positionSync.ts';
import { TrajectoryDocuments } from './trajectoryDocuments.ts';

export function registerDebug(services: Services, values: StoredValues): vscode.Disposable {
  const documents = new TrajectoryDocuments(services.server);
  return vscode.Disposable.from(
    documents,
    // Load this when a session starts, not with the window.
    vscode.debug.registerDebugAdapterDescriptorFactory(DEBUG_TYPE, {
      createDebugAdapterDescriptor: async (session) =>
        (await import('./adapterFactory.ts')).adapterOf(services, values, session),
    }),
    vscode.debug.registerDebugConfigurationProvider(DEBUG_TYPE, new ConfigurationProvider(services)),
    vscode.languages.registerInlineValuesProvider(
      [{ language: 'typescript' }, { language: 'javascript' }, { language: TRAJECTORY_LANGUAGE }],
      new InlineToolValues(),
    ),
    registerPositionSync(services, documents),
  );
}
