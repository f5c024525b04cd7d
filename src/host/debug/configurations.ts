/** Creates debug configurations for the open file or page if there is no launch.json, and completes existing ones. */
import * as vscode from 'vscode';
import { fileKind } from '../../common/fileKinds.ts';
import { DEBUG_TYPE } from '../contributions/names.ts';
import type { Services } from '../services.ts';
import { documentRollout } from './trajectoryDocuments.ts';

/** Returns a configuration that replays a rollout from an event. */
export function replayOf(rollout: string, seq?: number): vscode.DebugConfiguration {
  return {
    type: DEBUG_TYPE,
    request: 'launch',
    mode: 'replay',
    name: 'Replay',
    rollout,
    ...(seq === undefined ? {} : { seq }),
  };
}

/** Returns a configuration that runs one attempt of a batch file. */
export function liveOf(file: vscode.Uri, task?: string): vscode.DebugConfiguration {
  return {
    type: DEBUG_TYPE,
    request: 'launch',
    mode: 'live',
    name: `Debug ${file.path.split('/').at(-1) ?? ''}`,
    batch: file.fsPath,
    stopOnEntry: true,
    ...(task === undefined ? {} : { task }),
  };
}

export function isBatchFile(uri: vscode.Uri): boolean {
  return fileKind(uri.path) === 'batch';
}

export class ConfigurationProvider implements vscode.DebugConfigurationProvider {
  readonly #services: Pick<Services, 'pages'>;

  constructor(services: Pick<Services, 'pages'>) {
    this.#services = services;
  }

  provideDebugConfigurations(): vscode.DebugConfiguration[] {
    const active = this.#active();
    return active === undefined ? [] : [active];
  }

  resolveDebugConfiguration(
    _folder: vscode.WorkspaceFolder | undefined,
    configuration: vscode.DebugConfiguration,
  ): vscode.ProviderResult<vscode.DebugConfiguration> {
    if (!vscode.workspace.isTrusted) {
      void vscode.window.showErrorMessage('This window is in Restricted Mode. Trust the workspace to debug.');
      return undefined;
    }
    // Without a launch.json, F5 passes an empty configuration.
    if ((configuration as Partial<vscode.DebugConfiguration>).request !== undefined) return configuration;
    const active = this.#active();
    if (active === undefined)
      void vscode.window.showErrorMessage(
        'There is nothing to debug here. Open a batch file or a trajectory, or add a configuration to launch.json.',
      );
    return active;
  }

  #active(): vscode.DebugConfiguration | undefined {
    const place = this.#services.pages.active.value;
    if (place?.page === 'trajectory') return replayOf(place.rollout, place.seq);
    const uri = vscode.window.activeTextEditor?.document.uri;
    if (uri === undefined) return undefined;
    const rollout = documentRollout(uri);
    if (rollout !== undefined) return replayOf(rollout);
    return isBatchFile(uri) ? liveOf(uri) : undefined;
  }
}
