/**
 * How the window's server divides what it has, read while a view shows it. A server that is too old to say is asked
 * once for each connection. Does not depend on VS Code.
 */
import { Observable } from '../../common/emitter.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { SharesReply } from '../../protocol/shares.ts';
import type { ServerLink } from '../services.ts';

const POLL_MS = 3_000;

interface Ports {
  readonly server: Pick<ServerLink, 'connection' | 'connected' | 'serverChanged'>;
  readonly log: { warn(text: string): void };
}

export class WindowShares {
  /** undefined: unknown, or the server does not say. */
  readonly value = new Observable<SharesReply | undefined>(undefined);
  readonly #ports: Ports;
  readonly #listeners: readonly { dispose(): void }[];
  #watchers = 0;
  #isSupported = true;
  #polling: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(ports: Ports) {
    this.#ports = ports;
    this.#listeners = [
      ports.server.connected(() => {
        this.#isSupported = true;
        this.refresh();
      }),
      ports.server.serverChanged(() => {
        this.#isSupported = true;
        this.value.set(undefined);
        this.refresh();
      }),
    ];
  }

  /** Reads the shares until disposed. Never starts a server. */
  watch(): { dispose(): void } {
    this.#watchers += 1;
    if (this.#watchers === 1) this.refresh();
    let isOver = false;
    return {
      dispose: () => {
        if (isOver) return;
        isOver = true;
        this.#watchers -= 1;
        if (this.#watchers === 0) this.#stop();
      },
    };
  }

  /** Reads them now. */
  refresh(): void {
    this.#stop();
    if (this.#watchers === 0 || !this.#isSupported) return;
    this.#polling = new AbortController();
    void this.#poll(this.#polling.signal);
  }

  dispose(): void {
    this.#stop();
    for (const listener of this.#listeners) listener.dispose();
  }

  #stop(): void {
    this.#polling?.abort();
    this.#polling = undefined;
    clearTimeout(this.#timer);
  }

  async #poll(signal: AbortSignal): Promise<void> {
    try {
      const { api } = await this.#ports.server.connection({ start: false, signal });
      const shares = await api.shares(signal);
      if (signal.aborted) return;
      if (JSON.stringify(shares) !== JSON.stringify(this.value.value)) this.value.set(shares);
    } catch (error) {
      if (signal.aborted) return;
      if (this.value.value !== undefined) this.value.set(undefined);
      if (StudioError.is(error, 'not_found')) {
        this.#isSupported = false;
        return;
      }
      if (!StudioError.is(error)) this.#ports.log.warn(`Reading the shares failed: ${errorText(error)}`);
    }
    this.#timer = setTimeout(() => void this.#poll(signal), POLL_MS);
  }
}
