import { it } from 'node:test';

/** The steps of one story. Each begins where the previous one ended, so none runs after a failure. */
export class Steps {
  readonly #story: string;
  #broken = false;

  constructor(story: string) {
    this.#story = story;
  }

  /** The story's name when a step failed, for the picture that is kept. */
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
