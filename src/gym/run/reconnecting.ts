/** Requests to the rollout server that are made again after it was lost, for example because it restarted. */
import { sleep } from '../../common/abort.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Api } from '../../protocol/api.ts';

/** What is needed of a connection. */
export interface ServerLink {
  readonly api: Api;
  reconnect(signal?: AbortSignal): Promise<void>;
}

/** A server that does not come back in this time is lost. */
const LOST_MS = 120_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 3_000;

export class Reconnecting {
  readonly #link: ServerLink;
  readonly #log: (text: string) => void;
  readonly #lostMs: number;
  #isLost = false;

  constructor(link: ServerLink, log: (text: string) => void, lostMs = LOST_MS) {
    this.#link = link;
    this.#log = log;
    this.#lostMs = lostMs;
  }

  /**
   * Makes a request that has the same effect if it is made twice. Throws what the server answers; StudioError
   * `unavailable` if it does not come back; `cancelled` when the signal aborts.
   */
  async run<T>(request: (api: Api) => Promise<T>, signal: AbortSignal): Promise<T> {
    const until = performance.now() + this.#lostMs;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const result = await request(this.#link.api);
        if (this.#isLost) this.#log('the rollout server is back');
        this.#isLost = false;
        return result;
      } catch (error) {
        signal.throwIfAborted();
        if (!StudioError.is(error, 'unavailable') || performance.now() > until) throw error;
        if (!this.#isLost) this.#log(`the rollout server is lost: ${errorText(error)}`);
        this.#isLost = true;
      }
      await sleep(pause, signal);
      await this.#link.reconnect(signal).catch((error: unknown) => {
        signal.throwIfAborted();
        // The next request says what is wrong.
        if (!StudioError.is(error, 'unavailable')) this.#log(errorText(error));
      });
    }
  }
}
