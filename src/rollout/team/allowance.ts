import type { SubmittedAgent } from '../../config/submission.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Allowance } from '../loop/limits.ts';
import type { Stop } from '../stop.ts';

/**
 * What a member may use: of its own steps and tokens, whose end is the end of its turn, and of those of the whole
 * rollout, whose end is that of everybody.
 */
export class MemberAllowance implements Allowance {
  readonly #name: string;
  readonly #own: Pick<SubmittedAgent['limits'], 'steps' | 'tokens'>;
  readonly #whole: Allowance;
  readonly #stop: Stop;
  #steps = 0;
  #tokens = 0;

  constructor({ name, limits }: Pick<SubmittedAgent, 'name' | 'limits'>, whole: Allowance, stop: Stop) {
    this.#name = name;
    this.#own = limits;
    this.#whole = whole;
    this.#stop = stop;
  }

  step(): void {
    if (this.#steps >= this.#own.steps) throw new ClassedError('limit', `The limit of ${this.#own.steps} steps of ${this.#name} was reached.`);
    if (this.#tokens >= this.#own.tokens) throw new ClassedError('limit', `The limit of ${this.#own.tokens} tokens of ${this.#name} was reached.`);
    try {
      this.#whole.step();
    } catch (error) {
      if (error instanceof ClassedError) this.#stop.stop(error);
      throw error;
    }
    this.#steps++;
  }

  used(tokens: number): void {
    this.#tokens += tokens;
    this.#whole.used(tokens);
  }
}
