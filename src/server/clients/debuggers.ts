/**
 * Debuggers that are connected. One that is lost (it was killed, or its machine is gone) must not leave rollouts held:
 * after a grace period, in which it may reconnect, the server ends what the debugger launched, or releases what it
 * holds. A debugger that ends properly does this itself and unsubscribes. Servers that share a store see there whether
 * the debugger reconnected to another one of them.
 */
import { errorText } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import type { DebuggerClaim } from '../../protocol/client.ts';
import { commandBatch } from '../commands/batchCommand.ts';
import type { Services } from '../services.ts';

/** A debugger reconnects within a second, unless its server is being replaced. */
const GRACE_MS = 5_000;
const PAGE = 500;

/** What a debugger is subscribed to: a rollout, or its whole batch. */
export interface DebuggedStream {
  readonly batch: string;
  readonly rollout: string | undefined;
}

/** A subscription of a debugger. */
export interface DebuggerConnection {
  /** The debugger unsubscribed: it needs nothing more. */
  end(): void;
  /** The connection is lost. */
  lose(): void;
}

export class Debuggers {
  readonly #services: Services;
  /** ID of this server. */
  readonly #server: string;
  readonly #graceMs: number;
  /** Connected debuggers, and those that may reconnect. */
  readonly #entries = new Map<string, { connected: number; timer: NodeJS.Timeout | undefined }>();
  #closed = false;

  constructor(services: Services, server: string, graceMs = GRACE_MS) {
    this.#services = services;
    this.#server = server;
    this.#graceMs = graceMs;
  }

  connect(stream: DebuggedStream, claim: DebuggerClaim): DebuggerConnection {
    const key = JSON.stringify([stream.rollout ?? stream.batch, claim.by, claim.breakpoints]);
    const entry = this.#entries.get(key) ?? { connected: 0, timer: undefined };
    this.#entries.set(key, entry);
    entry.connected += 1;
    clearTimeout(entry.timer);
    const stored = this.#services.store
      .setDebugger(key, this.#server)
      .catch((error: unknown) => this.#failed(stream.batch, 'recording a debugger', error));
    let connected = true;
    const leave = (): boolean => {
      if (!connected) return false;
      connected = false;
      entry.connected -= 1;
      return entry.connected === 0 && this.#entries.get(key) === entry;
    };
    return {
      end: () => {
        if (!leave()) return;
        this.#entries.delete(key);
        this.#leave(key, stored).catch((error: unknown) => this.#failed(stream.batch, 'forgetting a debugger', error));
      },
      lose: () => {
        if (!leave() || this.#closed) return;
        entry.timer = setTimeout(() => {
          this.#entries.delete(key);
          this.#leave(key, stored)
            .then((left) => (left ? this.#lost(stream, claim) : undefined))
            .catch((error: unknown) => this.#failed(stream.batch, 'ending a lost debugger', error));
        }, this.#graceMs);
      },
    };
  }

  /** Called before the server stops: debuggers reconnect to the next one. */
  close(): void {
    this.#closed = true;
    for (const { timer } of this.#entries.values()) clearTimeout(timer);
    this.#entries.clear();
  }

  /** Returns false if the debugger is connected to another server now. */
  async #leave(key: string, stored: Promise<void>): Promise<boolean> {
    await stored;
    return this.#services.store.debuggerLeft(key, this.#server);
  }

  #failed(batch: string, what: string, error: unknown): void {
    this.#services.log(`${what} of ${batch} failed: ${errorText(error)}`, { level: 'error', batch });
  }

  async #lost({ batch, rollout }: DebuggedStream, claim: DebuggerClaim): Promise<void> {
    const { store, supervisor, log } = this.#services;
    const record = await store.batch(batch);
    if (record === undefined || record.row.state === 'ended') return;
    log(`${claim.by} of ${rollout ?? batch} was lost`, { level: 'warning', batch });
    if (claim.end === 'cancel') {
      await supervisor.stop(batch, 'The connection to the debugger was lost.');
      return;
    }
    await commandBatch(this.#services, batch, {
      command: newId('c'),
      verb: 'breakpoints',
      by: claim.by,
      args: { breakpoints: [], of: claim.breakpoints },
    });
    const held = rollout === undefined ? await this.#running(batch) : [rollout];
    for (const id of held)
      await store.putCommand({
        id: newId('c'),
        batch,
        rollout: id,
        verb: 'release',
        args: { of: claim.by },
        by: claim.by,
      });
  }

  /** Returns the rollouts that are held, or may be at their next gate. */
  async #running(batch: string): Promise<string[]> {
    const { store } = this.#services;
    const running: string[] = [];
    let after: string | undefined;
    do {
      const page = await store.rollouts(batch, { limit: PAGE, ...(after === undefined ? {} : { after }) });
      for (const { rollout, state } of page.rollouts)
        if (state === 'running' || state === 'held') running.push(rollout);
      after = page.next;
    } while (after !== undefined);
    return running;
  }
}
