/**
 * What happens around the workers of a batch, of thousands of pods as readably as of two: like happenings are told
 * together.
 */
import type { EventData, TraceEvent } from './schema.ts';

type Infra = EventData['infra'];

/** Like happenings. */
export interface InfraGroup {
  /** How many there were in all. */
  all: number;
  /** The newest of them, and when it was. */
  newest: Infra;
  at: number;
}

const STARTED = 'pod_started';

export class InfraGroups {
  readonly #groups = new Map<string, InfraGroup>();
  readonly #texts = new Set<string>();

  /**
   * Gives the group it belongs to; undefined: the very same was told before, as of a lost worker for each of its
   * rollouts.
   */
  add({ at, data }: Extract<TraceEvent, { kind: 'infra' }>): InfraGroup | undefined {
    const text = lineOf(data);
    if (this.#texts.has(text)) return undefined;
    this.#texts.add(text);
    const key = likeness(data);
    const group = this.#groups.get(key) ?? { all: 0, newest: data, at };
    // The newest last.
    this.#groups.delete(key);
    this.#groups.set(key, group);
    group.all += 1;
    group.newest = data;
    group.at = at;
    return group;
  }

  /** By the time of their newest. */
  get all(): readonly InfraGroup[] {
    return [...this.#groups.values()];
  }
}

/** One happening, with its worker named. */
export function lineOf({ worker, text }: Infra): string {
  return worker === undefined || text.includes(worker) ? text : `Worker ${worker}: ${text}`;
}

/** What is told of the newest `count` of a group. `pods`: how many there are to be, where that is known. */
export function groupLine({ all, newest }: InfraGroup, count: number, pods?: number): string {
  if (count === 1) return lineOf(newest);
  if (newest.what === STARTED)
    return (
      `${number(count)} pods started (${number(all)} ` +
      `${pods === undefined ? 'in all' : `of ${number(Math.max(pods, all))}`}).`
    );
  return `${number(count)} times${all === count ? '' : ` more (${number(all)} in all)`}, the last one: ${lineOf(newest)}`;
}

/** The same for happenings that differ in whom and how many they are about. */
function likeness(data: Infra): string {
  let text = data.text;
  for (const name of [data.pod, data.worker, data.rollout, data.node])
    if (name !== undefined && name !== '') text = text.replaceAll(name, '#');
  return `${data.what} ${data.what === STARTED ? '' : text.replaceAll(/\d+/g, '#')}`;
}

function number(count: number): string {
  return count.toLocaleString('en-US');
}
