/**
 * Tells what happens around a batch's workers: at once where it is new, together and less and less often where it goes
 * on.
 */
import { groupLine, type InfraGroup, InfraGroups } from '../trace/infraGroups.ts';
import type { TraceEvent } from '../trace/schema.ts';

const FIRST_PAUSE_MS = 2_000;
const MAX_PAUSE_MS = 60_000;

interface Waiting {
  /** Not told yet. */
  count: number;
  pauseMs: number;
  timer: NodeJS.Timeout | undefined;
}

export class InfraNotes {
  readonly #groups = new InfraGroups();
  readonly #waiting = new Map<InfraGroup, Waiting>();
  readonly #say: (line: string) => void;
  readonly #pods: number | undefined;

  /** `pods`: how many the batch is to have, where that is known. */
  constructor(say: (line: string) => void, pods?: number) {
    this.#say = say;
    this.#pods = pods;
  }

  add(event: Extract<TraceEvent, { kind: 'infra' }>): void {
    const group = this.#groups.add(event);
    if (group === undefined) return;
    let waiting = this.#waiting.get(group);
    if (waiting === undefined)
      this.#waiting.set(group, (waiting = { count: 0, pauseMs: FIRST_PAUSE_MS, timer: undefined }));
    waiting.count += 1;
    if (waiting.timer === undefined) this.#tell(group, waiting);
  }

  /** Tells what waits; nothing comes any more. */
  end(): void {
    for (const [group, waiting] of this.#waiting) {
      clearTimeout(waiting.timer);
      if (waiting.count > 0) this.#say(groupLine(group, waiting.count, this.#pods));
    }
    this.#waiting.clear();
  }

  #tell(group: InfraGroup, waiting: Waiting): void {
    const { count, pauseMs } = waiting;
    waiting.count = 0;
    waiting.timer = undefined;
    if (count === 0) return;
    this.#say(groupLine(group, count, this.#pods));
    waiting.pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2);
    waiting.timer = setTimeout(() => this.#tell(group, waiting), pauseMs);
    waiting.timer.unref();
  }
}
