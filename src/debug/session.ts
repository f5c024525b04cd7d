/** A debug session, independent of the protocol: its rollouts and their stops. */
import { differsText } from '../client/text/forkText.ts';
import { abortable, deferred } from '../common/abort.ts';
import { Emitter } from '../common/emitter.ts';
import { errorText, StudioError } from '../common/errors.ts';
import type { Breakpoint } from '../protocol/commands.ts';
import { ENTRY, DEBUGGER as PREFIX } from '../protocol/entry.ts';
import type { DebugArguments } from './arguments.ts';
import { BreakpointTable } from './breakpoints/breakpointTable.ts';
import type { DebuggedRollout } from './debuggedRollout.ts';
import type { StopReason } from './debuggee.ts';
import { Moves } from './moves.ts';
import { RolloutSource } from './rolloutSource.ts';
import type { DebugPorts, ForkRequest, ForkResult, SessionOutput, StoppedEvent, WaitingCall } from './sessionPorts.ts';
import { endText, stopText } from './stopText.ts';
import { agentsOf, Threads } from './threads.ts';

export class DebugSession {
  readonly onStopped = new Emitter<StoppedEvent>();
  /** Fired when a thread continues without a request of this session. */
  readonly onContinued = new Emitter<{ readonly thread: number }>();
  readonly onThread = new Emitter<{ readonly reason: 'started' | 'exited'; readonly thread: number }>();
  readonly onOutput = new Emitter<SessionOutput>();
  /** Fired when the user steps into the code of a call. */
  readonly onCall = new Emitter<WaitingCall>();
  /** Fired when the user steps into a tool's call whose code cannot be debugged. */
  readonly onNoCode = new Emitter<string>();
  readonly onEnd = new Emitter<undefined>();
  readonly #ports: DebugPorts;
  readonly #args: DebugArguments;
  readonly #name: string;
  readonly #over = new AbortController();
  readonly #rollouts = new Map<string, DebuggedRollout>();
  readonly #subscriptions = new Map<string, { dispose(): void }>();
  #source: RolloutSource | undefined;
  #following: Promise<void> | undefined;
  #configured = false;
  /** The batch of a session on a whole batch. */
  #batch: string | undefined;
  readonly breakpoints: BreakpointTable;
  readonly threads: Threads;
  readonly moves: Moves;

