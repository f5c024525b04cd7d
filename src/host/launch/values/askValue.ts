import * as vscode from 'vscode';
import type { AskValue } from './withValues.ts';

/** Asks for the value of an environment variable, unseen. */
export const askValue: AskValue = async (name) =>
  vscode.window.showInputBox({
    title: `Value of ${name}`,
    password: true,
    ignoreFocusOut: true,
    prompt:
      `The files use \${env:${name}}, and the environment has no value for it. It is kept in the secret storage of ` +
      'this editor; “Rollout: Forget Stored Values” removes it.',
    validateInput: (text) => (text === '' ? 'A value is needed.' : undefined),
  });
