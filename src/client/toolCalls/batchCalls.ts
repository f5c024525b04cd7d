/**
 * Collects the tool calls of a batch and keeps them up to date. Rollout rows list the tools that were used; the calls
 * are read from trajectories, newest first and up to a limit. `read` reports how many were read.
 */
import { Emitter, type Listen } from '../../common/emitter.ts';
import { StudioError } from '../../common/errors.ts';
import { finish } from '../../common/piecewise.ts';
import type { Api } from '../../protocol/api.ts';
import type { FollowHandlers } from '../../protocol/follow.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import { type Attempt, attemptOf, attemptRows } from '../../trace/statistics/outcomes.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { type CallFact, callFacts, newestFirst, withoutValues } from '../../trace/toolCalls/fact.ts';
import { type ToolStats, toolStats, type UseShares, useShares } from '../../trace/toolCalls/stats.ts';
import type { AttemptCoverage } from '../../trace/toolCalls/text.ts';
import { readEvent } from '../../trace/upgrades.ts';

/** Limits what is read from one batch. */
interface ReadLimits {
  readonly attempts: number;
  readonly events: number;
}

export const READ_LIMITS: ReadLimits = { attempts: 1_000, events: 100_000 };
/** Number of newest calls, and of newest failed calls, per tool that keep their arguments and result. */
const MAX_CALLS_WITH_VALUES = 100;
/** Rollouts read in parallel. */
const PARALLEL_READS = 4;
/** Publish intermediate results after this many rollouts. */
const PUBLISH_INTERVAL = 200;
/** Minimum time between updates of a running batch. */
const SETTLE_MS = 1_500;

export interface BatchCallsPorts {
  readonly api: Api;
  /** Follows the batch's rows from the beginning until `signal` aborts. */
  readonly follow: (handlers: Required<Pick<FollowHandlers, 'rows' | 'head'>>, signal: AbortSignal) => Promise<void>;
  readonly limits?: ReadLimits;
}

interface BatchEntry {
  /** The last seq that was read. */
  last: number;
  facts: readonly CallFact[];
  /** Kept while the rollout is running, so that only new events are read. */
  model: TrajectoryModel | undefined;
}

export class BatchCalls {
  readonly batch: string;
  readonly #ports: BatchCallsPorts;
  readonly #rows = new Map<string, RolloutRow>();
  readonly #entries = new Map<string, BatchEntry>();
  readonly #changed = new Emitter<void>();
  #attempts: readonly Attempt[] | undefined;
  #byTool: ReadonlyMap<string, readonly CallFact[]> | undefined;
  #read: AttemptCoverage = { attempts: 0, read: 0 };
  /** Number of attempts that used a tool. */
  #using = 0;

  /** Fires when there are more calls, or attempts ended. */
  readonly changed: Listen<void> = this.#changed.event;

  constructor(batch: string, ports: BatchCallsPorts) {
    this.batch = batch;
    this.#ports = ports;
  }

