/**
 * The way to the server of the chosen store or target: made at the first use, held by a socket of its own so that a
 * loss
 * is known at once, and found again without starting anything. One of this machine is started again only when the user
 * says so; one of a cluster starts by itself, so it is looked for as long as it takes. Knows nothing of VS Code.
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

/** A server that only lost its connections is found again within this time. */
const REGAIN_MS = 3_000;
const REGAIN_POLL_MS = 250;
/** A target that stays away is asked so often. */
const LATER_POLL_MS = 5_000;

/** Of a target it keeps something open here. */
export type HeldConnection = Connection & { close?(): void };

export interface LinkPorts {
  readonly store: () => string;
  /** Name of the target, or `local`. */
  readonly target: () => string;
  /** false in Restricted Mode. */
  readonly trusted: () => boolean;
  /** To the server of the target; of `local`, to that of the store. */
  readonly connect: (target: string, options: ConnectOptions) => Promise<HeldConnection>;
  readonly log: (text: string) => void;
  /** The server is gone and has to be started by the user. Told once for each loss. */
  readonly stopped: (text: string) => void;
  /** What the server has to say to a person. */
  readonly notice: (text: string) => void;
  /** How long a lost server is looked for. */
  readonly regainMs?: number;
}

interface Attempt {
  readonly starts: boolean;
  readonly made: Promise<Connection>;
}

const FINE: ServerState = { state: 'ok' };

export class WindowServerLink implements ServerLink {
  readonly state = new Observable<ServerState>(FINE);
  readonly #ports: LinkPorts;
  readonly #connected = new Emitter<Connection>();
  readonly #moved = new Emitter<undefined>();
  readonly #ended = new AbortController();
  /** Everything that belongs to the store as it is set now. */
  #era = new AbortController();
  #now: HeldConnection | undefined;
  #socket: FrameSocket | undefined;
  #attempt: Attempt | undefined;
  #regaining: Promise<unknown> | undefined;
  #lastAddress: live.BothAddresses | undefined;
  readonly connected = this.#connected.event;
  readonly moved = this.#moved.event;

  /** What others hold: it stays the same when the server behind it is another. */
  #given: Connection | undefined;

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
      throw new StudioError('forbidden', 'This window is in Restricted Mode: no rollout server is started or read.', {
        hint: 'Trust the workspace to go on.',
      });
    if (this.#ended.signal.aborted) throw new StudioError('cancelled', 'The window is closing.');
    if (this.#regaining !== undefined) await abortable(this.#patience(this.#regaining, signal), signal);
    if (this.#now !== undefined && this.#given !== undefined) return this.#given;
    // After a loss only the user starts it again.
    const start = options.start ?? this.state.value.state !== 'stopped';
    return abortable(this.#make(start), signal);
  }

  /** Another store or target was chosen: the next use finds or starts its server. */
  reset(): void {
    this.#leave();
    this.state.set(FINE);
    this.#moved.fire(undefined);
  }

  /** Something that ends with it. */
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
    if (this.#lastAddress === undefined)
      throw new StudioError('unavailable', 'There is no connection to a rollout server yet.');
    return this.#lastAddress;
  }

  /** One attempt for all who wait; who wants to start waits for one that only attaches, then starts. */
  #make(start: boolean): Promise<Connection> {
    const running = this.#attempt;
    if (running !== undefined && (running.starts || !start)) return running.made;
    const made = running === undefined ? this.#connect(start) : running.made.catch(() => this.#connect(start));
    const attempt: Attempt = { starts: start, made };
    this.#attempt = attempt;
    const done = (): void => {
      if (this.#attempt === attempt) this.#attempt = undefined;
    };
    made.then(done, done);
    return made;
  }

  async #connect(start: boolean): Promise<Connection> {
    const era = this.#era.signal;
    try {
      // reading the client's code takes longer than the rest of the activation, which asks already
      await setImmediate();
      const [found, made] = await Promise.all([
        this.#ports.connect(this.target, { store: this.store, start, signal: era, onNotice: this.#ports.notice }),
        import('./liveConnection.ts'),
      ]);
      return this.#take(found, made, era);
    } catch (error) {
      if (start && !era.aborted) {
        this.#ports.log(`The server could not be started: ${errorText(error)}`);
        this.state.set({ state: 'stopped', text: errorText(error) });
      }
      throw error;
    }
  }

  #take(found: HeldConnection, { connectionTo, holdServer }: typeof live, era: AbortSignal): Connection {
    if (era.aborted) {
      found.close?.();
      throw new StudioError('cancelled', 'Another store or target was chosen meanwhile.');
    }
    this.#now = found;
    this.#lastAddress = { full: found.address(), reading: () => found.readAddress() };
    this.#ports.log(
      'Connected to the server of ' +
        `${this.target === LOCAL ? shownStore(this.store) : `the target ${this.target}`} at ${found.address().url}`,
    );
    this.#socket = holdServer(found, {
      notice: this.#ports.notice,
      closed: () => {
        if (!era.aborted && this.#now === found) this.#lose(era);
      },
    });
    this.#given ??= connectionTo(
      () => this.#address(),
      async (signal) => {
        await this.connection(signal === undefined ? {} : { signal });
      },
    );
    this.state.set(FINE);
    this.#connected.fire(this.#given);
    return this.#given;
  }

  /** Who waits for a server that was lost is told when that takes too long; it is looked for all the same. */
  async #patience(regaining: Promise<unknown>, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const late = sleep(this.#regainMs, AbortSignal.any([over.signal, signal])).then(
      () => 'late',
      () => 'over',
    );
    const first = await Promise.race([regaining, late]);
    over.abort();
    if (first === 'late' && this.#regaining === regaining)
      throw new StudioError('unavailable', this.state.value.text ?? 'The rollout server does not answer.');
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
          ? 'The rollout server does not answer. Looking for it…'
          : `The target ${target} does not answer. Trying again…`,
    });
    void regaining.then((why) => {
      if (era.aborted) return;
      this.#regaining = undefined;
      if (this.#now !== undefined) return;
      const text =
        target === LOCAL
          ? 'The rollout server stopped. What it was running goes on once it is started again.'
          : (why ?? `The target ${target} does not answer.`);
      this.state.set({ state: 'stopped', text });
      this.#ports.stopped(text);
    });
  }

  get #regainMs(): number {
    return this.#ports.regainMs ?? REGAIN_MS;
  }

  /** Gives why it was given up. */
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

/** A store's address as it may be shown: without a password. */
export function shownStore(store: string): string {
  if (!URL.canParse(store) || !store.includes('://')) return store;
  const url = new URL(store);
  if (url.password !== '') url.password = '***';
  if (url.searchParams.has('password')) url.searchParams.set('password', '***');
  return url.href;
}
