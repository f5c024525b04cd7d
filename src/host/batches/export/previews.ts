/** Shows previews of exports as read-only documents. */
import * as vscode from 'vscode';
import type { BatchRow } from '../../../protocol/client.ts';
import { EXPORT_SCHEME } from '../../contributions/names.ts';

export class ExportPreviews implements vscode.TextDocumentContentProvider {
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  /** By the address of the document. */
  readonly #texts = new Map<string, string>();

  async show({ batch, name }: BatchRow, text: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: EXPORT_SCHEME, path: `/Export of ${name}.md`, query: batch });
    this.#texts.set(uri.toString(), text);
    this.#changed.fire(uri);
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), {
      preview: true,
      preserveFocus: true,
    });
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.toString()) ?? 'Run Rollout: Export… to read the preview again.\n';
  }
}
