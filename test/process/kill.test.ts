/**
 * SIGKILL of workers and of the server at seeded moments in the middle of a batch. Whatever dies: every attempt is
 * settled exactly once, no acknowledged event is lost or doubled, and a resumed rollout equals one without the kill.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Connection, connect, serverFolder } from '../../src/client/connect.ts';
import { subscribe } from '../../src/client/subscribe.ts';
import { LONG_RUNNING } from '../../src/common/entries.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { alive, Bench, end, hasEnded, root } from '../support/cli.ts';
import { normalize } from '../support/normalize.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { Random } from '../support/random.ts';

/** The size of the batch, and how often something is killed in it. */
interface Scale {
  readonly tasks: number;
  readonly attempts: number;
  readonly concurrency: number;
  readonly kills: number;
}
const QUICK: Scale = { tasks: 5, attempts: 4, concurrency: 8, kills: 2 };
const DEEP: Scale = { tasks: 10, attempts: 20, concurrency: 16, kills: 20 };
/** Longest time one disturbed batch may take. */
const PATIENCE_MS = 120_000;

type Victim = 'worker' | 'server';
/** By `task/attempt`. */
type Trajectories = Map<string, TraceEvent[]>;

class KillBench {
  readonly bench: Bench;
  readonly frames: string;
  readonly scale: Scale;
  #connection: Connection | undefined;

  constructor(scale: Scale, store?: string) {
    this.scale = scale;
    this.bench = new Bench(store === undefined ? {} : { store });
    this.frames = this.bench.path('frames');
    // This process connects like the command line and may start the server: with the same folders and settings.
    process.env['XDG_DATA_HOME'] = this.bench.folder;
    process.env['LOCALAPPDATA'] = this.bench.folder;
    process.env['XDG_CACHE_HOME'] = this.bench.folder;
    delete process.env['TMPDIR'];
    process.env['ROLLOUT_FRAME_LOG'] = this.frames;
  }

  async launch(): Promise<string> {
    await this.bench.run(['init', this.bench.path('workspace')]);
    const agent = this.bench.path('workspace', 'agents', 'desk.agent.yaml');
    writeFileSync(agent, readFileSync(agent, 'utf8').replace(/endpoint: .*/, 'endpoint: "demo:?latency_ms=40"'));
    const { batch } = await this.bench.json<{ batch: string }>(
      [
        'run',
        'batches/desk.batch.yaml',
        '--limit',
        String(this.scale.tasks),
        '--attempts',
        String(this.scale.attempts),
        '--concurrency',
        String(this.scale.concurrency),
        '--seed',
        '11',
        '--detach',
      ],
      { cwd: this.bench.path('workspace'), env: { ROLLOUT_FRAME_LOG: this.frames } },
    );
    this.#connection = await connect({ store: this.bench.store });
    return batch;
  }

