import { z } from 'zod';

/** The counts of test files, as sent to another process. */
export const countsSchema = z.object({
  passed: z.number(),
  failed: z.number(),
  skipped: z.number(),
  /** Files that failed first and passed when they ran again separately. */
  flaky: z.number(),
});
export type Counts = z.infer<typeof countsSchema>;

export const noCounts = (): Counts => ({ passed: 0, failed: 0, skipped: 0, flaky: 0 });

export function addCounts(total: Counts, counts: Counts): void {
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped;
  total.flaky += counts.flaky;
}

/** Returns `N passed, N failed`, with what was skipped or flaky. */
export function countsText({ passed, failed, skipped, flaky }: Counts): string {
  return (
    `${passed} passed, ${failed} failed` +
    (skipped === 0 ? '' : `, ${skipped} skipped`) +
    (flaky === 0 ? '' : `, ${flaky} flaky`)
  );
}

/** The result of one test file. */
export interface FileResult {
  readonly counts: Counts;
  readonly ms: number;
}
