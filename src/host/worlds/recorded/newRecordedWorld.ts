/**
 * Implements New World from Recording…: asks which attempts, then writes a world file, and a batch file that runs the
 * tasks in this world.
 */
import * as vscode from 'vscode';
import { StudioError } from '../../../common/errors.ts';
import { plural } from '../../../common/text.ts';
import { dirname, relative } from '../../../config/paths.ts';
import type { Submission } from '../../../config/submission.ts';
import type { Api } from '../../../protocol/api.ts';
import type { BatchRow } from '../../../protocol/client.ts';
import { pickBatch } from '../../batches/pickBatch.ts';
import { exists, pathOf } from '../../files/workspaceFiles.ts';
import { submissionOf } from '../../launch/relaunch.ts';
import { argumentPlace } from '../../open/argument.ts';
import type { CommandGroup, Services } from '../../services.ts';
import { fill, nameProblem } from '../../templates/template.ts';
import { agentWithoutTools, batchInWorld, fromList } from './recordedFiles.ts';

const TITLE = 'New World from Recording';
/** More attempts are not listed one by one. */
const MAX_LISTED = 200;

/** What the world is recorded from. */
interface Recorded {
  readonly row: BatchRow;
  readonly from: readonly string[];
}

export function recordedWorldCommands(services: Services): CommandGroup<'rollout.newRecordedWorld'> {
  return {
    'rollout.newRecordedWorld': async (argument) => {
      const recorded = await pickRecorded(services, argument);
      const folder = recorded === undefined ? undefined : await pickFolder();
      if (recorded === undefined || folder === undefined) return;
      const name = await askName(folder);
      if (name !== undefined) await write(services, folder, name, recorded);
    },
  };
}

/** Returns undefined if the user cancels. */
async function pickRecorded(services: Services, argument: unknown): Promise<Recorded | undefined> {
  const place = argumentPlace(argument) ?? services.pages.active.value;
  const { api } = await services.server.connection();
  if (typeof place === 'string') {
    const row = await services.batches.get(place.split('/')[0] ?? '');
    return { row, from: [place] };
  }
  if (place?.page === 'trajectory') {
    const { row } = await api.rollout(place.rollout);
    return { row: await services.batches.get(row.batch), from: [place.rollout] };
  }
  const applies = ({ counts }: BatchRow): boolean => counts.passed + counts.failed + counts.unscored > 0;
  const batch = await pickBatch(services, argument, { title: TITLE, applies });
  if (batch === undefined) return undefined;
  const row = await services.batches.get(batch);
  const task = place?.page === 'batch' && place.batch === batch ? place.filter : undefined;
  const from = await pickAttempts(api, row, task);
  return from === undefined ? undefined : { row, from };
}

/** `task`: of a row of the Batches view. */
async function pickAttempts(api: Api, row: BatchRow, task: string | undefined): Promise<readonly string[] | undefined> {
  if (task !== undefined) return [`${row.batch}/${task}`];
  const passed: string[] = [];
  for await (const { rollout, progress } of api.allRollouts(row.batch))
    if (progress.passed === true) passed.push(rollout);
  const all = { label: 'All Attempts', description: `of ${row.name}`, from: [row.batch] };
  if (passed.length === 0 || passed.length > MAX_LISTED) return all.from;
  const items = [all, { label: 'Attempts That Passed', description: plural(passed.length, 'attempt'), from: passed }];
  return (await vscode.window.showQuickPick(items, { title: TITLE, placeHolder: 'Select the recordings' }))?.from;
}

async function pickFolder(): Promise<vscode.Uri | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length === 0) throw new StudioError('usage', 'No folder is open.', { hint: 'Open a folder first.' });
  if (folders.length === 1) return folders[0]?.uri;
  return (await vscode.window.showWorkspaceFolderPick({ placeHolder: 'Select a folder' }))?.uri;
}

const worldFile = (folder: vscode.Uri, name: string): vscode.Uri =>
  vscode.Uri.joinPath(folder, 'worlds', `${name}.world.yaml`);

