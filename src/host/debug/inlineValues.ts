/** Shows the arguments and result of the current call at the end of the tool's code lines. */
import * as vscode from 'vscode';
import { DEBUG_TYPE } from '../contributions/names.ts';

const ARGUMENT = /\bargs\.([A-Za-z_$][\w$]*)/g;

export class InlineToolValues implements vscode.InlineValuesProvider {
  provideInlineValues(
    document: vscode.TextDocument,
    viewPort: vscode.Range,
    { stoppedLocation }: vscode.InlineValueContext,
  ): vscode.InlineValue[] {
    if (vscode.debug.activeDebugSession?.type !== DEBUG_TYPE) return [];
    const values: vscode.InlineValue[] = [];
    const stopped = stoppedLocation.start.line;
    const end = lastLine(document, stopped);
    values.push(new vscode.InlineValueEvaluatableExpression(document.lineAt(stopped).range, 'tool.arguments'));
    for (let line = stopped + 1; line <= Math.min(end, viewPort.end.line); line++) {
      for (const match of document.lineAt(line).text.matchAll(ARGUMENT)) {
        values.push(
          new vscode.InlineValueEvaluatableExpression(
            new vscode.Range(line, match.index, line, match.index + match[0].length),
            `tool.arguments.${match[1] ?? ''}`,
          ),
        );
      }
    }
    return values;
  }
}

/** Returns the last line of the definition that starts at `first`: the next line that is not indented more. */
function lastLine(document: vscode.TextDocument, first: number): number {
  const indent = document.lineAt(first).firstNonWhitespaceCharacterIndex;
  for (let line = first + 1; line < document.lineCount; line++) {
    const { isEmptyOrWhitespace, firstNonWhitespaceCharacterIndex } = document.lineAt(line);
    if (!isEmptyOrWhitespace && firstNonWhitespaceCharacterIndex <= indent) return line;
  }
  return document.lineCount - 1;
}
