import { plural } from '../../common/text.ts';
import type { SubmittedAgent } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Usage } from '../../trace/schema.ts';
import type { Allowance, Stopwatch } from '../loop/limits.ts';
import type { Stop } from '../stop.ts';

/** The limits of some work, and what ends it. */
export interface Budget extends Allowance {
  readonly stop: Stop;
}

/**
 * A member's turn: the steps, tokens, and seconds that it and the members it calls may use. The turn also ends with the
 * team above it. When time runs out, running work is interrupted; new work is refused only where it would start, so
 * that a resumed run behaves the same.
 */
export class Turn implements Budget {
  readonly stop: Stop;
  readonly #release: () => void;
  readonly #name: string;
  readonly #limits: SubmittedAgent['limits'];
  readonly #parent: Budget;
  #steps = 0;
  #tokens = 0;
  #timeUp: ClassedError | undefined;
  #endWait: (() => void) | undefined;

  constructor({ name, limits }: Pick<SubmittedAgent, 'name' | 'limits'>, parent: Budget) {
    this.#name = name;
    this.#limits = limits;
    this.#parent = parent;
    ({ stop: this.stop, release: this.#release } = parent.stop.child());
  }

  /** Starts counting time. `activeMs`: the active time of the rollout when the turn began. */
  start(watch: Stopwatch, activeMs: number): void {
    const { seconds } = this.#limits;
    this.#endWait = watch.atActive(activeMs + seconds * 1000, () => {
      this.#timeUp = new ClassedError(
        'limit',
        `The limit of ${plural(seconds, 'second')} of ${this.#name} was reached.`,
        { limit: 'seconds' },
      );
      this.stop.stop(this.#timeUp);
    });
  }

  end(): void {
    this.#endWait?.();
    this.#release();
  }

  /** Why its time is up, if it is. */
  get timeUp(): ClassedError | undefined {
    return this.#timeUp;
  }

  step(): void {
    if (this.#steps >= this.#limits.steps)
      throw new ClassedError(
        'limit',
        `The limit of ${plural(this.#limits.steps, 'step')} of ${this.#name} was reached.`,
        { limit: 'steps' },
      );
    if (this.#tokens >= this.#limits.tokens)
      throw new ClassedError('limit', `The limit of ${this.#limits.tokens} tokens of ${this.#name} was reached.`, {
        limit: 'tokens',
      });
    this.#parent.step();
    this.#steps++;
  }

  addUsage(usage: Usage): void {
    this.#tokens += usage.input_tokens + usage.output_tokens;
    this.#parent.addUsage(usage);
  }

  addCall(...call: Parameters<Allowance['addCall']>): void {
    this.#parent.addCall(...call);
  }
}
