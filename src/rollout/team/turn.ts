import { plural } from '../../common/text.ts';
import type { SubmittedAgent } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Allowance, Stopwatch } from '../loop/limits.ts';
import type { Stop } from '../stop.ts';

/** What may be used by somebody at work, and what ends the work. */
export interface Budget extends Allowance {
  readonly stop: Stop;
}

/**
 * A member's turn: what it, and whoever works for it, may use of its own steps, tokens and seconds, whose end is the
 * end of its turn, and of those of the team above it. Time that has run out interrupts what goes on; that nothing new
 * begins is told where it would, so that running it again over the record gives the same.
 */
export class Turn implements Budget {
  readonly stop: Stop;
  readonly #release: () => void;
  readonly #name: string;
  readonly #limits: SubmittedAgent['limits'];
  readonly #above: Budget;
  #steps = 0;
  #tokens = 0;
  #over: ClassedError | undefined;
  #endWait: (() => void) | undefined;

  constructor({ name, limits }: Pick<SubmittedAgent, 'name' | 'limits'>, above: Budget) {
    this.#name = name;
    this.#limits = limits;
    this.#above = above;
    ({ stop: this.stop, release: this.#release } = above.stop.child());
  }

  /** From now on time counts. `activeMs`: what the watch showed when the turn began. */
  start(watch: Stopwatch, activeMs: number): void {
    const { seconds } = this.#limits;
    this.#endWait = watch.atActive(activeMs + seconds * 1000, () => {
      this.#over = new ClassedError(
        'limit',
        `The limit of ${plural(seconds, 'second')} of ${this.#name} was reached.`,
        { limit: 'seconds' },
      );
      this.stop.stop(this.#over);
    });
  }

  end(): void {
    this.#endWait?.();
    this.#release();
  }

  /** Why its time is over, when it is. */
  get over(): ClassedError | undefined {
    return this.#over;
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
    this.#above.step();
    this.#steps++;
  }

  used(tokens: number): void {
    this.#tokens += tokens;
    this.#above.used(tokens);
  }
}
