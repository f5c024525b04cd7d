/** Runs long operations with a cancellable notification. */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';

interface Work {
  readonly signal: AbortSignal;
  readonly report: (text: string) => void;
}

/** Throws StudioError `cancelled` if the user cancels, regardless of what the work throws. */
export function withProgress<T>(title: string, work: (work: Work) => Promise<T>): Promise<T> {
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return Promise.resolve(
    vscode.window.withProgress(options, async (progress, token) => {
      const stop = new AbortController();
      const listener = token.onCancellationRequested(() => stop.abort());
      try {
        return await work({ signal: stop.signal, report: (message) => progress.report({ message }) });
      } catch (error) {
        if (stop.signal.aborted) throw new StudioError('cancelled', 'Cancelled.', { cause: error });
        throw error;
      } finally {
        listener.dispose();
      }
    }),
  );
}
