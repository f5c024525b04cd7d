/** One granted rollout, from the grant until its last event is acknowledged or another worker has it. */
import { deferred } from '../../common/abort.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import type { Breakpoint } from '../../protocol/commands.ts';
import type { Grant } from '../../protocol/worker.ts';
import type { HoldResult } from '../../rollout/gates/gates.ts';
import type { Slot } from '../../rollout/ports.ts';
import type { Loss } from '../spool/spool.ts';
import { Spool } from '../spool/spool.ts';
import { closingEvents } from './closing.ts';
import { compose } from './compose.ts';
import type { RolloutHandle, WorkerParts } from './parts.ts';
import type { LoadedSubmission } from './submissions.ts';
import { makeWorkDirectory, removeWorkDirectory } from './workDirectory.ts';

interface Command {
  readonly command: string;
  readonly verb: string;
  readonly args: Json | undefined;
  readonly by: string;
}

export class HeldRollout {
  readonly grant: Grant;
  readonly #parts: WorkerParts;
  readonly #stop = new AbortController();
  /** The rollout, once it is created; rejects if it never will be. */
  readonly #ready = deferred<RolloutHandle>();
  #handle: RolloutHandle | undefined;
  #spool: Spool | undefined;
  #hasSlot = false;
  #loss: Loss | undefined;
  /** State that was set before the rollout was created. */
  #lost = false;
  #paused: boolean;
  #breakpoints: readonly Breakpoint[];
  #watched = false;
  #flushes = false;
  #leaving = false;
  /** The working directory. */
  #directory: Promise<string> | undefined;

  constructor(grant: Grant, parts: WorkerParts) {
    this.grant = grant;
    this.#parts = parts;
    this.#paused = grant.paused;
    this.#breakpoints = grant.breakpoints;
    this.#ready.promise.catch(() => undefined);
  }

  get spool(): Spool | undefined {
    return this.#spool;
  }

  /** seq of the last event that was appended here. */
  get last(): number {
    return this.#spool?.last ?? this.grant.last;
  }

  /** Whether it waits at a gate, without a slot. */
  get held(): boolean {
    return this.#handle !== undefined && !this.#hasSlot;
  }

