/** Keeps the positions of the debugger and the trajectory page in sync. */
import * as vscode from 'vscode';
import { DEBUG_TYPE } from '../contributions/names.ts';
import type { Services } from '../services.ts';
import type { PlaceEvent } from './sessionEvents.ts';
import type { TrajectoryDocuments } from './trajectoryDocuments.ts';

export function registerPositionSync(
  { pages, log }: Pick<Services, 'pages' | 'log'>,
  documents: TrajectoryDocuments,
): vscode.Disposable {
  /** The debug session and the shared position by rollout. */
  const cursors = new Map<string, { readonly session: vscode.DebugSession; seq: number }>();

  const followDebugger = async (session: vscode.DebugSession, { rollout, seq }: PlaceEvent): Promise<void> => {
    const previous = cursors.get(rollout);
    cursors.set(rollout, { session, seq });
    documents.refresh(rollout);
    // Do not reopen a page that the user closed.
    if (previous === undefined || pages.shows({ page: 'trajectory', rollout })) {
      if (previous?.seq !== seq)
        await pages.open({ page: 'trajectory', rollout, seq }, { toSide: true, preserveFocus: true });
    }
  };

  const followPage = (): void => {
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
    const { forkedEvent, placeEvent } = await import('./sessionEvents.ts');
    if (event === 'rolloutPlace') await followDebugger(session, placeEvent.parse(body));
    if (event === 'rolloutForked') log.info(`The debugger forked batch ${forkedEvent.parse(body).batch}`);
  };

  const pageListener = pages.active.changed(followPage);
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
    new vscode.Disposable(() => pageListener.dispose()),
  );
}
