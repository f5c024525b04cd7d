/** Reads the events of an attempt: all of a usual one, only the first and the last ones of a long one. */
import { StudioError } from '../../../../src/common/errors.ts';
import type { Api } from '../../../../src/protocol/api.ts';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { RolloutRow } from '../../../../src/trace/summary.ts';
import { readEvent } from '../../../../src/trace/upgrades.ts';
import { type Split, splitCandidates, splitFrom } from '../../../data/split.ts';
import { Outline } from '../../model/outline.ts';

/** An attempt with more events is not read as a whole. */
const MAX_EVENTS = 2_000;
const PAGE = 500;
/** Number of events loaded from the beginning and from the end of a long attempt. */
const EVENTS_AT_AN_END = 150;

type EventsApi = Pick<Api, 'events'>;

export class AttemptReader {
  readonly rollout: string;
  readonly outline = new Outline();
  /** Where it diverges from a passed attempt; undefined if unknown. */
  split: Split | undefined;
  #model: TrajectoryModel | undefined = new TrajectoryModel();
  #comparedWith: string | undefined;

  constructor(rollout: string) {
    this.rollout = rollout;
  }

  /** All its events; undefined for a long attempt. */
  get model(): TrajectoryModel | undefined {
    return this.#model;
  }

  /** Reads what is left of a trajectory that was trimmed: its scores, and its end. */
  async readKept(api: Pick<Api, 'rollout'>, signal: AbortSignal): Promise<void> {
    this.#model = undefined;
    const { trimmed } = await api.rollout(this.rollout, signal);
    this.outline.push((trimmed?.events ?? []).map((event) => readEvent(event)));
  }

  /** Reads up to the event `last`. */
  async readOn(api: EventsApi, last: number, signal: AbortSignal): Promise<void> {
    if (last > MAX_EVENTS) this.#model = undefined;
    if (this.#model !== undefined) {
      while (this.outline.last < last && (await this.#read(api, this.outline.last, PAGE, signal)) > 0);
      return;
    }
    if (this.outline.last === 0) await this.#read(api, 0, EVENTS_AT_AN_END, signal);
    if (this.outline.last < last)
      await this.#read(api, Math.max(this.outline.last, last - EVENTS_AT_AN_END), EVENTS_AT_AN_END, signal);
  }

  /** Finds where the attempt diverges. Returns whether it looked. `attempts`: of the same task. */
  async findSplit(api: EventsApi, attempts: readonly RolloutRow[], signal: AbortSignal): Promise<boolean> {
    if (this.#model?.end === undefined) return false;
    const candidates = splitCandidates(this.rollout, attempts);
    const ids = candidates.map(({ rollout }) => rollout).join(' ');
    if (ids === this.#comparedWith) return false;
    try {
      this.split = await splitFrom(api, this.#model, candidates, signal);
      this.#comparedWith = ids;
    } catch (error) {
      if (signal.aborted || !StudioError.is(error)) throw error;
      this.split = undefined; // the other attempt was deleted, or cannot be read now
    }
    return true;
  }

  async #read(api: EventsApi, after: number, limit: number, signal: AbortSignal): Promise<number> {
    const page = await api.events(this.rollout, { after, limit }, signal);
    const events = page.events.map((event) => readEvent(event));
    this.#model?.push(events);
    this.outline.push(events);
    return events.length;
  }
}
