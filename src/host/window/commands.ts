/** Registers commands with error handling, which shows every failure once with a hint. */
import * as vscode from 'vscode';
import { errorText, StudioError } from '../../common/errors.ts';
import type { CommandGroup, RegisterCommand } from '../services.ts';
import type { Log } from './log.ts';
import type { FileProblems } from './problems.ts';

export function commandRegistrar(log: Log, problems: FileProblems): RegisterCommand {
  return (id, run) =>
    vscode.commands.registerCommand(id, async (...args: unknown[]) => {
      try {
        return await run(...args);
      } catch (error) {
        // Not awaited, because the message can stay open for long.
        void showFailure(id, error, log, problems);
        return undefined;
      }
    });
}

/** Registers commands whose code is loaded on the first call, to keep activation fast. */
export function registerGroup<Id extends string>(
  register: RegisterCommand,
  ids: readonly Id[],
  load: () => Promise<CommandGroup<Id>>,
): vscode.Disposable {
  return vscode.Disposable.from(...ids.map((id) => register(id, async (...args) => (await load())[id](...args))));
}

async function showFailure(id: string, error: unknown, log: Log, problems: FileProblems): Promise<void> {
  if (StudioError.is(error, 'cancelled') || error instanceof vscode.CancellationError) {
    log.channel.debug(`${id} was cancelled`);
    return;
  }
  log.channel.error(error instanceof Error ? error : String(error), id);
  const { problemsOf } = await import('../server/cliFailure.ts');
  const fileProblems = problemsOf(error);
  if (fileProblems.length > 0) {
    problems.show(fileProblems);
    if ((await vscode.window.showErrorMessage(summaryOf(fileProblems.length), 'Show Problems')) !== undefined)
      await vscode.commands.executeCommand('workbench.actions.view.problems');
    return;
  }
  const isUnexpected = !StudioError.is(error);
  const text = isUnexpected ? `Rollout Studio: unexpected error: ${errorText(error)}` : errorText(error);
  if ((await vscode.window.showErrorMessage(text, 'Show Log')) !== undefined) log.channel.show(true);
}

function summaryOf(count: number): string {
  return count === 1
    ? 'One problem in your files prevents this from running.'
    : `${count} problems in your files prevent this from running.`;
}
