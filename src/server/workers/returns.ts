/**
 * Records workers that reconnected after they lost the server. Often many return together, so a batch gets one event.
 */

import { plural } from '../../common/text.ts';
import { duration } from '../../common/units.ts';
import type { EventData } from '../../trace/schema.ts';

export interface Return {
  /** How long it was disconnected. */
  readonly disconnectedMs: number;
  /** Whether it was connected to another server before; undefined if unknown. */
  readonly serverChanged: boolean | undefined;
  /** Rollouts that it continues, and those that other workers have taken over. */
  readonly kept: number;
  readonly dropped: number;
}

/** Workers return within the longest pause between two connection attempts. */
const REPORT_AFTER_MS = 2_500;

export class Returns {
  readonly #report: (batch: string, infra: EventData['infra']) => void;
  readonly #back = new Map<string, { readonly all: Return[]; readonly timer: NodeJS.Timeout }>();

  constructor(report: (batch: string, infra: EventData['infra']) => void) {
    this.#report = report;
  }

  add(batch: string, one: Return): void {
    const existing = this.#back.get(batch);
    if (existing !== undefined) {
      existing.all.push(one);
      return;
    }
    const timer = setTimeout(() => this.#flush(batch), REPORT_AFTER_MS);
    this.#back.set(batch, { all: [one], timer });
  }

  close(): void {
    for (const { timer } of this.#back.values()) clearTimeout(timer);
    this.#back.clear();
  }

  #flush(batch: string): void {
    const all = this.#back.get(batch)?.all ?? [];
    this.#back.delete(batch);
    this.#report(batch, returnEvent(all));
  }
}

/** Returns the event for workers that returned at about the same time. */
export function returnEvent(all: readonly Return[]): EventData['infra'] {
  const ms = Math.max(...all.map(({ disconnectedMs }) => disconnectedMs));
  const [kept, dropped] = [sum(all, 'kept'), sum(all, 'dropped')];
  const serverChanged = all.some((one) => one.serverChanged === true);
  const workers = plural(all.length, 'worker');
  const reconnection = serverChanged
    ? `The server was restarted, or another server took over. ${workers} reconnected after ${duration(ms)}`
    : `${workers} lost the connection to the server and reconnected after ${duration(ms)}`;
  const rest =
    dropped > 0
      ? `. Of their ${plural(kept + dropped, 'rollout')}, ${dropped} had moved to other workers`
      : kept > 0
        ? ` and continued ${plural(kept, 'rollout')}`
        : '';
  return { what: serverChanged ? 'server_back' : 'workers_back', ms, text: `${reconnection}${rest}.` };
}

function sum(all: readonly Return[], of: 'kept' | 'dropped'): number {
  return all.reduce((total, one) => total + one[of], 0);
}
