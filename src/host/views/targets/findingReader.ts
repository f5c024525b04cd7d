/**
 * What is known of targets, as long as somebody looks: asked once, kept until it is asked again or forgotten. Knows
 * nothing of VS Code.
 */
import { errorText, StudioError } from '../../../common/errors.ts';
import type { Cli } from '../../services.ts';
import type { Finding } from '../../targets/findings.ts';

interface Entry {
  readonly stop: AbortController;
  readonly asked: Promise<TargetFindings>;
  known: TargetFindings | undefined;
}

/** What was found, and when. */
export interface TargetFindings {
  readonly findings: readonly Finding[];
  readonly at: Date;
}

export class FindingReader {
  readonly #cli: Cli;
  readonly #changed: () => void;
  readonly #entries = new Map<string, Entry>();

  /** `changed`: something is known now that was not. */
  constructor(cli: Cli, changed: () => void) {
    this.#cli = cli;
    this.#changed = changed;
  }

  /** As it is known; asks where it is not. Never rejects: what goes wrong is a finding. */
  async of(target: string): Promise<TargetFindings> {
    for (let entry = this.#entries.get(target) ?? this.#ask(target, undefined); ; ) {
      const found = entry.known ?? (await entry.asked);
      if (!entry.stop.signal.aborted) return found;
      // It was asked again meanwhile, or nobody wants to know any more.
      const next = this.#entries.get(target);
      if (next === undefined) return { findings: [], at: new Date() };
      entry = next;
    }
  }

  known(target: string): readonly Finding[] | undefined {
    return this.#entries.get(target)?.known?.findings;
  }

  /** Asks again what was asked before; until there is an answer, the last one stands. */
  askAgain(): void {
    for (const [target, { stop, known }] of this.#entries) {
      stop.abort();
      this.#ask(target, known);
    }
  }

  /** Something of a target has changed: it is asked again. False: not yet, for it was asked less than `restMs` ago. */
  outdated(target: string, restMs: number): boolean {
    const entry = this.#entries.get(target);
    if (entry === undefined) return true; // nobody looks at it
    if (entry.known === undefined || Date.now() - entry.known.at.getTime() < restMs) return false;
    entry.stop.abort();
    this.#ask(target, entry.known);
    return true;
  }

  forget(target: string): void {
    this.#entries.get(target)?.stop.abort();
    this.#entries.delete(target);
  }

  dispose(): void {
    for (const target of [...this.#entries.keys()]) this.forget(target);
  }

  #ask(target: string, known: TargetFindings | undefined): Entry {
    const stop = new AbortController();
    const asked = ask(this.#cli, target, stop.signal)
      .catch((error: unknown): readonly Finding[] => {
        const hint = StudioError.is(error) ? error.hint : undefined;
        return [
          {
            name: 'target',
            state: 'wrong',
            text: StudioError.is(error) ? error.message : errorText(error),
            ...(hint === undefined ? {} : { hint }),
          },
        ];
      })
      .then((findings): TargetFindings => ({ findings, at: new Date() }));
    const entry: Entry = { stop, asked, known };
    this.#entries.set(target, entry);
    void asked.then((found) => {
      if (stop.signal.aborted) return;
      entry.known = found;
      this.#changed();
    });
    return entry;
  }
}

async function ask(cli: Cli, target: string, signal: AbortSignal): Promise<readonly Finding[]> {
  const { targetFindings } = await import('../../targets/targetCli.ts');
  return targetFindings(cli, target, signal);
}