async function askName(folder: vscode.Uri): Promise<string | undefined> {
  const name = await vscode.window.showInputBox({
    title: TITLE,
    prompt: 'Name of the world',
    placeHolder: 'my-world',
    ignoreFocusOut: true,
    validateInput: async (text) => {
      if (text.trim() === '') return undefined; // no error while empty
      const problem = nameProblem('world', text.trim());
      if (problem !== undefined) return problem;
      const file = worldFile(folder, text.trim());
      return (await exists(file)) ? `${vscode.workspace.asRelativePath(file, false)} already exists.` : undefined;
    },
  });
  const trimmed = name?.trim();
  return trimmed === '' ? undefined : trimmed;
}

async function write(services: Services, folder: vscode.Uri, name: string, { row, from }: Recorded): Promise<void> {
  const { api } = await services.server.connection();
  const template = await readText(
    vscode.Uri.joinPath(services.context.extensionUri, 'media', 'templates', 'recordedWorld.yaml'),
  );
  const filled = fill(template, { NAME: name, FROM: fromList(from) });
  const world = worldFile(folder, name);
  const submission = row.imported ? undefined : await submissionOf(api, row);
  const batch = submission === undefined ? undefined : await batchFiles(folder, name, world, submission);
  // The file may have been created during the prompt.
  for (const file of [world, ...(batch ?? []).map(({ uri }) => uri)])
    if (await exists(file))
      throw new StudioError(
        'conflict',
        `${vscode.workspace.asRelativePath(file)} already exists. Nothing was written.`,
        {
          hint: 'Choose another name.',
        },
      );
  for (const { uri, text } of [{ uri: world, text: filled.text }, ...(batch ?? [])])
    await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(text));
  const at = new vscode.Position(filled.cursor.line, filled.cursor.column);
  await vscode.window.showTextDocument(world, { preview: false, selection: new vscode.Range(at, at) });
  const [main] = batch ?? [];
  if (main === undefined) {
    void vscode.window.showInformationMessage(
      `${name} answers from ${row.name}. To run tasks in it, set \`world\` in a batch file to ` +
        `${vscode.workspace.asRelativePath(world)}.`,
    );
    return;
  }
  const text = `${vscode.workspace.asRelativePath(main.uri)} runs the same tasks in the world ${name}.`;
  if ((await vscode.window.showInformationMessage(text, 'Launch')) === 'Launch')
    await vscode.commands.executeCommand('rollout.launchBatch', main.uri);
}

interface NewFile {
  readonly uri: vscode.Uri;
  readonly text: string;
}

/**
 * Returns the batch file, next to that of the recorded batch, and its agent if that needs a copy without tools.
 * Undefined if the file of the recorded batch is not in this folder.
 */
async function batchFiles(
  folder: vscode.Uri,
  name: string,
  world: vscode.Uri,
  submission: Submission,
): Promise<readonly NewFile[] | undefined> {
  const old = vscode.Uri.joinPath(folder, submission.file);
  if (!(await exists(old))) return undefined;
  const uri = vscode.Uri.joinPath(old, '..', `${name}.batch.yaml`);
  const from = dirname(pathOf(uri));
  const agent = await ownAgent(folder, name, submission);
  const text = batchInWorld(await readText(old), {
    world: relative(from, pathOf(world)),
    ...(agent === undefined ? {} : { agent: relative(from, pathOf(agent.uri)) }),
  });
  return text === undefined ? undefined : [{ uri, text }, ...(agent === undefined ? [] : [agent])];
}

/** Without a world, all recorded tools are the agent's own: it gets a copy without them. */
async function ownAgent(folder: vscode.Uri, name: string, { agent, world }: Submission): Promise<NewFile | undefined> {
  if (world !== undefined || agent.tools.length === 0) return undefined;
  const old = vscode.Uri.joinPath(folder, agent.file);
  const text = (await exists(old)) ? agentWithoutTools(await readText(old)) : undefined;
  const uri = vscode.Uri.joinPath(old, '..', `${name}.agent.yaml`);
  return text === undefined ? undefined : { uri, text };
}

async function readText(uri: vscode.Uri): Promise<string> {
  return new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
}
