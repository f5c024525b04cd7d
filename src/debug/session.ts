/**
 * A debug session apart from its protocol: the rollouts in it, their threads, what moves and what stops them.
 * One rollout: a thread for each of its agents. A whole batch: a thread for each rollout that is held.
 */
import { abortable, deferred } from '../common/abort.ts';
import { Emitter } from '../common/emitter.ts';
import { StudioError, errorText } from '../common/errors.ts';
import type { Breakpoint } from '../protocol/commands.ts';
import type { Place } from '../trace/stops.ts';
import type { DebugArguments } from './arguments.ts';
import { DEBUGGER as PREFIX, ENTRY } from '../protocol/entry.ts';
import { BreakpointTable } from './breakpoints/breakpointTable.ts';
import type { Step } from './cursor.ts';
import type { DebuggedRollout } from './debuggedRollout.ts';
import type { StopReason } from './debuggee.ts';
import type { ServerLink } from './rollout.ts';
import { RolloutSource } from './rolloutSource.ts';

/** What a session needs of the program it runs in. */
export interface DebugPorts {
  /** The server of a store, started where there is none. */
  connect(store: string | undefined, signal: AbortSignal): Promise<ServerLink>;
  /** Starts one attempt at one task of a batch file (the first without `task`), held at its first gate by the breakpoint `ENTRY`. Gives the batch. */
  launch(what: { readonly file: string; readonly task: string | undefined; readonly store: string | undefined }, signal: AbortSignal): Promise<string>;
  /** Where files are looked for that are no longer where they were. */
  readonly folders: readonly string[];
}


export interface Stopped {
  readonly thread: number;
  readonly reason: StopReason;
  readonly description: string | undefined;
  /** The client's ids of the breakpoints that stopped it. */
  readonly hit: readonly number[];
}

export interface ThreadInfo {
  readonly id: number;
  readonly rollout: DebuggedRollout;
  /** Of a session on one rollout. */
  readonly agent: string | undefined;
  readonly name: string;
}

export class DebugSession {
  readonly onStopped = new Emitter<Stopped>();
  /** It runs again, though nobody asked for it here. */
  readonly onContinued = new Emitter<{ readonly thread: number }>();
  readonly onThread = new Emitter<{ readonly reason: 'started' | 'exited'; readonly thread: number }>();
  readonly onOutput = new Emitter<{ readonly text: string; readonly category: 'console' | 'stdout' | 'stderr' | 'important'; readonly place?: { readonly rollout: DebuggedRollout; readonly seq: number } }>();
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
  readonly breakpoints: BreakpointTable;

