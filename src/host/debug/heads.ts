/** Keeps the positions of the debugger and the trajectory page in sync. */
import * as vscode from 'vscode';
import { DEBUG_TYPE } from '../contributions/debuggers.ts';
import type { Services } from '../services.ts';
import type { MovedEvent } from './sessionEvents.ts';
import type { TrajectoryDocuments } from './trajectoryDocuments.ts';

export function registerHeads(
  { pages, log }: Pick<Services, 'pages' | 'log'>,
  documents: TrajectoryDocuments,
): vscode.Disposable {
  /** The debug session and the shared position by rollout. */
  const cursors = new Map<string, { readonly session: vscode.DebugSession; seq: number }>();

  const follow = async (session: vscode.DebugSession, { rollout, seq }: MovedEvent): Promise<void> => {
    const known = cursors.get(rollout);
    cursors.set(rollout, { session, seq });
    documents.refresh(rollout);
    // Do not reopen a page that the user closed.
    if (known === undefined || pages.shows({ page: 'trajectory', rollout })) {
      if (known?.seq !== seq)
        await pages.open({ page: 'trajectory', rollout, seq }, { beside: true, preserveFocus: true });
    }
  };

  const pageMoved = (): void => {
    const place = pages.active.value;
    if (place?.page !== 'trajectory' || place.seq === undefined) return;
    const cursor = cursors.get(place.rollout);
    if (cursor === undefined || cursor.seq === place.seq) return;
    cursor.seq = place.seq;
    cursor.session
      .customRequest('goTo', { rollout: place.rollout, seq: place.seq })
      .then(undefined, (error: unknown) => log.debug(`The debugger did not follow the page: ${String(error)}`));
  };

  const handleEvent = async (session: vscode.DebugSession, event: string, body: unknown): Promise<void> => {
    const { forked, moved } = await import('./sessionEvents.ts');
    if (event === 'rolloutPlace') await follow(session, moved.parse(body));
    if (event === 'rolloutForked') log.info(`The debugger forked batch ${forked.parse(body).batch}`);
  };

  const listening = pages.active.changed(pageMoved);
  return vscode.Disposable.from(
    vscode.debug.onDidReceiveDebugSessionCustomEvent(({ session, event, body }) => {
      if (session.type === DEBUG_TYPE)
        void handleEvent(session, event, body).catch((error: unknown) =>
          log.warn(`The page did not follow the debugger: ${String(error)}`),
        );
    }),
    vscode.debug.onDidTerminateDebugSession((session) => {
      for (const [rollout, cursor] of cursors) if (cursor.session === session) cursors.delete(rollout);
    }),
    new vscode.Disposable(() => listening.dispose()),
  );
}
