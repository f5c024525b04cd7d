/** Provides Try lenses on the tools of a module and on the tools of an agent. */
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
  // The user picks the tool when running the lens.
  const [first] = await agentToolEntries(uri.path, document.getText(), () => Promise.resolve(undefined));
  return first === undefined ? [] : [lens(first.line, 'Call a tool with your own arguments')];
}