  /** `name`: who holds the rollouts. */
  constructor(ports: DebugPorts, args: DebugArguments, name: string) {
    this.#ports = ports;
    this.#args = args;
    this.#name = name;
    this.breakpoints = new BreakpointTable(this.#prefix);
    this.threads = new Threads(this.isWholeBatch, this.#rollouts);
    this.moves = new Moves({
      breakpoints: this.breakpoints,
      closed: this.#over.signal,
      stop: (rollout, reason, hit) => this.#stop(rollout, reason, hit),
      leaveEnd: (rollout) => {
        if (this.isWholeBatch) this.#exit(rollout);
        else this.onEnd.fire(undefined);
      },
      output: (output) => this.onOutput.fire(output),
      waitingCall: (call) => this.onCall.fire(call),
      noCode: (tool) => this.onNoCode.fire(tool),
    });
  }

  get rollouts(): DebuggedRollout[] {
    return [...this.#rollouts.values()];
  }

  /** Whether this is a session on a whole batch, which stops and continues rollouts individually. */
  get isWholeBatch(): boolean {
    return this.#args.request === 'attach' && this.#args.batch !== undefined;
  }

  get #prefix(): string {
    // An attached session must not replace the breakpoint that holds the first rollout for another debugger.
    return this.#args.request === 'attach' ? `${PREFIX}${this.#args.rollout ?? 'batch'}:` : PREFIX;
  }

  /** Finds or starts the rollouts to debug. Rejects with an error for people. */
  async open(signal: AbortSignal): Promise<void> {
    const args = this.#args;
    const both = AbortSignal.any([signal, this.#over.signal]);
    const source = (this.#source = new RolloutSource(
      await this.#ports.connect(args.store, both),
      this.#ports.folders,
      this.#name,
    ));
    if (args.request === 'attach') {
      if (args.batch === undefined) await this.#add(args.rollout ?? '', { following: true }, both);
      else
        this.#following = source
          .followHeld(
            (this.#batch = await source.runningBatch(args.batch, both)),
            this.#prefix,
            (id) => this.#addHeld(id),
            this.#over.signal,
          )
          .catch((error: unknown) => this.#report(error));
    } else if (args.mode === 'live') {
      const attempt = args.attempt ?? 1;
      const { batch: file, task, store } = args;
      const batch = await this.#ports.launch({ file, task, attempt, store, by: this.#name }, both);
      const rollout = await source.firstTask(batch, attempt, both);
      await this.#waitUntilHeld(await this.#add(rollout, { following: true, own: true }, both), both);
    } else {
      const rollout = await this.#add(
        args.rollout ?? (await source.attempt(args.batch ?? '', args.task ?? '', args.attempt ?? 1, both)),
        { following: false },
        both,
      );
      const seq = args.seq ?? (args.step === undefined ? undefined : rollout.debuggee.model.step(args.step)?.seq);
      const place = seq === undefined ? undefined : rollout.cursor?.stops.placeOf(seq);
      if (place !== undefined) rollout.cursor?.goto(place);
    }
  }

  /** Stops or continues the opened rollouts, once the client has set its breakpoints. */
  async start(): Promise<void> {
    this.#configured = true;
    const entry = this.#args.stopOnEntry ?? (this.#args.request === 'launch' && this.#args.mode === 'replay');
    await this.sendBreakpoints();
    for (const rollout of this.rollouts) {
      if (rollout.debuggee.live !== undefined) {
        const held = rollout.debuggee.head;
        if (!entry && held?.breakpoint === ENTRY.id) await rollout.debuggee.live.release('continue');
        else this.#reportHead(rollout, entry ? 'entry' : undefined);
      } else if (entry || rollout.cursor === undefined) {
        rollout.reportedHead = rollout.debuggee.head;
        this.#stop(rollout, 'entry', []);
      } else {
        rollout.reportedHead = rollout.debuggee.head;
        this.moves.run(rollout, 'forward');
      }
    }
  }

  /** Sends the breakpoints to the running rollouts. Call this after each change. */
  async sendBreakpoints(): Promise<void> {
    if (!this.#configured) return;
    if (this.#batch !== undefined)
      await this.#requireSource().setBreakpoints(this.#batch, this.#prefix, this.breakpoints.gates);
    else
      for (const { debuggee } of this.#live)
        await this.#requireSource().setBreakpoints(
          debuggee.batch,
          this.#prefix,
          this.#gatesFor(debuggee.task.id, debuggee.attempt),
        );
  }

  get #live(): DebuggedRollout[] {
    return this.rollouts.filter(({ debuggee }) => debuggee.live !== undefined);
  }

  /** Forks a rollout and continues with the fork, held at its first gate. */
  async fork(
    rollout: DebuggedRollout,
    seq: number,
    how: Pick<ForkRequest, 'acceptIrreversible' | 'runs'>,
  ): Promise<ForkResult> {
    const result = await this.#ports.fork(
      {
        ...how,
        rollout: rollout.debuggee.rollout,
        seq,
        edits: rollout.pending,
        store: this.#args.store,
        by: this.#name,
      },
      this.#over.signal,
    );
    if (result.differs.length > 0)
      this.onOutput.fire({ text: `${differsText(result.differs)}\n`, category: 'important' });
    for (const warning of result.warnings) this.onOutput.fire({ text: `${warning}\n`, category: 'important' });
    rollout.pending = [];
    const fork = await this.#requireSource().firstTask(result.batch, 1, this.#over.signal);
    // Its threads are removed with it.
    const thread = this.threads.currentOf(rollout);
    this.onContinued.fire({ thread });
    this.onThread.fire({ reason: 'exited', thread });
    const added = await this.#add(fork, { following: true, own: true, quiet: true }, this.#over.signal);
    await this.#abandon(rollout);
    await this.#waitUntilHeld(added, this.#over.signal);
    await this.sendBreakpoints();
    // A client that gets the stop before the response would treat it as an earlier one.
    setImmediate(() => {
      added.quiet = false;
      this.#reportHead(added, undefined);
    });
    return result;
  }

  /**
   * Closes the session, and leaves nothing held by it. `terminate`: cancels all its rollouts (true), or none (false);
   * by default those that it launched. The others go on without its breakpoints.
   */
  async close(terminate?: boolean): Promise<void> {
    if (this.#batch !== undefined && terminate !== true)
      await this.#settle([this.#requireSource().setBreakpoints(this.#batch, this.#prefix, [])]);
    await this.#settle(this.#live.map((rollout) => this.#leave(rollout, terminate ?? rollout.own)));
    this.#over.abort();
    for (const rollout of this.rollouts) await this.#remove(rollout);
    await this.#following;
  }

  /** Ends a rollout after it was forked: the session goes on with the fork. */
  async #abandon(rollout: DebuggedRollout): Promise<void> {
    rollout.quiet = true;
    if (rollout.debuggee.live !== undefined) await this.#settle([this.#leave(rollout, rollout.own)]);
    await this.#remove(rollout);
  }

  /** Cancels a live rollout, or lets it go on without this session. */
  async #leave({ debuggee }: DebuggedRollout, cancel: boolean): Promise<void> {
    if (cancel) {
      await debuggee.live?.cancel();
      return;
    }
    // The breakpoints of a session on a whole batch are removed once, at its end.
    if (this.#batch === undefined) await this.#requireSource().setBreakpoints(debuggee.batch, this.#prefix, []);
    await debuggee.live?.leave();
  }

  async #settle(left: readonly Promise<void>[]): Promise<void> {
    const failed = (await Promise.allSettled(left)).flatMap((one) =>
      // The rollout may have ended just now.
      one.status === 'rejected' && !StudioError.is(one.reason, 'conflict') ? [one.reason as unknown] : [],
    );
    if (failed.length > 0) this.onOutput.fire({ text: `${failed.map(errorText).join('\n')}\n`, category: 'console' });
  }

  // ---- stops

  #gatesFor(task: string, attempt: number): Breakpoint[] {
    const { gates } = this.breakpoints;
    if (this.#args.request !== 'attach' || this.#args.rollout === undefined) return gates;
    const own = `task.id == ${JSON.stringify(task)} && attempt == ${attempt}`;
    return gates.map((gate) => ({ ...gate, when: gate.when === undefined ? own : `${own} && (${gate.when})` }));
  }

  /** Reports a live rollout that was held, continued, or ended. */
  #reportHead(rollout: DebuggedRollout, reason: StopReason | undefined): void {
    const { debuggee, reportedHead: reported } = rollout;
    const { head } = debuggee;
    if (!this.#configured || rollout.quiet) return;
    if (head !== undefined && reported?.place.at === head.place.at && reported.reason === head.reason) return;
    rollout.reportedHead = head;
    if (head === undefined) {
      if (reported !== undefined) this.onContinued.fire({ thread: this.threads.currentOf(rollout) });
      return;
    }
    rollout.running?.abort();
    rollout.cursor?.goto(head.place);
    const ended = head.reason === 'end' ? endText(rollout) : undefined;
    if (ended !== undefined) this.onOutput.fire({ text: `${ended}\n`, category: 'important' });
    if (head.reason === 'end' && this.#stoppedAtScore(rollout)) return;
    if (head.reason === 'end' && this.isWholeBatch) {
      this.#exit(rollout);
      return;
    }
    const gates = head.breakpoint === undefined ? [] : [head.breakpoint];
    this.#stop(
      rollout,
      reason ??
        (this.breakpoints.isException(gates) ? 'exception' : head.breakpoint === ENTRY.id ? 'entry' : head.reason),
      this.breakpoints.idsOf(gates, undefined),
    );
  }

  /** Stops a rollout that just ended at its score, if a breakpoint matches there: scores have no gate. */
  #stoppedAtScore(rollout: DebuggedRollout): boolean {
    const score = rollout.debuggee.model.scores.at(-1)?.seq;
    const found = score === undefined ? undefined : rollout.cursor?.at(score, this.breakpoints.gates);
    if (found === undefined || found.matched.length === 0) return false;
    const gates = found.matched.map(({ breakpoint }) => breakpoint.id);
    rollout.cursor?.goto(found.place);
    this.#stop(
      rollout,
      this.breakpoints.isException(gates) ? 'exception' : 'breakpoint',
      this.breakpoints.idsOf(gates, undefined),
    );
    return true;
  }

  /** Removes an ended rollout of a batch and its thread. */
  #exit(rollout: DebuggedRollout): void {
    this.onThread.fire({ reason: 'exited', thread: this.threads.currentOf(rollout) });
    void this.#remove(rollout);
  }

