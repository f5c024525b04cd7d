/**
 * A debug session, independent of the protocol: its rollouts, their threads, moves, and stops. For one rollout, there
 * is a thread for each of its agents; for a whole batch, a thread for each held rollout.
 */
import { differsText } from '../client/text/forkText.ts';
import { abortable, deferred } from '../common/abort.ts';
import { Emitter } from '../common/emitter.ts';
import { errorText, StudioError } from '../common/errors.ts';
import type { Breakpoint } from '../protocol/commands.ts';
import { ENTRY, DEBUGGER as PREFIX } from '../protocol/entry.ts';
import type { Place } from '../trace/stops.ts';
import type { DebugArguments } from './arguments.ts';
import { BreakpointTable } from './breakpoints/breakpointTable.ts';
import type { Step } from './cursor.ts';
import type { DebuggedRollout } from './debuggedRollout.ts';
import type { LiveControl, StopReason } from './debuggee.ts';
import { RolloutSource } from './rolloutSource.ts';
import type {
  DebugPorts,
  ForkMade,
  ForkWish,
  SessionOutput,
  StoppedEvent,
  ThreadInfo,
  WaitingCall,
} from './sessionPorts.ts';
import { endText, stopText } from './stopText.ts';

export class DebugSession {
  readonly onStopped = new Emitter<StoppedEvent>();
  /** Fired when a thread continues without a request of this session. */
  readonly onContinued = new Emitter<{ readonly thread: number }>();
  readonly onThread = new Emitter<{ readonly reason: 'started' | 'exited'; readonly thread: number }>();
  readonly onOutput = new Emitter<SessionOutput>();
  /** Fired when the user stepped into the code of a call. */
  readonly onCall = new Emitter<WaitingCall>();
  readonly onEnd = new Emitter<undefined>();
  readonly #ports: DebugPorts;
  readonly #args: DebugArguments;
  readonly #over = new AbortController();
  readonly #rollouts = new Map<string, DebuggedRollout>();
  readonly #threadIds = new Map<string, number>();
  readonly #listening = new Map<string, { dispose(): void }>();
  #source: RolloutSource | undefined;
  #following: Promise<void> | undefined;
  #configured = false;
  /** The batch of a session on a whole batch. */
  #batch: string | undefined;
  readonly breakpoints: BreakpointTable;

