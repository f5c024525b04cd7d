/** Finds the simulated world for a command. */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import type { PickedWorld } from './pickScenario.ts';
import type { WorkspaceWorld, WorkspaceWorlds } from './workspaceWorlds.ts';

/** Returns the world of an item, a file, or the active editor; otherwise lets the user pick one that a model plays. */
export async function pickSimulated(
  worlds: WorkspaceWorlds,
  argument: unknown,
  title: string,
): Promise<WorkspaceWorld | undefined> {
  if (isWorldNode(argument)) return argument.world;
  const simulated = (await worlds.all()).filter(({ ref }) => ref.simulation !== undefined);
  const file = argument instanceof vscode.Uri ? argument : vscode.window.activeTextEditor?.document.uri;
  const open = simulated.find(({ uri }) => uri.toString() === file?.toString());
  if (open !== undefined) return open;
  if (simulated.length === 0)
    throw new StudioError('not_found', 'No model plays a world of this workspace.', {
      hint: 'Set `kind: simulated` in a world file.',
    });
  const items = simulated.map((world) => ({
    label: world.ref.name,
    description: vscode.workspace.asRelativePath(world.uri),
    world,
  }));
  return (await vscode.window.showQuickPick(items, { title, placeHolder: 'Select a world' }))?.world;
}

/** Whether the argument is an item of the Worlds view. */
export function isWorldNode(argument: unknown): argument is PickedWorld {
  return typeof argument === 'object' && argument !== null && 'world' in argument && 'kind' in argument;
}
