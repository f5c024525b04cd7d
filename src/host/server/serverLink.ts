/**
 * The link to the server of the selected store or target. Connects on first use and detects a loss through a socket.
 * After a loss it searches for the server without starting one: a local server restarts only when the user requests
 * it, and a remote one is expected to restart by itself. Does not depend on VS Code.
 */
import { setImmediate } from 'node:timers/promises';
import type { Connection, ConnectOptions } from '../../client/connect.ts';
import { Drops } from '../../client/drops.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { abortable, sleep } from '../../common/abort.ts';
import { Emitter, Observable } from '../../common/emitter.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { You } from '../../protocol/access.ts';
import type { FrameSocket } from '../../protocol/follow.ts';
import type { ServerState } from '../../protocol/page.ts';
import type { ServerLink } from '../services.ts';
import type * as live from './liveConnection.ts';

/** How long to search for a server that lost its connections. */
const RECONNECT_MS = 3_000;
const RECONNECT_POLL_MS = 250;
/** How often to retry an unreachable target. */
const SLOW_POLL_MS = 5_000;
const QUIET_MS = 3_000;
/** How often the mark of an unstable connection is updated. */
const MARK_MS = 10_000;

/** A connection that may need to be closed, such as the port forward of a target. */
export type ClosableConnection = Connection & { close?(): void };

export interface LinkPorts {
  readonly store: () => string;
  /** Name of the target, or `local`. */
  readonly target: () => string;
  /** false in Restricted Mode. */
  readonly trusted: () => boolean;
  /** Connects to the server of the target, or for `local` to the store's. */
  readonly connect: (target: string, options: ConnectOptions) => Promise<ClosableConnection>;
  readonly log: (text: string) => void;
  /** Called once per loss if the user must restart the server. */
  readonly stopped: (text: string) => void;
  /** Called with messages of the server for the user. */
  readonly notice: (text: string) => void;
  /** How long to search for a lost server. */
  readonly reconnectMs?: number;
  /** How long a target may be lost before that is shown. */
  readonly quietMs?: number;
}

interface ConnectAttempt {
  readonly starts: boolean;
  readonly connection: Promise<Connection>;
}

const CONNECTED: ServerState = { state: 'ok' };

export class WindowServerLink implements ServerLink {
  readonly state = new Observable<ServerState>(CONNECTED);
  readonly you = new Observable<You | undefined>(undefined);
  readonly unstable = new Observable<string | undefined>(undefined);
  #drops = new Drops();
  #marking: NodeJS.Timeout | undefined;
  readonly #ports: LinkPorts;
  readonly #connected = new Emitter<Connection>();
  readonly #serverChanged = new Emitter<undefined>();
  readonly #ended = new AbortController();
  /** Aborts everything that belongs to the current store. */
  #scope = new AbortController();
  #connection: ClosableConnection | undefined;
  #socket: FrameSocket | undefined;
  #attempt: ConnectAttempt | undefined;
  #reconnecting: Promise<unknown> | undefined;
  #lastAddress: live.ServerAddresses | undefined;
  readonly connected = this.#connected.event;
  readonly serverChanged = this.#serverChanged.event;

  /** The connection that callers share. It stays the same when the server changes. */
  #shared: Connection | undefined;

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
    await this.#found(signal);
    if (this.#connection !== undefined && this.#shared !== undefined) return this.#shared;
    // After a loss, only the user restarts the server.
    const start = options.start ?? this.state.value.state !== 'stopped';
    return abortable(this.#connectOnce(start), signal);
  }

  /** Switches to another store or target. The next use finds or starts its server. */
  reset(): void {
    this.#disconnect();
    this.state.set(CONNECTED);
    this.you.set(undefined);
    this.#serverChanged.fire(undefined);
  }

  /** Disposes a listener together with this link. */
  addDisposable(disposable: { dispose(): unknown }): void {
    this.#ended.signal.addEventListener('abort', () => void disposable.dispose(), { once: true });
  }

  dispose(): void {
    this.#ended.abort();
    this.#disconnect();
  }

  #disconnect(): void {
    clearTimeout(this.#marking);
    this.#drops = new Drops();
    this.unstable.set(undefined);
    this.#scope.abort();
    this.#scope = new AbortController();
    this.#connection?.close?.();
    this.#connection = undefined;
    this.#attempt = undefined;
    this.#reconnecting = undefined;
    this.#socket?.close();
    this.#socket = undefined;
  }

  #address(): live.ServerAddresses {
    if (this.#lastAddress === undefined) throw new StudioError('unavailable', 'Not connected to a rollout server yet.');
    return this.#lastAddress;
  }

  /** Shares one attempt among callers. A caller that can start a server waits for an attach-only attempt first. */
  #connectOnce(start: boolean): Promise<Connection> {
    const running = this.#attempt;
    if (running !== undefined && (running.starts || !start)) return running.connection;
    const connection =
      running === undefined ? this.#connect(start) : running.connection.catch(() => this.#connect(start));
    const attempt: ConnectAttempt = { starts: start, connection };
    this.#attempt = attempt;
    const done = (): void => {
      if (this.#attempt === attempt) this.#attempt = undefined;
    };
    connection.then(done, done);
    return connection;
  }

  async #connect(start: boolean): Promise<Connection> {
    const scope = this.#scope.signal;
    try {
      // Load the client code in parallel, because it takes longer than the rest of the activation.
      await setImmediate();
      const [connection, module] = await Promise.all([
        this.#ports.connect(this.target, { store: this.store, start, signal: scope, onNotice: this.#ports.notice }),
        import('./liveConnection.ts'),
      ]);
      return this.#adopt(connection, module, scope);
    } catch (error) {
      if (start && !scope.aborted) {
        this.#ports.log(`Cannot start the server: ${errorText(error)}`);
        this.state.set({ state: 'stopped', text: errorText(error) });
      }
      throw error;
    }
  }

