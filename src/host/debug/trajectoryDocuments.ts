/** Trajectories as text: the documents that the debugger shows, with breakpoints on their lines. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { DEBUG_TYPE } from '../contributions/debuggers.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import { readEvent } from '../../trace/upgrades.ts';
import { TrajectoryDocument } from '../../debug/sources/trajectoryDocument.ts';
import { TRAJECTORY_SCHEME } from '../../debug/sources/frameSource.ts';
import type { ServerLink } from '../services.ts';

const answer = z.object({ text: z.string() });

/** The rollout whose document a URI is; undefined when it is none. */
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

  /** Its rollout went on. */
  refresh(rollout: string): void {
    for (const { uri } of vscode.workspace.textDocuments) if (documentRollout(uri) === rollout) this.#changed.fire(uri);
  }

  async provideTextDocumentContent(uri: vscode.Uri, cancelled: vscode.CancellationToken): Promise<string> {
    const rollout = documentRollout(uri) ?? '';
    // Lines are the debugger's own while it looks at the rollout.
    for (const session of this.#sessions) {
      const given = answer.safeParse(await session.customRequest('text', { rollout }).then((text: unknown) => text, () => undefined)); // another one debugs it
      if (given.success) return given.data.text;
    }
    const stop = new AbortController();
    const listener = cancelled.onCancellationRequested(() => stop.abort());
    try {
      const { api } = await this.#server.connection({ signal: stop.signal });
      const model = new TrajectoryModel();
      for await (const page of api.allEvents(rollout, stop.signal)) model.push(page.map((event) => readEvent(event)));
      return new TrajectoryDocument(model, `${model.start?.data.task ?? ''} · attempt ${model.start?.data.attempt ?? 1} · ${rollout}`).text;
    } finally {
      listener.dispose();
    }
  }

  dispose(): void {
    for (const disposable of this.#disposables) disposable.dispose();
  }
}
