/** Runs tests: the selected tasks of each file as a batch. */
import * as vscode from 'vscode';
import { errorText, StudioError } from '../../common/errors.ts';
import { LaunchMemory } from '../launch/memory.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import type { Services } from '../services.ts';
import { BatchRun } from './batchRun.ts';
import type { FileItems } from './fileItems.ts';
import { launchTasks } from './launchTasks.ts';
import { outputText } from './outputText.ts';
import { runsOf, type Selection } from './selection.ts';

interface Parts {
  readonly services: Services;
  readonly items: FileItems;
  readonly values: StoredValues;
}

export async function runTests(
  { services, items, values }: Parts,
  request: vscode.TestRunRequest,
  token: vscode.CancellationToken,
): Promise<void> {
  const launchState = { memory: new LaunchMemory(services.context.workspaceState), values };
  const run = items.controller.createTestRun(request);
  const stop = new AbortController();
  const listener = token.onCancellationRequested(() => stop.abort());
  try {
    if (!vscode.workspace.isTrusted)
      throw new StudioError('forbidden', 'Nothing runs in Restricted Mode.', {
        hint: 'Trust the workspace to continue.',
      });
    if (request.include === undefined) await items.discover();
    const include = (request.include ?? [...items.controller.items].map(([, item]) => item)).map(selectionOf);
    // Read the tasks again, because a file may have changed.
    for (const file of new Set(include.map((each) => each.file))) await items.resolve(file);
    for (const { file } of include) {
      if (items.list(file) === undefined)
        run.errored(
          file,
          new vscode.TestMessage(typeof file.error === 'string' ? file.error : 'Cannot read this batch file.'),
        );
    }
    const runs = runsOf(include, (request.exclude ?? []).map(selectionOf), (file) =>
      (items.list(file)?.tasks ?? []).map(({ id }) => id),
    );
    await Promise.all(
      runs.map(({ file, tasks }) => {
        const selected = tasks === 'all' ? undefined : new Set(tasks);
        const children = new Map([...file.children].filter(([id]) => selected?.has(id) !== false));
        return new BatchRun(services, {
          run,
          items: children,
          launch: (signal) => launchTasks(services, launchState, file, tasks, signal),
          onLaunched: (batch) => {
            services.log.info(`Testing view: ${file.label} runs as ${batch}`);
            items.recordRun(file, children.keys(), batch);
          },
        }).follow(stop.signal);
      }),
    );
  } catch (error) {
    run.appendOutput(outputText(errorText(error)));
    for (const item of request.include ?? []) run.errored(item, new vscode.TestMessage(errorText(error)));
    if (!StudioError.is(error)) services.log.error(error instanceof Error ? error : String(error));
  } finally {
    listener.dispose();
    run.end();
  }
}

function selectionOf(item: vscode.TestItem): Selection<vscode.TestItem> {
  return item.parent === undefined ? { file: item } : { file: item.parent, task: item.id };
}
