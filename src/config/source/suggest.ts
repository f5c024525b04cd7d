/** Returns the entry of `options` that `word` probably means, if any is close enough. */
export function closest(word: string, options: Iterable<string>): string | undefined {
  const candidates = [...options];
  const lower = word.toLowerCase();
  const allowed = Math.max(1, Math.floor(word.length / 3));
  let best: string | undefined;
  let bestDistance = allowed + 1;
  for (const candidate of candidates) {
    const distance = editDistance(lower, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  if (best !== undefined) return best;
  // `max_steps` for `steps`: one contains the other as a whole word.
  const words = new Set(lower.split(/[_\-. ]/));
  for (const candidate of candidates) {
    if (
      candidate.length >= 4 &&
      (words.has(candidate.toLowerCase()) || candidate.toLowerCase().split('_').includes(lower))
    )
      return candidate;
  }
  return undefined;
}

/** Counts edits between two words: insert, delete, replace, or swap neighbors (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        (above[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (above[column - 1] ?? 0) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, (before[column - 2] ?? 0) + 1);
      }
      current.push(cost);
    }
    before = above;
    above = current;
  }
  return above[b.length] ?? 0;
}
