/** A temporary workspace, run by the command line: files written as data (JSON is YAML), a store, a demo model. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Connection, connect } from '../../src/client/connect.ts';
import { subscribe } from '../../src/client/subscribe.ts';
import type { Json, JsonObject } from '../../src/common/json.ts';
import type { Api } from '../../src/protocol/api.ts';
import type { EventKind, EventOf, TraceEvent } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { Bench, type CommandResult } from './cli.ts';

/** A task as a line of a dataset. */
export type TaskLine = JsonObject & { readonly id: string; readonly question: string };

export interface BatchFiles {
  readonly tasks: readonly TaskLine[];
  /** The demo model that plays the agent: a URL including `/v1`, or `demo:`. */
  readonly endpoint: string;
  /** Settings of that model, sent as the header `x-demo`. */
  readonly demo?: string;
  /** A gate of a watched demo model. */
  readonly gate?: string;
  /** Members of the agent file besides `version`, `name`, and `model`. */
  readonly agent?: JsonObject;
  /** Members of `model`. */
  readonly model?: JsonObject;
  /** The world file, without `version` and `name`. */
  readonly world?: JsonObject;
  /** Members of the batch file. */
  readonly batch?: JsonObject;
}

/** Time limit for anything that a test waits for. */
const PATIENCE_MS = 120_000;

export class Workspace {
  readonly bench: Bench;
  readonly #folder: string;
  readonly #connect: () => Promise<Connection>;

  /** `connect`: the target of the bench's commands, instead of its store. */
  constructor(bench = new Bench(), open?: () => Promise<Connection>) {
    this.bench = bench;
    this.#connect = open ?? (() => connect({ store: bench.store, start: false }));
    this.#folder = this.bench.path('workspace');
    mkdirSync(this.#folder);
    // A file like this marks the root of a workspace.
    this.write('package.json', '{}');
  }

  path(...parts: string[]): string {
    return path.join(this.#folder, ...parts);
  }

  /** Writes a file and returns its path. */
  write(file: string, text: string): string {
    const target = this.path(file);
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, text);
    return target;
  }

  /** Writes `NAME.batch.yaml` with its agent, tasks, and world. Returns the batch file's name. */
  batch(name: string, { tasks, endpoint, demo, gate, agent = {}, model = {}, world, batch = {} }: BatchFiles): string {
    this.write(`${name}.jsonl`, tasks.map((task) => JSON.stringify(task)).join('\n'));
    this.#yaml(`${name}.agent.yaml`, {
      version: 1,
      name: 'tester',
      prompt: 'Follow the directions.',
      ...agent,
      model: {
        endpoint,
        name: 'demo',
        headers: {
          ...(demo === undefined ? {} : { 'x-demo': demo }),
          ...(gate === undefined ? {} : { 'x-gate': gate }),
        },
        ...model,
      },
    });
    if (world !== undefined) this.#yaml(`${name}.world.yaml`, { version: 1, name, ...world });
    this.#yaml(`${name}.batch.yaml`, {
      version: 1,
      agent: `${name}.agent.yaml`,
      ...(world === undefined ? {} : { world: `${name}.world.yaml` }),
      dataset: { file: `${name}.jsonl` },
      scorer: { kind: world === undefined ? 'contains' : 'world' },
      concurrency: 8,
      ...batch,
    });
    return `${name}.batch.yaml`;
  }

  /** Runs `rollout …` to its end. */
  run(...args: string[]): Promise<CommandResult> {
    return this.bench.run(args, { cwd: this.#folder });
  }

  /** Runs `rollout … --json` to its end. Throws unless it exits with 0. */
  json<T>(...args: string[]): Promise<T> {
    return this.bench.json<T>(args, { cwd: this.#folder });
  }

  /** Starts a batch and leaves it running. */
  async launch(name: string, files: BatchFiles): Promise<string> {
    return (await this.json<{ batch: string }>('run', this.batch(name, files), '--detach')).batch;
  }

  /** The server that runs on the store. */
  async api(): Promise<Api> {
    return (await this.#connect()).api;
  }

  /** Rows of all tries of a batch. */
  async rows(batch: string): Promise<RolloutRow[]> {
    return Array.fromAsync((await this.api()).allRollouts(batch, { all: 1 }));
  }

  async events(stream: string): Promise<TraceEvent[]> {
    const pages: TraceEvent[] = [];
    for await (const page of (await this.api()).allEvents(stream)) pages.push(...page);
    return pages;
  }

  /** Waits until the rows of a batch match, and returns them. */
  async waitForRows(batch: string, reached: (rows: readonly RolloutRow[]) => boolean): Promise<RolloutRow[]> {
    const rows = new Map<string, RolloutRow>();
    await this.#follow(batch, (done) => ({
      rows: (changed: readonly RolloutRow[]) => {
        for (const row of changed) rows.set(row.rollout, row);
        if (reached([...rows.values()])) done();
      },
    }));
    return [...rows.values()];
  }

  /** Waits until the events of a stream match, and returns them. */
  async waitForEvents(stream: string, reached: (events: readonly TraceEvent[]) => boolean): Promise<TraceEvent[]> {
    const events: TraceEvent[] = [];
    await this.#follow(stream, (done) => ({
      events: (more: readonly TraceEvent[]) => {
        events.push(...more);
        if (reached(events)) done();
      },
    }));
    return events;
  }

  /** Waits for the end of a batch and returns its rows. */
  async ended(batch: string): Promise<RolloutRow[]> {
    await this.waitForEvents(batch, (events) => events.some((event) => event.kind === 'batch.end'));
    return this.rows(batch);
  }

  close(): Promise<void> {
    return this.bench.close();
  }

  async #follow(stream: string, handlers: (done: () => void) => Parameters<typeof subscribe>[2]): Promise<void> {
    const end = new AbortController();
    const late = AbortSignal.timeout(PATIENCE_MS);
    await subscribe(
      await this.#connect(),
      { stream },
      handlers(() => end.abort()),
      AbortSignal.any([end.signal, late]),
    );
    if (!end.signal.aborted) throw new Error(`what was waited for in ${stream} did not happen`);
  }

  #yaml(file: string, value: Json): void {
    this.write(file, JSON.stringify(value, undefined, 2));
  }
}

/** The events of one kind. */
export function ofKind<K extends EventKind>(events: readonly TraceEvent[], kind: K): EventOf<K>[] {
  return events.filter((event): event is EventOf<K> => event.kind === kind);
}

/** A rollout's answer and outcome. */
export function endOf(events: readonly TraceEvent[]): EventOf<'rollout.end'>['data'] {
  const end = ofKind(events, 'rollout.end').at(-1);
  if (end === undefined) throw new Error('the rollout has not ended');
  return end.data;
}
