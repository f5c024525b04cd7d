/**
 * Sends the traces of finished rollouts in the background, one request at a time. Only IDs are queued: the traces are
 * in the store. While the collector is unreachable, retries back off. When too many are waiting, the oldest are
 * dropped, counted, and logged.
 */
import { cancelled, sleep } from '../../../common/abort.ts';
import { errorText, StudioError } from '../../../common/errors.ts';
import type { Log } from '../../../common/log.ts';
import type { Counters } from '../counters.ts';
import type { SendResult } from './collector.ts';
import { type Attribute, exportRequest, type OtlpSpan } from './span.ts';

export interface ExporterOptions {
  /** For the log. */
  readonly to: string;
  readonly send: (body: string, signal: AbortSignal) => Promise<SendResult>;
  /** Returns the trace of a rollout; undefined if the rollout no longer exists. */
  readonly trace: (rollout: string) => Promise<OtlpSpan[] | undefined>;
  readonly resource: Readonly<Record<string, Attribute>>;
  readonly scope: { readonly name: string; readonly version: string };
  readonly counters: Counters;
  readonly log: Log;
  readonly limits?: Partial<Limits>;
}

interface Limits {
  /** Finished rollouts waiting at most. */
  readonly waiting: number;
  /** Spans per request. */
  readonly spans: number;
  /** How long a request waits for more rollouts to send. */
  readonly lingerMs: number;
  readonly retryMs: number;
  readonly maxRetryMs: number;
  /** Minimum interval between log lines about losses. */
  readonly logIntervalMs: number;
}

const DEFAULTS: Limits = {
  waiting: 10_000,
  spans: 2_000,
  lingerMs: 500,
  retryMs: 1_000,
  maxRetryMs: 30_000,
  logIntervalMs: 60_000,
};

export class Exporter {
  readonly #options: ExporterOptions;
  readonly #limits: Limits;
  readonly #waiting = new Set<string>();
  /** Those being sent now. */
  #sending = new Set<string>();
  readonly #end = new AbortController();
  readonly #dropped = { count: 0, why: '' };
  #losses: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #hurry = new AbortController();
  #unreachable = false;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULTS, ...options.limits };
  }

  /** Queues a finished rollout. */
  add(rollout: string): void {
    if (this.#end.signal.aborted) return;
    this.#waiting.add(rollout);
    if (this.#waiting.size > this.#limits.waiting) {
      for (const oldest of this.#waiting) {
        if (this.#sending.has(oldest)) continue;
        this.#lose([oldest], 'too many are waiting for the collector');
        break;
      }
    }
    this.#count();
    this.#start();
  }

  /** Sends as much as possible within the time, drops the rest, and accepts no more. */
  async close(withinMs: number): Promise<void> {
    const late = setTimeout(() => this.#end.abort(), withinMs);
    this.#hurry.abort();
    // An unreachable collector will not be back within that time.
    if (this.#unreachable) this.#end.abort();
    await this.#running;
    clearTimeout(late);
    this.#end.abort();
    this.#lose([...this.#waiting], 'the server ended');
    clearTimeout(this.#losses);
    this.#logLosses();
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // One may have been added just as the last one was sent.
      if (this.#waiting.size > 0 && !this.#hurry.signal.aborted) this.#start();
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      await this.#linger();
      try {
        await this.#next();
      } catch (error) {
        if (StudioError.is(error, 'cancelled')) return;
        this.#lose([...this.#sending], `creating their traces failed: ${errorText(error)}`);
      }
    }
  }

  async #linger(): Promise<void> {
    if (this.#hurry.signal.aborted) return;
    await sleep(this.#limits.lingerMs, this.#hurry.signal).catch(() => undefined);
  }

  /** Sends as many rollouts as fit into one request. A larger one is split. */
  async #next(): Promise<void> {
    const selected = (this.#sending = new Set<string>());
    const spans: OtlpSpan[] = [];
    for (const rollout of this.#waiting) {
      if (this.#end.signal.aborted) throw cancelled(this.#end.signal);
      selected.add(rollout);
      const trace = await this.#trace(rollout);
      if (trace === undefined) this.#waiting.delete(rollout);
      else for (const span of trace) spans.push(span);
      if (spans.length >= this.#limits.spans) break;
    }
    for (let from = 0; from < spans.length; from += this.#limits.spans) {
      const part = spans.slice(from, from + this.#limits.spans);
      const refused = await this.#send(exportRequest(this.#options.resource, this.#options.scope, part));
      if (refused === undefined) continue;
      this.#lose([...selected], `the collector rejected them: ${refused}`);
      return;
    }
    const sent = [...selected].filter((rollout) => this.#waiting.delete(rollout)).length;
    selected.clear();
    this.#options.counters.traces.add(sent, 'exported');
    this.#count();
  }

  async #trace(rollout: string): Promise<OtlpSpan[] | undefined> {
    try {
      return await this.#options.trace(rollout);
    } catch (error) {
      this.#lose([rollout], `reading them failed: ${errorText(error)}`);
      return undefined;
    }
  }

  /** Sends until the request is accepted or rejected. Returns why it was rejected. Throws `cancelled` at shutdown. */
  async #send(body: string): Promise<string | undefined> {
    const { log, to, send } = this.#options;
    for (let wait = this.#limits.retryMs; ; wait = Math.min(wait * 2, this.#limits.maxRetryMs)) {
      const sent = await send(body, this.#end.signal);
      if (this.#end.signal.aborted && sent.how === 'later') throw cancelled(this.#end.signal);
      if (sent.how !== 'later') {
        if (this.#unreachable) log(`the collector ${to} is available again`);
        this.#unreachable = false;
        if (sent.how === 'refused') return sent.text;
        if (sent.note !== undefined)
          log(`the collector ${to} accepted only a part: ${sent.note}`, { level: 'warning' });
        return undefined;
      }
      if (!this.#unreachable)
        log(
          `the collector ${to} is not available: ${sent.text}. Up to ${this.#limits.waiting} finished rollouts ` +
            'will wait for it',
          { level: 'warning' },
        );
      this.#unreachable = true;
      if (this.#hurry.signal.aborted) throw cancelled(this.#hurry.signal);
      await sleep(Math.max(sent.afterMs ?? 0, wait * (0.5 + Math.random() / 2)), this.#end.signal);
    }
  }

  #lose(rollouts: readonly string[], why: string): void {
    const lost = rollouts.filter((rollout) => this.#waiting.delete(rollout)).length;
    if (lost === 0) return;
    this.#options.counters.traces.add(lost, 'lost');
    this.#count();
    this.#dropped.count += lost;
    this.#dropped.why = why;
    if (this.#losses !== undefined) return;
    this.#logLosses();
    this.#losses = setTimeout(() => {
      this.#losses = undefined;
      this.#logLosses();
    }, this.#limits.logIntervalMs).unref();
  }

  #logLosses(): void {
    const { count, why } = this.#dropped;
    if (count === 0) return;
    this.#dropped.count = 0;
    this.#options.log(
      `${count} finished ${count === 1 ? 'rollout was' : 'rollouts were'} not exported as traces: ${why}`,
      { level: 'error' },
    );
  }

  #count(): void {
    this.#options.counters.tracesWaiting = this.#waiting.size;
  }
}
