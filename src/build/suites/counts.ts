import { z } from 'zod';

/** The counts of test files, as sent to another process. */
export const countsSchema = z.object({
  passed: z.number(),
  failed: z.number(),
  skipped: z.number(),
  /** Files that failed first and passed when they ran again separately. */
  flaky: z.number(),
  /** Titles and errors of the tests that failed, including those of flaky files. */
  failures: z.array(z.string()),
});
export type Counts = z.infer<typeof countsSchema>;

export const noCounts = (): Counts => ({ passed: 0, failed: 0, skipped: 0, flaky: 0, failures: [] });

export function addCounts(total: Counts, counts: Counts): void {
  total.passed += counts.passed;
  total.failed += counts.failed;
  total.skipped += counts.skipped;
  total.flaky += counts.flaky;
  total.failures.push(...counts.failures);
}

/** Returns the counts of a file that failed and ran again alone: those of the second run, with what failed first. */
export function afterSecondRun(file: string, first: Counts, second: Counts): Counts {
  if (second.failed > 0) return second;
  console.log(`flaky: ${file} failed first and passed alone`);
  return { ...second, flaky: 1, failures: first.failures.map((failure) => `flaky: ${failure}`) };
}

/** Prints the failed tests once more, because their output is far above, and then the counts. */
export function printResult(total: Counts): void {
  if (total.failures.length > 0) console.log(`\n── failed tests\n${total.failures.join('\n')}`);
  console.log(`\n${countsText(total)}`);
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