  get connection(): Connection {
    assert.ok(this.#connection !== undefined);
    return this.#connection;
  }

  serverPid(): number | undefined {
    return this.bench.serverFile(serverFolder(this.bench.store))?.pid;
  }

  /**
   * Restarts the killed server from the bundles, as users have it. `connect` of these sources would start it from
   * sources, which takes three times as long.
   */
  async reconnect(signal?: AbortSignal): Promise<void> {
    const pid = this.serverPid();
    if (pid === undefined || !alive(pid)) {
      const server = spawn(
        process.execPath,
        [...LONG_RUNNING, path.join(root, 'dist', 'server.mjs'), '--store', this.bench.store],
        { detached: true, stdio: ['ignore', 'pipe', 'ignore'] },
      );
      await Promise.race([once(server.stdout, 'data'), once(server, 'close')]);
    }
    await this.connection.reconnect(signal);
  }

  /** Follows the batch to its end. `onProgress` receives the number of stored events and all rows. */
  async follow(
    batch: string,
    onProgress: (events: number, rows: ReadonlyMap<string, RolloutRow>) => void,
  ): Promise<RolloutRow[]> {
    const rows = new Map<string, RolloutRow>();
    const done = new AbortController();
    let ended = false;
    await subscribe(
      { ...this.connection, reconnect: (signal) => this.reconnect(signal) },
      { stream: batch },
      {
        rows: (changed) => {
          for (const row of changed) rows.set(row.rollout, row);
          onProgress(
            [...rows.values()].reduce((sum, row) => sum + row.last, 0),
            rows,
          );
        },
        events: (events) => {
          if (events.some((event) => event.kind === 'batch.end')) ended = true;
        },
        head: () => {
          if (ended) done.abort();
        },
      },
      AbortSignal.any([done.signal, AbortSignal.timeout(PATIENCE_MS)]),
    );
    const ran = [...rows.values()].filter((row) => row.settles).length;
    const { tasks, attempts } = this.scale;
    assert.ok(ended, `the batch came to its end: ${ran} of ${tasks * attempts} attempts did`);
    return [...rows.values()];
  }

  async trajectories(rows: readonly RolloutRow[]): Promise<Trajectories> {
    const all: Trajectories = new Map();
    for (const row of rows.filter((one) => one.settles)) {
      const events: TraceEvent[] = [];
      for await (const page of this.connection.api.allEvents(row.rollout)) events.push(...page);
      all.set(`${row.task}/${row.attempt}`, events);
    }
    return all;
  }

  /** What workers sent and what was acknowledged, from the logs they kept. */
  loggedFrames(): Map<string, { acked: number; sent: Map<number, string> }> {
    const frames = new Map<string, { acked: number; sent: Map<number, string> }>();
    for (const file of readdirSync(this.frames)) {
      for (const line of readFileSync(path.join(this.frames, file), 'utf8').split('\n')) {
        if (!line.endsWith('}')) continue; // the line that a killed process was writing
        const frame = JSON.parse(line) as { type: string; rollout: string; to: number; events: TraceEvent[] };
        if (frame.type !== 'ack' && frame.type !== 'append') continue;
        const entry = frames.get(frame.rollout) ?? { acked: 0, sent: new Map<number, string>() };
        frames.set(frame.rollout, entry);
        if (frame.type === 'ack') entry.acked = Math.max(entry.acked, frame.to);
        else
          for (const event of frame.events)
            if (event.seq > entry.acked) entry.sent.set(event.seq, JSON.stringify(event));
      }
    }
    return frames;
  }

  lastFrames(worker: string): string {
    return readFileSync(path.join(this.frames, `${worker}.jsonl`), 'utf8')
      .trimEnd()
      .split('\n')
      .slice(-12)
      .map((frame) => frame.slice(0, 200))
      .join('\n');
  }

  /** Folders of working directories, on Linux: macOS and Windows have another place for them. */
  workFolders(): string[] {
    const cache = this.bench.path('rollout-studio');
    return existsSync(cache) ? readdirSync(cache).filter((name) => name.startsWith('rollout-work-')) : [];
  }

  async endServer(): Promise<void> {
    const pid = this.serverPid();
    if (pid !== undefined) await end(pid);
  }

  async close(): Promise<void> {
    await this.endServer();
    await this.bench.close();
  }
}

const timeout = 15 * 60_000;
const STORES = ['sqlite', 'postgres'] as const;
const VICTIMS = ['worker', 'server'] as const;

describe('SIGKILL in the middle of a batch', { timeout }, () => {
  killTests(QUICK, [
    ['worker', 'sqlite'],
    ['server', 'postgres'],
  ]);
});

describe('repeated SIGKILL in the middle of a large batch @deep', { timeout }, () => {
  killTests(
    DEEP,
    STORES.flatMap((kind) => VICTIMS.map((victim) => [victim, kind] as const)),
  );
});

function killTests(
  scale: Scale,
  pairs: readonly (readonly [(typeof VICTIMS)[number], (typeof STORES)[number]])[],
): void {
  const { kills: count } = scale;
  const slots = scale.tasks * scale.attempts;
  let reference: Trajectories;
  let events = 0;
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
    const undisturbed = new KillBench(scale);
    try {
      const rows = await undisturbed.follow(await undisturbed.launch(), () => undefined);
      reference = await undisturbed.trajectories(rows);
      assert.equal(reference.size, slots);
      events = rows.reduce((sum, row) => sum + row.last, 0);
    } finally {
      await undisturbed.close();
    }
  });
  after(() => postgres.stop());

  for (const [victim, kind] of pairs) {
    it(`${count} of a ${victim}, on ${kind}`, async (test) => {
      const random = new Random();
      test.diagnostic(`TEST_SEED=${random.seed}`);
      const bench = new KillBench(scale, kind === 'sqlite' ? undefined : await postgres.createDatabase());
      try {
        await disturbed(bench, victim, random);
      } finally {
        await bench.close();
      }
    });
  }

  async function disturbed(bench: KillBench, victim: Victim, random: Random): Promise<void> {
    const moments = random.moments(count, events * 0.02, events * 0.9);
    const killed = new Set<number>();
    /** For whoever reads about a failure. */
    const kills: string[] = [];
    const batch = await bench.launch();
    const rows = await bench.follow(batch, (stored, all) => {
      if (stored < (moments[kills.length] ?? Infinity)) return;
      const pid = victim === 'server' ? bench.serverPid() : workerOf(all);
      if (pid === undefined || killed.has(pid) || !alive(pid)) return;
      process.kill(pid, 'SIGKILL');
      killed.add(pid);
      kills.push(`${pid} after ${stored} of ${events} events`);
    });
    assert.equal(kills.length, count, `killed: ${kills.join(', ')}`);

    // Settled exactly once.
    const settled = rows.filter((row) => row.settles).map((row) => `${row.task}/${row.attempt}`);
    assert.equal(settled.length, slots);
    assert.equal(new Set(settled).size, slots);
    assert.deepEqual(
      rows.filter((row) => row.state !== 'ended').map((row) => row.rollout),
      [],
    );

    // No acknowledged event is lost, doubled, or changed.
    const frames = bench.loggedFrames();
    let acknowledged = 0;
    for (const row of rows) {
      const stored: TraceEvent[] = [];
      for await (const page of bench.connection.api.allEvents(row.rollout)) stored.push(...page);
      assert.deepEqual(
        stored.map((event) => event.seq),
        stored.map((_, index) => index + 1),
        `seqs of ${row.rollout}`,
      );
      if (!row.settles)
        assert.ok(
          victim === 'worker' && isGivenUp(stored),
          `${row.rollout} was to go on, and ended: ${JSON.stringify(stored.at(-1)?.data)}`,
        );
      const { acked, sent } = frames.get(row.rollout) ?? { acked: 0, sent: new Map<number, string>() };
      assert.ok(acked <= stored.length, `${row.rollout}: ${acked} acknowledged, ${stored.length} stored`);
      acknowledged += acked;
      for (const event of stored.slice(0, acked)) {
        const text = sent.get(event.seq);
        if (text !== undefined) assert.deepEqual(event, JSON.parse(text), `event ${event.seq} of ${row.rollout}`);
      }
    }
    assert.ok(acknowledged > events / 2, 'the workers kept their logs');

    // A resumed rollout equals an undisturbed one.
    const trajectories = await bench.trajectories(rows);
    const tries = new Map(rows.filter((row) => row.settles).map((row) => [`${row.task}/${row.attempt}`, row.try]));
    for (const [key, expected] of reference)
      assert.deepEqual(normalize(trajectories.get(key) ?? []), normalize(asTry(expected, tries.get(key) ?? 0)), key);

    // Nothing is left behind.
    for (const name of new Set(rows.map((row) => row.worker))) {
      const pid = pidOf(name);
      if (pid !== undefined)
        assert.ok(
          await hasEnded(pid, 15_000),
          `worker ${name} is still there; its last frames: ${bench.lastFrames(name ?? '')}`,
        );
    }
    await bench.endServer();
    assert.deepEqual(bench.workFolders(), []);
  }
}

