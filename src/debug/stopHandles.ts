/** The numbers by which a client asks for frames and variables. Valid until the debuggee continues. */
import { StudioError } from '../common/errors.ts';

export class StopHandles<T> {
  readonly #what: string;
  #values: T[] = [];
  /** How many numbers earlier stops had. None is given again: a late request must not get something else. */
  #earlier = 0;

  /** `what`: for the error, e.g. `frame`. */
  constructor(what: string) {
    this.#what = what;
  }

  /** Returns the number of a value, at least 1. */
  add(value: T): number {
    return this.#earlier + this.#values.push(value);
  }

  /** Throws StudioError `gone` for a number from an earlier stop. */
  get(number: number): T {
    const value = this.#values[number - 1 - this.#earlier];
    if (value === undefined) throw new StudioError('gone', `This ${this.#what} belongs to an earlier stop.`);
    return value;
  }

  clear(): void {
    this.#earlier += this.#values.length;
    this.#values = [];
  }
}
