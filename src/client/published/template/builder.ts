/** Builds templates in a child process, one after another. */
import { type TemplateRequest, type TemplateResult, templateResult } from './build.ts';
import { SqlProcess } from './sqlProcess.ts';

/** The longest time for one template. */
const MAX_MS = 60_000;

export class TemplateBuilder {
  readonly #process: SqlProcess;

  constructor(maxMs = MAX_MS) {
    this.#process = new SqlProcess(maxMs);
  }

  /** Throws StudioError `config` if it takes too long or cannot be built, and the reason of the signal. */
  build(request: TemplateRequest, signal: AbortSignal): Promise<TemplateResult> {
    return this.#process.ask(request, templateResult, signal);
  }

  /** Ends the process. The next template starts another one. */
  close(): void {
    this.#process[Symbol.dispose]();
  }
}
