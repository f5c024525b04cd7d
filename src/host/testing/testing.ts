/** Tasks x attempts as tests: the Testing view lists each batch file's tasks, runs them and runs again what failed. */
import * as vscode from 'vscode';
import { errorText, StudioError } from '../../common/errors.ts';
import type { StudioFiles } from '../files/studioFiles.ts';
import type { LaunchState } from '../launch/launch.ts';
import type { RegisterCommand, Services } from '../services.ts';
import { BatchRun } from './batchRun.ts';
import { FileItems } from './fileItems.ts';
import { launchTasks } from './launchTasks.ts';
import { runsOf, type Chosen } from './selection.ts';

export function registerTesting(services: Services, register: RegisterCommand, { files, ...launching }: LaunchState & { readonly files: StudioFiles }): vscode.Disposable {
  const controller = vscode.tests.createTestController('rollout', 'Rollout batches');
  const items = new FileItems(services, files, controller);
  const quietly = (work: Promise<void>): void => void work.catch((thrown: unknown) => services.log.warn(`Testing view: ${errorText(thrown)}`));
  controller.resolveHandler = async (item) => {
    if (item === undefined) await items.discover();
    else if (item.parent === undefined) await items.resolve(item);
  };
  controller.refreshHandler = async () => {
    files.refresh();
    await items.discover();
    await items.reread();
  };
  const offerRun = (): void => void controller.createRunProfile('Run', vscode.TestRunProfileKind.Run, (request, token) => runTests({ services, items, launching }, request, token), true);
  // In Restricted Mode tasks are listed, but nothing offers to run them.
  if (vscode.workspace.isTrusted) offerRun();
  return vscode.Disposable.from(
    controller,
    vscode.workspace.onDidGrantWorkspaceTrust(offerRun),
    files.changed((kind) => {
      if (kind === 'batch') quietly(items.discover().then(() => items.reread()));
    }),
    register('rollout.openTestAttempts', (item) => openAttempts(services, items, item)),
  );
}

/** The page of the batch that an item was last run in; of a task, only its attempts. */
async function openAttempts({ pages }: Services, items: FileItems, argument: unknown): Promise<void> {
  const item = items.itemOf(argument);
  const batch = item === undefined ? undefined : items.batchOf(item);
  if (item === undefined || batch === undefined) throw new StudioError('not_found', 'This test was not run in this window yet.', { mend: 'Run it first.' });
  await pages.open({ page: 'batch', batch, ...(item.parent === undefined ? {} : { filter: item.id }) });
}

interface Parts {
  readonly services: Services;
  readonly items: FileItems;
  readonly launching: LaunchState;
}

async function runTests({ services, items, launching }: Parts, request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
  const run = items.controller.createTestRun(request);
  const stop = new AbortController();
  const listener = token.onCancellationRequested(() => stop.abort());
  try {
    if (!vscode.workspace.isTrusted) throw new StudioError('forbidden', 'In Restricted Mode nothing runs.', { mend: 'Trust this workspace first.' });
    if (request.include === undefined) await items.discover();
    const include = (request.include ?? [...items.controller.items].map(([, item]) => item)).map(chosen);
    // Which tasks there are is read anew: a file may have changed since.
    for (const file of new Set(include.map((each) => each.file))) await items.resolve(file);
    for (const { file } of include) {
      if (items.list(file) === undefined) run.errored(file, new vscode.TestMessage(typeof file.error === 'string' ? file.error : 'This batch file cannot be read.'));
    }
    const runs = runsOf(include, (request.exclude ?? []).map(chosen), (file) => (items.list(file)?.tasks ?? []).map(({ id }) => id));
    await Promise.all(runs.map(({ file, tasks }) => {
      const taken = tasks === 'all' ? undefined : new Set(tasks);
      const children = new Map([...file.children].filter(([id]) => taken?.has(id) !== false));
      return new BatchRun(services, {
        run, items: children,
        launch: (signal) => launchTasks(services, launching, file, tasks, signal),
        launched: (batch) => {
          services.log.info(`Testing view: ${file.label} runs as ${batch}`);
          items.ranAs(file, children.keys(), batch);
        },
      }).follow(stop.signal);
    }));
  } catch (thrown) {
    run.appendOutput(`${errorText(thrown)}\r\n`);
    for (const item of request.include ?? []) run.errored(item, new vscode.TestMessage(errorText(thrown)));
    if (!StudioError.is(thrown)) services.log.error(thrown instanceof Error ? thrown : String(thrown));
  } finally {
    listener.dispose();
    run.end();
  }
}

function chosen(item: vscode.TestItem): Chosen<vscode.TestItem> {
  return item.parent === undefined ? { file: item } : { file: item.parent, task: item.id };
}
