/**
 * Opens values of a trajectory as read-only documents, so that users can search, fold, compare, and save them.
 */
import * as vscode from 'vscode';

const SCHEME = 'rollout-value';
const EXTENSIONS: Readonly<Record<string, string>> = { json: 'json', markdown: 'md', plaintext: 'txt' };

export class ValueDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #listeners: vscode.Disposable[];
  #last = 0;

  constructor() {
    this.#listeners = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidCloseTextDocument((document) => this.#texts.delete(document.uri.toString())),
    ];
  }

  provideTextDocumentContent(uri: vscode.Uri): string | undefined {
    return this.#texts.get(uri.toString());
  }

  async open(title: string, text: string, language: string): Promise<void> {
    const name = title.replaceAll(/[\\/\0-\x1f]+/g, '-').slice(0, 80) || 'value';
    this.#last += 1;
    const uri = vscode.Uri.from({
      scheme: SCHEME,
      path: `/${name}.${EXTENSIONS[language] ?? 'txt'}`,
      query: String(this.#last),
    });
    this.#texts.set(uri.toString(), text);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.languages.setTextDocumentLanguage(document, language in EXTENSIONS ? language : 'plaintext');
    await vscode.window.showTextDocument(document, { preview: true, viewColumn: vscode.ViewColumn.Beside });
  }

  dispose(): void {
    for (const listener of this.#listeners) listener.dispose();
    this.#texts.clear();
  }
}
