import { countUpTo } from './search.ts';

const BLOCK = 256;

interface Block {
  /** Number of its intervals that have not ended. */
  open: number;
  /** The last end so far. Ends are added in order. */
  lastEnd: number;
}

/**
 * Intervals of seqs that open in ascending order, to find those that are open at a seq. Opening and closing take
 * constant time; a query reads one summary per 256 intervals, and few blocks.
 */
export class Intervals {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #index = new Map<number, number>();
  readonly #blocks: Block[] = [];

  open(start: number): void {
    const index = this.#starts.length;
    this.#starts.push(start);
    this.#ends.push(Infinity);
    this.#index.set(start, index);
    if (index % BLOCK === 0) this.#blocks.push({ open: 0, lastEnd: 0 });
    const block = this.#blocks[this.#blocks.length - 1];
    if (block !== undefined) block.open += 1;
  }

  /** Closes an interval from `end` on. Does nothing if it is not open. */
  close(start: number, end: number): void {
    const index = this.#index.get(start);
    if (index === undefined) return;
    this.#index.delete(start);
    this.#ends[index] = end;
    const block = this.#blocks[Math.floor(index / BLOCK)];
    if (block === undefined) return;
    block.open -= 1;
    block.lastEnd = end;
  }

  /** Returns the starts of the intervals open at `seq` (start ≤ seq < end), ascending. */
  at(seq: number): number[] {
    const starts: number[] = [];
    const count = countUpTo(this.#starts, seq);
    for (let b = 0; b * BLOCK < count; b++) {
      const block = this.#blocks[b];
      if (block === undefined || (block.open === 0 && block.lastEnd <= seq)) continue;
      for (let i = b * BLOCK; i < Math.min(count, (b + 1) * BLOCK); i++) {
        const start = this.#starts[i];
        if (start !== undefined && (this.#ends[i] ?? 0) > seq) starts.push(start);
      }
    }
    return starts;
  }
}