  #stop(rollout: DebuggedRollout, reason: StopReason, hit: readonly number[]): void {
    this.onStopped.fire({
      thread: this.threads.currentOf(rollout),
      reason,
      description: stopText(rollout, reason),
      hit,
    });
  }

  // ---- rollouts

  async #add(
    id: string,
    how: { readonly following: boolean; readonly own?: boolean; readonly quiet?: boolean },
    signal: AbortSignal,
  ): Promise<DebuggedRollout> {
    const { following, own = false, quiet = false } = how;
    const rollout = await this.#requireSource().open(
      id,
      {
        following,
        own,
        // The subscription of a whole batch speaks for all its rollouts.
        ...(following && (own || !this.isWholeBatch) ? { breakpoints: this.#prefix } : {}),
      },
      (error) => this.#report(error),
      signal,
    );
    const { debuggee } = rollout;
    rollout.quiet = quiet;
    this.#rollouts.set(id, rollout);
    let count = agentsOf(rollout).length;
    this.#subscriptions.set(
      id,
      debuggee.onChange(() => {
        const agents = agentsOf(rollout);
        for (const agent of agents.slice(Math.max(1, count)))
          this.onThread.fire({ reason: 'started', thread: this.threads.idOf(rollout, agent) });
        count = agents.length;
        this.#reportHead(rollout, undefined);
      }),
    );
    return rollout;
  }

  /** Resolves when a rollout launched for this session has reached its first gate, or has ended. */
  async #waitUntilHeld({ debuggee }: DebuggedRollout, signal: AbortSignal): Promise<void> {
    const held = deferred<undefined>();
    const listening = debuggee.onChange(() => {
      if (debuggee.head !== undefined) held.resolve(undefined);
    });
    try {
      if (debuggee.head === undefined) await abortable(held.promise, signal);
    } finally {
      listening.dispose();
    }
  }

  /** Adds a held rollout of the batch. */
  async #addHeld(id: string): Promise<void> {
    if (this.#rollouts.has(id)) return;
    const rollout = await this.#add(id, { following: true }, this.#over.signal);
    this.onThread.fire({ reason: 'started', thread: this.threads.currentOf(rollout) });
    this.#reportHead(rollout, undefined);
  }

  async #remove(rollout: DebuggedRollout): Promise<void> {
    const { rollout: id } = rollout.debuggee;
    this.#subscriptions.get(id)?.dispose();
    this.#rollouts.delete(id);
    rollout.running?.abort();
    await rollout.debuggee.close();
  }

  #requireSource(): RolloutSource {
    if (this.#source === undefined) throw new StudioError('internal', 'The debug session has no server.');
    return this.#source;
  }

  #report(error: unknown): void {
    this.onOutput.fire({ text: `${errorText(error)}\n`, category: 'important' });
  }
}
