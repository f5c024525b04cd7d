/** Hooks after the tests may take this long, too. `LEFTOVERS_MS` sets another time. */
const LEFT_MS = Number(process.env['LEFTOVERS_MS'] ?? 60_000);

/**
 * Ends this process, whose tests have ended, if something that they left keeps it, such as the server of a test that
 * failed. Node would wait for it without limit.
 */
export function endDespiteLeftovers(): void {
  setTimeout(() => {
    const left = process.getActiveResourcesInfo().join(', ');
    console.error(`The tests ended ${LEFT_MS / 1000} s ago, and something that they left keeps the process: ${left}`);
    process.exit(1);
  }, LEFT_MS).unref();
}