  constructor(ports: DebugPorts, args: DebugArguments) {
    this.#ports = ports;
    this.#args = args;
    this.breakpoints = new BreakpointTable(this.#prefix);
  }

  get rollouts(): DebuggedRollout[] {
    return [...this.#rollouts.values()];
  }

  /** A session on a whole batch stops and goes on rollout by rollout. */
  get ofBatch(): boolean {
    return this.#args.request === 'attach' && this.#args.batch !== undefined;
  }

  get #prefix(): string {
    return this.#args.request === 'attach' && this.#args.rollout !== undefined ? `${PREFIX}${this.#args.rollout}:` : PREFIX;
  }

  /** Finds or starts what is to be debugged. Rejects with what is wrong, in words for people. */
  async open(signal: AbortSignal): Promise<void> {
    const args = this.#args;
    const both = AbortSignal.any([signal, this.#over.signal]);
    const source = (this.#source = new RolloutSource(await this.#ports.connect(args.store, both), this.#ports.folders));
    if (args.request === 'attach') {
      if (args.batch === undefined) await this.#add(args.rollout ?? '', true, both);
      else this.#following = source.followHeld(await source.runningBatch(args.batch, both), (id) => this.#addHeld(id), this.#over.signal).catch((error: unknown) => this.#tell(error));
    } else if (args.mode === 'live') {
      const batch = await this.#ports.launch({ file: args.batch, task: args.task, store: args.store }, both);
      await this.#held(await this.#add(await source.onlyRollout(batch, both), true, both), both);
    } else {
      const rollout = await this.#add(args.rollout ?? (await source.attempt(args.batch ?? '', args.task ?? '', args.attempt ?? 1, both)), false, both);
      const seq = args.seq ?? (args.step === undefined ? undefined : rollout.debuggee.model.step(args.step)?.seq);
      const place = seq === undefined ? undefined : rollout.cursor?.stops.placeOf(seq);
      if (place !== undefined) rollout.cursor?.goto(place);
    }
  }

  /** The client has set its breakpoints: what was opened stops, or goes on. */
  async start(): Promise<void> {
    this.#configured = true;
    const entry = this.#args.stopOnEntry ?? (this.#args.request === 'launch' && this.#args.mode === 'replay');
    await this.tellBreakpoints();
    for (const rollout of this.rollouts) {
      if (rollout.debuggee.live !== undefined) {
        const held = rollout.debuggee.head;
        if (!entry && held?.breakpoint === ENTRY.id) await rollout.debuggee.live.release('continue');
        else this.#look(rollout, entry ? 'entry' : undefined);
      } else if (entry || rollout.cursor === undefined) {
        rollout.told = rollout.debuggee.head;
        this.#stop(rollout, 'entry', []);
      } else {
        rollout.told = rollout.debuggee.head;
        this.#run(rollout, 'forward');
      }
    }
  }

  /** Sends the breakpoints to what runs. Call it after they changed. */
  async tellBreakpoints(): Promise<void> {
    if (!this.#configured) return;
    const told = new Set<string>();
    for (const { debuggee } of this.rollouts) {
      if (debuggee.live === undefined || told.has(debuggee.batch)) continue;
      told.add(debuggee.batch);
      await debuggee.live.setBreakpoints(this.#prefix, this.#gatesFor(debuggee.task.id, debuggee.attempt));
    }
  }

  get threads(): ThreadInfo[] {
    return this.rollouts.flatMap((rollout): ThreadInfo[] => {
      if (this.ofBatch) return [{ id: this.#threadId(rollout, undefined), rollout, agent: undefined, name: rollout.title }];
      const agents = agentsOf(rollout);
      if (agents.length === 0) return [{ id: this.#threadId(rollout, undefined), rollout, agent: undefined, name: rollout.title }];
      return agents.map((agent) => ({ id: this.#threadId(rollout, agent), rollout, agent, name: agent }));
    });
  }

  /** Throws `usage` when it is gone. */
  thread(id: number): ThreadInfo {
    const thread = this.threads.find((candidate) => candidate.id === id);
    if (thread === undefined) throw new StudioError('usage', 'This thread is over.');
    return thread;
  }

  /** Where a thread stands: the cursor where it is in that agent, else the newest stop of the agent up to there. */
  placeOf({ rollout, agent }: ThreadInfo): Place | undefined {
    const { place, cursor } = rollout;
    if (place === undefined || cursor === undefined || agent === undefined) return place;
    if ((rollout.debuggee.model.event(place.seq)?.agent ?? '') === agent) return place;
    const seq = cursor.stops.ofAgent(agent).findLast((stop) => stop <= place.at);
    return seq === undefined ? undefined : { seq, at: place.at };
  }

  // ---- moves

  /** A step: through the record, or at the head of a live one to its next gate. */
  async step(rollout: DebuggedRollout, how: Step): Promise<void> {
    const { debuggee, cursor } = rollout;
    if (cursor === undefined) return;
    if (debuggee.live !== undefined && rollout.atHead) {
      await debuggee.live.release('step');
      return;
    }
    if (!cursor.step(how) && debuggee.head !== undefined) cursor.goto(debuggee.head.place);
    this.#stop(rollout, rollout.atHead ? (debuggee.head?.reason ?? 'step') : 'step', []);
  }

  /** To where the last move came from. */
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
    } else {
      this.onEnd.fire(undefined);
    }
  }

  goBack(rollout: DebuggedRollout): void {
    this.#run(rollout, 'backward');
  }

  goTo(rollout: DebuggedRollout, seq: number): void {
    const place = rollout.cursor?.stops.placeOf(seq);
    if (place === undefined) throw new StudioError('usage', `There is no event ${seq} in this trajectory.`);
    rollout.cursor?.goto(place);
    this.#stop(rollout, 'goto', []);
  }

  /** Ends a run through the record, or holds a live one at its next gate. */
  async pause(rollout: DebuggedRollout): Promise<void> {
    rollout.running?.abort();
    if (rollout.debuggee.live !== undefined && rollout.debuggee.head === undefined) await rollout.debuggee.live.hold();
  }

  /** Forks a rollout and goes on with the fork, held at its first gate. Gives the fork's batch. */
  async fork(rollout: DebuggedRollout, cut: number, acceptIrreversible: boolean): Promise<string> {
    const { debuggee, pending } = rollout;
    const batch = await debuggee.fork({ cut, edits: pending, attempts: 1, acceptIrreversible, breakpoints: [ENTRY, ...this.breakpoints.gates] }, this.#over.signal);
    rollout.pending = [];
    const fork = await this.#need().onlyRollout(batch, this.#over.signal);
    await this.#remove(rollout);
    this.#look(await this.#add(fork, true, this.#over.signal), undefined);
    return batch;
  }

  /** `cancel`: what the session launched is cancelled; else what is held goes on, without this session's breakpoints. */
  async close(cancel: boolean): Promise<void> {
    const failed: unknown[] = [];
    for (const { debuggee } of this.rollouts) {
      const { live } = debuggee;
      if (live === undefined) continue;
      try {
        if (cancel) await live.cancel();
        else await live.setBreakpoints(this.#prefix, []);
      } catch (error) {
        failed.push(error); // it ended in this moment, or its server is gone
      }
    }
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

  /** Tells of a live rollout that came to hold, went on, or ended. */
  #look(rollout: DebuggedRollout, reason: StopReason | undefined): void {
    const { debuggee, told } = rollout;
    const { head } = debuggee;
    if (!this.#configured) return;
    if (head !== undefined && told?.place.at === head.place.at && told.reason === head.reason) return;
    rollout.told = head;
    if (head === undefined) {
      if (told !== undefined) this.onContinued.fire({ thread: this.#threadOf(rollout) });
      return;
    }
    rollout.running?.abort();
    rollout.cursor?.goto(head.place);
    if (head.reason === 'end') this.#tellEnd(rollout);
    if (head.reason === 'end' && this.ofBatch) {
      this.onThread.fire({ reason: 'exited', thread: this.#threadOf(rollout) });
      void this.#remove(rollout);
      return;
    }
    const gates = head.breakpoint === undefined ? [] : [head.breakpoint];
    this.#stop(rollout, reason ?? (this.breakpoints.isException(gates) ? 'exception' : head.breakpoint === ENTRY.id ? 'entry' : head.reason), this.breakpoints.idsOf(gates, undefined));
  }

  #tellEnd(rollout: DebuggedRollout): void {
    const end = rollout.debuggee.model.end?.data;
    if (end === undefined) return;
    const verdict = end.passed === null ? 'unscored' : end.passed ? 'passed' : 'failed';
    this.onOutput.fire({ text: `${rollout.title}: ${end.status}, ${verdict}${end.reward === null ? '' : `, reward ${end.reward}`}${end.error === undefined ? '' : `, ${end.error.class}: ${end.error.message}`}\n`, category: 'important' });
  }

  #run(rollout: DebuggedRollout, direction: 'forward' | 'backward'): void {
    const { cursor, debuggee } = rollout;
    if (cursor === undefined) return;
    rollout.running?.abort();
    const running = (rollout.running = new AbortController());
    const until = debuggee.head?.place.at ?? debuggee.model.last;
    const onLog = (text: string, place: Place): void => this.onOutput.fire({ text: `${text}\n`, category: 'stdout', place: { rollout, seq: place.seq } });
    cursor.run(direction, this.breakpoints.gates, this.breakpoints.stops, onLog, AbortSignal.any([running.signal, this.#over.signal]), until).then(({ place, matched }) => {
      if (rollout.running !== running) return;
      rollout.running = undefined;
      const gates = matched.map(({ breakpoint }) => breakpoint.id);
      const stop = this.breakpoints.stops.has(place.seq) && place.at === place.seq ? place.seq : undefined;
      const reason = this.breakpoints.isException(gates) ? 'exception' : gates.length > 0 || stop !== undefined ? 'breakpoint' : direction === 'backward' ? 'entry' : (debuggee.head?.reason ?? 'end');
      this.#stop(rollout, reason, this.breakpoints.idsOf(gates, stop));
    }).catch((error: unknown) => {
      if (!StudioError.is(error, 'cancelled')) this.onOutput.fire({ text: `${errorText(error)}\n`, category: 'important' });
      if (!this.#over.signal.aborted && rollout.running === running) this.#stop(rollout, 'pause', []);
    });
  }

  #stop(rollout: DebuggedRollout, reason: StopReason, hit: readonly number[]): void {
    this.onStopped.fire({ thread: this.#threadOf(rollout), reason, description: descriptionOf(rollout, reason), hit });
  }

  // ---- rollouts and threads

  async #add(id: string, following: boolean, signal: AbortSignal): Promise<DebuggedRollout> {
    const rollout = await this.#need().open(id, following, (error) => this.#tell(error), signal);
    const { debuggee } = rollout;
    this.#rollouts.set(id, rollout);
    let known = agentsOf(rollout).length;
    this.#listening.set(id, debuggee.onChange(() => {
      const agents = agentsOf(rollout);
      for (const agent of agents.slice(Math.max(1, known))) this.onThread.fire({ reason: 'started', thread: this.#threadId(rollout, agent) });
      known = agents.length;
      this.#look(rollout, undefined);
    }));
    return rollout;
  }

  /** Resolves when a rollout that was launched for this session has come to its first gate, or has ended. */
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

  /** A rollout of the batch came to hold. */
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

  #tell(error: unknown): void {
    this.onOutput.fire({ text: `${errorText(error)}\n`, category: 'important' });
  }

  /** The thread a rollout's cursor is in. */
  #threadOf(rollout: DebuggedRollout): number {
    if (this.ofBatch) return this.#threadId(rollout, undefined);
    const place = rollout.cursor?.place;
    return this.#threadId(rollout, place === undefined ? undefined : rollout.debuggee.model.event(place.seq)?.agent);
  }

  #threadId(rollout: DebuggedRollout, agent: string | undefined): number {
    // The first agent has the thread that was there before anybody said anything.
    const key = `${rollout.debuggee.rollout}\n${agent === agentsOf(rollout)[0] ? '' : (agent ?? '')}`;
    let id = this.#threadIds.get(key);
    if (id === undefined) this.#threadIds.set(key, (id = this.#threadIds.size + 1));
    return id;
  }
}

/** Agent instances, in order of their first event. */
function agentsOf({ debuggee }: DebuggedRollout): string[] {
  return debuggee.model.agents.flatMap(({ path }) => (path === '' ? [] : [path]));
}

function descriptionOf(rollout: DebuggedRollout, reason: StopReason): string | undefined {
  switch (reason) {
    case 'end':
      return rollout.debuggee.model.end === undefined ? 'The end of what was recorded' : 'The end of the trajectory';
    case 'input':
      return 'Waits for an answer';
    case 'lost_server':
      return 'Waits for its server';
    case 'exception': {
      const place = rollout.cursor?.place;
      const end = place === undefined ? undefined : rollout.debuggee.model.span(place.seq)?.end?.data;
      const error = end !== undefined && 'error' in end ? end.error : undefined;
      return error === undefined ? undefined : `${error.class}: ${error.message}`;
    }
    default:
      return undefined;
  }
}
