/** The WebSocket of one client, with its subscriptions. */
import type { RawData, WebSocket } from 'ws';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { PRODUCT } from '../../common/product.ts';
import { FRAME_RIGHTS } from '../../protocol/access.ts';
import { type ClientFrame, clientFrame } from '../../protocol/client.ts';
import { PROTOCOL } from '../../protocol/version.ts';
import type { Store } from '../../store/store.ts';
import { callerOf, requireOwn, sees } from '../access/caller.ts';
import { requireRight, youOf } from '../access/rights.ts';
import type { ClientIdentity } from '../access/tokens.ts';
import type { UserSession } from '../access/userSession.ts';
import { requireTrajectories } from '../batches/trimmed.ts';
import type { Changes } from '../changes.ts';
import { rawText } from '../socketText.ts';
import type { StoreHealth } from '../storeHealth.ts';
import { BatchSubscription } from './batchSubscription.ts';
import type { DebuggerConnection, Debuggers } from './debuggers.ts';
import type { Deltas } from './deltas.ts';
import { frame } from './frames.ts';
import { RolloutSubscription, type Subscription, type SubscriptionContext } from './rolloutSubscription.ts';

const MAX_SUBSCRIPTIONS = 1_000;

interface ClientContext {
  readonly store: Store;
  readonly changes: Changes;
  readonly deltas: Deltas;
  readonly debuggers: Debuggers;
  readonly log: Log;
  readonly health: StoreHealth;
  /** Returns a user with what it may do now. */
  readonly identity: (session: UserSession) => Promise<ClientIdentity>;
}

/** How often it is checked whether a user may still read. */
const RECHECK_MS = 15_000;

export class ClientConnection {
  readonly #context: ClientContext;
  readonly #socket: WebSocket;
  #identity: ClientIdentity;
  readonly #recheck: NodeJS.Timeout | undefined;
  readonly #subscriptions = new Map<string, Subscription>();
  /** By subscription. */
  readonly #debuggers = new Map<string, DebuggerConnection>();
  /** Of subscriptions of a user who does not see all batches. */
  readonly #batches = new Map<string, { readonly batch: string; readonly stream: string }>();
  readonly #forSubscriptions: SubscriptionContext;
  #unwatch: () => void = () => undefined;
  #greeted = false;
  #readsRights = false;
  /** Handles frames in order, since looking up a stream is asynchronous. */
  #handling: Promise<void> = Promise.resolve();

