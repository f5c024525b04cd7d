// Calls of a world of a module that never end, or that end its thread: they never happened, and the world continues.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { deferred } from '../../src/common/abort.ts';
import type { Json } from '../../src/common/json.ts';
import type { SubmittedModule } from '../../src/config/submission.ts';
import type { World } from '../../src/rollout/ports.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { openWorld } from '../../src/worlds/open.ts';
import { Bench } from '../support/cli.ts';
import { type DemoServer, startDemoServer } from '../support/demoServer.ts';
import { Random } from '../support/random.ts';
import { end, type Kit, type KitOptions, kit } from '../support/rolloutKit.ts';
import { endOf, ofKind, Workspace } from '../support/testWorkspace.ts';
import { type ToolBench, toolBench } from '../support/tools.ts';
import { callsOf, responses } from '../support/worldCalls.ts';

for (const saved of [true, false]) {
  describe(`in a world ${saved ? 'with' : 'without'} snapshots`, () => {
    let bench: ToolBench;
    let module: SubmittedModule;
    before(async () => {
      bench = await toolBench({ memoryMb: 128 }); // `eat` takes all of it
      module = await bench.module('rows.world.ts');
    });
    after(() => bench.close());

    const task = { id: saved ? 'saved' : 'unsaved', question: 'q', meta: {} };
    const world = (): World =>
      openWorld({ name: 'rows', file: 'rows.world.yaml', kind: 'module', module, perturb: [] }, bench.environment);
    const run = (steps: readonly (readonly string[])[], options: KitOptions = {}): Kit =>
      kit({ world: world(), model: callsOf(...steps), ...options, job: { task, ...options.job } });

    it('a call that sleeps, changes rows late, loops, exits, or takes all memory never happened', async () => {
      for (const [tool, error, message] of [
        ['sleep', 'timeout', /^sleep did not finish within 0\.1 s\.$/],
        ['late', 'timeout', /^late did not finish within 0\.1 s\.$/],
        ['loop', 'timeout', /^loop did not finish within 0\.1 s\.$/],
        ['leave', 'world_error', /^The tool's thread ended: called process\.exit\(3\)\.$/],
        ['eat', 'world_error', /^The tool's thread ended: .*memory/],
      ] as const) {
        const one = run([['put a', `${tool} a`, 'put b', 'rows'], [`${tool} b`], ['refuse b', 'rows']]);
        const events = await one.run();
        assert.deepEqual(
          responses(events, 'rows'),
          [
            { a: 1, b: 1 },
            { a: 1, b: 2 },
          ],
          tool,
        );
        const failed = one.recorder
          .of('tool.end')
          .flatMap(({ data }) => (data.error === undefined ? [] : [data.error]));
        assert.deepEqual(
          failed.map((each) => each.class),
          [error, error, 'tool_error'],
          tool,
        );
        assert.match(failed[0]?.message ?? '', message);
        const restored = 'The world was restored to its state before this call.\n';
        assert.deepEqual(one.recorder.logs, [restored, restored], tool);
        assert.equal(end(events).reward, 3, tool);
      }
    });

    it('after any calls, live, resumed, and forked rollouts have the same rows', async () => {
      const random = new Random();
      const pick = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)] as T;
      for (let round = 0; round < 2; round++) {
        const expected: Record<string, number> = {};
        const steps = Array.from({ length: 3 }, () =>
          Array.from({ length: 8 }, () => {
            const tool = pick(['put', 'put', 'put', 'put', 'put', 'refuse', 'late', 'loop', 'leave']);
            const key = pick(['a', 'b', 'c']);
            if (tool === 'put' || tool === 'refuse') expected[key] = (expected[key] ?? 0) + 1;
            return `${tool} ${key}`;
          }),
        );
        const whole = [...steps, ['rows']];
        const one = run(whole);
        const events = await one.run();
        const seed = `seed ${random.seed}, round ${round}`;
        assert.deepEqual(responses(events, 'rows'), [expected], seed);
        const cut = pick(one.recorder.boundaries.slice(0, -1));
        const until = { events: events.slice(0, cut), blobs: new Map(one.recorder.blobs) };
        const resumed = await run(whole, { job: { how: 'resumed', epoch: 2 }, after: until }).run();
        assert.deepEqual(responses(resumed, 'rows'), [expected], `${seed}, resumed after event ${cut}`);
        const fork = { rollout: 'r1', seq: cut };
        const forked = await run(whole, { job: { rollout: 'r2', fork }, after: until }).run();
        assert.deepEqual(responses(forked, 'rows'), [expected], `${seed}, forked after event ${cut}`);
      }
    });
  });
}