  constructor(ports: DebugPorts, args: DebugArguments) {
    this.#ports = ports;
    this.#args = args;
    this.breakpoints = new BreakpointTable(this.#prefix);
  }

  get rollouts(): DebuggedRollout[] {
    return [...this.#rollouts.values()];
  }

  /** Whether this is a session on a whole batch, which stops and continues rollouts individually. */
  get ofBatch(): boolean {
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
    const source = (this.#source = new RolloutSource(await this.#ports.connect(args.store, both), this.#ports.folders));
    if (args.request === 'attach') {
      if (args.batch === undefined) await this.#add(args.rollout ?? '', true, both);
      else
        this.#following = source
          .followHeld(
            (this.#batch = await source.runningBatch(args.batch, both)),
            (id) => this.#addHeld(id),
            this.#over.signal,
          )
          .catch((error: unknown) => this.#report(error));
    } else if (args.mode === 'live') {
      const attempt = args.attempt ?? 1;
      const batch = await this.#ports.launch({ file: args.batch, task: args.task, attempt, store: args.store }, both);
      await this.#held(await this.#add(await source.firstTask(batch, attempt, both), true, both), both);
    } else {
      const rollout = await this.#add(
        args.rollout ?? (await source.attempt(args.batch ?? '', args.task ?? '', args.attempt ?? 1, both)),
        false,
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
        else this.#look(rollout, entry ? 'entry' : undefined);
      } else if (entry || rollout.cursor === undefined) {
        rollout.reportedHead = rollout.debuggee.head;
        this.#stop(rollout, 'entry', []);
      } else {
        rollout.reportedHead = rollout.debuggee.head;
        this.#run(rollout, 'forward');
      }
    }
  }

  /** Sends the breakpoints to the running rollouts. Call this after each change. */
  async sendBreakpoints(): Promise<void> {
    if (!this.#configured) return;
    if (this.#batch !== undefined) await this.#need().setBreakpoints(this.#batch, this.#prefix, this.breakpoints.gates);
    else
      for (const { debuggee } of this.#live)
        await this.#need().setBreakpoints(
          debuggee.batch,
          this.#prefix,
          this.#gatesFor(debuggee.task.id, debuggee.attempt),
        );
  }

  get #live(): DebuggedRollout[] {
    return this.rollouts.filter(({ debuggee }) => debuggee.live !== undefined);
  }

  get threads(): ThreadInfo[] {
    return this.rollouts.flatMap((rollout): ThreadInfo[] => {
      if (this.ofBatch)
        return [{ id: this.#threadId(rollout, undefined), rollout, agent: undefined, name: rollout.title }];
      const agents = agentsOf(rollout);
      if (agents.length === 0)
        return [{ id: this.#threadId(rollout, undefined), rollout, agent: undefined, name: rollout.title }];
      return agents.map((agent) => ({ id: this.#threadId(rollout, agent), rollout, agent, name: agent }));
    });
  }

  /** Returns a thread. Throws `usage` if it has ended. */
  thread(id: number): ThreadInfo {
    const thread = this.threads.find((candidate) => candidate.id === id);
    if (thread === undefined) throw new StudioError('usage', 'This thread has ended.');
    return thread;
  }

  /** Returns the place of a thread: the cursor if it is in that agent, or else the agent's newest stop up to there. */
  placeOf({ rollout, agent }: ThreadInfo): Place | undefined {
    const { place, cursor } = rollout;
    if (place === undefined || cursor === undefined || agent === undefined) return place;
    if ((rollout.debuggee.model.event(place.seq)?.agent ?? '') === agent) return place;
    const seq = cursor.stops.ofAgent(agent).findLast((stop) => stop <= place.at);
    return seq === undefined ? undefined : { seq, at: place.at };
  }

  // ---- moves

  /**
   * Makes a step: through the recording, or at the head of a live rollout to its next gate. `intoCode`: a step into a
   * call continues in its code.
   */
  async step(rollout: DebuggedRollout, how: Step, intoCode = false): Promise<void> {
    const { debuggee, cursor } = rollout;
    if (cursor === undefined) return;
    if (debuggee.live !== undefined && rollout.atHead) {
      const tool = how === 'into' && intoCode ? rollout.heldCall : undefined;
      if (tool === undefined) await debuggee.live.release('step');
      else await this.#stepIntoCode(rollout, debuggee.live, tool);
      return;
    }
    if (!cursor.step(how) && debuggee.head !== undefined) cursor.goto(debuggee.head.place);
    this.#stop(rollout, rollout.atHead ? (debuggee.head?.reason ?? 'step') : 'step', []);
  }

  async #stepIntoCode({ places }: DebuggedRollout, live: LiveControl, tool: string): Promise<void> {
    const url = await live.stepInto();
    if (url !== undefined) this.onCall.fire({ tool, url });
    else if (places.ofTool(tool) !== undefined)
      this.onOutput.fire({
        text:
          `Could not stop in the code of ${tool}: tools can be debugged only if they run on this machine and the ` +
          'store is a folder.\n',
        category: 'console',
      });
  }

  /** Returns to the place before the last move. */
  back(rollout: DebuggedRollout): void {
    const moved = rollout.cursor?.back() ?? false;
    this.#stop(rollout, moved ? 'step' : 'entry', []);
  }

  async goOn(rollout: DebuggedRollout): Promise<void> {
    const { debuggee } = rollout;
    if (!rollout.atHead) {
      this.#run(rollout, 'forward');
    } else if (debuggee.live !== undefined) {
      await debuggee.live.release('continue');
    } else if (this.ofBatch) {
      this.#leave(rollout);
    } else {
      this.onEnd.fire(undefined);
    }
  }

  goBack(rollout: DebuggedRollout): void {
    this.#run(rollout, 'backward');
  }

  /** Moves the cursor. `asked`: the user requested it, so the rollout itself may have to move. */
  goTo(rollout: DebuggedRollout, seq: number, requested = false): void {
    const place = rollout.cursor?.stops.placeOf(seq);
    if (place === undefined) throw new StudioError('usage', `This trajectory has no event ${seq}.`);
    rollout.cursor?.goto(place);
    if (requested && rollout.debuggee.live !== undefined && !rollout.atHead)
      this.onOutput.fire({
        text:
          'You are viewing recorded events. The rollout itself is still held at its ' +
          'current position. Continue returns ' +
          'to it, and Restart Frame forks the rollout from here.\n',
        category: 'important',
      });
    this.#stop(rollout, 'goto', []);
  }

  /** Stops a run through the recording, or holds a live rollout at its next gate. */
  async pause(rollout: DebuggedRollout): Promise<void> {
    rollout.running?.abort();
    if (rollout.debuggee.live !== undefined && rollout.debuggee.head === undefined) await rollout.debuggee.live.hold();
  }

  /** Forks a rollout and continues with the fork, held at its first gate. */
  async fork(
    rollout: DebuggedRollout,
    seq: number,
    how: Pick<ForkWish, 'acceptIrreversible' | 'runs'>,
  ): Promise<ForkMade> {
    const made = await this.#ports.fork(
      { ...how, rollout: rollout.debuggee.rollout, seq, edits: rollout.pending, store: this.#args.store },
      this.#over.signal,
    );
    if (made.differs.length > 0) this.onOutput.fire({ text: `${differsText(made.differs)}\n`, category: 'important' });
    rollout.pending = [];
    const fork = await this.#need().firstTask(made.batch, 1, this.#over.signal);
    // Its threads are removed with it.
    const thread = this.#threadOf(rollout);
    this.onContinued.fire({ thread });
    this.onThread.fire({ reason: 'exited', thread });
    await this.#remove(rollout);
    const added = await this.#add(fork, true, this.#over.signal, true);
    await this.#held(added, this.#over.signal);
    await this.sendBreakpoints();
    // A client that gets the stop before the response would treat it as an earlier one.
    setImmediate(() => {
      added.quiet = false;
      this.#look(added, undefined);
    });
    return made;
  }

  /**
   * Closes the session. `cancel`: cancels what it launched; otherwise held rollouts stay held, and its breakpoints are
   * removed.
   */
  async close(cancel: boolean): Promise<void> {
    const leave = (batch: string): Promise<void> => this.#need().setBreakpoints(batch, this.#prefix, []);
    const left = cancel
      ? this.#live.map(async ({ debuggee }) => debuggee.live?.cancel())
      : this.#batch === undefined
        ? this.#live.map(({ debuggee }) => leave(debuggee.batch))
        : [leave(this.#batch)];
    // It ended at this moment, or its server is not available.
    const failed = (await Promise.allSettled(left)).flatMap((one) =>
      one.status === 'rejected' && !StudioError.is(one.reason, 'conflict') ? [one.reason as unknown] : [],
    );
    this.#over.abort();
    for (const rollout of this.rollouts) await this.#remove(rollout);
    await this.#following;
    if (failed.length > 0) this.onOutput.fire({ text: `${failed.map(errorText).join('\n')}\n`, category: 'console' });
  }

  // ---- what happens

  #gatesFor(task: string, attempt: number): Breakpoint[] {
    const { gates } = this.breakpoints;
    if (this.#args.request !== 'attach' || this.#args.rollout === undefined) return gates;
    const own = `task.id == ${JSON.stringify(task)} && attempt == ${attempt}`;
    return gates.map((gate) => ({ ...gate, when: gate.when === undefined ? own : `${own} && (${gate.when})` }));
  }

  /** Reports a live rollout that was held, continued, or ended. */
  #look(rollout: DebuggedRollout, reason: StopReason | undefined): void {
    const { debuggee, reportedHead: reported } = rollout;
    const { head } = debuggee;
    if (!this.#configured || rollout.quiet) return;
    if (head !== undefined && reported?.place.at === head.place.at && reported.reason === head.reason) return;
    rollout.reportedHead = head;
    if (head === undefined) {
      if (reported !== undefined) this.onContinued.fire({ thread: this.#threadOf(rollout) });
      return;
    }
    rollout.running?.abort();
    rollout.cursor?.goto(head.place);
    const ended = head.reason === 'end' ? endText(rollout) : undefined;
    if (ended !== undefined) this.onOutput.fire({ text: `${ended}\n`, category: 'important' });
    if (head.reason === 'end' && this.#stoppedAtScore(rollout)) return;
    if (head.reason === 'end' && this.ofBatch) {
      this.#leave(rollout);
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
  #leave(rollout: DebuggedRollout): void {
    this.onThread.fire({ reason: 'exited', thread: this.#threadOf(rollout) });
    void this.#remove(rollout);
  }

  #run(rollout: DebuggedRollout, direction: 'forward' | 'backward'): void {
    const { cursor, debuggee } = rollout;
    if (cursor === undefined) return;
    rollout.running?.abort();
    const running = (rollout.running = new AbortController());
    const until = debuggee.head?.place.at ?? debuggee.model.last;
    const onLog = (text: string, place: Place): void =>
      this.onOutput.fire({ text: `${text}\n`, category: 'stdout', place: { rollout, seq: place.seq } });
    cursor
      .run(
        direction,
        this.breakpoints.gates,
        this.breakpoints.stops,
        onLog,
        AbortSignal.any([running.signal, this.#over.signal]),
        until,
      )
      .then(({ place, matched }) => {
        if (rollout.running !== running) return;
        rollout.running = undefined;
        const gates = matched.map(({ breakpoint }) => breakpoint.id);
        const stop = this.breakpoints.stops.has(place.seq) && place.at === place.seq ? place.seq : undefined;
        const reason = this.breakpoints.isException(gates)
          ? 'exception'
          : gates.length > 0 || stop !== undefined
            ? 'breakpoint'
            : direction === 'backward'
              ? 'entry'
              : (debuggee.head?.reason ?? 'end');
        this.#stop(rollout, reason, this.breakpoints.idsOf(gates, stop));
      })
      .catch((error: unknown) => {
        if (!StudioError.is(error, 'cancelled'))
          this.onOutput.fire({ text: `${errorText(error)}\n`, category: 'important' });
        if (!this.#over.signal.aborted && rollout.running === running) this.#stop(rollout, 'pause', []);
      });
  }

  #stop(rollout: DebuggedRollout, reason: StopReason, hit: readonly number[]): void {
    this.onStopped.fire({ thread: this.#threadOf(rollout), reason, description: stopText(rollout, reason), hit });
  }

  // ---- rollouts and threads

  async #add(id: string, following: boolean, signal: AbortSignal, quiet = false): Promise<DebuggedRollout> {
    const rollout = await this.#need().open(id, following, (error) => this.#report(error), signal);
    const { debuggee } = rollout;
    rollout.quiet = quiet;
    this.#rollouts.set(id, rollout);
    let count = agentsOf(rollout).length;
    this.#listening.set(
      id,
      debuggee.onChange(() => {
        const agents = agentsOf(rollout);
        for (const agent of agents.slice(Math.max(1, count)))
          this.onThread.fire({ reason: 'started', thread: this.#threadId(rollout, agent) });
        count = agents.length;
        this.#look(rollout, undefined);
      }),
    );
    return rollout;
  }

  /** Resolves when a rollout launched for this session has reached its first gate, or has ended. */
  async #held({ debuggee }: DebuggedRollout, signal: AbortSignal): Promise<void> {
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
    const rollout = await this.#add(id, true, this.#over.signal);
    this.onThread.fire({ reason: 'started', thread: this.#threadOf(rollout) });
    this.#look(rollout, undefined);
  }

  async #remove(rollout: DebuggedRollout): Promise<void> {
    const { rollout: id } = rollout.debuggee;
    this.#listening.get(id)?.dispose();
    this.#rollouts.delete(id);
    rollout.running?.abort();
    await rollout.debuggee.close();
  }

  #need(): RolloutSource {
    if (this.#source === undefined) throw new StudioError('internal', 'The debug session has no server.');
    return this.#source;
  }

  #report(error: unknown): void {
    this.onOutput.fire({ text: `${errorText(error)}\n`, category: 'important' });
  }

  /** Returns the thread of a rollout's cursor. */
  #threadOf(rollout: DebuggedRollout): number {
    if (this.ofBatch) return this.#threadId(rollout, undefined);
    const place = rollout.cursor?.place;
    return this.#threadId(rollout, place === undefined ? undefined : rollout.debuggee.model.event(place.seq)?.agent);
  }

  #threadId(rollout: DebuggedRollout, agent: string | undefined): number {
    // The first agent uses the thread that existed before the first event.
    const key = `${rollout.debuggee.rollout}\n${agent === agentsOf(rollout)[0] ? '' : (agent ?? '')}`;
    let id = this.#threadIds.get(key);
    if (id === undefined) this.#threadIds.set(key, (id = this.#threadIds.size + 1));
    return id;
  }
}

/** Returns the agent instances in order of their first event. */
function agentsOf({ debuggee }: DebuggedRollout): string[] {
  return debuggee.model.agents.flatMap(({ path }) => (path === '' ? [] : [path]));
}
