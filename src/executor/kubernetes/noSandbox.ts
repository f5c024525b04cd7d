/** Says in a batch, once, that its pods have no sandbox. Only a pod can tell, as nodes may have different runtimes. */
import { StudioError } from '../../common/errors.ts';
import type { Submission } from '../../config/submission.ts';
import type { ClusterHost } from '../executor.ts';
import { sandboxWarnings } from '../sandboxWarnings.ts';

export class NoSandboxReports {
  readonly #host: Pick<ClusterHost, 'recordInfra' | 'giveUp'>;
  readonly #reports = new Map<string, Promise<void>>();

  constructor(host: Pick<ClusterHost, 'recordInfra' | 'giveUp'>) {
    this.#host = host;
  }

  /** Resolves when the batch says so, or has been ended because it requires a sandbox. */
  report(batch: string, submission: Submission, reason: string): Promise<void> {
    const existing = this.#reports.get(batch);
    if (existing !== undefined) return existing;
    const report = this.#report(batch, submission, reason);
    this.#reports.set(batch, report);
    report.catch(() => this.#reports.delete(batch)); // the next worker tries again
    return report;
  }

  forget(batch: string): void {
    this.#reports.delete(batch);
  }

  async #report(batch: string, submission: Submission, reason: string): Promise<void> {
    try {
      const warnings = await sandboxWarnings(submission, () => Promise.resolve(reason), 'pods');
      for (const warning of warnings) await this.#host.recordInfra(batch, warning, true);
    } catch (error) {
      if (!StudioError.is(error, 'config')) throw error;
      await this.#host.giveUp(batch, `${error.message} ${error.hint ?? ''}`.trim());
    }
  }
}
