/**
 * The tool calls of a batch, kept up to date while it grows. Rows of its rollouts tell who used which tool; the calls
 * themselves are read from trajectories, newest first and only so many: what was read is told with every figure.
 */
import { Emitter, type Listen } from '../../common/emitter.ts';
import { StudioError } from '../../common/errors.ts';
import { finish } from '../../common/piecewise.ts';
import type { Api } from '../../protocol/api.ts';
import type { FollowHandlers } from '../../protocol/follow.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import { type Attempt, attemptOf, countingRows } from '../../trace/statistics/outcomes.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { type CallFact, callFacts, newestFirst, withoutValues } from '../../trace/toolCalls/fact.ts';
import { type ToolStats, toolStats, type UseShares, useShares } from '../../trace/toolCalls/stats.ts';
import type { ReadAttempts } from '../../trace/toolCalls/text.ts';
import { readEvent } from '../../trace/upgrades.ts';

/** What may be read of one batch. */
export interface ReadLimits {
  readonly attempts: number;
  readonly events: number;
}

export const READ_LIMITS: ReadLimits = { attempts: 1_000, events: 100_000 };
/** Calls of each tool that keep their arguments and result: the newest, and the newest that failed. */
const KEPT = 100;
/** Rollouts that are read at the same time. */
const LANES = 4;
/** Rollouts after which figures are told although more are to be read. */
const TOLD = 200;
/** A batch that runs is looked at so often at most. */
const SETTLE_MS = 1_500;

export interface BatchCallsPorts {
  readonly api: Api;
  /** Follows the batch's rows from the beginning until `signal` aborts. */
  readonly follow: (handlers: Required<Pick<FollowHandlers, 'rows' | 'head'>>, signal: AbortSignal) => Promise<void>;
  readonly limits?: ReadLimits;
}

interface BatchEntry {
  /** Last seq that was read. */
  last: number;
  facts: readonly CallFact[];
  /** Kept while it grows, so that only what is new is read. */
  model: TrajectoryModel | undefined;
}

export class BatchCalls {
  readonly batch: string;
  readonly #ports: BatchCallsPorts;
  readonly #rows = new Map<string, RolloutRow>();
  readonly #known = new Map<string, BatchEntry>();
  readonly #changed = new Emitter<void>();
  #attempts: readonly Attempt[] | undefined;
  #byTool: ReadonlyMap<string, readonly CallFact[]> | undefined;
  #read: ReadAttempts = { attempts: 0, read: 0 };
  /** Attempts that used some tool. */
  #using = 0;

  /** More calls are known, or attempts came to an end. */
  readonly changed: Listen<void> = this.#changed.event;

  constructor(batch: string, ports: BatchCallsPorts) {
    this.batch = batch;
    this.#ports = ports;
  }

