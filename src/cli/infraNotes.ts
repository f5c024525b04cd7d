/**
 * Prints infrastructure events of a batch: new ones at once, repeated ones grouped and at growing intervals.
 */
import { groupLine, type InfraGroup, InfraGroups } from '../trace/infraGroups.ts';
import type { TraceEvent } from '../trace/schema.ts';

const FIRST_PAUSE_MS = 2_000;
const MAX_PAUSE_MS = 60_000;

interface PendingGroup {
  /** Events not printed yet. */
  count: number;
  pauseMs: number;
  timer: NodeJS.Timeout | undefined;
}

export class InfraNotes {
  readonly #groups = new InfraGroups();
  readonly #pending = new Map<InfraGroup, PendingGroup>();
  readonly #print: (line: string) => void;
  readonly #pods: number | undefined;

  /** @param pods Number of pods the batch needs, if known. */
  constructor(print: (line: string) => void, pods?: number) {
    this.#print = print;
    this.#pods = pods;
  }

  add(event: Extract<TraceEvent, { kind: 'infra' }>): void {
    const group = this.#groups.add(event);
    if (group === undefined) return;
    let pending = this.#pending.get(group);
    if (pending === undefined)
      this.#pending.set(group, (pending = { count: 0, pauseMs: FIRST_PAUSE_MS, timer: undefined }));
    pending.count += 1;
    if (pending.timer === undefined) this.#flush(group, pending);
  }

  /** Prints what is still pending and stops all timers. */
  end(): void {
    for (const [group, pending] of this.#pending) {
      clearTimeout(pending.timer);
      if (pending.count > 0) this.#print(groupLine(group, pending.count, this.#pods));
    }
    this.#pending.clear();
  }

  #flush(group: InfraGroup, pending: PendingGroup): void {
    const { count, pauseMs } = pending;
    pending.count = 0;
    pending.timer = undefined;
    if (count === 0) return;
    this.#print(groupLine(group, count, this.#pods));
    pending.pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2);
    pending.timer = setTimeout(() => this.#flush(group, pending), pauseMs);
    pending.timer.unref();
  }
}
