/** Provides trajectories as text documents, for the debugger and its breakpoints. */
import * as vscode from 'vscode';
import { TRAJECTORY_SCHEME } from '../../debug/sources/frameSource.ts';
import { DEBUG_TYPE } from '../contributions/names.ts';
import type { ServerLink } from '../services.ts';

/** Returns the rollout of a document URI, or undefined for other URIs. */
export function documentRollout(uri: vscode.Uri): string | undefined {
  return uri.scheme === TRAJECTORY_SCHEME ? uri.path.split('/')[1] : undefined;
}

export class TrajectoryDocuments implements vscode.TextDocumentContentProvider {
  readonly #server: ServerLink;
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly #sessions = new Set<vscode.DebugSession>();
  readonly #disposables: { dispose(): unknown }[];
  readonly onDidChange = this.#changed.event;

  constructor(server: ServerLink) {
    this.#server = server;
    this.#disposables = [
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(TRAJECTORY_SCHEME, this),
      vscode.debug.onDidStartDebugSession((session) => {
        if (session.type === DEBUG_TYPE) this.#sessions.add(session);
      }),
      vscode.debug.onDidTerminateDebugSession((session) => this.#sessions.delete(session)),
    ];
  }

  /** Refreshes the document after its rollout continued. */
  refresh(rollout: string): void {
    for (const { uri } of vscode.workspace.textDocuments) if (documentRollout(uri) === rollout) this.#changed.fire(uri);
  }

  async provideTextDocumentContent(uri: vscode.Uri, cancelled: vscode.CancellationToken): Promise<string> {
    const { documentText } = await import('./documentText.ts');
    const stop = new AbortController();
    const listener = cancelled.onCancellationRequested(() => stop.abort());
    try {
      return await documentText(documentRollout(uri) ?? '', this.#sessions, this.#server, stop.signal);
    } finally {
      listener.dispose();
    }
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}