  #adopt(connection: ClosableConnection, { connectionTo, holdServer }: typeof live, scope: AbortSignal): Connection {
    if (scope.aborted) {
      connection.close?.();
      throw new StudioError('cancelled', 'The store or target was changed.');
    }
    this.#connection = connection;
    this.#lastAddress = { full: connection.address(), readOnly: () => connection.readAddress() };
    this.#ports.log(
      'Connected to the server of ' +
        `${this.target === LOCAL ? redactStore(this.store) : `the target ${this.target}`} at ` +
        connection.address().url,
    );
    this.#socket = holdServer(connection, {
      notice: this.#ports.notice,
      you: (caller) => {
        if (!scope.aborted) this.you.set(caller);
      },
      closed: () => {
        if (!scope.aborted && this.#connection === connection) this.#handleLoss(scope);
      },
    });
    this.#shared ??= connectionTo(
      () => this.#address(),
      async (signal) => {
        await this.connection(signal === undefined ? {} : { signal });
      },
      (signal = this.#ended.signal) => this.#found(signal),
    );
    this.state.set(CONNECTED);
    this.#connected.fire(this.#shared);
    return this.#shared;
  }

  /** Waits while a lost server is searched for. */
  async #found(signal: AbortSignal): Promise<void> {
    if (this.#reconnecting !== undefined) await abortable(this.#waitForReconnect(this.#reconnecting, signal), signal);
  }

  /** Fails callers that wait too long for a lost server, while the search continues. */
  async #waitForReconnect(reconnecting: Promise<unknown>, signal: AbortSignal): Promise<void> {
    const done = new AbortController();
    const timeout = sleep(this.#reconnectMs, AbortSignal.any([done.signal, signal])).then(
      () => 'late',
      () => 'done',
    );
    const first = await Promise.race([reconnecting, timeout]);
    done.abort();
    if (first === 'late' && this.#reconnecting === reconnecting)
      throw new StudioError('unavailable', this.state.value.text ?? 'The rollout server does not respond.');
  }

  #handleLoss(scope: AbortSignal): void {
    const { target } = this;
    // A target that dropped the connection is probably still there; a local server is gone.
    const kept = target === LOCAL ? undefined : this.#connection;
    if (kept === undefined) this.#connection?.close?.();
    this.#connection = undefined;
    this.#socket = undefined;
    this.#ports.log('The connection to the server was lost');
    this.#markDrop();
    const reconnecting = this.#reconnect(scope, kept);
    this.#reconnecting = reconnecting;
    const lost = {
      state: 'lost',
      text:
        target === LOCAL
          ? 'The rollout server does not respond. Reconnecting…'
          : `Target ${target} does not respond. Reconnecting…`,
    } satisfies ServerState;
    // Most connections are back in a moment, and callers wait.
    const quiet = setTimeout(
      () => {
        if (this.#reconnecting === reconnecting && !scope.aborted) this.state.set(lost);
      },
      target === LOCAL ? 0 : (this.#ports.quietMs ?? QUIET_MS),
    );
    void reconnecting.then((reason) => {
      clearTimeout(quiet);
      if (scope.aborted) return;
      this.#reconnecting = undefined;
      if (this.#connection !== undefined) return;
      const text =
        target === LOCAL
          ? 'The rollout server stopped. Running batches continue when you start it again.'
          : (reason ?? `Target ${target} does not respond.`);
      this.state.set({ state: 'stopped', text });
      this.#ports.stopped(text);
    });
  }

  get #reconnectMs(): number {
    return this.#ports.reconnectMs ?? RECONNECT_MS;
  }

  /** Marks a target whose connection drops again and again, until it is stable for a while. */
  #markDrop(): void {
    if (this.target === LOCAL) return;
    this.#drops.add();
    clearTimeout(this.#marking);
    if (this.#drops.text === undefined) return;
    const update = (): void => {
      const { text } = this.#drops;
      this.unstable.set(text);
      if (text === undefined) return;
      this.#marking = setTimeout(update, MARK_MS);
      this.#marking.unref();
    };
    update();
  }

  /** Returns the reason for giving up. `kept`: a connection that may work again. */
  async #reconnect(scope: AbortSignal, kept: ClosableConnection | undefined): Promise<string | undefined> {
    if (kept !== undefined) {
      try {
        await kept.reconnect(scope);
        this.#adopt(kept, await import('./liveConnection.ts'), scope);
        return undefined;
      } catch (error) {
        kept.close?.();
        if (!StudioError.is(error, 'unavailable') && !StudioError.is(error, 'cancelled'))
          this.#ports.log(errorText(error));
      }
    }
    const deadline = performance.now() + this.#reconnectMs;
    for (;;) {
      const isLate = performance.now() >= deadline;
      if (scope.aborted || (isLate && this.target === LOCAL)) return undefined;
      try {
        await sleep(isLate ? SLOW_POLL_MS : RECONNECT_POLL_MS, scope);
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
export function redactStore(store: string): string {
  if (!URL.canParse(store) || !store.includes('://')) return store;
  const url = new URL(store);
  if (url.password !== '') url.password = '***';
  if (url.searchParams.has('password')) url.searchParams.set('password', '***');
  return url.href;
}
