/**
 * Upgrades old events when they are read; stored events are never rewritten.
 *
 * When `TRACE_VERSION` rises from v to v + 1, add a step under v here. A step gets an event as version v wrote it
 * and gives the same event as version v + 1 writes it; the reader sets its `v`. Steps stay for good.
 */
import { StudioError } from '../common/errors.ts';
import { checkEvent, isKnownKind, TRACE_VERSION, type TraceEvent, type UnknownEvent } from './schema.ts';

/** An event of some version, envelope checked. */
interface RawEvent {
  readonly v: number;
  readonly seq: number;
  readonly kind: string;
  readonly data: unknown;
  readonly [field: string]: unknown;
}

type Upgrade = (event: RawEvent) => RawEvent;

export interface Upgrades {
  /** The version this program writes. */
  readonly current: number;
  /** By the version a step starts from. */
  readonly steps: ReadonlyMap<number, Upgrade>;
}

/** Version 1 is the first, so there is no step yet. */
export const UPGRADES: Upgrades = { current: TRACE_VERSION, steps: new Map() };

interface ReadOptions {
  /**
   * The events come from a store that checked them when they were appended: data of the current version is not
   * checked again, which is what makes opening a long trajectory fast.
   */
  readonly checked?: boolean;
  readonly upgrades?: Upgrades;
}

/**
 * An event as this version knows it, from what `JSON.parse` gave. A kind that this version does not know is kept as
 * it is and marked. Throws StudioError: `version` for an event of a newer version, `storage` for what is no event.
 */
export function readEvent(raw: unknown, options: ReadOptions = {}): TraceEvent | UnknownEvent {
  const { current, steps } = options.upgrades ?? UPGRADES;
  let event = envelopeOf(raw);
  const old = event.v < current;
  if (event.v > current) {
    throw new StudioError(
      'version',
      `Event ${event.seq} uses version ${event.v} of the trajectory format, but this program supports ` +
        `only versions up to ${current}.`,
      {
        hint: 'Update Rollout Studio and open the trajectory again. Nothing was changed.',
        details: { seq: event.seq, v: event.v, known: current },
      },
    );
  }
  for (let v = event.v; v < current; v++) {
    const step = steps.get(v);
    if (step === undefined)
      throw new StudioError('internal', `There is no step from version ${v} of the trajectory format to ${v + 1}.`);
    event = { ...step(event), v: v + 1 };
  }
  if (!isKnownKind(event.kind)) return { ...event, unknown: true } as unknown as UnknownEvent; // envelope checked above
  if (old || options.checked !== true) {
    const check = checkEvent(event);
    if (!check.ok) throw notAnEvent(`event ${event.seq} (${event.kind})`, `${check.path}: ${check.message}`);
  }
  return event as unknown as TraceEvent; // checked here, or when it was appended
}

/** The version, place and kind of a raw event, by hand: this runs for every event that is read. */
function envelopeOf(raw: unknown): RawEvent {
  if (typeof raw !== 'object' || raw === null) throw notAnEvent('a value', 'not an object');
  const event = raw as Partial<Record<keyof RawEvent, unknown>>; // fields are looked at below
  if (!isCount(event.seq)) throw notAnEvent('an event', 'seq: not a whole number from 1');
  if (!isCount(event.v)) throw notAnEvent(`event ${event.seq}`, 'v: not a whole number from 1');
  if (typeof event.kind !== 'string' || event.kind === '') throw notAnEvent(`event ${event.seq}`, 'kind: not a text');
  if (typeof event.at !== 'number') throw notAnEvent(`event ${event.seq}`, 'at: not a number');
  return raw as RawEvent;
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1;
}

function notAnEvent(what: string, why: string): StudioError {
  return new StudioError('storage', `The trajectory contains ${what} that cannot be read (${why}).`, {
    hint: 'The file or the store is damaged, or was not written by Rollout Studio.',
  });
}
