/** Announces texts to screen readers, at most one every five seconds. */

const INTERVAL_MS = 5_000;

let region: HTMLElement | undefined;
let last = -Infinity;
let pending: string | undefined;

/** Announces `text` now, or after the interval unless a newer text replaces it. */
export function announce(text: string): void {
  const now = performance.now();
  if (pending === undefined && now - last >= INTERVAL_MS) {
    speak(text);
    return;
  }
  if (pending === undefined)
    setTimeout(
      () => {
        if (pending !== undefined) speak(pending);
      },
      INTERVAL_MS - (now - last),
    );
  pending = text;
}

function speak(text: string): void {
  pending = undefined;
  last = performance.now();
  if (region === undefined || !region.isConnected) {
    region = document.createElement('div');
    region.className = 'only-read';
    region.setAttribute('role', 'status');
    region.setAttribute('aria-live', 'polite');
    document.body.append(region);
  }
  region.textContent = text;
}
