// Tool calls after the fact: their statistics, recorded calls that run again, tests written from them. On a real store,
// with real workers.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { testCase } from '../../src/client/toolCalls/testCase.ts';
import type { Json } from '../../src/common/json.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { Bench } from '../support/cli.ts';
import { type DemoServer, startDemoServer } from '../support/demoServer.ts';
import { ofKind, Workspace } from '../support/testWorkspace.ts';

interface RepeatedCall {
  readonly status: string;
  readonly result?: Json;
  readonly error?: {
    readonly class: string;
    readonly message: string;
    readonly stack?: string;
    readonly place?: { readonly file: string; readonly line: number };
  };
  readonly same: boolean | null;
  readonly changed: readonly string[];
  readonly log: string;
  readonly recorded: { readonly arguments: Json; readonly result?: Json; readonly seed: number };
}

const HEAD = `import { tool } from 'rollout-studio';
import { z } from 'zod';
`;
const DICE = `${HEAD}
export const half = tool({
  description: 'Halves.', input: z.object({ n: z.number().int().describe('An even number') }), effect: 'pure',
  run: ({ n }, { log, seed }) => {
    log('halving ' + n);
    if (n % 2 !== 0) throw new Error('odd: ' + n);
    return { half: n / 2, seed };
  },
});
`;

