/** Finds the lines of a document where calls of a batch failed: of a module, or of an extracted scenario's code. */
import type * as vscode from 'vscode';
import { Range } from 'vscode';
import { looseFileAt } from '../../../formats/awmFiles.ts';
import { currentLine, type ErrorLine, errorLines } from '../../../trace/toolCalls/errorLines.ts';
import { isSame } from '../state/definitions.ts';
import type { BatchErrors, ToolStatistics } from '../state/toolStatistics.ts';

export interface DocumentErrors {
  readonly batch: BatchErrors;
  /** The document, as errors name it. */
  readonly file: string;
  readonly lines: readonly { readonly error: ErrorLine; readonly range: vscode.Range }[];
}

/** Returns the scenario whose extracted code a file is; undefined for other files. */
export function scenarioOfCode(uri: vscode.Uri): string | undefined {
  const { part, key } = looseFileAt(uri.fsPath) ?? {};
  return part === 'code' ? key : undefined;
}

/** Returns undefined if no listed batch ran the code. Lines that changed since the batch are left out. */
export async function errorsIn(
  statistics: ToolStatistics,
  document: vscode.TextDocument,
): Promise<DocumentErrors | undefined> {
  const { fsPath } = document.uri;
  const scenario = scenarioOfCode(document.uri);
  const batch = await (scenario === undefined
    ? statistics.ofWorkspace(fsPath)
    : statistics.ofScenario(fsPath, scenario));
  if (batch === undefined) return undefined;
  const { definition, calls } = batch;
  const code = scenario === undefined ? undefined : definition.codeFileOf(scenario);
  const files = new Set<string>();
  const isDocument = (file: string): boolean => {
    const isSameFile = code === undefined ? isSame(definition.places.ofFile(file), fsPath) : file === code;
    if (isSameFile) files.add(file);
    return isSameFile;
  };
  const errors = errorLines(calls.calls(calls.tools), isDocument);
  const [file] = files;
  if (file === undefined) return undefined;
  const submitted = await definition.linesOf(file);
  const current = document.getText().split(/\r?\n/);
  const lines = errors.flatMap((error) => {
    const line = submitted === undefined ? error.line : currentLine(error.line, submitted, current);
    if (line === undefined || line > document.lineCount) return [];
    const { text, firstNonWhitespaceCharacterIndex: start } = document.lineAt(line - 1);
    return [{ error, range: new Range(line - 1, start, line - 1, text.trimEnd().length) }];
  });
  return { batch, file, lines };
}