  constructor(context: ClientContext, socket: WebSocket, identity: ClientIdentity) {
    this.#context = context;
    this.#socket = socket;
    this.#identity = identity;
    const { session } = identity;
    if (session !== undefined) {
      this.#recheck = setInterval(() => void this.#check(session), RECHECK_MS);
      this.#recheck.unref();
    }
    this.#forSubscriptions = {
      store: context.store,
      changes: context.changes,
      deltas: context.deltas,
      send: (text) => this.#send(text),
      waiting: () => socket.bufferedAmount,
      failed: (sub, error) => this.#failed(sub, error),
    };
    socket.on('message', (data) => this.#receive(data));
    socket.on('close', () => this.#closeAll());
  }

  /** Ends the connection of a user whose session is over, who connects again, or who may no longer read. */
  async #check(session: UserSession): Promise<void> {
    if (session.until <= Date.now()) {
      this.#socket.close(1012, 'the session has ended');
      return;
    }
    try {
      const before = JSON.stringify(youOf(this.#identity));
      this.#identity = await this.#context.identity(session);
      requireRight(this.#identity, 'read');
      const you = youOf(this.#identity);
      if (this.#readsRights && JSON.stringify(you) !== before) this.#send(frame({ type: 'rights', you }));
      // Batches that are no longer shared.
      for (const [sub, { batch, stream }] of this.#batches)
        await this.#requireVisible(batch, sub, stream, false).catch((error: unknown) => this.#failed(sub, error));
    } catch (error) {
      this.#refuse(error);
    }
  }

  /** Sends everything stored until now, without waiting for a change notification. */
  check(): void {
    for (const subscription of this.#subscriptions.values()) subscription.check();
  }

  /** Whether everything was sent and left this process. */
  get idle(): boolean {
    return (
      this.#socket.readyState !== this.#socket.OPEN ||
      (this.#socket.bufferedAmount === 0 && [...this.#subscriptions.values()].every(({ idle }) => idle))
    );
  }

  #receive(data: RawData): void {
    let parsed: ClientFrame;
    try {
      parsed = clientFrame.parse(JSON.parse(rawText(data)));
    } catch (error) {
      this.#refuse(new StudioError('usage', 'Invalid frame.', { cause: error }));
      return;
    }
    if (parsed.type === 'seen') {
      this.#subscriptions.get(parsed.sub)?.acknowledge(parsed.cursor, parsed.rev);
      return;
    }
    this.#handling = this.#handling.then(() => this.#handle(parsed)).catch((error: unknown) => this.#refuse(error));
  }

  async #handle(message: Exclude<ClientFrame, { type: 'seen' }>): Promise<void> {
    requireRight(this.#identity, FRAME_RIGHTS[message.type]);
    if (message.type === 'hello') {
      if (message.protocol !== PROTOCOL)
        throw new StudioError(
          'version',
          `The server uses protocol ${PROTOCOL}, but the client uses ${message.protocol}.`,
          {
            hint: 'Use a client and a server of the same version.',
          },
        );
      this.#send(
        frame({
          type: 'welcome',
          protocol: PROTOCOL,
          product: PRODUCT,
          clock: await this.#context.store.now(),
          you: youOf(this.#identity),
          read_only: !this.#identity.rights.has('control'),
        }),
      );
      this.#greeted = true;
      this.#readsRights = message.rights === true;
      this.#unwatch = this.#watchHealth();
      return;
    }
    if (!this.#greeted) throw new StudioError('usage', 'The first frame must be hello.');
    this.#end(message.sub);
    if (message.type === 'unsubscribe') return;
    try {
      if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS)
        throw new StudioError('too_large', `A connection can have at most ${MAX_SUBSCRIPTIONS} subscriptions.`);
      const subscription = await this.#open(message);
      if (this.#socket.readyState === this.#socket.OPEN) this.#subscriptions.set(message.sub, subscription);
      else {
        subscription.close();
        this.#debuggers.get(message.sub)?.lose();
      }
    } catch (error) {
      this.#failed(message.sub, error);
    }
  }

  async #open(message: Extract<ClientFrame, { type: 'subscribe' }>): Promise<Subscription> {
    const { store } = this.#context;
    const { sub, debugger: claim } = message;
    const connect = (batch: string, rollout?: string): void => {
      if (claim !== undefined && this.#identity.rights.has('control'))
        this.#debuggers.set(sub, this.#context.debuggers.connect({ batch, rollout }, claim));
    };
    const rollout = await store.rollout(message.stream);
    await this.#requireVisible(rollout?.row.batch ?? message.stream, sub, message.stream, claim !== undefined);
    if (rollout !== undefined) {
      await requireTrajectories(this.#context, rollout.row);
      connect(rollout.row.batch, rollout.row.rollout);
      return new RolloutSubscription(this.#forSubscriptions, sub, rollout, message.after, {
        deltas: message.deltas ?? false,
        watches: claim !== undefined,
      });
    }
    const batch = await store.batch(message.stream);
    if (batch !== undefined) {
      connect(batch.row.batch);
      return new BatchSubscription(this.#forSubscriptions, sub, batch, message.after, message.after_rev ?? 0);
    }
    throw new StudioError('gone', `There is no batch or rollout ${message.stream.slice(0, 100)} here.`);
  }

  /** Throws `gone` for a batch that the caller does not see; a debugger also needs one of its own. */
  async #requireVisible(batch: string, sub: string, stream: string, debugs: boolean): Promise<void> {
    const caller = callerOf(this.#identity);
    if (caller.all) return;
    const row = (await this.#context.store.batch(batch))?.row;
    if (row === undefined) return;
    if (!sees(caller, row)) throw new StudioError('gone', `There is no batch or rollout ${stream.slice(0, 100)} here.`);
    if (debugs) requireOwn(caller, row);
    this.#batches.set(sub, { batch, stream });
  }

  #watchHealth(): () => void {
    const { health } = this.#context;
    const notify = (text: string): void => this.#send(frame({ type: 'notice', text }));
    if (health.trouble !== undefined) notify(health.trouble);
    this.#unwatch(); // a repeated hello
    return health.watch(notify);
  }

  #end(sub: string): void {
    this.#batches.delete(sub);
    this.#subscriptions.get(sub)?.close();
    this.#subscriptions.delete(sub);
    this.#debuggers.get(sub)?.end();
    this.#debuggers.delete(sub);
  }

  /** Closes one failed subscription and keeps the others. */
  #failed(sub: string, error: unknown): void {
    this.#end(sub);
    if (!StudioError.is(error))
      this.#context.log(
        `a subscription failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
        { level: 'error' },
      );
    this.#send(
      frame({ type: 'error', sub, code: StudioError.is(error) ? error.code : 'internal', message: errorText(error) }),
    );
  }

  /** Reports an error and closes the connection. */
  #refuse(error: unknown): void {
    this.#send(
      frame({ type: 'error', code: StudioError.is(error) ? error.code : 'internal', message: errorText(error) }),
    );
    this.#socket.close(1008, 'refused');
  }

  #send(text: string): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(text);
  }

  #closeAll(): void {
    clearInterval(this.#recheck);
    this.#unwatch();
    for (const subscription of this.#subscriptions.values()) subscription.close();
    this.#subscriptions.clear();
    for (const one of this.#debuggers.values()) one.lose();
    this.#debuggers.clear();
  }
}
