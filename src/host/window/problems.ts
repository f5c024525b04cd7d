/** What the command line says of files, in the Problems view. */
import * as vscode from 'vscode';
import type { Problem } from '../../config/source/problem.ts';

export class FileProblems implements vscode.Disposable {
  readonly #collection = vscode.languages.createDiagnosticCollection('rollout');
  readonly #listener: vscode.Disposable;

  constructor() {
    // What was wrong in a file may be right once it is changed: only the next check knows.
    this.#listener = vscode.workspace.onDidSaveTextDocument((document) => this.#collection.delete(document.uri));
  }

  /** In place of all that was shown before. */
  show(problems: readonly Problem[]): void {
    const byFile = new Map<string, vscode.Diagnostic[]>();
    for (const problem of problems) {
      const list = byFile.get(problem.file) ?? [];
      list.push(diagnosticOf(problem));
      byFile.set(problem.file, list);
    }
    this.#collection.clear();
    for (const [file, list] of byFile) this.#collection.set(vscode.Uri.file(file), list);
  }

  clear(): void {
    this.#collection.clear();
  }

  dispose(): void {
    this.#listener.dispose();
    this.#collection.dispose();
  }
}

function diagnosticOf({ line, column, endLine, endColumn, message, mend, severity, code }: Problem): vscode.Diagnostic {
  const range = new vscode.Range(line - 1, column - 1, endLine - 1, endColumn - 1);
  const diagnostic = new vscode.Diagnostic(range, `${message}\n${mend}`, severity === 'error' ? vscode.DiagnosticSeverity.Error : vscode.DiagnosticSeverity.Warning);
  diagnostic.source = 'rollout';
  diagnostic.code = code;
  return diagnostic;
}
