/** A person at the keyboard: one key after the other, with pauses, and without a mouse. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';

/** How long a person takes for a key. */
const KEY_MS = [130, 170] as const;

export class Person {
  readonly #page: () => Page;
  /** Keys that were pressed, without typed letters. */
  readonly pressed: string[] = [];
  #keys = 0;

  constructor(page: () => Page) {
    this.#page = page;
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      await this.#beforeKey();
      await this.#page().keyboard.press(key);
      this.pressed.push(key);
    }
  }

  async type(text: string): Promise<void> {
    for (const letter of text) {
      await this.#beforeKey();
      await this.#page().keyboard.type(letter);
    }
  }

  /** Different pauses, but the same ones in every run. */
  async #beforeKey(): Promise<void> {
    const [least, most] = KEY_MS;
    this.#keys += 1;
    await pause(least + ((this.#keys * 17) % (most - least + 1)));
  }
}
