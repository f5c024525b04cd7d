import { it } from 'node:test';

/** The steps of one story: each begins where the one before ended, so that none is tried once one has failed. */
export class Steps {
  readonly #story: string;
  #broken = false;

  constructor(story: string) {
    this.#story = story;
  }

  /** The story's name when a step failed, for the picture that is left of it. */
  get failed(): string | undefined {
    return this.#broken ? this.#story : undefined;
  }

  step(name: string, run: () => void | Promise<void>): void {
    it(name, async (context) => {
      if (this.#broken) {
        context.skip('a step before it failed');
        return;
      }
      this.#broken = true;
      await run();
      this.#broken = false;
    });
  }
}
