/**
 * Shows problems that only the CLI finds in the Problems view, because it reads whole datasets and the environment.
 */
import * as vscode from 'vscode';
import type { Problem } from '../../config/source/problem.ts';

export class FileProblems implements vscode.Disposable {
  readonly #collection = vscode.languages.createDiagnosticCollection('rollout');
  readonly #listener: vscode.Disposable;

  constructor() {
    // Drop the problems of a changed file until the next check.
    this.#listener = vscode.workspace.onDidSaveTextDocument((document) => this.#collection.delete(document.uri));
  }

  /** Replaces all problems. */
  show(problems: readonly Problem[]): void {
    const byFile = new Map<string, vscode.Diagnostic[]>();
    for (const problem of problems) {
      const list = byFile.get(problem.file) ?? [];
      list.push(diagnosticOf(problem));
      byFile.set(problem.file, list);
    }
    this.#collection.clear();
    for (const [file, list] of byFile) {
      const uri = vscode.Uri.file(file);
      const existing = vscode.languages.getDiagnostics(uri); // of the language server
      this.#collection.set(
        uri,
        list.filter((diagnostic) => !existing.some((other) => isSame(diagnostic, other))),
      );
    }
  }

  clear(): void {
    this.#collection.clear();
  }

  dispose(): void {
    this.#listener.dispose();
    this.#collection.dispose();
  }
}

function isSame(a: vscode.Diagnostic, b: vscode.Diagnostic): boolean {
  return a.source === b.source && a.code === b.code && a.range.start.line === b.range.start.line;
}

function diagnosticOf({ line, column, endLine, endColumn, message, hint, severity, code }: Problem): vscode.Diagnostic {
  const range = new vscode.Range(line - 1, column - 1, endLine - 1, endColumn - 1);
  const diagnostic = new vscode.Diagnostic(
    range,
    `${message}\n${hint}`,
    severity === 'error' ? vscode.DiagnosticSeverity.Error : vscode.DiagnosticSeverity.Warning,
  );
  diagnostic.source = 'rollout';
  diagnostic.code = code;
  return diagnostic;
}
