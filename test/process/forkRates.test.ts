// What a fork reports next to its parent: pass@k from here with intervals, and its overrides.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { connect } from '../../src/client/connect.ts';
import type { JsonObject } from '../../src/common/json.ts';
import type { BatchRow } from '../../src/protocol/client.ts';
import type { EventOf, TraceEvent } from '../../src/trace/schema.ts';
import type { ForkRates } from '../../src/trace/statistics/forkRates.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { Bench } from '../support/cli.ts';
import { ofKind, Workspace } from '../support/testWorkspace.ts';
import { type WatchedDemo, watchedDemo } from '../support/watchedDemo.ts';

interface ForkResult {
  readonly batch: string;
  readonly passed: number;
  readonly attempts: number;
  readonly fork: ForkRates;
}

/** Of the parent. */
const ATTEMPTS = 8;

interface FailedCall {
  readonly rollout: string;
  readonly events: TraceEvent[];
  readonly call: EventOf<'tool.start'>;
  /** The message that requested the call, and the call's position in it. */
  readonly message: EventOf<'message'>;
  readonly part: number;
}

/** An attempt that failed because a call could not be parsed: the loan was never renewed. */
async function failedCall(
  rows: readonly RolloutRow[],
  read: (rollout: string) => Promise<TraceEvent[]>,
): Promise<FailedCall> {
  for (const { rollout, progress } of rows) {
    const events = progress.passed === false ? await read(rollout) : [];
    const wrong = new Set(
      ofKind(events, 'tool.end')
        .filter(({ data }) => data.error?.class === 'malformed_output')
        .map(({ span }) => span),
    );
    const call = ofKind(events, 'tool.start').find(({ seq, data }) => wrong.has(seq) && data.name === 'renew_loan');
    const message = ofKind(events, 'message').findLast(
      ({ seq, data }) => call !== undefined && seq < call.seq && data.origin === 'sampled',
    );
    const part = message?.data.parts.findIndex((one) => one.type === 'tool_call' && one.id === call?.data.call) ?? -1;
    if (call !== undefined && message !== undefined && part >= 0) return { rollout, events, call, message, part };
  }
  throw new Error('no attempt of the sample failed at a call that could not be read');
}

let demo: WatchedDemo;
before(async () => {
  demo = await watchedDemo();
});
after(() => demo.close());

