/**
 * The link to the server of the selected store or target. Connects on first use and detects a loss through a socket.
 * After a loss it searches for the server without starting one: a local server restarts only when the user requests
 * it, and a remote one is expected to restart by itself. Does not depend on VS Code.
 */
import { setImmediate } from 'node:timers/promises';
import type { Connection, ConnectOptions } from '../../client/connect.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { abortable, sleep } from '../../common/abort.ts';
import { Emitter, Observable } from '../../common/emitter.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { FrameSocket } from '../../protocol/follow.ts';
import type { ServerState } from '../../protocol/page.ts';
import type { ServerLink } from '../services.ts';
import type * as live from './liveConnection.ts';

/** How long to search for a server that lost its connections. */
const REGAIN_MS = 3_000;
const REGAIN_POLL_MS = 250;
/** How often to retry an unreachable target. */
const LATER_POLL_MS = 5_000;

/** A connection that may need to be closed, such as the port forward of a target. */
export type HeldConnection = Connection & { close?(): void };

export interface LinkPorts {
  readonly store: () => string;
  /** Name of the target, or `local`. */
  readonly target: () => string;
  /** false in Restricted Mode. */
  readonly trusted: () => boolean;
  /** Connects to the server of the target, or for `local` to the store's. */
  readonly connect: (target: string, options: ConnectOptions) => Promise<HeldConnection>;
  readonly log: (text: string) => void;
  /** Called once per loss if the user must restart the server. */
  readonly stopped: (text: string) => void;
  /** Called with messages of the server for the user. */
  readonly notice: (text: string) => void;
  /** How long to search for a lost server. */
  readonly regainMs?: number;
}

interface Attempt {
  readonly starts: boolean;
  readonly connection: Promise<Connection>;
}

const FINE: ServerState = { state: 'ok' };

export class WindowServerLink implements ServerLink {
  readonly state = new Observable<ServerState>(FINE);
  readonly #ports: LinkPorts;
  readonly #connected = new Emitter<Connection>();
  readonly #moved = new Emitter<undefined>();
  readonly #ended = new AbortController();
  /** Aborts everything that belongs to the current store. */
  #era = new AbortController();
  #now: HeldConnection | undefined;
  #socket: FrameSocket | undefined;
  #attempt: Attempt | undefined;
  #regaining: Promise<unknown> | undefined;
  #lastAddress: live.BothAddresses | undefined;
  readonly connected = this.#connected.event;
  readonly moved = this.#moved.event;

  /** The connection that callers hold. It stays the same when the server changes. */
  #handedOut: Connection | undefined;

  constructor(ports: LinkPorts) {
    this.#ports = ports;
  }

  get store(): string {
    return this.#ports.store();
  }

  get target(): string {
    return this.#ports.target();
  }

