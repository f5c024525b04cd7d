import type { Connection } from 'vscode-languageserver';

/** Minimum number of files for showing progress. */
const MIN_FILES = 50;

/** Reports the progress of checking many files to the editor. */
export class CheckProgress {
  /** Whether the editor supports progress. */
  supported = false;
  readonly #connection: Connection;
  #total = 0;
  #reporter: ReturnType<Connection['window']['createWorkDoneProgress']> | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  update(count: number): void {
    if (!this.supported) return;
    if (this.#reporter === undefined) {
      if (count < MIN_FILES) return;
      this.#total = count;
      this.#reporter = this.#connection.window.createWorkDoneProgress();
      this.#reporter.then(
        (reporter) => reporter.begin('Checking agents and batches', 0),
        () => undefined,
      ); // continue without progress
    }
    const [total, currentReporter] = [Math.max(this.#total, count), this.#reporter];
    this.#total = total;
    if (count === 0) this.#reporter = undefined;
    currentReporter.then(
      (reporter) => {
        if (count === 0) reporter.done();
        else reporter.report(Math.floor((100 * (total - count)) / total), `${total - count} of ${total}`);
      },
      () => undefined,
    );
  }
}
