/**
 * Upgrades old events when they are read; stored events are never rewritten.
 *
 * When `TRACE_VERSION` is raised from v to v + 1, add a step under v here. A step converts an event from the format of
 * version v to that of v + 1; the reader sets its `v`. Never remove a step.
 */
import { StudioError } from '../common/errors.ts';
import { checkEvent, isKnownKind, TRACE_VERSION, type TraceEvent, type UnknownEvent } from './schema.ts';

/** An event of any version with a valid envelope. */
interface RawEvent {
  readonly v: number;
  readonly seq: number;
  readonly kind: string;
  readonly data: unknown;
  readonly [field: string]: unknown;
}

type Upgrade = (event: RawEvent) => RawEvent;

export interface Upgrades {
  /** The version that this program writes. */
  readonly current: number;
  /** Steps by the version that they convert from. */
  readonly steps: ReadonlyMap<number, Upgrade>;
}

/** Version 1 is the first, so there is no step yet. */
export const UPGRADES: Upgrades = { current: TRACE_VERSION, steps: new Map() };

interface ReadOptions {
  /**
   * Whether the events come from a store, which validated them when they were appended. Then data of the current
   * version is not validated again, which makes opening a long trajectory fast.
   */
  readonly checked?: boolean;
  readonly upgrades?: Upgrades;
}

/**
 * Converts a value from `JSON.parse` to an event of the current version. An unknown kind is kept unchanged and marked.
 * Throws StudioError `version` for an event of a newer version, and `storage` if the value is not an event.
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

/** Checks the envelope of a raw event without zod, because this runs for every event. */
function envelopeOf(raw: unknown): RawEvent {
  if (typeof raw !== 'object' || raw === null) throw notAnEvent('a value', 'not an object');
  const event = raw as Partial<Record<keyof RawEvent, unknown>>; // fields are checked below
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
