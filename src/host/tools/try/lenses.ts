/** “Try” over each tool of a module, and over the tools of an agent. */
import * as vscode from 'vscode';
import { agentToolEntries } from '../../../config/tools/toolEntries.ts';
import { toolsIn } from '../../../config/tools/toolSource.ts';
import { NBSP } from '../../codelens/lensText.ts';

export async function tryLenses(document: vscode.TextDocument, kind: 'code' | 'agent'): Promise<vscode.CodeLens[]> {
  const { uri } = document;
  const lens = (line: number, tooltip: string, tool?: string): vscode.CodeLens =>
    new vscode.CodeLens(new vscode.Range(line - 1, 0, line - 1, 0), {
      title: `$(play)${NBSP}Try`,
      tooltip,
      command: 'rollout.tryTool',
      arguments: tool === undefined ? [uri] : [uri, tool],
    });
  if (kind === 'code')
    return toolsIn(document.getText()).map(({ name, line }) =>
      lens(line, `Call ${name} with your own arguments`, name),
    );
  // Which tools they are is asked when one is tried.
  const [first] = await agentToolEntries(uri.path, document.getText(), () => Promise.resolve(undefined));
  return first === undefined ? [] : [lens(first.line, 'Call one of the tools with your own arguments')];
}
