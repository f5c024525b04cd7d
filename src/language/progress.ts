import type { Connection } from 'vscode-languageserver';

/** Minimum number of files for showing progress. */
const WORTH_SHOWING = 50;

/** Reports the progress of checking many files to the editor. */
export class CheckProgress {
  /** Whether the editor supports progress. */
  shown = false;
  readonly #connection: Connection;
  #total = 0;
  #reporter: ReturnType<Connection['window']['createWorkDoneProgress']> | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  left(count: number): void {
    if (!this.shown) return;
    if (this.#reporter === undefined) {
      if (count < WORTH_SHOWING) return;
      this.#total = count;
      this.#reporter = this.#connection.window.createWorkDoneProgress();
      this.#reporter.then(
        (reporter) => reporter.begin('Checking agents and batches', 0),
        () => undefined,
      ); // continue without progress
    }
    const [total, reporting] = [Math.max(this.#total, count), this.#reporter];
    this.#total = total;
    if (count === 0) this.#reporter = undefined;
    reporting.then(
      (reporter) => {
        if (count === 0) reporter.done();
        else reporter.report(Math.floor((100 * (total - count)) / total), `${total - count} of ${total}`);
      },
      () => undefined,
    );
  }
}