  async connection(options: { readonly start?: boolean; readonly signal?: AbortSignal } = {}): Promise<Connection> {
    const signal = options.signal ?? this.#ended.signal;
    if (!this.#ports.trusted())
      throw new StudioError('forbidden', 'Restricted Mode: the rollout server is not available.', {
        hint: 'Trust the workspace to continue.',
      });
    if (this.#ended.signal.aborted) throw new StudioError('cancelled', 'The window is closing.');
    if (this.#regaining !== undefined) await abortable(this.#patience(this.#regaining, signal), signal);
    if (this.#now !== undefined && this.#handedOut !== undefined) return this.#handedOut;
    // After a loss, only the user restarts the server.
    const start = options.start ?? this.state.value.state !== 'stopped';
    return abortable(this.#make(start), signal);
  }

  /** Switches to another store or target. The next use finds or starts its server. */
  reset(): void {
    this.#leave();
    this.state.set(FINE);
    this.#moved.fire(undefined);
  }

  /** Disposes a listener together with this link. */
  during(listener: { dispose(): unknown }): void {
    this.#ended.signal.addEventListener('abort', () => void listener.dispose(), { once: true });
  }

  dispose(): void {
    this.#ended.abort();
    this.#leave();
  }

  #leave(): void {
    this.#era.abort();
    this.#era = new AbortController();
    this.#now?.close?.();
    this.#now = undefined;
    this.#attempt = undefined;
    this.#regaining = undefined;
    this.#socket?.close();
    this.#socket = undefined;
  }

  #address(): live.BothAddresses {
    if (this.#lastAddress === undefined) throw new StudioError('unavailable', 'Not connected to a rollout server yet.');
    return this.#lastAddress;
  }

  /** Shares one attempt among callers. A caller that can start a server waits for an attach-only attempt first. */
  #make(start: boolean): Promise<Connection> {
    const running = this.#attempt;
    if (running !== undefined && (running.starts || !start)) return running.connection;
    const connection =
      running === undefined ? this.#connect(start) : running.connection.catch(() => this.#connect(start));
    const attempt: Attempt = { starts: start, connection };
    this.#attempt = attempt;
    const done = (): void => {
      if (this.#attempt === attempt) this.#attempt = undefined;
    };
    connection.then(done, done);
    return connection;
  }

  async #connect(start: boolean): Promise<Connection> {
    const era = this.#era.signal;
    try {
      // Load the client code in parallel, because it takes longer than the rest of the activation.
      await setImmediate();
      const [held, connection] = await Promise.all([
        this.#ports.connect(this.target, { store: this.store, start, signal: era, onNotice: this.#ports.notice }),
        import('./liveConnection.ts'),
      ]);
      return this.#take(held, connection, era);
    } catch (error) {
      if (start && !era.aborted) {
        this.#ports.log(`Cannot start the server: ${errorText(error)}`);
        this.state.set({ state: 'stopped', text: errorText(error) });
      }
      throw error;
    }
  }

  #take(held: HeldConnection, { connectionTo, holdServer }: typeof live, era: AbortSignal): Connection {
    if (era.aborted) {
      held.close?.();
      throw new StudioError('cancelled', 'The store or target was changed.');
    }
    this.#now = held;
    this.#lastAddress = { full: held.address(), reading: () => held.readAddress() };
    this.#ports.log(
      'Connected to the server of ' +
        `${this.target === LOCAL ? shownStore(this.store) : `the target ${this.target}`} at ${held.address().url}`,
    );
    this.#socket = holdServer(held, {
      notice: this.#ports.notice,
      closed: () => {
        if (!era.aborted && this.#now === held) this.#lose(era);
      },
    });
    this.#handedOut ??= connectionTo(
      () => this.#address(),
      async (signal) => {
        await this.connection(signal === undefined ? {} : { signal });
      },
    );
    this.state.set(FINE);
    this.#connected.fire(this.#handedOut);
    return this.#handedOut;
  }

  /** Fails callers that wait too long for a lost server, while the search continues. */
  async #patience(regaining: Promise<unknown>, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const late = sleep(this.#regainMs, AbortSignal.any([over.signal, signal])).then(
      () => 'late',
      () => 'over',
    );
    const first = await Promise.race([regaining, late]);
    over.abort();
    if (first === 'late' && this.#regaining === regaining)
      throw new StudioError('unavailable', this.state.value.text ?? 'The rollout server does not respond.');
  }

  #lose(era: AbortSignal): void {
    const { target } = this;
    this.#now?.close?.();
    this.#now = undefined;
    this.#socket = undefined;
    this.#ports.log('The connection to the server was lost');
    const regaining = this.#regain(era);
    this.#regaining = regaining;
    this.state.set({
      state: 'lost',
      text:
        target === LOCAL
          ? 'The rollout server does not respond. Reconnecting…'
          : `Target ${target} does not respond. Reconnecting…`,
    });
    void regaining.then((why) => {
      if (era.aborted) return;
      this.#regaining = undefined;
      if (this.#now !== undefined) return;
      const text =
        target === LOCAL
          ? 'The rollout server stopped. Running batches continue when you start it again.'
          : (why ?? `Target ${target} does not respond.`);
      this.state.set({ state: 'stopped', text });
      this.#ports.stopped(text);
    });
  }

  get #regainMs(): number {
    return this.#ports.regainMs ?? REGAIN_MS;
  }

  /** Returns the reason for giving up. */
  async #regain(era: AbortSignal): Promise<string | undefined> {
    const until = performance.now() + this.#regainMs;
    for (;;) {
      const late = performance.now() >= until;
      if (era.aborted || (late && this.target === LOCAL)) return undefined;
      try {
        await sleep(late ? LATER_POLL_MS : REGAIN_POLL_MS, era);
        await this.#connect(false);
        return undefined;
      } catch (error) {
        if (StudioError.is(error, 'unavailable') || StudioError.is(error, 'cancelled')) continue;
        this.#ports.log(errorText(error));
        return errorText(error);
      }
    }
  }
}

/** Returns the store without a password, for display. */
export function shownStore(store: string): string {
  if (!URL.canParse(store) || !store.includes('://')) return store;
  const url = new URL(store);
  if (url.password !== '') url.password = '***';
  if (url.searchParams.has('password')) url.searchParams.set('password', '***');
  return url.href;
}
