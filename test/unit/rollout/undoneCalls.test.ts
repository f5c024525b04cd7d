// Calls of a world that were interrupted or ended its session: they never happened, and the world continues.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Deferred, deferred } from '../../../src/common/abort.ts';
import type { Json } from '../../../src/common/json.ts';
import type { Submission } from '../../../src/config/submission.ts';
import type {
  ModelClient,
  ToolCall,
  ToolCallContext,
  ToolSpec,
  World,
  WorldSession,
} from '../../../src/rollout/ports.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { ManualTime } from '../../support/manualTime.ts';
import { Random } from '../../support/random.ts';
import { end, type Kit, type KitOptions, kit, normalizedEvents, plain, submission } from '../../support/rolloutKit.ts';
import { delegate, member, team, teamKit } from '../../support/teamKit.ts';
import { callsOf, responses } from '../../support/worldCalls.ts';

type Rows = Record<string, number>;

/**
 * A world of rows. Every tool first adds 1 to the row `key`; then `put` answers, `refuse` fails, `stall` never ends,
 * `crash` ends the session, `flaky` stalls the first time; `burn` is irreversible. `rows` answers with all rows. `sly`
 * and `slip` are declared as pure; `slip` fails.
 */
class RowsWorld implements World {
  readonly name = 'rows';
  readonly kind = 'module';
  readonly calls: string[] = [];
  readonly opened: (string | undefined)[] = [];
  closed = 0;
  /** Called before a session opens; `n`: how many opened before. */
  onOpen: (n: number, signal: AbortSignal) => Promise<void> = () => Promise.resolve();
  /** Called before a call is made. */
  onCall: (call: string) => Promise<Json | undefined> = () => Promise.resolve(undefined);
  readonly #snapshots: boolean;
  /** Seeds of the calls of `flaky` that stalled. */
  readonly #stalled: Set<number>;

  constructor({ snapshots = true, stalled = new Set<number>() }: { snapshots?: boolean; stalled?: Set<number> } = {}) {
    this.#snapshots = snapshots;
    this.#stalled = stalled;
  }

