/** Counts the calls of a side model, by the seed of their request. */
import type { JsonObject } from '../../src/common/json.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { eventsOf } from './directed.ts';
import type { TestServer } from './rolloutServer.ts';

interface SideCallCount {
  /** Replies that are recorded. */
  readonly answered: number;
  /** Requests that were lost with a worker. */
  readonly lost: number;
  /** Recorded replies that were used again. */
  readonly copies: number;
}

export function countSideCalls(events: readonly TraceEvent[], side: string): Map<number, SideCallCount> {
  const counts = new Map<number, SideCallCount>();
  const seeds = new Map<number, number>();
  for (const event of events) {
    if (event.kind === 'model.start' && event.data.side === side)
      seeds.set(event.seq, event.data.sampling['seed'] as number);
    const seed = event.kind === 'model.end' ? seeds.get(event.span ?? 0) : undefined;
    if (event.kind !== 'model.end' || seed === undefined) continue;
    const { answered, lost, copies } = counts.get(seed) ?? { answered: 0, lost: 0, copies: 0 };
    const isLost = event.data.error?.class === 'infrastructure';
    const isCopy = !isLost && event.data.source === 'recorded';
    counts.set(seed, {
      answered: answered + (isLost || isCopy ? 0 : 1),
      lost: lost + (isLost ? 1 : 0),
      copies: copies + (isCopy ? 1 : 0),
    });
  }
  return counts;
}

/** Counts the questions to a side model that were asked again although their replies were recorded. */
export class RepeatedQuestions {
  /** Replies that were recorded at the counts so far. */
  known = 0;
  repeated = 0;
  readonly #server: TestServer;
  readonly #batch: string;
  readonly #side: string;
  #before = { sent: 0, answered: new Set<number>() };

  constructor(server: TestServer, batch: string, side: string) {
    this.#server = server;
    this.#batch = batch;
    this.#side = side;
  }

  /** `bodies`: all that the endpoint received so far. */
  async count(bodies: readonly JsonObject[]): Promise<void> {
    const since = bodies.slice(this.#before.sent);
    this.repeated += since.filter(({ seed }) => this.#before.answered.has(seed as number)).length;
    this.#before = { sent: bodies.length, answered: await this.#answered() };
    this.known += this.#before.answered.size;
  }

  /** Returns the seeds of the recorded replies. */
  async #answered(): Promise<Set<number>> {
    const { rollouts } = await this.#server.api.rollouts(this.#batch);
    const counts = await Promise.all(
      rollouts.map(async ({ rollout }) => countSideCalls(await eventsOf(this.#server, rollout), this.#side)),
    );
    return new Set(counts.flatMap((of) => [...of].flatMap(([seed, { answered }]) => (answered > 0 ? [seed] : []))));
  }
}
