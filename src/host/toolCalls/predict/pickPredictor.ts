/** Chooses the world that predicts: the last one of the workspace, the only one, or what the user picks. */
import * as vscode from 'vscode';
import { StudioError } from '../../../common/errors.ts';
import { findFiles } from '../../files/findFiles.ts';
import { folderOf, pathOf, workspaceFiles } from '../../files/workspaceFiles.ts';
import { worldRef } from '../../worlds/worldRef.ts';

export interface PredictingWorld {
  readonly path: string;
  /** Path in the workspace. */
  readonly label: string;
}

/** Key of the workspace's memory: the path of the world of the last prediction. */
const LAST = 'rollout.predictingWorld';
const MAX_FILES = 1000;
const PREDICTING: ReadonlySet<string> = new Set(['simulated', 'recorded']);

/**
 * `choose`: lets the user pick even if a world was used before. Returns undefined if the user cancels. Throws
 * StudioError `not_found` if no world of the workspace can predict.
 */
export async function pickPredictor(memory: vscode.Memento, choose: boolean): Promise<PredictingWorld | undefined> {
  const worlds = await predictingWorlds();
  const [only, ...others] = worlds;
  if (only === undefined)
    throw new StudioError('not_found', 'No world of this workspace can predict a call.', {
      hint: 'Add a world file (*.world.yaml) of kind `simulated` or `recorded`. The sample workspace has one.',
    });
  const last = memory.get<string>(LAST);
  const remembered = worlds.find(({ path }) => path === last);
  const direct = choose ? undefined : (remembered ?? (others.length === 0 ? only : undefined));
  const world = direct ?? (await pick(worlds, remembered));
  if (world !== undefined && world.path !== last) await memory.update(LAST, world.path);
  return world;
}

async function pick(
  worlds: readonly PredictingWorld[],
  last: PredictingWorld | undefined,
): Promise<PredictingWorld | undefined> {
  const items = worlds.map((world) => ({
    label: world.label,
    ...(world === last ? { description: 'used last' } : {}),
    world,
  }));
  const chosen = await vscode.window.showQuickPick(items, {
    title: 'Predict Call',
    placeHolder: 'Choose the world that predicts what the call returns',
    matchOnDescription: true,
  });
  return chosen?.world;
}

/** Returns the worlds that a model plays, or that answer from recordings, by path. */
async function predictingWorlds(): Promise<PredictingWorld[]> {
  const folders = (vscode.workspace.workspaceFolders ?? [])
    .map(({ uri }) => uri)
    .filter(({ scheme }) => scheme === 'file');
  const uris = await findFiles(folders, 'world', MAX_FILES);
  const found = await Promise.all(
    uris.map(async (uri) => {
      const path = pathOf(uri);
      const text = await workspaceFiles(folderOf(uri))
        .readText(path)
        .catch(() => undefined); // deleted, or not text
      return text !== undefined && PREDICTING.has(worldRef(path, text).kind)
        ? [{ path: uri.fsPath, label: vscode.workspace.asRelativePath(uri) }]
        : [];
    }),
  );
  return found.flat().sort((one, other) => one.label.localeCompare(other.label));
}