function workerOf(rows: ReadonlyMap<string, RolloutRow>): number | undefined {
  for (const row of [...rows.values()].reverse()) {
    const pid = row.state === 'running' ? pidOf(row.worker) : undefined;
    if (pid !== undefined && alive(pid)) return pid;
  }
  return undefined;
}

/**
 * Returns whether chance killed three workers in the same tool call: the server gives such a rollout up, because the
 * tool might be the cause, and tries it again.
 */
function isGivenUp(events: readonly TraceEvent[]): boolean {
  const calls = events
    .filter((event) => event.kind === 'tool.start')
    .map((event) => ({
      call: event.data.call,
      lost: events.some(
        (end) => end.kind === 'tool.end' && end.span === event.seq && end.data.error?.class === 'infrastructure',
      ),
    }));
  const losses = calls.filter(({ lost }) => lost).map(({ call }) => call);
  const end = events.at(-1);
  return (
    end?.kind === 'rollout.end' &&
    end.data.status === 'infrastructure' &&
    losses.some((call) => losses.filter((other) => other === call).length === 3)
  );
}

/** The same events as of a later try. */
function asTry(events: readonly TraceEvent[], number: number): TraceEvent[] {
  return events.map((event) =>
    event.kind === 'rollout.start' ? { ...event, data: { ...event.data, try: number } } : event,
  );
}

/** Local workers are named after their process. */
function pidOf(worker: string | undefined): number | undefined {
  const match = /^local-(\d+)$/.exec(worker ?? '');
  return match === null ? undefined : Number(match[1]);
}
