/** The tiny desk's workspace and a temporary store: batches on a real endpoint, run as a user runs them. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Connection, connect } from '../../../src/client/connect.ts';
import { subscribe } from '../../../src/client/subscribe.ts';
import type { ServerInfo } from '../../../src/protocol/client.ts';
import type { FollowHandlers } from '../../../src/protocol/follow.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { Bench, root } from '../../support/cli.ts';
import { Trajectories, type Trajectory } from './calls.ts';
import type { DeskTask } from './tasks.ts';

export type EndpointInfo = ServerInfo['endpoints'][number];

export interface BatchOptions {
  readonly attempts: number;
  readonly concurrency: number | 'auto';
  /**
   * `desk`: the engine is the agent, in a world that is a module. `simulated`: it is the agent and the world. `script`:
   * it is the world of agents that make the calls of their task. Default: `desk`.
   */
  readonly batch?: 'desk' | 'simulated' | 'script';
  readonly tasks?: readonly string[];
}

/** The part of the report of `rollout run --json` that the tests use. */
export interface Report {
  readonly batch: string;
  readonly attempts: number;
  readonly scored: number;
  readonly infrastructure: number;
  readonly cancelled: number;
}

export class DeskBench {
  readonly #bench: Bench;
  #connection: Connection | undefined;

  /** `endpoint`: base URL, including `/v1`. `model`: more keys of the agent's `model`. */
  constructor(endpoint: string, tasks: readonly DeskTask[], model: Readonly<Record<string, string>> = {}) {
    this.#bench = new Bench({ env: { VLLM_URL: endpoint } });
    for (const folder of ['examples/training/workspace', 'test/fixtures/tiny-desk'])
      cpSync(path.join(root, folder), this.#bench.path('workspace'), { recursive: true });
    const file = this.#bench.path('workspace', 'desk.agent.yaml');
    const lines = Object.entries(model).map(([key, value]) => `  ${key}: ${value}\n`);
    writeFileSync(file, readFileSync(file, 'utf8').replace('model:\n', `model:\n${lines.join('')}`));
    writeFileSync(this.#bench.path('workspace', 'tasks.jsonl'), tasks.map((task) => JSON.stringify(task)).join('\n'));
  }

  /** Runs a batch to its end. */
  run(options: BatchOptions): Promise<Report> {
    return this.#json(options, []);
  }

  /** Starts a batch and returns its ID. */
  async launch(options: BatchOptions): Promise<string> {
    return (await this.#json<{ batch: string }>(options, ['--detach'])).batch;
  }

  #json<T>({ attempts, concurrency, batch = 'desk', tasks = [] }: BatchOptions, more: readonly string[]): Promise<T> {
    const args = [
      'run',
      `${batch}.batch.yaml`,
      '--attempts',
      String(attempts),
      '--concurrency',
      String(concurrency),
      ...tasks.flatMap((id) => ['--task', id]),
    ];
    return this.#bench.json<T>([...args, ...more], { cwd: this.#bench.path('workspace') });
  }

  async connection(): Promise<Connection> {
    this.#connection ??= await connect({ store: this.#bench.store, start: false });
    return this.#connection;
  }

  async cancel(batch: string): Promise<void> {
    await this.#bench.json(['cancel', batch]);
  }

  /** The newest rollout of every attempt. */
  async rows(batch: string): Promise<RolloutRow[]> {
    const { api } = await this.connection();
    return Array.fromAsync(api.allRollouts(batch));
  }

  /** Messages about the endpoint while a batch ran, in order. */
  async endpointMessages(batch: string): Promise<string[]> {
    const { api } = await this.connection();
    const texts: string[] = [];
    for await (const page of api.allEvents(batch))
      for (const event of page)
        if (event.kind === 'infra' && event.data.what === 'endpoint') texts.push(event.data.text);
    return texts;
  }

  /** The trajectories of a batch that has ended: all, including retried ones, or those that were not canceled. */
  async trajectories(batch: string, which: 'all' | 'settled' = 'all'): Promise<Trajectory[]> {
    const { api } = await this.connection();
    const reader = new Trajectories(api);
    const read: Trajectory[] = [];
    for await (const row of api.allRollouts(batch, { all: 1 }))
      if (which === 'all' || row.progress.status !== 'cancelled') read.push(await reader.read(row.rollout));
    return read;
  }

  /** Follows a batch to its end; `signal` aborts. */
  async follow(batch: string, rows: NonNullable<FollowHandlers['rows']>, signal: AbortSignal): Promise<void> {
    const done = new AbortController();
    const seen = { end: false };
    await subscribe(
      await this.connection(),
      { stream: batch },
      {
        rows,
        events: (events) => {
          if (events.some((event) => event.kind === 'batch.end')) seen.end = true;
        },
        head: () => {
          if (seen.end) done.abort();
        },
      },
      AbortSignal.any([done.signal, signal]),
    );
    if (!seen.end) throw new Error('the batch did not come to its end');
  }

  /** Texts that arrive while a rollout runs, by the seq of their model call; until its end or `signal`. */
  async listen(rollout: string, signal: AbortSignal): Promise<Map<number, string>> {
    const texts = new Map<number, string>();
    const done = new AbortController();
    await subscribe(
      await this.connection(),
      { stream: rollout, deltas: true },
      {
        open: (spans) => {
          for (const { span, text } of spans) texts.set(span, text);
        },
        delta: (span, offset, text) => texts.set(span, (texts.get(span) ?? '').slice(0, offset) + text),
        events: (events) => {
          if (events.some((event) => event.kind === 'rollout.end')) done.abort();
        },
      },
      AbortSignal.any([done.signal, signal]),
    );
    return texts;
  }

  /** The server's state of the endpoint; undefined while no batch uses it. */
  async endpoint(): Promise<EndpointInfo | undefined> {
    const { api } = await this.connection();
    return (await api.server()).endpoints[0];
  }

  /** Polls the endpoint until it matches. */
  async waitForEndpoint(matches: (endpoint: EndpointInfo) => boolean, ms: number): Promise<EndpointInfo> {
    let last: EndpointInfo | undefined;
    for (const until = performance.now() + ms; performance.now() < until; ) {
      last = await this.endpoint();
      if (last !== undefined && matches(last)) return last;
      await pause();
    }
    throw new Error(`the endpoint did not become what was waited for: ${JSON.stringify(last)}`);
  }

  /** Waits until weights of a version have sampled a reply. */
  async waitForWeights(batch: string, version: string, ms: number): Promise<void> {
    const done = new AbortController();
    await this.follow(
      batch,
      (rows) => {
        const newest = rows.flatMap(({ progress }) => Object.values(progress.weights ?? {}).map(([, last]) => last));
        if (newest.includes(version)) done.abort();
      },
      AbortSignal.any([done.signal, AbortSignal.timeout(ms)]),
    ).catch((error: unknown) => {
      if (!done.signal.aborted) throw error;
    });
  }

  /** Every state of the endpoint that the server reports, until `signal`. */
  async watchEndpoint(signal: AbortSignal): Promise<EndpointInfo[]> {
    const seen: EndpointInfo[] = [];
    while (!signal.aborted) {
      const now = await this.endpoint();
      if (now !== undefined && JSON.stringify(now) !== JSON.stringify(seen.at(-1))) seen.push(now);
      await pause();
    }
    return seen;
  }

  close(): Promise<void> {
    return this.#bench.close();
  }
}

/** The poll interval for conditions without an event. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}
