/** Shows on stderr how far bytes were transferred, on one line that redraws itself on a terminal. */
import { bytes, duration } from '../common/units.ts';
import type { Terminal } from './context.ts';
import { redraw } from './output.ts';

const REDRAW_MS = 100;
const LINE_INTERVAL_MS = 2_000;

export class TransferLine {
  readonly #terminal: Terminal;
  readonly #print: (text: string) => void;
  readonly #began = performance.now();
  #drawnAt = performance.now();

  constructor(terminal: Terminal, print: (text: string) => void) {
    this.#terminal = terminal;
    this.#print = print;
  }

  /** `all`: absent if nobody knows. */
  update(what: string, done: number, all?: number): void {
    const now = performance.now();
    if (now - this.#drawnAt < (this.#terminal.live ? REDRAW_MS : LINE_INTERVAL_MS)) return;
    this.#drawnAt = now;
    const part = all === undefined || all === 0 ? '' : ` of ${bytes(all)} (${Math.floor((100 * done) / all)}%)`;
    const line = `${what} ${bytes(done)}${part}`;
    if (this.#terminal.live) redraw(line);
    else this.#print(line);
  }

  /** Removes the line. Returns how long all took, and how fast it was. */
  end(done: number): string {
    if (this.#terminal.live) redraw('');
    const ms = performance.now() - this.#began;
    return `${bytes(done)} in ${duration(ms)}`;
  }
}