describe('calls of tools', { timeout: 480_000 }, () => {
  let demo: DemoServer;
  let workspace: Workspace;
  let batch: string;
  let rollout: string;
  let events: TraceEvent[];
  const call = (nth: number): number => ofKind(events, 'tool.start')[nth]?.seq ?? 0;

  before(async () => {
    demo = await startDemoServer();
    // A tool writes elsewhere.
    workspace = new Workspace(new Bench({ sharesProcess: true, env: { ROLLOUT_SANDBOX: 'off' } }));
    workspace.write('dice.ts', DICE);
    workspace.write(
      'sending.ts',
      `${HEAD}
import { appendFileSync } from 'node:fs';
export const send = tool({ description: 'Sends.', input: z.object({ text: z.string() }), effect: 'irreversible', run: \
({ text }) => { appendFileSync(${JSON.stringify(workspace.path('sent'))}, text); return 'sent'; } });
`,
    );
    workspace.write(
      'counting.ts',
      `${HEAD}
export const add = tool({ description: 'Adds.', input: z.object({ n: z.number() }), run: ({ n }, { state }) => { \
state.count += n; return state.count; } });
export const open = (task, seed, from) => {
  const state = { count: from === undefined ? seed % 10 : Number(new TextDecoder().decode(from)) };
  return { state, tools: { add }, verify: () => ({ value: 1, passed: true }), snapshot: () => new \
TextEncoder().encode(String(state.count)) };
};
`,
    );
    const file = workspace.batch('calls', {
      endpoint: demo.url,
      tasks: [
        {
          id: 'it',
          question:
            'call half {"n": 4}\ncall half {"n": 3}\ncall send {"text": "a"}\ncall add {"n": 1} times 18\ncall ' +
            'half {"n": 8}\nanswer {{last}}',
        },
      ],
      agent: { tools: [{ module: 'dice.ts' }, { module: 'sending.ts' }], limits: { steps: 40 } },
      world: { kind: 'module', module: 'counting.ts' },
    });
    batch = (await workspace.json<{ batch: string }>('run', file)).batch;
    const [row] = await workspace.rows(batch);
    rollout = row?.rollout ?? '';
    events = await workspace.events(rollout);
    assert.equal(ofKind(events, 'tool.start').length, 22);
  });
  after(async () => {
    await workspace.close();
    await demo.close();
  });

  it('have statistics for each tool, and are listed', async () => {
    const { tools, read } = await workspace.json<{
      tools: {
        tool: string;
        calls: number;
        errors: number;
        byClass: object;
        p50: number | null;
        in: { passed: object };
      }[];
      read: object;
    }>('tools', batch);
    assert.deepEqual(
      tools.map(({ tool, calls, errors }) => [tool, calls, errors]),
      [
        ['add', 18, 0],
        ['half', 3, 1],
        ['send', 1, 0],
      ],
    );
    assert.deepEqual(
      [tools[1]?.byClass, tools[1]?.in.passed, read],
      [{ tool_error: 1 }, { used: 1, of: 1 }, { attempts: 1, read: 1 }],
    );
    assert.equal(typeof tools[0]?.p50, 'number');
    const text = (await workspace.run('tools', batch)).stdout;
    assert.match(text, /half +3 +33% .* tool_error 1/);
    const calls = await workspace.run('tools', batch, '--calls', 'half', '--errors');
    assert.match(calls.stdout, new RegExp(`^${rollout}@${call(1)}  half {n: 3} ✗ tool_error: odd: 3$`, 'm'));
    const none = await workspace.run('tools', batch, '--calls', 'nothing');
    assert.equal(none.code, 2);
    assert.match(none.stderr, /called the tool nothing/);
  });

  it('run again with the same seed and the same result; other arguments have other results', async () => {
    const again = await workspace.json<RepeatedCall>('call', `${rollout}@${call(0)}`);
    assert.deepEqual([again.status, again.same, again.changed, again.log.trim()], ['ok', true, [], 'halving 4']);
    assert.deepEqual(again.result, { half: 2, seed: again.recorded.seed });
    const failed = await workspace.json<RepeatedCall>('call', `${rollout}@${call(1)}`);
    assert.deepEqual(
      [failed.status, failed.same, failed.error?.class, failed.error?.message],
      ['error', true, 'tool_error', 'odd: 3'],
    );
    assert.deepEqual([failed.error?.place?.file, failed.error?.place?.line], ['dice.ts', 8]);
    const other = await workspace.json<RepeatedCall>(
      'call',
      `${rollout}@${call(0)}`,
      '--arguments',
      workspace.write('other.json', '{"n": 10}'),
    );
    assert.deepEqual([other.same, (other.result as { half: number }).half], [null, 5]);
    const wrong = await workspace.json<RepeatedCall>(
      'call',
      `${rollout}@${call(0)}`,
      '--arguments',
      workspace.write('wrong.json', '{"n": "ten"}'),
    );
    assert.equal(wrong.error?.class, 'invalid_arguments');
    assert.match(wrong.error.message, /n must be integer/);
  });

  it('run again with the current code, or the recorded one', async () => {
    workspace.write('dice.ts', DICE.replace("throw new Error('odd: ' + n)", 'return { half: (n - 1) / 2, seed }'));
    try {
      const now = await workspace.json<RepeatedCall>('call', `${rollout}@${call(1)}`);
      assert.deepEqual(
        [now.status, now.same, now.changed, (now.result as { half: number }).half],
        ['ok', false, ['dice.ts'], 1],
      );
      const then = await workspace.json<RepeatedCall>('call', `${rollout}@${call(1)}`, '--recorded-code');
      assert.deepEqual([then.status, then.same, then.changed], ['error', true, []]);
    } finally {
      workspace.write('dice.ts', DICE);
    }
  });

  it('run again in the recorded world, from its snapshot and the calls since', async () => {
    const adds = ofKind(events, 'tool.start').filter(({ data }) => data.name === 'add');
    assert.ok(ofKind(events, 'world.snapshot').length > 0, 'there is a snapshot before the last calls');
    for (const start of [adds[0], adds[5], adds[17]]) {
      const again = await workspace.json<RepeatedCall>('call', `${rollout}@${start?.seq ?? 0}`);
      assert.deepEqual([again.same, again.result], [true, again.recorded.result], `call @${start?.seq ?? 0}`);
    }
  });

  it('do not run when irreversible unless confirmed, and not for an imported rollout', async () => {
    const sent = readFileSync(workspace.path('sent'), 'utf8');
    const refused = await workspace.run('call', `${rollout}@${call(2)}`);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /irreversible effects[^]*--accept-irreversible/);
    assert.equal(readFileSync(workspace.path('sent'), 'utf8'), sent);
    const accepted = await workspace.json<RepeatedCall>('call', `${rollout}@${call(2)}`, '--accept-irreversible');
    assert.deepEqual([accepted.same, readFileSync(workspace.path('sent'), 'utf8')], [true, `${sent}a`]);
    const none = await workspace.run('call', `${rollout}@1`);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /No tool call starts at event 1/);
  });

  it('are described: the tool’s schema and the preceding events', async () => {
    const described = await workspace.json<{
      parameters: { properties: object };
      effect: string;
      of_world: boolean;
      world: { before: { name: string }[] };
    }>('call', `${rollout}@${call(4)}`, '--describe');
    assert.deepEqual(
      [Object.keys(described.parameters.properties), described.effect, described.of_world],
      [['n'], 'restorable', true],
    );
    assert.deepEqual(
      described.world.before.map(({ name }) => name),
      ['half', 'half', 'send', 'add'],
    );
  });

  it('become tests, of a tool and of a world; the test of a changed tool fails', async () => {
    const described = await workspace.json<{
      seed: number;
      world: { seed: number; before: { name: string; arguments: Json; effect: string }[] };
      task: Json;
    }>('call', `${rollout}@${call(4)}`, '--describe');
    const base = {
      seed: described.seed,
      recorded: `task it (${rollout})`,
      command: 'rollout test …',
      error: undefined,
    };
    const half = { ...base, name: 'half', module: '../dice.ts' };
    workspace.write(
      'tests/half.test.ts',
      testCase({ ...half, arguments: { n: 4 }, result: { half: 2, seed: base.seed } }),
    );
    workspace.write(
      'tests/odd.test.ts',
      testCase({ ...half, arguments: { n: 3 }, result: undefined, error: { class: 'tool_error', message: 'odd: 3' } }),
    );
    const before = described.world.before.filter(({ effect }) => effect === 'restorable');
    const recorded = await workspace.json<RepeatedCall>('call', `${rollout}@${call(4)}`);
    workspace.write(
      'tests/add.test.ts',
      testCase({
        ...base,
        name: 'add',
        module: '../counting.ts',
        arguments: { n: 1 },
        result: recorded.result,
        world: { seed: described.world.seed, task: described.task, before },
      }),
    );
    const passed = await workspace.run('test', 'tests/half.test.ts', 'tests/odd.test.ts', 'tests/add.test.ts');
    assert.equal(passed.code, 0, passed.stdout + passed.stderr);
    assert.match(passed.stdout, /pass 3/);
    workspace.write('dice.ts', DICE.replace('half: n / 2', 'half: n'));
    try {
      const failed = await workspace.run('test', 'tests/half.test.ts');
      assert.equal(failed.code, 1);
      assert.match(failed.stdout, /half\.test\.ts:\d+/, 'the stack names the test as it is written');
    } finally {
      workspace.write('dice.ts', DICE);
    }
  });

  it('of a file without tests do not pass', async () => {
    workspace.write('tests/none.test.ts', 'export {};\n');
    const run = await workspace.run('test', 'tests/half.test.ts', 'tests/none.test.ts');
    assert.equal(run.code, 1);
    assert.match(run.stdout, /ℹ tests 1\n.*ℹ pass 1\n.*✖ tests\/none\.test\.ts has no tests\.\n$/s);
    const none = await workspace.run('test', 'tests/none.test.ts');
    assert.deepEqual([none.code, /ℹ tests 0\n/.test(none.stdout)], [1, true], none.stdout);
    workspace.write('tests/broken.test.ts', "throw new Error('It is broken.');\n");
    const broken = await workspace.run('test', 'tests/broken.test.ts');
    assert.equal(broken.code, 1);
    assert.match(broken.stdout, /It is broken\..*ℹ fail 1\n/s);
    assert.doesNotMatch(broken.stdout, /no tests/);
  });

  it('leave nothing behind', async () => {
    const temporary = workspace.path('temporary');
    mkdirSync(temporary);
    const env = { TMPDIR: temporary, TEMP: temporary, TMP: temporary };
    await workspace.bench.json<RepeatedCall>(['call', `${rollout}@${call(0)}`], { cwd: workspace.path(), env });
    await workspace.bench.run(['test', 'tests/odd.test.ts'], { cwd: workspace.path(), env });
    assert.deepEqual(
      readdirSync(temporary).filter((name) => name.startsWith('rollout-')),
      [],
    );
  });
});
