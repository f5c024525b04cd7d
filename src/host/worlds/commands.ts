/** Implements the commands for worlds. */
import * as vscode from 'vscode';
import { scenarioNamed } from '../../client/published/worlds.ts';
import { StudioError } from '../../common/errors.ts';
import type { CommandGroup } from '../services.ts';
import type { ShownMeter } from './contextMeters.ts';
import { isTight, meterHint } from './meterTexts.ts';
import type { WorldPanels } from './page/worldPanels.ts';
import type { PickedWorld } from './pickScenario.ts';
import { isWorldNode, pickSimulated } from './pickSimulated.ts';
import { isPromptPlace, type PromptPlace, PromptPreviews } from './promptPreviews.ts';
import type { WorkspaceWorld, WorkspaceWorlds } from './workspaceWorlds.ts';

export { PromptPreviews };

export type WorldCommand =
  | 'rollout.openWorld'
  | 'rollout.openWorldFile'
  | 'rollout.previewPrompt'
  | 'rollout.measureContext'
  | 'rollout.runWorld';

/** A scenario of a world as a batch was submitted with it. */
export interface SubmittedScenarioRef {
  readonly name: string;
  /** The world file, relative to the workspace that it was submitted from. */
  readonly file: string;
  readonly scenario: string;
}

export function worldCommands(
  worlds: WorkspaceWorlds,
  panels: WorldPanels,
  prompts: PromptPreviews,
): CommandGroup<WorldCommand> {
  const chosen = async (argument: unknown): Promise<PickedWorld | undefined> => {
    if (isWorldNode(argument)) return argument;
    if (argument instanceof vscode.Uri) {
      const world = await worlds.read(argument);
      return world === undefined ? undefined : { world };
    }
    if (isSubmittedScenario(argument)) return await scenarioIn(worlds, argument);
    const { pickWorld } = await import('./pickScenario.ts');
    return pickWorld(worlds);
  };
  return {
    'rollout.openWorld': async (argument) => {
      const picked = await chosen(argument);
      if (picked !== undefined) panels.open(picked);
    },
    'rollout.openWorldFile': async (argument) => {
      const picked = await chosen(argument);
      if (picked !== undefined) await vscode.window.showTextDocument(picked.world.uri);
    },
    'rollout.previewPrompt': async (argument) => {
      const picked = async (): Promise<PromptPlace | undefined> =>
        promptOf(await pickSimulated(worlds, argument, 'Preview World Prompt'));
      const place = isPromptPlace(argument) ? argument : await picked();
      if (place !== undefined) await prompts.show(place);
    },
    'rollout.measureContext': async (argument) => {
      const picked = await pickSimulated(worlds, argument, 'Measure Context of World');
      if (picked === undefined) return;
      const meters = await worlds.meters();
      const [meter] = await meters.measure(await worlds.withBatches(picked.uri));
      if (meter !== undefined) showMeter(meter);
    },
    'rollout.runWorld': async (argument) => {
      const picked = await chosen(argument);
      if (picked !== undefined) await runBatch(worlds, picked);
    },
  };
}

function promptOf(world: WorkspaceWorld | undefined): PromptPlace | undefined {
  return world === undefined ? undefined : { prompt: world.uri };
}

/** Shows what an endpoint has said. */
function showMeter(meter: ShownMeter): void {
  const text = [meter.text, meterHint(meter)].filter((part) => part !== undefined).join(' ');
  if (meter.turns === undefined || isTight(meter)) void vscode.window.showWarningMessage(text);
  else void vscode.window.showInformationMessage(text);
}

/** Launches a batch file that uses the world, or lets the user choose one. */
async function runBatch(worlds: WorkspaceWorlds, { world: { ref } }: PickedWorld): Promise<void> {
  const batches = await worlds.batchesOf(ref);
  const [first] = batches;
  if (first === undefined)
    throw new StudioError('not_found', `No batch file of this workspace uses the world ${ref.name}.`, {
      hint:
        'Create one with Rollout: New Batch…, and set its `world` to ' +
        `${vscode.workspace.asRelativePath(ref.path)}.`,
    });
  const items = batches.map(({ uri }) => ({ label: vscode.workspace.asRelativePath(uri), uri }));
  const picked =
    items.length === 1
      ? first
      : await vscode.window.showQuickPick(items, { title: `Run Batch on ${ref.name}`, placeHolder: 'Select a batch' });
  if (picked !== undefined) await vscode.commands.executeCommand('rollout.launchBatch', picked.uri);
}

/** Finds a submitted scenario in the workspace. Throws StudioError `not_found`. */
async function scenarioIn(worlds: WorkspaceWorlds, submitted: SubmittedScenarioRef): Promise<PickedWorld> {
  const all = await worlds.all();
  const world =
    all.find(({ ref }) => ref.path === submitted.file || ref.path.endsWith(`/${submitted.file}`)) ??
    all.find(({ ref }) => ref.kind === 'code' && ref.name === submitted.name);
  if (world === undefined)
    throw new StudioError('not_found', `The world file ${submitted.file} is not in this workspace.`, {
      hint: 'Open the folder that the batch was launched from.',
    });
  return { world, scenario: scenarioNamed(await worlds.published(world), submitted.scenario) };
}

function isSubmittedScenario(argument: unknown): argument is SubmittedScenarioRef {
  return typeof argument === 'object' && argument !== null && 'file' in argument && 'scenario' in argument;
}
