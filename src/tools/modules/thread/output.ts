/** Collects the output of user code by call (in the thread). */
import { FLOOD_CHARS, PRINT_CHARS } from '../limits.ts';

type PrintedText = ['out' | 'err', string];

const BATCH_CHARS = 16 * 1024;
const BATCH_MS = 50;

/** Sends the output of one call in batches, up to a limit. */
export class CallOutput {
  readonly #send: (printed: PrintedText[]) => void;
  readonly #flood: () => void;
  #waiting: PrintedText[] = [];
  #waitingChars = 0;
  #chars = 0;
  #dropped = 0;
  #sentAt = performance.now();
  #scheduled = false;

  /** `flood` is called if a call prints far too much. */
  constructor(send: (printed: PrintedText[]) => void, flood: () => void) {
    this.#send = send;
    this.#flood = flood;
  }

  print(stream: 'out' | 'err', text: string): void {
    const before = this.#chars;
    this.#chars += text.length;
    if (this.#chars > FLOOD_CHARS && before <= FLOOD_CHARS) this.#flood();
    const room = PRINT_CHARS - before;
    if (room < text.length) this.#dropped += text.length - Math.max(0, room);
    if (room < 0 || text === '') return;
    // With the mark of a cut, before which a secret that was cut is found.
    const piece = room < text.length ? `${text.slice(0, room)}…` : text;
    const last = this.#waiting.at(-1);
    if (last?.[0] === stream) last[1] += piece;
    else this.#waiting.push([stream, piece]);
    this.#waitingChars += piece.length;
    // Shows the output even of a call that blocks the thread.
    if (this.#waitingChars >= BATCH_CHARS || performance.now() - this.#sentAt >= BATCH_MS) this.#flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.#flush();
      });
    }
  }

  /** Returns unsent output and a note about dropped output, if any. */
  takeUnsent(): PrintedText[] | undefined {
    if (this.#dropped > 0) {
      this.#waiting.push([
        'err',
        `[${this.#dropped} more characters were dropped; only the first ${PRINT_CHARS} of a call are kept]\n`,
      ]);
      this.#dropped = 0;
    }
    if (this.#waiting.length === 0) return undefined;
    const unsent = this.#waiting;
    this.#waiting = [];
    this.#waitingChars = 0;
    return unsent;
  }

  #flush(): void {
    this.#sentAt = performance.now();
    if (this.#waiting.length === 0) return;
    this.#send(this.#waiting);
    this.#waiting = [];
    this.#waitingChars = 0;
  }
}
