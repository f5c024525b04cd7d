/** CodeLenses: launch from batch files, from lines of their datasets, and from agent files. */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { basename } from '../../config/paths.ts';
import { BatchOrigins } from '../batches/origins.ts';
import type { BatchIndex, IndexedBatch } from '../files/batchIndex.ts';
import type { StudioFiles } from '../files/studioFiles.ts';
import { folderOf, pathOf, workspaceFiles } from '../files/workspaceFiles.ts';
import type { LaunchMemory } from '../launch/memory.ts';
import type { RegisterCommand, Services } from '../services.ts';
import { lastText, NBSP, usedByText } from './lensText.ts';

/** With several batch files to choose from, these ask. Not in the manifest: only lenses name them. */
const LAUNCH_ONE = 'rollout.lens.launchOne';
const LAUNCH_TASK = 'rollout.lens.launchTask';
/** Lines of a dataset that get a lens. */
const MOST_LINES = 200;

const BATCHES = { pattern: '**/*.batch.{yaml,yml,json}' };
const AGENTS = { pattern: '**/*.agent.{yaml,yml,json}' };
const DATASETS = { pattern: '**/*.{jsonl,ndjson}' };

export function registerCodeLens(services: Services, register: RegisterCommand, { files, memory }: { readonly files: StudioFiles; readonly memory: LaunchMemory }): vscode.Disposable {
  const { index } = files;
  const origins = new BatchOrigins(memory, services.server);
  const changed = new vscode.EventEmitter<void>();
  const provider = (lenses: (document: vscode.TextDocument) => Promise<vscode.CodeLens[]>): vscode.CodeLensProvider => ({
    onDidChangeCodeLenses: changed.event,
    // In Restricted Mode nothing runs, nor of a file that is on no disk: so nothing is offered.
    provideCodeLenses: (document) => (vscode.workspace.isTrusted && document.uri.scheme === 'file' ? lenses(document) : []),
  });
  return vscode.Disposable.from(
    changed,
    vscode.languages.registerCodeLensProvider(BATCHES, provider((document) => batchLenses(services, origins, document))),
    vscode.languages.registerCodeLensProvider(AGENTS, provider((document) => agentLenses(index, document))),
    vscode.languages.registerCodeLensProvider(DATASETS, provider((document) => datasetLenses(index, document))),
    services.batches.rows.changed(() => changed.fire()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
    files.changed((kind) => {
      if (kind === 'batch') changed.fire();
    }),
    watchWhileShown(services),
    register(LAUNCH_ONE, async (uris) => {
      const file = await pickFile(uris as vscode.Uri[]); // only the lenses here name the command
      if (file !== undefined) await vscode.commands.executeCommand('rollout.launchBatch', file);
    }),
    register(LAUNCH_TASK, async (task, uris) => {
      const file = await pickFile(uris as vscode.Uri[]);
      if (file !== undefined) await vscode.commands.executeCommand('rollout.launchTask', { file: file.fsPath, task });
    }),
  );
}

/** The list of batches is followed while a batch file is on the screen: its lens tells the last result. */
function watchWhileShown({ batches }: Services): vscode.Disposable {
  let watching: vscode.Disposable | undefined;
  const look = (editors: readonly vscode.TextEditor[]): void => {
    if (vscode.workspace.isTrusted && editors.some(({ document }) => vscode.languages.match(BATCHES, document) > 0)) watching ??= batches.watch({ start: false });
    else {
      watching?.dispose();
      watching = undefined;
    }
  };
  look(vscode.window.visibleTextEditors);
  return vscode.Disposable.from(
    vscode.window.onDidChangeVisibleTextEditors(look),
    vscode.workspace.onDidGrantWorkspaceTrust(() => look(vscode.window.visibleTextEditors)),
    { dispose: () => void watching?.dispose() },
  );
}

async function batchLenses({ batches }: Services, origins: BatchOrigins, { uri }: vscode.TextDocument): Promise<vscode.CodeLens[]> {
  const last = await origins.newestOf(batches.rows.value, pathOf(uri));
  return [
    lens(0, `$(play)${NBSP}Launch…`, 'rollout.launchBatch', uri),
    ...(last === undefined ? [] : [
      ...(last.state === 'ended' ? [lens(0, `$(debug-rerun)${NBSP}Launch Again`, 'rollout.launchAgain', last.batch)] : []),
      lens(0, lastText(last, Date.now()), 'rollout.openBatch', last.batch),
    ]),
  ];
}

async function agentLenses(index: BatchIndex, { uri }: vscode.TextDocument): Promise<vscode.CodeLens[]> {
  const path = pathOf(uri);
  const users = (await index.all()).filter(({ agent }) => agent === path).map((batch) => batch.uri);
  return users.length === 0 ? [] : [lens(0, usedByText(users.length), LAUNCH_ONE, users)];
}

async function datasetLenses(index: BatchIndex, { uri }: vscode.TextDocument): Promise<vscode.CodeLens[]> {
  const path = pathOf(uri);
  const users = (await index.all()).filter((batch): batch is IndexedBatch & { dataset: object } => batch.dataset?.path === path);
  const first = users[0];
  if (first === undefined) return [];
  // Of several batch files the first one's columns tell the ids; they hardly ever differ.
  const { firstTasks } = await import('../files/batchRefs.ts');
  try {
    const tasks = await firstTasks(workspaceFiles(folderOf(uri)), first.dataset, MOST_LINES);
    const uris = users.map((batch) => batch.uri);
    return tasks.map(({ task, line }) => lens(line - 1, `$(play)${NBSP}Launch on this task`, LAUNCH_TASK, task.id, uris));
  } catch (thrown) {
    if (StudioError.is(thrown)) return [];
    throw thrown;
  }
}

function lens(line: number, title: string, command: string, ...args: readonly unknown[]): vscode.CodeLens {
  return new vscode.CodeLens(new vscode.Range(line, 0, line, 0), { title, command, arguments: [...args] });
}

async function pickFile(files: readonly vscode.Uri[]): Promise<vscode.Uri | undefined> {
  if (files.length < 2) return files[0];
  const items = files.map((uri) => ({ label: basename(uri.path), description: vscode.workspace.asRelativePath(uri), uri }));
  return (await vscode.window.showQuickPick(items, { title: 'Launch Batch', placeHolder: 'Which batch file?' }))?.uri;
}