  async open({ from }: { from?: Uint8Array }, signal: AbortSignal): Promise<WorldSession> {
    await this.onOpen(this.opened.length, signal);
    const saved = from === undefined ? undefined : Buffer.from(from).toString();
    this.opened.push(saved);
    const rows: Rows = saved === undefined ? {} : (JSON.parse(saved) as Rows);
    let ended = false;
    const check = (): void => {
      if (ended) throw new ClassedError('world_error', 'its thread has exited');
    };
    const call = async ({ name, arguments: args }: ToolCall, context: ToolCallContext) => {
      check();
      const key = plain(args['key'] ?? '');
      this.calls.push(`${name} ${key}`.trim());
      if (name === 'rows') return { response: { ...rows } };
      const before = rows[key];
      rows[key] = (before ?? 0) + 1;
      const other = await this.onCall(`${name} ${key}`);
      if (other !== undefined) return { response: other };
      if (name === 'refuse') throw new ClassedError('tool_error', 'not that one');
      if (name === 'crash') {
        ended = true;
        throw new ClassedError('world_error', "The tool's thread ended: it called process.exit(1).");
      }
      if (name === 'stall' || (name === 'flaky' && !this.#stalled.has(context.seed))) {
        this.#stalled.add(context.seed);
        await new Promise((_resolve, reject) => {
          const stop = (): void => {
            ended = true;
            reject(context.signal.reason as Error);
          };
          if (context.signal.aborted) stop();
          else context.signal.addEventListener('abort', stop, { once: true });
        });
      }
      const op = before === undefined ? ('insert' as const) : ('update' as const);
      const changes = [{ table: 'rows', key, op, after: rows[key] }];
      if (name === 'slip') throw new ClassedError('tool_error', 'after all', { changes });
      return { response: { [key]: rows[key] }, changes };
    };
    return {
      specs: ['put', 'refuse', 'stall', 'crash', 'flaky', 'burn', 'sly', 'slip', 'rows'].map(spec),
      call,
      verify: async () => {
        await Promise.resolve().then(check);
        return { value: Object.values(rows).reduce((sum, n) => sum + n, 0), passed: true };
      },
      ...(this.#snapshots
        ? {
            snapshot: async () => {
              await Promise.resolve().then(check);
              return Buffer.from(JSON.stringify(rows));
            },
          }
        : {}),
      close: () => {
        this.closed++;
        return Promise.resolve();
      },
    };
  }
}

function spec(name: string): ToolSpec {
  return {
    name,
    description: name,
    parameters: { type: 'object' },
    effect: ['rows', 'sly', 'slip'].includes(name) ? 'pure' : name === 'burn' ? 'irreversible' : 'restorable',
    sessionBound: false,
    ...(name === 'stall' || name === 'flaky' ? { timeoutSeconds: 0.02 } : {}),
    ...(name === 'flaky' ? { retry: { times: 1, waitMs: 0 } } : {}),
    from: { kind: 'world', name: 'rows' },
  };
}

const LIMITS = { steps: 20, seconds: 60, tool_seconds: 10, tokens: 100_000 };
const limited = (limits: Partial<Submission['agent']['limits']>): KitOptions['job'] => ({
  submission: submission({ limits: { ...LIMITS, ...limits } }),
});

const classes = (one: Kit): (string | undefined)[] => one.recorder.of('tool.end').map(({ data }) => data.error?.class);
const RESTORED = 'The world was restored to its state before this call.\n';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

for (const snapshots of [true, false]) {
  describe(`a call of a world ${snapshots ? 'with' : 'without'} snapshots`, () => {
    for (const [tool, error, message] of [
      ['stall', 'timeout', 'Error (timeout): stall did not finish within 0.02 s.'],
      ['crash', 'world_error', "Error (world_error): The tool's thread ended: it called process.exit(1)."],
    ] as const) {
      it(`that fails with ${error} never happened, and the world continues`, async () => {
        const world = new RowsWorld({ snapshots });
        const model = callsOf(['put a', 'refuse a'], [`${tool} a`], ['rows'], ['put b'], ['rows']);
        const one = kit({ world, model });
        const events = await one.run();
        assert.equal(end(events).status, 'done');
        assert.deepEqual(classes(one), [undefined, 'tool_error', error, undefined, undefined, undefined]);
        assert.deepEqual(responses(events, tool), [message]);
        assert.deepEqual(responses(events, 'rows'), [{ a: 2 }, { a: 2, b: 1 }]);
        assert.deepEqual(one.recorder.logs, [RESTORED]);
        const start = events.find((event) => event.kind === 'tool.start' && event.data.name === tool);
        assert.equal(one.recorder.of('log')[0]?.span, start?.seq);
        assert.deepEqual([world.opened.length, world.closed], [2, 2]);
        assert.equal(end(events).reward, 3);
      });
    }

    it('leaves a state that a resumed rollout and a fork continue in, wherever they begin', async () => {
      const adds = Array.from({ length: 17 }, (_, at) => `put ${'xyz'[at % 3]}`);
      const stalled = new Set<number>();
      const options = (): KitOptions => ({
        world: new RowsWorld({ snapshots, stalled }),
        model: callsOf(
          ['put a', 'stall a', 'put b', 'sly b', 'slip c'],
          ['rows'],
          adds,
          ['crash a', 'refuse b', 'sly c', 'flaky c', 'crash a'],
          ['rows'],
        ),
      });
      const whole = kit(options());
      const undisturbed = await whole.run();
      const state = { a: 1, b: 3, c: 3, x: 6, y: 6, z: 5 };
      assert.deepEqual(responses(undisturbed, 'rows'), [{ a: 1, b: 2, c: 1 }, state]);
      assert.equal(whole.recorder.of('world.snapshot').length, snapshots ? 2 : 0);
      // Logs may be written again. How often `flaky` is tried depends on the loss.
      const happened = (events: readonly TraceEvent[]): unknown =>
        normalizedEvents(
          events
            .filter(({ kind }) => kind !== 'log')
            .map((event) =>
              event.kind === 'tool.end' ? { ...event, data: { ...event.data, retries: undefined } } : event,
            ),
        );
      for (const boundary of whole.recorder.boundaries.slice(0, -1)) {
        const after = { events: undisturbed.slice(0, boundary), blobs: new Map(whole.recorder.blobs) };
        const again = await kit({ ...options(), after, job: { how: 'resumed', epoch: 2 } }).run();
        assert.deepEqual(happened(again), happened(undisturbed), `resumed after event ${boundary}`);
        const fork = { rollout: 'r1', seq: boundary };
        const branch = await kit({ ...options(), after, job: { rollout: 'r2', fork } }).run();
        assert.deepEqual(responses(branch, 'rows').at(-1), state, `forked after event ${boundary}`);
        assert.equal(end(branch).fingerprint, end(undisturbed).fingerprint, `forked after event ${boundary}`);
      }
      const rescored = kit({
        ...options(),
        after: { events: undisturbed, blobs: new Map(whole.recorder.blobs) },
        job: { rollout: 'r3', rescores: { rollout: 'r1', seq: undisturbed.length } },
      });
      assert.equal(end(await rescored.run()).reward, end(undisturbed).reward);
    });

    it('leaves, after any calls, the state of those that happened', async () => {
      const random = new Random();
      const tools = ['put', 'put', 'put', 'put', 'sly', 'slip', 'refuse', 'stall', 'crash', 'flaky'];
      for (let round = 0; round < 12; round++) {
        const expected: Rows = {};
        const steps = Array.from({ length: 6 }, () =>
          Array.from({ length: 1 + Math.floor(random.next() * 8) }, () => {
            const tool = tools[Math.floor(random.next() * tools.length)] ?? '';
            const key = 'abc'[Math.floor(random.next() * 3)] ?? '';
            if (tool !== 'stall' && tool !== 'crash') expected[key] = (expected[key] ?? 0) + 1;
            return `${tool} ${key}`;
          }),
        );
        const stalled = new Set<number>();
        const options = (): KitOptions => ({
          world: new RowsWorld({ snapshots, stalled }),
          model: callsOf(...steps, ['rows']),
        });
        const one = kit(options());
        const events = await one.run();
        assert.deepEqual(responses(events, 'rows'), [expected], `seed ${random.seed}, round ${round}`);
        const at = one.recorder.boundaries[Math.floor(random.next() * (one.recorder.boundaries.length - 1))] ?? 0;
        const again = await kit({
          ...options(),
          job: { how: 'resumed', epoch: 2 },
          after: { events: events.slice(0, at), blobs: new Map(one.recorder.blobs) },
        }).run();
        assert.deepEqual(responses(again, 'rows'), [expected], `seed ${random.seed}, round ${round}, after ${at}`);
      }
    });
  });
}

describe('a call that never happened', () => {
  it('is undone before the calls of the same step that follow it', async () => {
    const world = new RowsWorld();
    const one = kit({ world, model: callsOf(['put a', 'stall a', 'put b', 'crash b', 'rows', 'put a'], ['rows']) });
    const events = await one.run();
    assert.deepEqual(responses(events, 'rows'), [
      { a: 1, b: 1 },
      { a: 2, b: 1 },
    ]);
    const firstRepeat = ['put a', 'stall a', 'put a', 'put b', 'crash b', 'put a', 'put b', 'rows', 'put a', 'rows'];
    assert.deepEqual(world.calls, firstRepeat);
  });

  it('is undone before it is retried', async () => {
    const world = new RowsWorld();
    const one = kit({ world, model: callsOf(['put a', 'flaky a'], ['rows']) });
    const events = await one.run();
    assert.deepEqual(responses(events, 'rows'), [{ a: 2 }]);
    assert.deepEqual(classes(one), [undefined, undefined, undefined]);
    assert.equal(
      one.recorder.logs.join(''),
      `timeout: flaky did not finish within 0.02 s.\nRetrying in 0 s (1 of 1).\n${RESTORED}`,
    );
  });

  it('takes no time of the rollout', async () => {
    const time = new ManualTime();
    const world = new RowsWorld();
    const stalled = deferred<undefined>();
    world.onCall = (call) => {
      if (call === 'stall a') stalled.resolve(undefined);
      return Promise.resolve(undefined);
    };
    const opening = deferred<undefined>();
    const open = deferred<undefined>();
    world.onOpen = async (n) => {
      if (n === 0) return;
      opening.resolve(undefined);
      await open.promise;
    };
    const one = kit({
      world,
      model: callsOf(['put a', 'stall a'], ['rows']),
      job: limited({ seconds: 5 }),
      ports: { time },
    });
    const running = one.run();
    await stalled.promise;
    time.advance(20);
    await opening.promise;
    time.advance(50_000);
    open.resolve(undefined);
    const events = await running;
    assert.equal(end(events).status, 'done');
    assert.deepEqual(responses(events, 'rows'), [{ a: 1 }]);
  });

  it('is undone before the rollout is scored, if a limit interrupted it', async () => {
    const time = new ManualTime();
    const world = new RowsWorld();
    const stalled = deferred<undefined>();
    world.onCall = async (call) => {
      if (call === 'put b') {
        stalled.resolve(undefined);
        await new Promise(() => undefined);
      }
      return undefined;
    };
    const opening = deferred<undefined>();
    const open = deferred<undefined>();
    world.onOpen = async (n) => {
      if (n === 0) return;
      opening.resolve(undefined);
      await open.promise;
    };
    const one = kit({ world, model: callsOf(['put a'], ['put b']), job: limited({ seconds: 5 }), ports: { time } });
    const running = one.run();
    await stalled.promise;
    time.advance(5_000);
    await nextTurn();
    time.advance(1_000); // the grace of a call that does not end
    await opening.promise;
    time.advance(10_000); // longer than scoring waits for calls
    open.resolve(undefined);
    const events = await running;
    const { status, reward, error } = end(events);
    assert.deepEqual([status, reward, error?.class], ['truncated', 1, 'limit']);
    assert.equal(one.recorder.of('tool.end').at(-1)?.data.error?.class, 'limit');
  });

  it('is undone if the time of its agent is up, and the rest of the team continues', async () => {
    const world = new RowsWorld();
    const limits = { ...LIMITS, seconds: 0.3 };
    world.onCall = (call) => (call === 'put b' ? new Promise(() => undefined) : Promise.resolve(undefined));
    const desk = [{ calls: [delegate('slow', 'go')] }, { calls: [{ name: 'rows' }] }, { text: '42' }];
    const slow = ['a', 'b'].map((key) => ({ calls: [{ name: 'put', arguments: { key } }] }));
    const agent = team('leader', [member('slow', { limits })]);
    const one = teamKit(agent, { desk, slow }, { world });
    const events = await one.run();
    assert.equal(end(events).status, 'done');
    assert.deepEqual(classes(one), [undefined, 'limit', 'tool_error', undefined]);
    assert.deepEqual(responses(events, 'rows'), [{ a: 1 }]);
    const rows = one.recorder.of('tool.start').at(-1)?.seq ?? 0;
    const after = { events: events.slice(0, rows), blobs: new Map(one.recorder.blobs) };
    const job = { submission: submission(agent), how: 'resumed', epoch: 2 } as const;
    const resumed = teamKit(agent, { desk, slow }, { world: new RowsWorld(), job, after });
    assert.deepEqual(responses(await resumed.run(), 'rows'), [{ a: 1 }]);
  });

  it('is not undone after a cancellation, which also ends an undoing', async () => {
    const world = new RowsWorld();
    const opening = deferred<AbortSignal>();
    const open: Deferred<undefined> = deferred();
    world.onOpen = async (n, signal) => {
      if (n === 0) return;
      opening.resolve(signal);
      await open.promise;
    };
    const one = kit({ world, model: callsOf(['put a', 'stall a'], ['rows']) });
    const running = one.run();
    const signal = await opening.promise;
    await one.command('cancel');
    await running;
    assert.equal(end(one.stream()).status, 'cancelled');
    assert.ok(signal.aborted);
    assert.equal(world.closed, 2, 'the old session, when it was replaced and at the end');
    open.resolve(undefined);
    await nextTurn();
    assert.equal(world.closed, 3, 'a session that opens late is closed, too');
    assert.deepEqual(one.recorder.logs, []);
  });
});

describe('a world that cannot be restored', () => {
  /** Runs it to its end; checks that the world is lost with this reason. */
  async function lost(world: RowsWorld, reason: RegExp, model: ModelClient): Promise<void> {
    const one = kit({ world, model });
    const events = await one.run();
    assert.equal(end(events).status, 'done');
    assert.deepEqual(classes(one).slice(-2), ['world_error', 'world_error']);
    const [first, second] = responses(events, 'rows').map(plain);
    assert.match(first ?? '', /^Error \(world_error\): The world was lost in a call to stall and cannot be restored: /);
    assert.match(first ?? '', reason);
    assert.equal(second, first);
    assert.equal(one.recorder.logs.length, 1);
    assert.match(one.recorder.logs[0] ?? '', /^The world cannot be restored to its state before this call: /);
    assert.match(one.recorder.logs[0] ?? '', reason);
    const score = one.recorder.of('score')[0]?.data;
    assert.deepEqual([score?.value, score?.error?.class], [null, 'world_error']);
    assert.match(score?.error?.message ?? '', reason);
  }
  const model = () => callsOf(['put a', 'stall b'], ['rows'], ['rows']);

  it('because it does not open again', async () => {
    const world = new RowsWorld();
    world.onOpen = (n) => (n === 0 ? Promise.resolve() : Promise.reject(new Error('the disk is full')));
    await lost(world, /the disk is full/, model());
    assert.equal(world.opened.length, 1, 'no more is tried');
  });

  it('because a repeated call fails or does not end', async () => {
    for (const again of ['refused', 'stalled']) {
      const world = new RowsWorld();
      let puts = 0;
      world.onCall = (call) => {
        if (call !== 'put a' || puts++ === 0) return Promise.resolve(undefined);
        return again === 'refused' ? Promise.reject(new Error('not twice')) : new Promise(() => undefined);
      };
      const one = kit({ world, model: model(), job: limited({ tool_seconds: 0.05 }) });
      const events = await one.run();
      assert.match(
        plain(responses(events, 'rows')[0]),
        again === 'refused'
          ? /repeating put failed: not twice$/
          : /repeating put failed: it took longer than 0\.05 s\.$/,
      );
      assert.equal(end(events).status, 'done');
    }
  });

  it('because it has the effect of an irreversible call that no snapshot contains', async () => {
    const reason = /it contains the effect of burn, which is irreversible and must not be repeated/;
    await lost(new RowsWorld(), reason, callsOf(['put a', 'burn a', 'stall b'], ['rows'], ['rows']));
    const adds = Array.from({ length: 16 }, () => 'put a');
    const saved = kit({ world: new RowsWorld(), model: callsOf(['burn b', ...adds, 'stall b'], ['rows']) });
    assert.deepEqual(responses(await saved.run(), 'rows'), [{ a: 16, b: 1 }]);
  });

  it('although the store is to blame: the attempt is retried', async () => {
    const world = new RowsWorld();
    const adds = Array.from({ length: 16 }, () => 'put a');
    const one = kit({ world, model: callsOf([...adds, 'stall b'], ['rows']) });
    one.recorder.readBlob = () => Promise.reject(new Error('the store is gone'));
    const { status, error } = end(await one.run());
    assert.deepEqual([status, error?.message], ['infrastructure', 'the store is gone']);
  });

  it('exactly, because a call answers differently, says so', async () => {
    const world = new RowsWorld();
    let puts = 0;
    world.onCall = (call) => Promise.resolve(call === 'put a' && puts++ > 0 ? 'another' : undefined);
    const one = kit({ world, model: model() });
    await one.run();
    assert.equal(one.recorder.logs.length, 2);
    assert.match(one.recorder.logs[0] ?? '', /put was repeated and returned a different result/);
    assert.equal(one.recorder.of('log')[0]?.span, one.recorder.of('world.open')[0]?.seq);
  });
});

describe('a resumed rollout', () => {
  it('ends if a repeated call that failed before no longer ends', async () => {
    const model = () => callsOf(['put a', 'refuse a'], ['rows']);
    const first = kit({ world: new RowsWorld(), model: model() });
    const events = await first.run();
    const world = new RowsWorld();
    world.onCall = (call) => (call === 'refuse a' ? new Promise(() => undefined) : Promise.resolve(undefined));
    const again = kit({
      world,
      model: model(),
      job: { ...limited({ tool_seconds: 0.05 }), how: 'resumed', epoch: 2 },
      after: { events: events.slice(0, first.recorder.of('model.start')[1]?.seq), blobs: new Map() },
    });
    const { status, error } = end(await again.run());
    assert.deepEqual(
      [status, error?.message],
      ['infrastructure', 'Cannot restore the world: repeating refuse failed: it took longer than 0.05 s.'],
    );
  });
});
