/** Makes the Python environment of code worlds, after confirmation. */
import * as vscode from 'vscode';
import type { Cli } from '../services.ts';
import { withProgress } from '../window/progress.ts';

/** Returns whether it was made; false if the user does not want it. */
export async function setUpPython(cli: Pick<Cli, 'json'>, cwd: string): Promise<boolean> {
  const detail =
    'This makes a virtual environment for worlds of kind code, and installs FastAPI, Pydantic, and SQLAlchemy in it ' +
    'with pip. `rollout world setup` lists all packages before it installs them.';
  const chosen = await vscode.window.showInformationMessage('Set up Python?', { modal: true, detail }, 'Set Up');
  if (chosen !== 'Set Up') return false;
  await withProgress('Setting up Python', ({ signal, report }) =>
    cli.json(['world', 'setup', '--yes'], { cwd, signal, onProgress: report }),
  );
  return true;
}
