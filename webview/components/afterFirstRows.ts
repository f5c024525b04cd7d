/** Work that waits until the page shows what one came for. */

/** A page that never says so shows nothing: then there is nothing to wait for. */
const LATEST_MS = 1_000;

let shown = false;
let waiting: (() => void)[] = [];

/** The first rows are there: what waited for that begins after the frame that shows them. */
export function firstRowsShown(): void {
  if (shown) return;
  shown = true;
  requestAnimationFrame(() => setTimeout(begin));
}

/** Begins now, or once the first rows are shown. */
export function afterFirstRows(work: () => void): void {
  if (waiting.length === 0 && !shown) setTimeout(begin, LATEST_MS);
  waiting.push(work);
  if (shown) setTimeout(begin);
}

function begin(): void {
  shown = true;
  const works = waiting;
  waiting = [];
  for (const work of works) work();
}
