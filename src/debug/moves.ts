/** Moves of a rollout in a debug session: through its recording, or at its head to the next gate. */
import { errorText, StudioError } from '../common/errors.ts';
import type { Place } from '../trace/stops.ts';
import type { BreakpointTable } from './breakpoints/breakpointTable.ts';
import type { Step } from './cursor.ts';
import type { DebuggedRollout } from './debuggedRollout.ts';
import type { LiveControl, StopReason } from './debuggee.ts';
import type { SessionOutput, WaitingCall } from './sessionPorts.ts';

/** What moves need of their session. */
interface MoveOptions {
  readonly breakpoints: BreakpointTable;
  /** Aborts when the session closes. */
  readonly closed: AbortSignal;
  /** Reports a stop. `hit`: the client's IDs of the breakpoints that stopped it. */
  readonly stop: (rollout: DebuggedRollout, reason: StopReason, hit: readonly number[]) => void;
  /** Called when a rollout continues at the end of its recording. */
  readonly leaveEnd: (rollout: DebuggedRollout) => void;
  readonly output: (output: SessionOutput) => void;
  /** Called when a call's code waits for a JavaScript debugger. */
  readonly waitingCall: (call: WaitingCall) => void;
  /** Called when a call cannot wait for a JavaScript debugger, although its code is here. */
  readonly noCode: (tool: string) => void;
}

export class Moves {
  readonly #options: MoveOptions;

  constructor(options: MoveOptions) {
    this.#options = options;
  }

  /**
   * Makes a step: through the recording, or at the head of a live rollout to its next gate. `intoCode`: a step into a
   * call continues in its code.
   */
  async step(rollout: DebuggedRollout, how: Step, intoCode = false): Promise<void> {
    const { debuggee, cursor } = rollout;
    if (cursor === undefined) return;
    if (debuggee.live !== undefined && rollout.atHead) {
      const tool = how === 'into' && intoCode ? rollout.heldCall : undefined;
      if (tool === undefined) await debuggee.live.release(how === 'into' ? 'into' : 'step');
      else await this.#stepIntoCode(rollout, debuggee.live, tool);
      return;
    }
    if (!cursor.step(how) && debuggee.head !== undefined) cursor.goto(debuggee.head.place);
    this.#options.stop(rollout, rollout.atHead ? (debuggee.head?.reason ?? 'step') : 'step', []);
  }

  async #stepIntoCode({ places }: DebuggedRollout, live: LiveControl, tool: string): Promise<void> {
    const url = await live.stepInto();
    if (url !== undefined) this.#options.waitingCall({ tool, url });
    else if (places.ofTool(tool) !== undefined) this.#options.noCode(tool);
  }

  /** Returns to the place before the last move. */
  stepBack(rollout: DebuggedRollout): void {
    const moved = rollout.cursor?.back() ?? false;
    this.#options.stop(rollout, moved ? 'step' : 'entry', []);
  }

  async continue(rollout: DebuggedRollout): Promise<void> {
    const { debuggee } = rollout;
    if (!rollout.atHead) this.run(rollout, 'forward');
    else if (debuggee.live !== undefined) await debuggee.live.release('continue');
    else this.#options.leaveEnd(rollout);
  }

  /** Moves the cursor. `requested`: by the user, who may need to know that the rollout itself does not move. */
  goTo(rollout: DebuggedRollout, seq: number, requested = false): void {
    const place = rollout.cursor?.stops.placeOf(seq);
    if (place === undefined) throw new StudioError('usage', `This trajectory has no event ${seq}.`);
    rollout.cursor?.goto(place);
    if (requested && rollout.debuggee.live !== undefined && !rollout.atHead)
      this.#options.output({
        text:
          'You are viewing recorded events. The rollout itself is still held at its current position. Continue ' +
          'returns to it, and Restart Frame forks the rollout from here.\n',
        category: 'important',
      });
    this.#options.stop(rollout, 'goto', []);
  }

  /** Stops a run through the recording, or holds a live rollout at its next gate. */
  async pause(rollout: DebuggedRollout): Promise<void> {
    rollout.running?.abort();
    if (rollout.debuggee.live !== undefined && rollout.debuggee.head === undefined) await rollout.debuggee.live.hold();
  }

  /** Runs through the recording to the next breakpoint, or else to its end or beginning. */
  run(rollout: DebuggedRollout, direction: 'forward' | 'backward'): void {
    const { cursor, debuggee } = rollout;
    if (cursor === undefined) return;
    rollout.running?.abort();
    const running = (rollout.running = new AbortController());
    const { breakpoints, closed, output, stop: reportStop } = this.#options;
    const until = debuggee.head?.place.at ?? debuggee.model.last;
    const onLog = (text: string, place: Place): void =>
      output({ text: `${text}\n`, category: 'stdout', place: { rollout, seq: place.seq } });
    cursor
      .run(direction, breakpoints.gates, breakpoints.stops, onLog, AbortSignal.any([running.signal, closed]), until)
      .then(({ place, matched }) => {
        if (rollout.running !== running) return;
        rollout.running = undefined;
        const gates = matched.map(({ breakpoint }) => breakpoint.id);
        const stop = breakpoints.stops.has(place.seq) && place.at === place.seq ? place.seq : undefined;
        const reason = breakpoints.isException(gates)
          ? 'exception'
          : gates.length > 0 || stop !== undefined
            ? 'breakpoint'
            : direction === 'backward'
              ? 'entry'
              : (debuggee.head?.reason ?? 'end');
        reportStop(rollout, reason, breakpoints.idsOf(gates, stop));
      })
      .catch((error: unknown) => {
        if (!StudioError.is(error, 'cancelled')) output({ text: `${errorText(error)}\n`, category: 'important' });
        if (!closed.aborted && rollout.running === running) reportStop(rollout, 'pause', []);
      });
  }
}
