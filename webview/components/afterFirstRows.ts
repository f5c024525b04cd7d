/** Defers work until the page shows its first rows. */

/** Time limit, for pages that have no rows. */
const MAX_WAIT_MS = 1_000;

let hasRows = false;
let pending: (() => void)[] = [];

/** Reports that the first rows are visible. Deferred work starts after the frame that shows them. */
export function reportFirstRows(): void {
  if (hasRows) return;
  hasRows = true;
  requestAnimationFrame(() => setTimeout(runAll));
}

/** Runs `work` once the first rows are visible. */
export function afterFirstRows(work: () => void): void {
  if (pending.length === 0 && !hasRows) setTimeout(runAll, MAX_WAIT_MS);
  pending.push(work);
  if (hasRows) setTimeout(runAll);
}

function runAll(): void {
  hasRows = true;
  const works = pending;
  pending = [];
  for (const work of works) work();
}
