/** Implements Fork…: asks what to run and how many continuations, then launches the fork through the CLI. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import type { FileKind } from '../../common/fileKinds.ts';
import type { PagePlace } from '../../protocol/page.ts';
import { findFiles } from '../files/findFiles.ts';
import { submissionOf } from '../launch/relaunch.ts';
import { askValue } from '../launch/values/askValue.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import { withValues } from '../launch/values/withValues.ts';
import type { Services } from '../services.ts';

/** Maximum number of continuations. */
const DEFAULT_CONTINUATIONS = 4;
const MAX_CONTINUATIONS = 1_000;
/** Maximum number of files to offer. */
const MAX_FILES = 200;

const planReply = z.object({ differs: z.array(z.string()), notes: z.array(z.string()) });
const launchReply = z.object({ batch: z.string(), warnings: z.array(z.string()) });

/** Arguments of `rollout fork` that change what the fork runs; empty to use the parent's configuration. */
type RunArguments = readonly string[];

/** Forks a rollout at the current step of its page. */
export async function fork(
  services: Services,
  place: Extract<PagePlace, { page: 'trajectory' }>,
  values: StoredValues,
): Promise<void> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  if (folder === undefined)
    throw new StudioError('usage', 'Open a folder before you fork.', {
      hint: 'Open the folder that the rollout was launched from.',
    });
  const point = await pointOf(services, place);
  const run = async (args: readonly string[]): Promise<unknown> => {
    await vscode.workspace.saveAll(false); // the CLI reads files from disk
    return (
      await withValues(values, [], askValue, (env) =>
        services.cli.json(['fork', point, ...args], { cwd: folder.fsPath, env }),
      )
    ).result;
  };
  const runArguments = await pickRunArguments(services, place.rollout, folder, run);
  if (runArguments === undefined) return;
  const entered = await vscode.window.showInputBox({
    title: 'Fork',
    prompt: `How many continuations from ${point.slice(place.rollout.length)}?`,
    value: String(DEFAULT_CONTINUATIONS),
    validateInput: (text) =>
      /^\d+$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= MAX_CONTINUATIONS
        ? undefined
        : `Enter a number from 1 to ${MAX_CONTINUATIONS}.`,
  });
  if (entered === undefined) return;
  const args = ['-k', entered.trim(), '--detach', ...runArguments];
  const answer = await run(args).catch(async (error: unknown) => {
    if (!StudioError.is(error, 'conflict') || error.details?.['irreversible'] === undefined) throw error;
    const chosen = await vscode.window.showWarningMessage(
      'The fork may repeat calls that cannot be undone.',
      { modal: true, detail: error.message },
      'Fork Anyway',
    );
    return chosen === undefined ? undefined : run([...args, '--accept-irreversible']);
  });
  if (answer === undefined) return;
  const { batch, warnings } = launchReply.parse(answer);
  services.batches.refresh();
  if (warnings.length > 0) void vscode.window.showWarningMessage(`Forked, but: ${warnings.join(' ')}`);
  await services.pages.open({ page: 'batch', batch });
}

interface RunItem extends vscode.QuickPickItem {
  readonly runArguments: () => Promise<RunArguments | undefined>;
}

/** Asks what the fork runs and confirms the differences from the parent. Returns undefined if the user cancels. */
async function pickRunArguments(
  { server }: Services,
  rollout: string,
  folder: vscode.Uri,
  run: (args: readonly string[]) => Promise<unknown>,
): Promise<RunArguments | undefined> {
  const { api } = await server.connection();
  const { row } = await api.rollout(rollout);
  const batch = await api.batch(row.batch);
  const submission = batch.imported ? undefined : await submissionOf(api, batch);
  const items: RunItem[] =
    submission === undefined
      ? []
      : [
          {
            label: 'Original files',
            description: `${submission.agent.name}, ${submission.agent.model.name}`,
            runArguments: () => Promise.resolve([]),
          },
          {
            label: 'Current files',
            description: submission.file,
            runArguments: () => Promise.resolve(['--batch', vscode.Uri.joinPath(folder, submission.file).fsPath]),
          },
          {
            label: 'Another model…',
            description: `instead of ${submission.agent.model.name}`,
            runArguments: () => inputOption('Name of the model', submission.agent.model.name, '--model'),
          },
          { label: 'Another agent…', runArguments: () => pickFile('agent') },
        ];
  items.push({
    label: 'Another batch file…',
    description: 'use its agent, world, and scorer',
    runArguments: () => pickFile('batch'),
  });
  for (;;) {
    const item = await vscode.window.showQuickPick(items, {
      title: 'Fork',
      placeHolder: 'Select what the fork runs',
      matchOnDescription: true,
    });
    const runArguments = await item?.runArguments();
    if (runArguments === undefined) return undefined;
    if (runArguments.length === 0) return runArguments;
    const plan = await vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: 'Comparing with the parent' },
      async () => planReply.parse(await run([...runArguments, '--dry-run'])),
    );
    const isConfirmed = await confirmDifferences(plan);
    if (isConfirmed !== 'back') return isConfirmed ? runArguments : undefined;
  }
}

/** Shows the differences from the parent. Returns false if the user cancels. */
async function confirmDifferences({ differs, notes }: z.infer<typeof planReply>): Promise<boolean | 'back'> {
  if (differs.length + notes.length === 0) return true;
  const go = { label: '$(check) Fork with These Differences' };
  const back = { label: '$(arrow-left) Choose Again' };
  const lines = [...differs, ...notes].map((label) => ({ label }));
  const separator = { label: 'The fork differs from its parent', kind: vscode.QuickPickItemKind.Separator };
  const chosen = await vscode.window.showQuickPick([go, back, separator, ...lines], {
    title: 'Fork',
    placeHolder: `${differs.length} ${differs.length === 1 ? 'part differs' : 'parts differ'} from what the parent ran`,
  });
  if (chosen === undefined) return false;
  return chosen === back ? 'back' : true;
}

async function inputOption(prompt: string, value: string, option: string): Promise<RunArguments | undefined> {
  const entered = (await vscode.window.showInputBox({ title: 'Fork', prompt, value }))?.trim();
  return entered === undefined || entered === '' ? undefined : [option, entered];
}

async function pickFile(kind: FileKind): Promise<RunArguments | undefined> {
  const files = await findFiles(
    (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri),
    kind,
    MAX_FILES,
  );
  if (files.length === 0)
    throw new StudioError('not_found', `There is no ${kind} file in this workspace.`, {
      hint: `Create one with Rollout: New ${kind === 'agent' ? 'Agent' : 'Batch'}….`,
    });
  const items = files
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map((uri) => ({ label: vscode.workspace.asRelativePath(uri), uri }));
  const chosen = await vscode.window.showQuickPick(items, {
    title: 'Fork',
    placeHolder: kind === 'agent' ? 'Select the agent for the fork' : 'Select the batch file for the fork',
  });
  return chosen === undefined ? undefined : [`--${kind}`, chosen.uri.fsPath];
}

/**
 * Returns the fork point of a place as a reference: before its model call, or at the start of its tool call, which is
 * then repeated.
 */
async function pointOf({ server }: Services, place: Extract<PagePlace, { page: 'trajectory' }>): Promise<string> {
  if (place.seq === undefined) return `${place.rollout}:${place.step ?? 1}`;
  const { api } = await server.connection();
  const [event] = (await api.events(place.rollout, { after: place.seq - 1, limit: 1 })).events;
  return `${place.rollout}@${event?.kind === 'model.start' ? place.seq - 1 : place.seq}`;
}
