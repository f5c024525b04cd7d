/** Heights of many rows, with their sums in logarithmic time (a Fenwick tree): rows are measured as they appear. */
export class Heights {
  readonly #heights: number[] = [];
  /** 1-based; each entry is the sum of as many heights as its lowest set bit says. */
  readonly #sums: number[] = [0];

  get count(): number {
    return this.#heights.length;
  }

  get total(): number {
    return this.top(this.count);
  }

  push(height: number): void {
    this.#heights.push(height);
    const index = this.count;
    this.#sums.push(height + this.top(index - 1) - this.top(index - (index & -index)));
  }

  of(index: number): number {
    return this.#heights[index] ?? 0;
  }

  set(index: number, height: number): void {
    const change = height - this.of(index);
    this.#heights[index] = height;
    for (let at = index + 1; at <= this.count; at += at & -at) this.#sums[at] = (this.#sums[at] ?? 0) + change;
  }

  /** Returns the sum of the heights before a row. */
  top(index: number): number {
    let sum = 0;
    for (let at = index; at > 0; at -= at & -at) sum += this.#sums[at] ?? 0;
    return sum;
  }

  /** Returns the row at a distance from the top: the first or the last one if there is none. */
  at(distance: number): number {
    let index = 0;
    let rest = Math.max(0, distance);
    for (let bit = 2 ** Math.floor(Math.log2(Math.max(1, this.count))); bit >= 1; bit /= 2) {
      const sum = this.#sums[index + bit];
      if (sum === undefined || sum > rest) continue;
      index += bit;
      rest -= sum;
    }
    return Math.max(0, Math.min(index, this.count - 1));
  }
}
