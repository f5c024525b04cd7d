/** Lets the user search the worlds of the workspace and their scenarios by name and text. */
import * as vscode from 'vscode';
import type { ScenarioSummary } from '../../client/published/worlds.ts';
import { errorText } from '../../common/errors.ts';
import { oneLine, plural } from '../../common/text.ts';
import { KIND_NAMES } from '../views/worlds/worldNodes.ts';
import type { WorkspaceWorld, WorkspaceWorlds } from './workspaceWorlds.ts';

const MAX_ITEMS = 200;

export interface PickedWorld {
  readonly world: WorkspaceWorld;
  readonly scenario?: ScenarioSummary;
}

interface Item extends vscode.QuickPickItem {
  readonly target?: PickedWorld;
}

/** Returns undefined if the user cancels. Offers to add a world if there is none. */
export async function pickWorld(worlds: WorkspaceWorlds): Promise<PickedWorld | undefined> {
  const all = await worlds.all();
  if (all.length === 0) {
    const add = 'Add World…';
    const answer = await vscode.window.showInformationMessage('This workspace has no world file (*.world.yaml).', add);
    if (answer === add) await vscode.commands.executeCommand('rollout.addWorld');
    return undefined;
  }
  const pick = vscode.window.createQuickPick<Item>();
  pick.title = 'Open World';
  pick.placeholder = 'Search worlds and scenarios by name, description, task, table, or tool';
  let request = 0;
  const search = async (): Promise<void> => {
    const own = ++request;
    const isCurrent = (): boolean => own === request;
    pick.busy = true;
    try {
      const items = await itemsFor(pick.value, all, worlds, isCurrent);
      if (isCurrent()) pick.items = items;
    } finally {
      if (isCurrent()) pick.busy = false;
    }
  };
  try {
    return await new Promise<PickedWorld | undefined>((resolve) => {
      pick.onDidChangeValue(() => void search());
      pick.onDidAccept(() => resolve(pick.selectedItems[0]?.target));
      pick.onDidHide(() => resolve(undefined));
      pick.show();
      void search();
    });
  } finally {
    request++;
    pick.dispose();
  }
}

async function itemsFor(
  words: string,
  all: readonly WorkspaceWorld[],
  worlds: WorkspaceWorlds,
  isCurrent: () => boolean,
): Promise<Item[]> {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const items: Item[] = [];
  for (const world of all) {
    const { ref } = world;
    const file = vscode.workspace.asRelativePath(world.uri);
    if (wanted.every((word) => `${ref.name} ${file}`.toLowerCase().includes(word)))
      items.push({
        label: `$(globe) ${ref.name}`,
        description: KIND_NAMES[ref.kind] ?? ref.kind,
        detail: file,
        alwaysShow: true,
        target: { world },
      });
  }
  let matches = 0;
  for (const world of all) {
    if (world.ref.from === undefined || world.ref.scenario !== undefined || !isCurrent()) continue;
    const found = await worlds.search(world, words).catch((error: unknown) => {
      worlds.log(`Worlds: ${world.ref.path}: ${errorText(error)}`);
      return [];
    });
    matches += found.length;
    for (const scenario of found.slice(0, Math.max(0, MAX_ITEMS - items.length)))
      items.push({
        label: `$(database) ${scenario.name}`,
        description: `${world.ref.name} · ${plural(scenario.tasks.length, 'task')}`,
        detail: oneLine(scenario.description, 160),
        alwaysShow: true,
        target: { world, scenario },
      });
  }
  if (matches > MAX_ITEMS)
    items.push({ label: `${matches} scenarios match. Type more words to narrow them down.`, alwaysShow: true });
  if (items.length === 0) items.push({ label: 'No world or scenario matches.', alwaysShow: true });
  return items;
}
