/** Implements Compare World with Recording…: asks for both, for the mode and a judge, then launches through the CLI. */
import path from 'node:path';
import * as vscode from 'vscode';
import { z } from 'zod';
import { estimateText } from '../../client/text/fidelityText.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { placeReference } from '../../protocol/editorLink.ts';
import type { PagePlace } from '../../protocol/page.ts';
import { pickBatch } from '../batches/pickBatch.ts';
import { findFiles } from '../files/findFiles.ts';
import { folderOf } from '../files/workspaceFiles.ts';
import { askValue } from '../launch/values/askValue.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import { type AskValue, withValues } from '../launch/values/withValues.ts';
import { argumentPlace } from '../open/argument.ts';
import type { CommandGroup, Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';

const TITLE = 'Compare World with Recording';
/** Maximum number of files to offer. */
const MAX_FILES = 200;

const estimated = z.object({
  rollouts: z.number(),
  calls: z.number(),
  model_calls: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cost: z.number().optional(),
});
const launched = z.object({ batch: z.string() });

interface Comparison {
  /** A batch, a task, or a rollout. */
  readonly reference: string;
  readonly world: vscode.Uri;
  readonly free: boolean;
  readonly judge: string | undefined;
}

export function compareWorldCommands(services: Services, values: StoredValues): CommandGroup<'rollout.compareWorld'> {
  return {
    'rollout.compareWorld': async (argument) => {
      const own = worldOf(argument);
      const world = own ?? (await pickWorldFile());
      if (world === undefined) return;
      const reference = await pickRecording(services, own === undefined ? argument : undefined);
      if (reference === undefined) return;
      const free = await pickMode();
      if (free === undefined) return;
      const judge = await pickJudge();
      if (judge !== undefined) await compare(services, values, { reference, world, free, judge: judge.judge });
    },
  };
}

/** Returns the file of an item of the Worlds view. */
function worldOf(argument: unknown): vscode.Uri | undefined {
  if (typeof argument !== 'object' || argument === null || !('world' in argument)) return undefined;
  const { world } = argument;
  return typeof world === 'object' && world !== null && 'uri' in world && world.uri instanceof vscode.Uri
    ? world.uri
    : undefined;
}

async function pickRecording(services: Services, argument: unknown): Promise<string | undefined> {
  const place = argumentPlace(argument) ?? trajectoryPage(services, argument);
  if (typeof place === 'string') return place;
  if (place?.page === 'trajectory') return place.rollout;
  if (place?.page === 'compare') return placeReference(place);
  if (place?.page === 'batch' && place.filter !== undefined) return `${place.batch}/${place.filter}`; // a task
  return await pickBatch(services, argument, {
    title: TITLE,
    applies: ({ counts, rescores }) => rescores === undefined && counts.passed + counts.failed + counts.unscored > 0,
  });
}

/** Title buttons of a page pass the page's URI. */
function trajectoryPage({ pages }: Services, argument: unknown): PagePlace | undefined {
  const place = pages.active.value;
  const isTitle = argument === undefined || argument instanceof vscode.Uri;
  return isTitle && place?.page === 'trajectory' ? place : undefined;
}

async function pickWorldFile(): Promise<vscode.Uri | undefined> {
  const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri);
  const files = await findFiles(folders, 'world', MAX_FILES);
  if (files.length === 0)
    throw new StudioError('not_found', 'This workspace has no world file (*.world.yaml).', {
      hint: 'Create one with Rollout: Add World….',
    });
  const items = files
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map((file) => ({ label: vscode.workspace.asRelativePath(file), file }));
  return (await vscode.window.showQuickPick(items, { title: TITLE, placeHolder: 'Select the world to compare' }))?.file;
}

async function pickMode(): Promise<boolean | undefined> {
  const items = [
    {
      label: 'Teacher-Forced',
      description: 'each call is predicted after what was really seen before it',
      free: false,
    },
    {
      label: 'Free-Running',
      description: 'each call is predicted after what the world itself answered before: shows where it drifts',
      free: true,
    },
  ];
  return (await vscode.window.showQuickPick(items, { title: TITLE, placeHolder: 'Select the mode' }))?.free;
}

/** Returns undefined if the user cancels. */
async function pickJudge(): Promise<{ readonly judge: string | undefined } | undefined> {
  const none = { label: 'No Judge', description: 'compare only the structure' };
  const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri);
  const files = (await findFiles(folders, 'batch', MAX_FILES)).sort((a, b) => (a.path < b.path ? -1 : 1));
  const model = { label: '$(hubot) A Model…', description: 'NAME@ENDPOINT' };
  const chosen = await vscode.window.showQuickPick<vscode.QuickPickItem & { readonly file?: vscode.Uri }>(
    [
      none,
      model,
      ...files.map((file) => ({
        label: vscode.workspace.asRelativePath(file),
        description: 'its scorer must be a judge',
        file,
      })),
    ],
    { title: TITLE, placeHolder: 'Select a judge that gives marks from 1 to 5' },
  );
  if (chosen === undefined) return undefined;
  if (chosen.file !== undefined) return { judge: chosen.file.fsPath };
  if (chosen !== model) return { judge: undefined };
  const written = await vscode.window.showInputBox({
    title: TITLE,
    prompt: 'Name and endpoint of the judge',
    placeHolder: 'Qwen/Qwen3-235B@http://localhost:8000/v1',
  });
  return written === undefined ? undefined : { judge: written.trim() };
}

async function compare(
  services: Services,
  values: StoredValues,
  { reference, world, free, judge }: Comparison,
): Promise<void> {
  const folder = folderOf(world);
  if (folder.scheme !== 'file')
    throw new StudioError('unsupported', 'Worlds can be compared only with files on disk.', {
      hint: 'Open the folder on the machine that has the world file.',
    });
  await vscode.workspace.saveAll(false); // the CLI reads files from disk
  const words = [
    ...['world', 'fidelity', reference, '--world', world.fsPath],
    ...(free ? ['--free'] : []),
    ...(judge === undefined ? [] : ['--judge', judge]),
  ];
  const run = (title: string, more: string): Promise<unknown> =>
    withProgress(title, async ({ signal, report }) => {
      // Start the server here, so that it does not inherit the values of this launch.
      await services.server.connection({ start: true, signal });
      const ask: AskValue = (wanted) => {
        report(`Waiting for the value of ${wanted}`); // replaces the last message of the CLI
        return askValue(wanted);
      };
      const { result } = await withValues(values, [], ask, (env) =>
        services.cli.json([...words, more], { cwd: folder.fsPath, env, signal, onProgress: report }),
      );
      return result;
    });
  const name = path.basename(world.fsPath);
  const { rollouts, ...estimate } = estimated.parse(await run(`Reading the recordings for ${name}`, '--estimate'));
  const start = 'Compare';
  const answer = await vscode.window.showInformationMessage(
    `Compare ${name} with ${plural(rollouts, 'rollout')}?`,
    { modal: true, detail: `${estimateText(estimate)} (estimated).` },
    start,
  );
  if (answer !== start) return;
  const { batch } = launched.parse(await run(`Comparing ${name}`, '--detach'));
  services.log.info(`${batch} compares ${name} with ${reference}`);
  services.batches.refresh();
  await services.pages.open({ page: 'fidelity', batch });
}
