/**
 * Sends the traces of finished rollouts, one request at a time, beside everything else the server does. Only ids wait:
 * the traces are in the store. While the collector is away it is asked again ever more rarely; when too many wait, the
 * oldest are lost, counted and said.
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
  /** undefined: there is none any more. */
  readonly trace: (rollout: string) => Promise<OtlpSpan[] | undefined>;
  readonly resource: Readonly<Record<string, Attribute>>;
  readonly scope: { readonly name: string; readonly version: string };
  readonly counters: Counters;
  readonly log: Log;
  readonly limits?: Partial<Limits>;
}

interface Limits {
  /** So many finished rollouts wait at most. */
  readonly waiting: number;
  /** So many spans are in one request. */
  readonly spans: number;
  /** A request waits so long for more to go with it. */
  readonly lingerMs: number;
  readonly retryMs: number;
  readonly retryMostMs: number;
  /** What is lost is said at most so often. */
  readonly sayMs: number;
}

const USUAL: Limits = {
  waiting: 10_000,
  spans: 2_000,
  lingerMs: 500,
  retryMs: 1_000,
  retryMostMs: 30_000,
  sayMs: 60_000,
};

export class Exporter {
  readonly #options: ExporterOptions;
  readonly #limits: Limits;
  readonly #waiting = new Set<string>();
  /** Those of them that are on their way. */
  #going = new Set<string>();
  readonly #end = new AbortController();
  readonly #lost = { count: 0, why: '' };
  #losses: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #hurry = new AbortController();
  #away = false;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#limits = { ...USUAL, ...options.limits };
  }

  /** A rollout has finished. */
  add(rollout: string): void {
    if (this.#end.signal.aborted) return;
    this.#waiting.add(rollout);
    if (this.#waiting.size > this.#limits.waiting) {
      for (const oldest of this.#waiting) {
        if (this.#going.has(oldest)) continue;
        this.#lose([oldest], 'too many wait for the collector');
        break;
      }
    }
    this.#count();
    this.#start();
  }

  /** Sends what waits, as far as that goes within the time; the rest is lost, and no more is taken. */
  async close(withinMs: number): Promise<void> {
    const late = setTimeout(() => this.#end.abort(), withinMs);
    this.#hurry.abort();
    // A collector that is away will not be back within that time.
    if (this.#away) this.#end.abort();
    await this.#running;
    clearTimeout(late);
    this.#end.abort();
    this.#lose([...this.#waiting], 'the server ended');
    clearTimeout(this.#losses);
    this.#say();
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // One may have come just as the last was sent.
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
        this.#lose([...this.#going], `making their traces failed: ${errorText(error)}`);
      }
    }
  }

  async #linger(): Promise<void> {
    if (this.#hurry.signal.aborted) return;
    await sleep(this.#limits.lingerMs, this.#hurry.signal).catch(() => undefined);
  }

  /** Takes as many as fit into one request; one that is larger goes in several. */
  async #next(): Promise<void> {
    const taken = (this.#going = new Set<string>());
    const spans: OtlpSpan[] = [];
    for (const rollout of this.#waiting) {
      if (this.#end.signal.aborted) throw cancelled(this.#end.signal);
      taken.add(rollout);
      const trace = await this.#trace(rollout);
      if (trace === undefined) this.#waiting.delete(rollout);
      else for (const span of trace) spans.push(span);
      if (spans.length >= this.#limits.spans) break;
    }
    for (let from = 0; from < spans.length; from += this.#limits.spans) {
      const part = spans.slice(from, from + this.#limits.spans);
      const refused = await this.#send(exportRequest(this.#options.resource, this.#options.scope, part));
      if (refused === undefined) continue;
      this.#lose([...taken], `the collector refused them: ${refused}`);
      return;
    }
    const sent = [...taken].filter((rollout) => this.#waiting.delete(rollout)).length;
    taken.clear();
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

  /** Until it is taken or refused; gives why it was refused. Throws `cancelled` at the end. */
  async #send(body: string): Promise<string | undefined> {
    const { log, to, send } = this.#options;
    for (let wait = this.#limits.retryMs; ; wait = Math.min(wait * 2, this.#limits.retryMostMs)) {
      const sent = await send(body, this.#end.signal);
      if (this.#end.signal.aborted && sent.how === 'later') throw cancelled(this.#end.signal);
      if (sent.how !== 'later') {
        if (this.#away) log(`the collector ${to} answers again`);
        this.#away = false;
        if (sent.how === 'refused') return sent.text;
        if (sent.note !== undefined) log(`the collector ${to} took only a part: ${sent.note}`, { level: 'warning' });
        return undefined;
      }
      if (!this.#away)
        log(
          `the collector ${to} takes no traces: ${sent.text}; up to ${this.#limits.waiting} finished rollouts ` +
            'wait for it',
          { level: 'warning' },
        );
      this.#away = true;
      if (this.#hurry.signal.aborted) throw cancelled(this.#hurry.signal);
      await sleep(Math.max(sent.afterMs ?? 0, wait * (0.5 + Math.random() / 2)), this.#end.signal);
    }
  }

  #lose(rollouts: readonly string[], why: string): void {
    const lost = rollouts.filter((rollout) => this.#waiting.delete(rollout)).length;
    if (lost === 0) return;
    this.#options.counters.traces.add(lost, 'lost');
    this.#count();
    this.#lost.count += lost;
    this.#lost.why = why;
    if (this.#losses !== undefined) return;
    this.#say();
    this.#losses = setTimeout(() => {
      this.#losses = undefined;
      this.#say();
    }, this.#limits.sayMs).unref();
  }

  #say(): void {
    const { count, why } = this.#lost;
    if (count === 0) return;
    this.#lost.count = 0;
    this.#options.log(
      `${count} finished ${count === 1 ? 'rollout was' : 'rollouts were'} not exported as traces: ${why}`,
      { level: 'error' },
    );
  }

  #count(): void {
    this.#options.counters.tracesWaiting = this.#waiting.size;
  }
}
