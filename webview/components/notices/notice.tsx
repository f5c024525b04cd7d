/** A short notice at the bottom of the page, such as “Copied”. A new notice replaces the last one. */

const VISIBLE_MS = 4_000;

let region: HTMLElement | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

export function say(text: string): void {
  if (region === undefined || !region.isConnected) {
    region = document.createElement('div');
    region.className = 'notice';
    region.setAttribute('role', 'status');
    document.body.append(region);
  }
  region.textContent = text;
  region.hidden = false;
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (region !== undefined) region.hidden = true;
  }, VISIBLE_MS);
}
