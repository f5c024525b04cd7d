/**
 * Reads and caches the findings of targets. Does not depend on VS Code.
 */
import { errorText, StudioError } from '../../../common/errors.ts';
import type { Cli } from '../../services.ts';
import { blockingProblem, type Finding } from '../../targets/findings.ts';

/** Name of the finding of a target that could not be read at all. */
const FAILED = 'target';

interface Entry {
  readonly stop: AbortController;
  readonly request: Promise<TargetFindings>;
  readonly startedAt: number;
  /** Whether the request has ended. */
  done: boolean;
  latest: TargetFindings | undefined;
}

/** Findings with their time. */
export interface TargetFindings {
  readonly findings: readonly Finding[];
  readonly at: Date;
}

export class FindingReader {
  readonly #cli: Cli;
  readonly #changed: () => void;
  readonly #entries = new Map<string, Entry>();

  /** @param changed Called when new findings are available. */
  constructor(cli: Cli, changed: () => void) {
    this.#cli = cli;
    this.#changed = changed;
  }

  /** Returns cached findings or reads them. Never rejects; failures become findings. */
  async of(target: string): Promise<TargetFindings> {
    for (let entry = this.#entries.get(target) ?? this.#start(target, undefined); ; ) {
      const findings = entry.latest ?? (await entry.request);
      if (!entry.stop.signal.aborted) return findings;
      // The request was replaced or cancelled.
      const next = this.#entries.get(target);
      if (next === undefined) return { findings: [], at: new Date() };
      entry = next;
    }
  }

  /** Returns whether findings of a target are cached, or being read. */
  has(target: string): boolean {
    return this.#entries.has(target);
  }

  /** Returns what was read, or undefined while it is being read for the first time. */
  latest(target: string): TargetFindings | undefined {
    return this.#entries.get(target)?.latest;
  }

  /**
   * Refreshes all cached findings, because the user asked for it: this also tries whether pods reach the server. The
   * old ones stay until the new ones arrive.
   */
  refreshAll(): void {
    for (const [target, entry] of this.#entries) this.#restart(target, entry, true);
  }

  /** Reads targets again that could not be reached, unless that was less than `minIntervalMs` ago. */
  retryFailed(minIntervalMs: number): void {
    for (const [target, entry] of this.#entries) {
      if (!entry.done || Date.now() - entry.startedAt < minIntervalMs) continue;
      if (isUnreachable(entry.latest?.findings ?? [])) this.#restart(target, entry);
    }
  }

  /** Refreshes a target that changed. Returns false if the last read was less than `minIntervalMs` ago. */
  refresh(target: string, minIntervalMs: number): boolean {
    const entry = this.#entries.get(target);
    if (entry === undefined) return true; // not visible
    if (!entry.done || Date.now() - entry.startedAt < minIntervalMs) return false;
    this.#restart(target, entry);
    return true;
  }

  forget(target: string): void {
    this.#entries.get(target)?.stop.abort();
    this.#entries.delete(target);
  }

  dispose(): void {
    for (const target of [...this.#entries.keys()]) this.forget(target);
  }

  #restart(target: string, { stop, latest }: Entry, probe = false): void {
    stop.abort();
    this.#start(target, latest, probe);
  }

  #start(target: string, latest: TargetFindings | undefined, probe = false): Entry {
    const stop = new AbortController();
    const request = readFindings(this.#cli, target, stop.signal, probe)
      .catch((error: unknown): readonly Finding[] => {
        const hint = StudioError.is(error) ? error.hint : undefined;
        return [
          {
            name: FAILED,
            state: 'wrong',
            text: StudioError.is(error) ? error.message : errorText(error),
            ...(hint === undefined ? {} : { hint }),
          },
        ];
      })
      .then((findings): TargetFindings => ({ findings, at: new Date() }));
    const entry: Entry = { stop, request, startedAt: Date.now(), done: false, latest };
    this.#entries.set(target, entry);
    void request.then((findings) => {
      if (stop.signal.aborted) return;
      entry.done = true;
      entry.latest = findings;
      this.#changed();
    });
    return entry;
  }
}

/** Whether the target could not be read, or something in front of its server does not work. */
function isUnreachable(findings: readonly Finding[]): boolean {
  return findings.some(({ name }) => name === FAILED) || blockingProblem(findings) !== undefined;
}

async function readFindings(
  cli: Cli,
  target: string,
  signal: AbortSignal,
  probe: boolean,
): Promise<readonly Finding[]> {
  const { targetFindings } = await import('../../targets/targetCli.ts');
  return targetFindings(cli, target, signal, probe);
}