describe('a fork of the sample at the step before a failed call', { timeout: 480_000 }, () => {
  const bench = new Bench({ env: { ROLLOUT_SANDBOX: 'off' } }); // its tools leave marks elsewhere
  const marks = bench.path('marks');
  const inSample = (args: string[]): { cwd: string } & { args: string[] } => ({ args, cwd: bench.path('desk') });
  const json = <T>(...args: string[]): Promise<T> => bench.json<T>(args, { cwd: inSample(args).cwd });
  /** The tool calls since the previous call of this. */
  const newCalls = (): string[] => {
    const lines = existsSync(marks) ? readFileSync(marks, 'utf8').trim().split('\n') : [];
    rmSync(marks, { force: true });
    return lines.sort();
  };
  before(async () => {
    await bench.run(['init', bench.path('desk')]);
    const agent = bench.path('desk', 'agents', 'desk.agent.yaml');
    writeFileSync(agent, readFileSync(agent, 'utf8').replace(/endpoint: .*/, `endpoint: '${demo.url}'`));
    // Its tools log their actual executions.
    const world = bench.path('desk', 'worlds', 'library.ts');
    writeFileSync(
      world,
      readFileSync(world, 'utf8')
        .replace(/^import type/m, "import { appendFileSync } from 'node:fs';\nimport type")
        .replace(
          '{ ...members, ...books, ...loans, ...holds, ...fines }',
          'marked({ ...members, ...books, ...loans, ...holds, ...fines })',
        ) +
        `
function marked(tools) {
  return Object.fromEntries(Object.entries(tools).map(([name, one]) => [name, { ...one, run: (args, context) => { \
appendFileSync(${JSON.stringify(marks)}, name + ' ' + JSON.stringify(args) + '\\n'); return one.run(args, context); } \
}]));
}
`,
    );
  });
  after(() => bench.close());

  it('reports its pass rate next to the parent’s, and makes no call of its prefix twice', async () => {
    const parent = await json<{ batch: string; passed: number; attempts: number }>(
      'run',
      'batches/desk.batch.yaml',
      '--task',
      'renew-one',
      '--attempts',
      String(ATTEMPTS),
      '--seed',
      '11',
    );
    const { api } = await connect({ store: bench.store, start: false });
    const read = async (rollout: string): Promise<TraceEvent[]> =>
      (await Array.fromAsync(api.allEvents(rollout))).flat();
    const { rollout, events, call, message, part } = await failedCall(
      await Array.fromAsync(api.allRollouts(parent.batch)),
      read,
    );
    const edit = bench.path('edit.json');
    writeFileSync(
      edit,
      JSON.stringify([{ of: { m: message.data.m }, path: `/parts/${part}/arguments`, value: { loan_id: 'L-3001' } }]),
    );

    newCalls();
    const cut = call.seq - 1;
    const before = demo.counters().completions;
    const prefix = events.filter((event) => event.seq <= cut);
    const result = await json<ForkResult>('fork', `${rollout}@${cut}`, '-k', '4', '--edit', edit);
    const forked = await Array.fromAsync(api.allRollouts(result.batch));
    const own = (await Promise.all(forked.map((row) => read(row.rollout)))).map((all) =>
      all.filter((event) => event.seq > cut),
    );
    const live = own.flatMap((all) => ofKind(all, 'model.end')).filter((event) => event.data.source === 'live').length;
    assert.equal(demo.counters().completions - before, live, 'every call of the model is one behind the cut');
    const calls = own
      .flatMap((all) => ofKind(all, 'tool.end'))
      .filter(
        (end) =>
          end.data.source === 'live' &&
          end.data.error?.class !== 'invalid_arguments' &&
          end.data.error?.class !== 'unknown_tool' &&
          end.data.error?.class !== 'malformed_output',
      ).length;
    const marked = newCalls();
    assert.equal(marked.length, calls, 'so is every call of a tool');
    for (const start of ofKind(prefix, 'tool.start')) {
      const again = marked.filter(
        (line) => line === `${start.data.name} ${JSON.stringify(start.data.arguments)}`,
      ).length;
      const repeated = own
        .flatMap((all) => ofKind(all, 'tool.start'))
        .filter(
          (one) =>
            one.data.name === start.data.name &&
            JSON.stringify(one.data.arguments) === JSON.stringify(start.data.arguments),
        ).length;
      assert.equal(again, repeated, `${start.data.name} was requested before the cut`);
    }

    // Next to the parent's.
    const { fork: rates } = result;
    assert.deepEqual([rates.seq, rates.fork.scored, rates.fork.passed], [cut, 4, result.passed]);
    assert.deepEqual([rates.parent.scored, rates.parent.passed], [ATTEMPTS, parent.passed]);
    assert.deepEqual([rates.siblings?.scored, rates.siblings?.passed], [1, 0], 'nobody else has that call');
    assert.ok(result.passed >= 1, 'the right call was what was missing');
    assert.equal(rates.difference?.of, 'siblings');
    assert.ok(
      rates.difference.interval[0] < rates.difference.value && rates.difference.value <= rates.difference.interval[1],
    );
    assert.deepEqual(Object.keys(rates.fork.pass_at), ['1', '2', '3', '4']);
    assert.equal(rates.fork.pass_at[1], result.passed / 4);

    // The same in every view.
    assert.deepEqual((await json<ForkResult>('report', result.batch)).fork, rates);
    assert.deepEqual((await json<{ fork: ForkRates }>('show', result.batch)).fork, rates);
    const output = (await bench.run(['show', result.batch])).stdout;
    assert.match(output, new RegExp(`from event ${cut} on +passed +pass@1 +95% +pass@4`));
    assert.match(output, new RegExp(`this fork +${result.passed}/4 `));
    assert.match(output, new RegExp(`parent, all attempts +${parent.passed}/${ATTEMPTS} `));
    assert.match((await bench.run(['report', result.batch])).stdout, /parent, same path/);
  });
});

