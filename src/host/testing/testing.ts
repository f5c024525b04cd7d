/** Integrates batches into the Testing view: lists the tasks of batch files, runs them, and reruns failed ones. */
import * as vscode from 'vscode';
import { errorText, StudioError } from '../../common/errors.ts';
import type { StudioFiles } from '../files/studioFiles.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import type { RegisterCommand, Services } from '../services.ts';
import { FileItems } from './fileItems.ts';

export function registerTesting(
  services: Services,
  register: RegisterCommand,
  { files, values }: { readonly files: StudioFiles; readonly values: StoredValues },
): vscode.Disposable {
  const controller = vscode.tests.createTestController('rollout', 'Rollout batches');
  const items = new FileItems(services, files, controller);
  const logErrors = (work: Promise<void>): void =>
    void work.catch((error: unknown) => services.log.warn(`Testing view: ${errorText(error)}`));
  controller.resolveHandler = async (item) => {
    if (item === undefined) await items.discover();
    else if (item.parent === undefined) await items.resolve(item);
  };
  controller.refreshHandler = async () => {
    files.refresh();
    await items.discover();
    await items.refresh();
  };
  const addRunProfile = (): void =>
    void controller.createRunProfile(
      'Run',
      vscode.TestRunProfileKind.Run,
      async (request, token) => {
        const { runTests } = await import('./runTests.ts');
        await runTests({ services, items, values }, request, token);
      },
      true,
    );
  // In Restricted Mode, tasks are listed but cannot run.
  if (vscode.workspace.isTrusted) addRunProfile();
  return vscode.Disposable.from(
    controller,
    vscode.workspace.onDidGrantWorkspaceTrust(addRunProfile),
    files.changed((kind) => {
      if (kind === 'batch') logErrors(items.discover().then(() => items.refresh()));
    }),
    register('rollout.openTestAttempts', (item) => openAttempts(services, items, item)),
  );
}

/** Opens the last batch of an item, filtered to the task's attempts. */
async function openAttempts({ pages }: Services, items: FileItems, argument: unknown): Promise<void> {
  const { menuItem } = await import('./menuItem.ts');
  const named = menuItem(argument);
  const item = named === undefined ? undefined : items.itemOf(named);
  const batch = item === undefined ? undefined : items.batchOf(item);
  if (item === undefined || batch === undefined)
    throw new StudioError('not_found', 'This test has not run in this window yet.', { hint: 'Run it first.' });
  await pages.open({ page: 'batch', batch, ...(item.parent === undefined ? {} : { filter: item.id }) });
}