  /** Runs the rollout. Resolves when it is completely done here. Never rejects. */
  async run(): Promise<void> {
    const { slots, log } = this.#parts;
    try {
      await slots.acquire(false, this.#stop.signal);
      this.#hasSlot = true;
      let loaded: LoadedSubmission | undefined;
      try {
        loaded = await this.#parts.submissions.load(this.grant.submission);
        await this.#run(loaded);
      } catch (error) {
        if (!this.#stop.signal.aborted) await this.#close(errorText(error), await this.#stored(), loaded);
      }
      if (this.#loss?.code === 'invalid')
        await this.#close(`The server rejected an event: ${this.#loss.message}`, this.#loss.durable, loaded);
      else if (this.#loss?.code === 'too_large')
        await this.#close(this.#loss.message, this.#loss.durable, loaded, 'truncated');
    } catch (error) {
      if (!this.#stop.signal.aborted) log(`rollout ${this.grant.rollout}: ${errorText(error)}`);
    } finally {
      this.#ready.reject(new StudioError('conflict', 'The rollout has ended.'));
      this.#releaseSlot();
      this.#parts.claims.drop(this.grant.rollout);
      this.#spool?.close(new StudioError('fenced', 'The rollout has ended.'));
      const directory = await this.#directory?.catch(() => undefined);
      if (directory !== undefined) {
        await this.#parts.pools.endRollout(directory);
        await removeWorkDirectory(directory).catch((error: unknown) =>
          log(`cannot remove the working directory of ${this.grant.rollout}: ${errorText(error)}`),
        );
      }
    }
  }

  /**
   * Stops it here, because another worker has it or will have it. `flush`: it still belongs to this worker, and its
   * events must still be stored.
   */
  abort(reason: string, flush = false): void {
    if (this.#stop.signal.aborted) return;
    this.#flushes = flush;
    const error = new StudioError('fenced', reason);
    this.#stop.abort(error);
    this.#handle?.abort(reason);
    // An ended rollout only waits for acknowledgements, which will not arrive now.
    if (!flush) this.#spool?.close(error);
  }

  /**
   * Hands it over to another worker where nothing is lost, and gives its lease back. `run` resolves when that is done.
   */
  leave(): void {
    if (this.#leaving) return;
    this.#leaving = true;
    if (this.#handle !== undefined) {
      this.#handle.leave().catch((error: unknown) => this.#parts.log(`${this.grant.rollout}: ${errorText(error)}`));
      return;
    }
    // Nothing of it has happened here.
    this.abort('Another worker continues it.');
    this.#parts.giveBack(this.grant.rollout, this.grant.epoch);
  }

  /** Hands it over at once, after `leave`: what runs is dropped. */
  dropCalls(): void {
    this.#handle?.handOver();
  }

  /**
   * Continues after a reconnection: the server has everything up to `durable`, and the rollout still belongs to this
   * worker.
   */
  resume(durable: number): void {
    this.#spool?.resume(durable);
  }

  /** Applies a command. Resolves when its events are stored. */
  async command(command: Command): Promise<HoldResult> {
    const handle = await this.#ready.promise;
    const mayInspect = command.verb !== 'step' || this.#parts.inspectable;
    const done = await handle.command(mayInspect ? command : { ...command, args: {} });
    await this.#spool?.flushed();
    return done;
  }

  setLost(lost: boolean): void {
    this.#lost = lost;
    this.#handle?.setLost(lost);
  }

  setPaused(paused: boolean): void {
    this.#paused = paused;
    this.#handle?.setBreakpoints(this.#breakpoints, paused);
  }

  /** Throws StudioError `usage` for an invalid condition. */
  setBreakpoints(breakpoints: readonly Breakpoint[]): void {
    this.#breakpoints = breakpoints;
    this.#handle?.setBreakpoints(breakpoints, this.#paused);
  }

  watch(on: boolean): void {
    this.#watched = on;
    this.#spool?.watch(on);
  }

  async #run(loaded: LoadedSubmission): Promise<void> {
    const { grant } = this;
    const { signal } = this.#stop;
    const parts = this.#parts;
    const spool = this.#openSpool(grant.last);
    this.#directory = makeWorkDirectory(parts.work, grant.task, (sha) => parts.blobs.read(sha, signal), parts.shared);
    const [prefix, directory] = await Promise.all([
      grant.last === 0 ? [] : parts.events(grant.rollout, grant.last, signal),
      this.#directory,
    ]);
    signal.throwIfAborted();
    // Use what changed since the grant.
    const now = { ...grant, paused: this.#paused, breakpoints: [...this.#breakpoints] };
    const { job, ports } = compose({
      parts,
      grant: now,
      loaded,
      prefix,
      directory,
      recorder: spool,
      slot: this.#slot(),
    });
    const handle = parts.createRollout(job, ports);
    this.#handle = handle;
    if (this.#lost) handle.setLost(true);
    this.#ready.resolve(handle);
    await handle.run();
    // The next rollout does not wait until the end of this one is acknowledged.
    this.#releaseSlot();
    if (this.#loss !== undefined || (signal.aborted && !this.#flushes)) return;
    // `onLoss` handles a loss; the worker decides how long to wait when it stops.
    const isStored = await spool.flushed().then(
      () => true,
      () => false,
    );
    if (this.#leaving && isStored) parts.giveBack(grant.rollout, grant.epoch);
  }

  #openSpool(last: number): Spool {
    const { grant } = this;
    this.#spool = new Spool({
      rollout: grant.rollout,
      epoch: grant.epoch,
      last,
      link: this.#parts.link,
      blobs: this.#parts.blobs,
      outlet: this.#parts.outlet,
      watched: this.#watched,
      onLoss: (loss) => this.#onLoss(loss),
    });
    return this.#spool;
  }

  #onLoss(loss: Loss): void {
    if (this.#loss === undefined && loss.code !== 'fenced') {
      this.#loss = loss;
      this.#handle?.abort(loss.message);
      return;
    }
    this.abort(loss.message);
  }

  /** Waits until everything written here is stored. Returns the seq of the last event that the server has. */
  async #stored(): Promise<number> {
    await this.#spool?.flushed();
    return this.last;
  }

  /** Writes the end of a rollout that could not write it itself. */
  async #close(
    message: string,
    last: number,
    loaded: LoadedSubmission | undefined,
    status: 'infrastructure' | 'truncated' = 'infrastructure',
  ): Promise<void> {
    const { grant } = this;
    const { worker, clock } = this.#parts;
    const durable = last === 0 ? [] : await this.#parts.events(grant.rollout, last, this.#stop.signal);
    const spool = this.#openSpool(last);
    const { submission } = loaded ?? {};
    spool.append(closingEvents({ grant, worker, clock, submission, durable, last, message, status }), []);
    await spool.flushed();
  }

  #slot(): Slot {
    return {
      release: () => this.#releaseSlot(),
      acquire: async (signal) => {
        await this.#parts.slots.acquire(true, signal);
        this.#hasSlot = true;
      },
    };
  }

  #releaseSlot(): void {
    if (!this.#hasSlot) return;
    this.#hasSlot = false;
    this.#parts.slots.release();
  }
}