  /** Names of the tools that the attempts used. */
  get tools(): ReadonlySet<string> {
    return new Set([...this.#rows.values()].flatMap(({ progress }) => progress.tools));
  }

  get read(): AttemptCoverage {
    return this.#read;
  }

  row(rollout: string): RolloutRow | undefined {
    return this.#rows.get(rollout);
  }

  /** Returns the calls of the tools, newest first. */
  calls(tools: ReadonlySet<string>): readonly CallFact[] {
    const byTool = (this.#byTool ??= this.#sort());
    const [only] = tools;
    if (tools.size === 1 && only !== undefined) return byTool.get(only) ?? [];
    return [...tools].flatMap((name) => byTool.get(name) ?? []).sort(newestFirst);
  }

  stats(tools: ReadonlySet<string>): ToolStats {
    return toolStats(this.calls(tools));
  }

  shares(tools: ReadonlySet<string>): UseShares {
    this.#attempts ??= this.#counting().map(attemptOf);
    return useShares(this.#attempts, tools);
  }

  /** Reads the current state of the batch. */
  async load(signal: AbortSignal): Promise<void> {
    for await (const row of this.#ports.api.allRollouts(this.batch, { all: 1 }, signal))
      this.#rows.set(row.rollout, row);
    await this.#update(signal);
  }

  /**
   * Reads the batch and follows it until `signal` aborts or `over` returns true. Rejects if the batch cannot be
   * followed.
   */
  async follow(isDone: () => boolean, signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const end = (): void => stop.abort();
    signal.addEventListener('abort', end, { once: true });
    const updates = new Updates(() => this.#update(signal), end);
    try {
      let complete = false;
      await this.#ports.follow(
        {
          rows: (rows) => {
            for (const row of rows) this.#rows.set(row.rollout, row);
            if (complete) updates.request(SETTLE_MS);
          },
          head: () => {
            if (!complete) updates.request(0);
            complete = true;
            if (isDone()) stop.abort();
          },
        },
        stop.signal,
      );
      if (!signal.aborted) await updates.finish();
    } finally {
      updates.stop();
      stop.abort();
      signal.removeEventListener('abort', end);
    }
  }

  #counting(): RolloutRow[] {
    return finish(attemptRows(this.#rows.values()));
  }

  async #update(signal: AbortSignal): Promise<void> {
    this.#attempts = undefined;
    const selected = this.#select();
    const stale = selected.filter((row) => (this.#entries.get(row.rollout)?.last ?? 0) < row.last);
    let read = 0;
    const readers = Array.from({ length: PARALLEL_READS }, async () => {
      for (let row = stale.shift(); row !== undefined; row = stale.shift()) {
        await this.#readOne(row, signal);
        // Publish intermediate results of a large batch.
        if (++read % PUBLISH_INTERVAL === 0 && stale.length > 0 && !signal.aborted) this.#publish(selected);
      }
    });
    await Promise.all(readers);
    if (!signal.aborted) this.#publish(selected);
  }

  #publish(selected: readonly RolloutRow[]): void {
    this.#read = { attempts: this.#using, read: selected.filter(({ rollout }) => this.#entries.has(rollout)).length };
    this.#prune(selected);
    this.#changed.fire();
  }

  /** Selects the rollouts to read: the counting rollout of each attempt, newest first, within the limits. */
  #select(): RolloutRow[] {
    const { attempts, events } = this.#ports.limits ?? READ_LIMITS;
    const using = this.#counting()
      .filter(({ progress }) => progress.tools.length > 0)
      .sort((a, b) => b.rev - a.rev);
    let left = events;
    const selected = using.slice(0, attempts).filter((row, index) => {
      left -= row.last;
      return left >= 0 || index === 0;
    });
    this.#using = using.length;
    return selected;
  }

  async #readOne(row: RolloutRow, signal: AbortSignal): Promise<void> {
    const entry = this.#entries.get(row.rollout) ?? { last: 0, facts: [], model: undefined };
    const model = entry.model ?? new TrajectoryModel();
    while (model.last < row.last) {
      if (signal.aborted) return;
      const page = await this.#ports.api.events(row.rollout, { after: model.last }, signal).catch((error: unknown) => {
        if (StudioError.is(error, 'gone')) return undefined; // its batch was removed
        throw error;
      });
      if (page === undefined || page.events.length === 0) break;
      model.push(page.events.map((event) => readEvent(event)));
    }
    entry.last = Math.max(model.last, row.last);
    entry.facts = callFacts(model, row.rollout);
    entry.model = row.state === 'ended' ? undefined : model;
    this.#entries.set(row.rollout, entry);
  }

  /** Drops rollouts that are no longer selected, and the values of older calls. */
  #prune(selected: readonly RolloutRow[]): void {
    const keep = new Set(selected.map(({ rollout }) => rollout));
    for (const rollout of this.#entries.keys()) if (!keep.has(rollout)) this.#entries.delete(rollout);
    const byTool = this.#sort();
    const valued = new Set<CallFact>();
    for (const facts of byTool.values()) {
      for (const fact of facts.slice(0, MAX_CALLS_WITH_VALUES)) valued.add(fact);
      for (const fact of facts.filter(({ error }) => error !== undefined).slice(0, MAX_CALLS_WITH_VALUES))
        valued.add(fact);
    }
    for (const entry of this.#entries.values())
      entry.facts = entry.facts.map((fact) => (valued.has(fact) ? fact : withoutValues(fact)));
    this.#byTool = this.#sort();
  }

  #sort(): Map<string, CallFact[]> {
    const byTool = new Map<string, CallFact[]>();
    for (const { facts } of this.#entries.values()) {
      for (const fact of facts) {
        const same = byTool.get(fact.tool);
        if (same === undefined) byTool.set(fact.tool, [fact]);
        else same.push(fact);
      }
    }
    for (const facts of byTool.values()) facts.sort(newestFirst);
    return byTool;
  }
}

/** Runs updates on request: never two at a time, and once more if requested during an update. */
class Updates {
  readonly #update: () => Promise<void>;
  readonly #onFailure: () => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #requested = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(update: () => Promise<void>, onFailure: () => void) {
    this.#update = update;
    this.#onFailure = onFailure;
  }

  /** Requests an update after at least `ms` milliseconds. */
  request(ms: number): void {
    this.#requested = true;
    if (this.#running === undefined) this.#timer ??= setTimeout(() => this.#run(), ms);
  }

  /** Runs a pending update now. Rejects if any update failed. */
  async finish(): Promise<void> {
    this.stop();
    await this.#running;
    this.stop();
    if (this.#requested && this.#failure === undefined) {
      this.#run();
      await this.#running;
    }
    if (this.#failure !== undefined)
      throw StudioError.is(this.#failure.error)
        ? this.#failure.error
        : new StudioError('internal', 'Could not read the calls of the batch.', { cause: this.#failure.error });
  }

  /** Cancels the scheduled update. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #run(): void {
    this.#timer = undefined;
    this.#requested = false;
    this.#running = this.#update()
      .catch((error: unknown) => {
        this.#failure ??= { error };
        this.#onFailure();
      })
      .finally(() => {
        this.#running = undefined;
        if (this.#requested) this.request(SETTLE_MS);
      });
  }
}