  /** Names of the tools that its attempts used. */
  get tools(): ReadonlySet<string> {
    return new Set([...this.#rows.values()].flatMap(({ progress }) => progress.tools));
  }

  get read(): ReadAttempts {
    return this.#read;
  }

  row(rollout: string): RolloutRow | undefined {
    return this.#rows.get(rollout);
  }

  /** Newest first. */
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

  /** Reads the batch as it stands. */
  async load(signal: AbortSignal): Promise<void> {
    for await (const row of this.#ports.api.allRollouts(this.batch, { all: 1 }, signal))
      this.#rows.set(row.rollout, row);
    await this.#update(signal);
  }

  /**
   * Reads the batch and whatever comes, until `signal` aborts; `over` says that nothing will come any more. Rejects
   * when it cannot be followed.
   */
  async follow(over: () => boolean, signal: AbortSignal): Promise<void> {
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
            if (complete) updates.ask(SETTLE_MS);
          },
          head: () => {
            if (!complete) updates.ask(0);
            complete = true;
            if (over()) stop.abort();
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
    return finish(countingRows(this.#rows.values()));
  }

  async #update(signal: AbortSignal): Promise<void> {
    this.#attempts = undefined;
    const wanted = this.#wanted();
    const stale = wanted.filter((row) => (this.#known.get(row.rollout)?.last ?? 0) < row.last);
    let read = 0;
    const lanes = Array.from({ length: LANES }, async () => {
      for (let row = stale.shift(); row !== undefined; row = stale.shift()) {
        await this.#readOne(row, signal);
        // Of a large batch something is told before all of it was read.
        if (++read % TOLD === 0 && stale.length > 0 && !signal.aborted) this.#tell(wanted);
      }
    });
    await Promise.all(lanes);
    if (!signal.aborted) this.#tell(wanted);
  }

  #tell(wanted: readonly RolloutRow[]): void {
    this.#read = { attempts: this.#using, read: wanted.filter(({ rollout }) => this.#known.has(rollout)).length };
    this.#prune(wanted);
    this.#changed.fire();
  }

  /** The rollouts to read: of each attempt the one that counts, the newest first, as many as the limits allow. */
  #wanted(): RolloutRow[] {
    const { attempts, events } = this.#ports.limits ?? READ_LIMITS;
    const using = this.#counting()
      .filter(({ progress }) => progress.tools.length > 0)
      .sort((a, b) => b.rev - a.rev);
    let left = events;
    const wanted = using.slice(0, attempts).filter((row, index) => {
      left -= row.last;
      return left >= 0 || index === 0;
    });
    this.#using = using.length;
    return wanted;
  }

  async #readOne(row: RolloutRow, signal: AbortSignal): Promise<void> {
    const known = this.#known.get(row.rollout) ?? { last: 0, facts: [], model: undefined };
    const model = known.model ?? new TrajectoryModel();
    while (model.last < row.last) {
      if (signal.aborted) return;
      const page = await this.#ports.api.events(row.rollout, { after: model.last }, signal).catch((error: unknown) => {
        if (StudioError.is(error, 'gone')) return undefined; // its batch was removed meanwhile
        throw error;
      });
      if (page === undefined || page.events.length === 0) break;
      model.push(page.events.map((event) => readEvent(event)));
    }
    known.last = Math.max(model.last, row.last);
    known.facts = callFacts(model, row.rollout);
    known.model = row.state === 'ended' ? undefined : model;
    this.#known.set(row.rollout, known);
  }

  /** Forgets what is not wanted any more, and the values of calls beyond the newest. */
  #prune(wanted: readonly RolloutRow[]): void {
    const keep = new Set(wanted.map(({ rollout }) => rollout));
    for (const rollout of this.#known.keys()) if (!keep.has(rollout)) this.#known.delete(rollout);
    const byTool = this.#sort();
    const valued = new Set<CallFact>();
    for (const facts of byTool.values()) {
      for (const fact of facts.slice(0, KEPT)) valued.add(fact);
      for (const fact of facts.filter(({ error }) => error !== undefined).slice(0, KEPT)) valued.add(fact);
    }
    for (const known of this.#known.values())
      known.facts = known.facts.map((fact) => (valued.has(fact) ? fact : withoutValues(fact)));
    this.#byTool = this.#sort();
  }

  #sort(): Map<string, CallFact[]> {
    const byTool = new Map<string, CallFact[]>();
    for (const { facts } of this.#known.values()) {
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

/** Does something again and again: never twice at the same time, and once more for whatever was asked meanwhile. */
class Updates {
  readonly #update: () => Promise<void>;
  readonly #failed: () => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #asked = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(update: () => Promise<void>, failed: () => void) {
    this.#update = update;
    this.#failed = failed;
  }

  /** Soon, but not before so many milliseconds. */
  ask(ms: number): void {
    this.#asked = true;
    if (this.#running === undefined) this.#timer ??= setTimeout(() => this.#run(), ms);
  }

  /** What was asked for is done now. Rejects when that, or what was done before, failed. */
  async finish(): Promise<void> {
    this.stop();
    await this.#running;
    this.stop();
    if (this.#asked && this.#failure === undefined) {
      this.#run();
      await this.#running;
    }
    if (this.#failure !== undefined)
      throw StudioError.is(this.#failure.error)
        ? this.#failure.error
        : new StudioError('internal', 'The calls of a batch could not be read.', { cause: this.#failure.error });
  }

  /** Begins nothing more by itself. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #run(): void {
    this.#timer = undefined;
    this.#asked = false;
    this.#running = this.#update()
      .catch((error: unknown) => {
        this.#failure ??= { error };
        this.#failed();
      })
      .finally(() => {
        this.#running = undefined;
        if (this.#asked) this.ask(SETTLE_MS);
      });
  }
}
