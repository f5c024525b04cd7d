import { canonicalJson, type Json } from '../../common/json.ts';
import { gateEnvironment } from '../../trace/query/environment.ts';
import type { EventData } from '../../trace/schema.ts';
import type { TaskRecord } from '../../trace/task.ts';

/** A call that is about to be made. */
export interface PendingCall {
  readonly request: EventData['tool.start'];
  readonly span: number;
  readonly agent: string;
  readonly step: number;
  readonly seed: number;
  /** Number of equal earlier calls of the agent. */
  readonly repeats: number;
}

/** Returns the variables of conditions on a call that is about to be made. */
export function pendingEnvironment(
  { request, span, agent, step, repeats }: Omit<PendingCall, 'seed'>,
  task: TaskRecord,
  attempt: number,
): ReturnType<typeof gateEnvironment> {
  return gateEnvironment({
    side: 'before',
    event: { seq: span, kind: 'tool.start', data: request, agent },
    step,
    agent,
    task,
    attempt,
    tool: { name: request.name, arguments: request.arguments, effect: request.effect, repeats },
  });
}

/** Counts equal calls. */
export class CallCounts {
  readonly #calls = new Map<string, number>();

  /** Counts a requested call, recorded or not. Returns the number of equal earlier calls of the agent. */
  count(agent: string, name: string, args: Json): number {
    const key = canonicalJson([agent, name, args]);
    const before = this.#calls.get(key) ?? 0;
    this.#calls.set(key, before + 1);
    return before;
  }
}
