/**
 * Provides CodeLenses that launch from batch files, dataset lines, and agent files, and that show in world files how
 * many calls fit in the context of the model.
 */
import * as vscode from 'vscode';
import { fileGlob } from '../../common/fileKinds.ts';
import { basename } from '../../config/paths.ts';
import type { StudioFiles } from '../files/studioFiles.ts';
import type { RegisterCommand, Services } from '../services.ts';
import type { WorkspaceWorlds } from '../worlds/workspaceWorlds.ts';
import { LAUNCH_FILE, LAUNCH_TASK } from './lensCommands.ts';
import type { LensBuilder } from './lenses.ts';

const BATCHES = { pattern: fileGlob('batch') };
const WORLDS = { pattern: fileGlob('world') };
const AGENTS = { pattern: fileGlob('agent') };
const DATASETS = { pattern: '**/*.{jsonl,ndjson}' };

export function registerCodeLens(
  services: Services,
  register: RegisterCommand,
  files: StudioFiles,
  worlds: WorkspaceWorlds,
): vscode.Disposable {
  let builder: LensBuilder | undefined;
  const lenses = async (): Promise<LensBuilder> => {
    const { LensBuilder } = await import('./lenses.ts');
    return (builder ??= new LensBuilder(services, files.index, worlds));
  };
  const changed = new vscode.EventEmitter<void>();
  const provider = (kind: 'batch' | 'agent' | 'dataset' | 'world'): vscode.CodeLensProvider => ({
    onDidChangeCodeLenses: changed.event,
    // In Restricted Mode and for files that are not on disk, nothing can run.
    provideCodeLenses: async (document) =>
      vscode.workspace.isTrusted && document.uri.scheme === 'file' ? (await lenses())[kind](document) : [],
  });
  return vscode.Disposable.from(
    changed,
    vscode.languages.registerCodeLensProvider(BATCHES, provider('batch')),
    vscode.languages.registerCodeLensProvider(AGENTS, provider('agent')),
    vscode.languages.registerCodeLensProvider(WORLDS, provider('world')),
    vscode.languages.registerCodeLensProvider(DATASETS, provider('dataset')),
    services.batches.rows.changed(() => changed.fire()),
    worlds.measured(() => changed.fire()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
    files.changed((kind) => {
      if (kind === 'batch') changed.fire();
    }),
    watchWhileVisible(services),
    register(LAUNCH_FILE, async (uris) => {
      const file = await pickFile(uris as vscode.Uri[]); // only these lenses use the command
      if (file !== undefined) await vscode.commands.executeCommand('rollout.launchBatch', file);
    }),
    register(LAUNCH_TASK, async (task, uris) => {
      const file = await pickFile(uris as vscode.Uri[]);
      if (file !== undefined) await vscode.commands.executeCommand('rollout.launchTask', { file: file.fsPath, task });
    }),
  );
}

/** Follows the list of batches while a batch file is visible, because its lens shows the last result. */
function watchWhileVisible({ batches }: Services): vscode.Disposable {
  let watching: vscode.Disposable | undefined;
  const update = (editors: readonly vscode.TextEditor[]): void => {
    if (vscode.workspace.isTrusted && editors.some(({ document }) => vscode.languages.match(BATCHES, document) > 0))
      watching ??= batches.watch({ start: false });
    else {
      watching?.dispose();
      watching = undefined;
    }
  };
  update(vscode.window.visibleTextEditors);
  return vscode.Disposable.from(
    vscode.window.onDidChangeVisibleTextEditors(update),
    vscode.workspace.onDidGrantWorkspaceTrust(() => update(vscode.window.visibleTextEditors)),
    { dispose: () => void watching?.dispose() },
  );
}

async function pickFile(files: readonly vscode.Uri[]): Promise<vscode.Uri | undefined> {
  if (files.length < 2) return files[0];
  const items = files.map((uri) => ({
    label: basename(uri.path),
    description: vscode.workspace.asRelativePath(uri),
    uri,
  }));
  return (await vscode.window.showQuickPick(items, { title: 'Launch Batch', placeHolder: 'Select a batch file' }))?.uri;
}
