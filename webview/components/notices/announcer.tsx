/** Says things to screen readers, at most once in five seconds: the newest word counts. */

const EVERY_MS = 5_000;

let region: HTMLElement | undefined;
let last = -Infinity;
let waiting: string | undefined;

/** Says `text` when nothing was said lately, else the newest such text as soon as that is over. */
export function announce(text: string): void {
  const now = performance.now();
  if (waiting === undefined && now - last >= EVERY_MS) {
    say(text);
    return;
  }
  if (waiting === undefined)
    setTimeout(
      () => {
        if (waiting !== undefined) say(waiting);
      },
      EVERY_MS - (now - last),
    );
  waiting = text;
}

function say(text: string): void {
  waiting = undefined;
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
