/** Seeded random numbers for tests. The seed is printed, so that a failure can be reproduced with `TEST_SEED=…`. */
export class Random {
  readonly seed: number;
  #state: number;

  constructor(seed = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31))) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  /** In [0, 1): mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** `n` ascending numbers in [from, to). */
  moments(n: number, from: number, to: number): number[] {
    return Array.from({ length: n }, () => from + this.next() * (to - from)).sort((a, b) => a - b);
  }
}
