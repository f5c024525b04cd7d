/**
 * Groups similar infrastructure events of a batch, so that the events of thousands of pods are as readable as those of
 * two.
 */
import type { EventData, TraceEvent } from './schema.ts';

type Infra = EventData['infra'];

/** Similar events. */
export interface InfraGroup {
  /** Total number of events. */
  all: number;
  /** The newest event, and its time. */
  newest: Infra;
  at: number;
}

const STARTED = 'pod_started';

export class InfraGroups {
  readonly #groups = new Map<string, InfraGroup>();
  readonly #texts = new Set<string>();

  /**
   * Adds an event and returns its group; undefined for a duplicate, such as a lost worker that is reported for each of
   * its rollouts.
   */
  add({ at, data }: Extract<TraceEvent, { kind: 'infra' }>): InfraGroup | undefined {
    const text = lineOf(data);
    if (this.#texts.has(text)) return undefined;
    this.#texts.add(text);
    const key = similarityKey(data);
    const group = this.#groups.get(key) ?? { all: 0, newest: data, at };
    // Moves the group to the end: newest last.
    this.#groups.delete(key);
    this.#groups.set(key, group);
    group.all += 1;
    group.newest = data;
    group.at = at;
    return group;
  }

  /** All groups, by the time of their newest event. */
  get all(): readonly InfraGroup[] {
    return [...this.#groups.values()];
  }
}

/** Returns the line for an event, including its worker. */
function lineOf({ worker, text }: Infra): string {
  return worker === undefined || text.includes(worker) ? text : `Worker ${worker}: ${text}`;
}

/** Returns the line for the newest `count` events of a group. `pods`: the expected number of pods, if known. */
export function groupLine({ all, newest }: InfraGroup, count: number, pods?: number): string {
  if (count === 1) return lineOf(newest);
  if (newest.what === STARTED)
    return (
      `${number(count)} pods started (${number(all)} ` +
      `${pods === undefined ? 'in total' : `of ${number(Math.max(pods, all))}`}).`
    );
  return `${number(count)} times${all === count ? '' : ` more (${number(all)} in total)`}. Latest: ${lineOf(newest)}`;
}

/** Returns a key that is equal for events that differ only in names and numbers. */
function similarityKey(data: Infra): string {
  let text = data.text;
  for (const name of [data.pod, data.worker, data.rollout, data.node])
    if (name !== undefined && name !== '') text = text.replaceAll(name, '#');
  return `${data.what} ${data.what === STARTED ? '' : text.replaceAll(/\d+/g, '#')}`;
}

function number(count: number): string {
  return count.toLocaleString('en-US');
}
