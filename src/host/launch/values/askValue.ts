import * as vscode from 'vscode';
import type { AskValue } from './withValues.ts';

/** Prompts for the value of an environment variable with hidden input. */
export const askValue: AskValue = async (name) =>
  vscode.window.showInputBox({
    title: `Value of ${name}`,
    password: true,
    ignoreFocusOut: true,
    prompt:
      `The files use \${env:${name}}, which is not set. VS Code stores the value in its secret storage; to remove ` +
      'it, run “Rollout: Forget Stored Values”.',
    validateInput: (text) => (text === '' ? 'Enter a value.' : undefined),
  });