describe('a batch', { timeout: 480_000 }, () => {
  let demo: DemoServer;
  let workspace: Workspace;
  let url: string;
  /** Answers a session that opens; `n`: how many opened before. */
  let onOpen: (n: number, answer: () => void) => void = (_n, answer) => answer();
  let opened = 0;
  const server = createServer((_request, response: ServerResponse) => onOpen(opened++, () => response.end()));

  before(async () => {
    demo = await startDemoServer();
    workspace = new Workspace(new Bench({ env: { ROLLOUT_SANDBOX: 'off' } })); // its world calls this process
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    workspace.write(
      'rows.ts',
      `import { tool } from 'rollout-studio';
import { z } from 'zod';
const key = z.object({ key: z.string() });
const add = (state, key) => { state[key] = (state[key] ?? 0) + 1; };
const put = tool({ description: 'Adds.', input: key, run: ({ key }, { state }) => { add(state, key); \
return state[key]; } });
const sleep = tool({ description: 'Sleeps.', input: key, timeout_seconds: 0.2, run: ({ key }, { state }) => { \
add(state, key); return new Promise(() => undefined); } });
const loop = tool({ description: 'Loops.', input: key, timeout_seconds: 0.2, run: ({ key }, { state }) => { add(state, \
key); for (;;); } });
const leave = tool({ description: 'Leaves.', input: key, run: ({ key }, { state }) => { add(state, key); \
process.exit(1); } });
const rows = tool({ description: 'Rows.', input: z.object({}), effect: 'pure', run: (_args, { state }) => state });
export const open = async (task, seed, from) => {
  await fetch(${JSON.stringify(url)});
  const state = from === undefined ? {} : JSON.parse(new TextDecoder().decode(from));
  return {
    state, tools: { put, sleep, loop, leave, rows },
    verify: ({ expected }) => ({ value: state.a, passed: state.a === expected, explanation: JSON.stringify(state) }),
    snapshot: () => new TextEncoder().encode(JSON.stringify(state)),
  };
};
`,
    );
  });
  after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await workspace.close();
    await demo.close();
  });

  const files = (question: string, answer: number) => ({
    endpoint: demo.url,
    tasks: [{ id: 'it', question, answer }],
    world: { kind: 'module', module: 'rows.ts' },
  });
  const classes = (events: readonly TraceEvent[]): (string | undefined)[] =>
    ofKind(events, 'tool.end').map(({ data }) => data.error?.class);

  it('continues after such calls; its forks and repeated calls begin with exactly the rows it had', async () => {
    const question =
      'call put {"key": "a"} times 16\ncall sleep {"key": "a"}\ncall put {"key": "b"}\ncall loop {"key": "b"}\n' +
      'call leave {"key": "c"}\ncall put {"key": "a"}\ncall rows {}\nanswer done';
    const { batch } = await workspace.json<{ batch: string }>('run', workspace.batch('rows', files(question, 17)));
    const [row] = await workspace.rows(batch);
    const rollout = row?.rollout ?? '';
    const events = await workspace.events(rollout);
    assert.equal(ofKind(events, 'world.snapshot').length, 2);
    assert.deepEqual(classes(events).slice(16), ['timeout', undefined, 'timeout', 'world_error', undefined, undefined]);
    const state = { a: 17, b: 1 };
    assert.deepEqual(responses(events, 'rows'), [state]);
    assert.deepEqual([endOf(events).passed, endOf(events).reward], [true, 17]);
    const lines = await workspace.run('show', rollout);
    assert.match(lines.stdout, /The world was restored to its state before this call/);

    for (const step of [17, 18, 19, 20, 21, 22]) {
      const { batch: forks } = await workspace.json<{ batch: string }>('fork', `${rollout}:${step}`, '-k', '3');
      for (const branch of await workspace.rows(forks))
        assert.deepEqual(responses(await workspace.events(branch.rollout), 'rows'), [state], `forked at step ${step}`);
    }
    for (const name of ['put', 'rows']) {
      const start = ofKind(events, 'tool.start').findLast(({ data }) => data.name === name);
      const again = await workspace.json<{ same: boolean; result: Json; notes: string[] }>(
        'call',
        `${rollout}@${start?.seq ?? 0}`,
      );
      assert.deepEqual([again.same, again.result, again.notes], [true, name === 'put' ? 17 : state, []]);
    }
    const code = readFileSync(workspace.path('rows.ts'), 'utf8');
    workspace.write(
      'rows.ts',
      code.replace('return state[key];', "return key === 'b' ? process.exit(1) : state[key];"),
    );
    const last = `${rollout}@${ofKind(events, 'tool.start').at(-1)?.seq ?? 0}`;
    const changed = await workspace.run('call', last);
    workspace.write('rows.ts', code);
    assert.equal(changed.code, 2);
    assert.match(
      changed.stderr,
      /The world cannot be restored: repeating the earlier call put @\d+ failed: The tool's /,
    );
  });

  it('continues with the same rows when its worker is killed while it restores the world, or later', async () => {
    const question =
      'call put {"key": "a"} times 2\ncall loop {"key": "a"}\ncall put {"key": "b"}\ncall rows {}\nanswer done';
    for (const kill of ['while', 'after'] as const) {
      opened = 0;
      const restoring = deferred<undefined>();
      onOpen = (n, answer) => {
        if (n === 1) restoring.resolve(undefined);
        if (n !== 1 || kill === 'after') answer();
      };
      const batch = await workspace.launch(`kill-${kill}`, {
        ...files(question, 2),
        ...(kill === 'after' ? { demo: 'latency_ms=200' } : {}),
      });
      await restoring.promise;
      const [running] = await workspace.waitForRows(batch, (rows) => rows.some(({ worker }) => worker !== undefined));
      if (kill === 'after')
        await workspace.waitForEvents(running?.rollout ?? '', (events) => classes(events).includes('timeout'));
      const pid = /^local-(\d+)$/.exec(running?.worker ?? '')?.[1];
      process.kill(Number(pid), 'SIGKILL');
      const [row] = await workspace.ended(batch);
      const events = await workspace.events(row?.rollout ?? '');
      assert.equal(ofKind(events, 'rollout.lease').length, 2, kill);
      assert.equal(classes(events).filter((each) => each === 'timeout').length, 1, kill);
      assert.deepEqual(responses(events, 'rows'), [{ a: 2, b: 1 }], kill);
      assert.deepEqual([endOf(events).passed, row?.try], [true, 1], kill);
    }
  });
});