describe('a fork with overrides', { timeout: 480_000 }, () => {
  const workspace = new Workspace();
  const agentFile = (name: string, agent: JsonObject): string =>
    workspace.write(name, JSON.stringify({ version: 1, name: 'tester', prompt: 'Follow the directions.', ...agent }));
  let rollout: string;
  before(async () => {
    workspace.write(
      'look.ts',
      `import { tool } from 'rollout-studio';
import { z } from 'zod';
export const look = tool({ description: 'Looks.', input: z.object({ text: z.string() }), effect: 'pure', run: ({ text \
}) => 'seen ' + text });
`,
    );
    const file = workspace.batch('other', {
      endpoint: demo.url,
      tasks: [
        { id: 'it', question: 'call look {"text": "a"}\ncall look {"text": "b"}\nanswer {{last}}', answer: 'seen' },
      ],
      agent: { tools: [{ module: 'look.ts' }] },
    });
    const { batch } = await workspace.json<{ batch: string }>('run', file);
    const [row] = (await workspace.rows(batch)) as [RolloutRow];
    ({ rollout } = row);
  });
  after(() => workspace.close());

  /** Forks, and returns what was announced before and what is recorded. */
  async function forked(
    ...args: string[]
  ): Promise<{ batch: string; differs: string[]; kept: string[]; models: unknown[]; rates: ForkRates }> {
    const from = demo.receivedRequests.length;
    const { differs } = await workspace.json<{ differs: string[] }>('fork', `${rollout}:2`, ...args, '--dry-run');
    const ran = await workspace.run('fork', `${rollout}:2`, ...args, '--json');
    assert.equal(ran.code, 0, ran.stderr);
    for (const line of differs) assert.ok(ran.stderr.includes(`  ${line}\n`), ran.stderr);
    const { batch, fork } = JSON.parse(ran.stdout) as ForkResult;
    const row: BatchRow = await (await workspace.api()).batch(batch);
    const [start] = ofKind(await workspace.events(batch), 'batch.start');
    assert.deepEqual(start?.data.parent, row.parent);
    return {
      batch,
      differs,
      kept: row.parent?.differs ?? [],
      models: demo.receivedRequests.slice(from).map((body) => body['model']),
      rates: fork,
    };
  }

  it('runs by default what its parent ran, even if the files changed', async () => {
    workspace.write('other.agent.yaml', 'broken: [');
    const { differs, kept, models } = await forked();
    assert.deepEqual([differs, kept], [[], []]);
    assert.deepEqual(models, ['demo', 'demo']);
    agentFile('other.agent.yaml', { model: { endpoint: demo.url, name: 'demo' }, tools: [{ module: 'look.ts' }] });
  });

  it('reports, records, and calls another model @deep', async () => {
    const second = await watchedDemo();
    try {
      const { differs, kept, models, batch, rates } = await forked('--endpoint', second.url);
      assert.deepEqual(differs, [`agent.model.endpoints: ["${demo.url}"] → ["${second.url}"]`]);
      assert.deepEqual(kept, differs);
      assert.deepEqual([models, second.receivedRequests.length], [[], 2]);
      assert.deepEqual([rates.fork.passed, rates.parent.passed, rates.siblings?.passed], [1, 1, 1]);
      assert.match(
        (await workspace.run('show', batch)).stdout,
        /The fork differs from its parent:\n {2}agent\.model\.endpoints: /,
      );
      assert.deepEqual(
        (await workspace.json<{ differs: string[] }>('fork', `${rollout}:2`, '--model', 'larger', '--dry-run')).differs,
        ['agent.model.name: demo → larger'],
      );
    } finally {
      await second.close();
    }
  });

  it('continues with another agent where the first left off @deep', async () => {
    agentFile('second.agent.yaml', {
      name: 'second',
      prompt: 'Follow the directions, and be brief.',
      model: { endpoint: demo.url, name: 'demo', sampling: { temperature: 0 } },
      tools: [{ module: 'look.ts' }],
    });
    const { differs, kept } = await forked('--agent', 'second.agent.yaml');
    assert.deepEqual(differs, [
      'agent.name: tester → second',
      'agent.model.sampling.temperature added: 0',
      'agent.prompt: Follow the directions. → Follow the directions, and be brief.',
    ]);
    assert.deepEqual(kept, differs);
    const missing = await workspace.run('fork', `${rollout}:2`, '--agent', 'none.agent.yaml');
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /none\.agent\.yaml/);
  });

  it('reports code and dataset that changed since @deep', async () => {
    workspace.write(
      'look.ts',
      `import { tool } from 'rollout-studio';
import { z } from 'zod';
export const look = tool({ description: 'Looks.', input: z.object({ text: z.string() }), effect: 'pure', run: ({ text \
}) => 'saw ' + text });
`,
    );
    workspace.write('other.jsonl', JSON.stringify({ id: 'it', question: 'answer 1', answer: '1' }));
    const { differs, kept, batch, rates } = await forked('--batch', 'other.batch.yaml');
    assert.deepEqual(differs, ['code of look.ts changed']);
    assert.deepEqual(kept, differs);
    assert.deepEqual([rates.fork.passed, rates.parent.passed], [0, 1], 'the new code answered');
    const [row] = await workspace.rows(batch);
    assert.equal(
      (await (await workspace.api()).rollout(row!.rollout)).task.answer,
      'seen',
      'the task is the recorded one',
    );
    assert.match(
      (await workspace.run('fork', `${rollout}:2`, '--batch', 'other.batch.yaml', '--dry-run')).stdout,
      /Task it has changed in the dataset/,
    );
  });
});
