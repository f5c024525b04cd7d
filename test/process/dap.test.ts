// The debug adapter on stdio: a recorded rollout in both directions, and a live one held, edited, forked.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { DebugProtocol } from '@vscode/debugprotocol';
import type { BatchRow } from '../../src/protocol/client.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { until } from '../e2e/support/poll.ts';
import { Bench } from '../support/cli.ts';
import { DebugDialogue } from '../support/debugDialogue.ts';
import { InspectorClient, sourceOf } from '../support/inspectorClient.ts';

let bench: Bench;
let recorded: string;
let dialogue: DebugDialogue | undefined;

before(async () => {
  bench = new Bench();
  await bench.run(['init', bench.path('desk')]);
  const { batch } = await bench.json<{ batch: string }>(['run', 'batches/first.batch.yaml'], {
    cwd: bench.path('desk'),
  });
  recorded = (await rowsOf(batch))[0]?.rollout ?? '';
});
after(async () => bench.close());
afterEach(async () => {
  await dialogue?.close();
  dialogue = undefined;
});

async function rowsOf(batch: string): Promise<RolloutRow[]> {
  return (await bench.json<{ rollouts: RolloutRow[] }>(['show', batch])).rollouts;
}

function rolloutIn(dap: DebugDialogue): string {
  return /r[0-9a-z]{17}/.exec(dap.frames.at(-1)?.source?.path ?? '')?.[0] ?? '';
}

/** Waits until a rollout has ended. */
async function endOf(rollout: string): Promise<RolloutRow> {
  await bench.run(['tail', rollout]);
  return (await bench.json<{ rollout: RolloutRow }>(['show', rollout])).rollout;
}

function begin(): DebugDialogue {
  dialogue = new DebugDialogue(bench.path('desk'), {
    ...process.env,
    HOME: bench.folder,
    XDG_DATA_HOME: bench.folder,
    LOCALAPPDATA: bench.folder,
  });
  return dialogue;
}

const loans = (): string => path.join(bench.path('desk'), 'tools', 'loans.ts');

describe('a recorded rollout', () => {
  it('is stepped through in both directions, in its tools and its text', async () => {
    const dap = begin();
    const first = await dap.start('launch', { mode: 'replay', rollout: recorded, store: bench.store });
    assert.deepEqual([first.reason, first.top], ['entry', 'system message']);
    const stops: string[] = [];
    for (const move of ['next', 'next', 'next', 'next', 'stepIn', 'stepOut', 'stepIn'] as const)
      stops.push((await dap.go(move)).top);
    assert.deepEqual(stops, [
      'user message',
      'step 1 · demo',
      'step 2 · demo',
      'step 3 · demo',
      'list_loans',
      'step 4 · demo',
      'renew_loan',
    ]);
    const [top] = dap.frames;
    assert.equal(top?.source?.path, loans());
    assert.deepEqual(
      dap.frames.map(({ name }) => name),
      ['renew_loan', 'step 4 · demo', 'agent desk', 'renew-one · attempt 1'],
    );
    const back: string[] = [];
    for (let step = 0; step < 7; step++) back.push((await dap.go('stepBack')).top);
    assert.deepEqual(
      back,
      [
        'step 4 · demo',
        'list_loans',
        'step 3 · demo',
        'step 2 · demo',
        'step 1 · demo',
        'user message',
        'system message',
      ],
      'the same stops backward',
    );
  });

  it('shows arguments, result, changes, messages, and usage, and evaluates CEL', async () => {
    const dap = begin();
    await dap.start(
      'launch',
      { mode: 'replay', rollout: recorded, store: bench.store, stopOnEntry: false },
      { functions: [{ name: 'renew_loan' }] },
    );
    const scopes = await dap.scopes();
    assert.deepEqual(scopes['Arguments'], ['loan_id="L-3001"']);
    assert.match(scopes['Result']?.[0] ?? '', /^result=\{loan_id: "L-3001".*due: "2026-04-03"/);
    assert.match(scopes['World Changes']?.[0] ?? '', /^loans L-3001=update loans L-3001 .*"2026-03-20" → "2026-04-03"/);
    const step = await dap.scopes(1);
    assert.match(step['Reply']?.join('\n') ?? '', /^renew_loan=\{loan_id: "L-3001"\}$/m);
    assert.equal(step['New Messages']?.length, 1, 'what the call before did not have');
    assert.ok((step['Context']?.length ?? 0) > 5, 'its whole context');
    assert.equal(await dap.evaluate('tool.arguments.loan_id'), '"L-3001"');
    assert.equal(await dap.evaluate('world.changes.size()'), '1');
    assert.equal(await dap.evaluate('args.loan_id', 'hover'), '"L-3001"', 'as the tool’s code names it');
    await assert.rejects(dap.evaluate('tool.nme =='), /^Error: Column 12: the expression is incomplete/);
    await assert.rejects(dap.evaluate('args.due', 'hover'), /there is no variable "args"/);
    await assert.rejects(dap.evaluate('tool.arguments.due', 'watch'), /^Error: No value: there is no "due" here/);
    assert.deepEqual(
      dap.failures,
      Array.from({ length: 3 }, () => ({ command: 'evaluate', notified: false })),
      'answered where it was asked',
    );
    const { targets } = (
      await dap.client.completionsRequest({ text: 'tool.ar', column: 8, frameId: dap.frames[0]?.id ?? 0 })
    ).body;
    assert.deepEqual(
      targets.map(({ label }) => label),
      ['arguments'],
    );
  });

  it('stops at conditions, hit counts, errors, and log points, in both directions', async () => {
    const dap = begin();
    const file = loans();
    const where = await dap.start(
      'launch',
      { mode: 'replay', rollout: recorded, store: bench.store, stopOnEntry: false },
      {
        functions: [
          { name: 'renew_loan', condition: 'tool.arguments.loan_id == "L-3001"' },
          { name: 'model', hitCondition: '5' },
          { name: 'rnew_loan' },
        ],
        lines: { file, breakpoints: [{ line: 1 }, { line: 11, logMessage: 'looks at {tool.arguments.member_id}' }] },
        exceptions: [{ filterId: 'class:unknown_tool' }],
      },
    );
    assert.deepEqual([where.reason, where.top], ['exception', 'search_members ✗ unknown_tool']);
    const { exceptionId, description } = (await dap.client.customRequest('exceptionInfo', { threadId: dap.thread }))
      .body as { exceptionId: string; description: string };
    assert.equal(exceptionId, 'unknown_tool');
    assert.match(description, /Unknown tool/);
    assert.deepEqual(
      dap.breakpoints.map(({ verified }) => verified),
      [true, true, false, false, true],
    );
    assert.match(dap.breakpoints[2]?.message ?? '', /Unknown tool “rnew_loan”\. Known tools: .*renew_loan/);
    assert.match(dap.breakpoints[3]?.message ?? '', /No rollout stops here/);

    assert.deepEqual((await dap.go('continue')).top, 'renew_loan');
    assert.deepEqual(dap.hit, [dap.breakpoints[0]?.id]);
    assert.deepEqual(dap.output, ['looks at M-1001\n'], 'a log point writes and does not stop');
    assert.deepEqual((await dap.go('continue')).top, 'step 5 · demo', 'the fifth model call');
    const end = await dap.go('continue');
    assert.deepEqual([end.reason, end.top], ['pause', 'step 5 · demo']);
    assert.deepEqual((await dap.go('reverseContinue')).top, 'step 5 · demo');
    assert.deepEqual((await dap.go('reverseContinue')).top, 'renew_loan');
    assert.deepEqual((await dap.go('reverseContinue')).top, 'search_members ✗ unknown_tool');
    assert.deepEqual((await dap.go('reverseContinue')).top, 'system message', 'nothing before: the beginning');
  });

  it('stops at lines of its text, goes to a line, and watches a table of the world', async () => {
    const dap = begin();
    await dap.start('launch', { mode: 'replay', rollout: recorded, store: bench.store });
    const source = dap.frames.at(-1)?.source;
    const text = (await dap.client.sourceRequest({ sourceReference: source?.sourceReference ?? 0 })).body.content;
    const lineOf = (piece: string): number => text.split('\n').findIndex((line) => line.includes(piece)) + 1;
    const { breakpoints } = (
      await dap.client.setBreakpointsRequest({
        source: source ?? {},
        breakpoints: [{ line: lineOf('find_member {') + 1 }],
      })
    ).body;
    assert.deepEqual(
      breakpoints.map(({ verified, line }) => [verified, line]),
      [[true, lineOf('find_member {')]],
      'it slides to the call',
    );
    assert.deepEqual(await dap.go('continue'), { reason: 'breakpoint', top: 'find_member', place: 'members.ts:5' });
    const { targets } = (await dap.client.customRequest('gotoTargets', { source, line: lineOf('step 5') })).body as {
      targets: { id: number }[];
    };
    assert.deepEqual((await dap.go('goto', { targetId: targets[0]?.id ?? 0 })).top, 'step 5 · demo');
    await dap.go('stepBack');
    await dap.client.setBreakpointsRequest({ source: source ?? {}, breakpoints: [] });

    await dap.go('reverseContinue');
    const info = (
      await dap.client.customRequest('setDataBreakpoints', {
        breakpoints: [{ dataId: JSON.stringify({ table: 'loans' }) }],
      })
    ).body as { breakpoints: { verified: boolean }[] };
    assert.equal(info.breakpoints[0]?.verified, true);
    assert.deepEqual((await dap.go('continue')).top, 'renew_loan');
  });

  it('is forked with another model, and the differences are reported', async () => {
    const dap = begin();
    await dap.start('launch', { mode: 'replay', rollout: recorded, step: 2, store: bench.store });
    const fork = await dap.forkWith({ endpoint: 'demo:?latency_ms=1' });
    assert.deepEqual([fork.reason, fork.top], ['entry', 'step 2 · demo']);
    assert.match(
      dap.output.join(''),
      /The fork differs from its parent:\n {2}agent\.model\.endpoints: .* → \["demo:\?latency_ms=1"\]/,
    );
    await dap.go('continue');
    assert.match(dap.output.join(''), /done/);
  });

  it('reports errors in a configuration', async () => {
    const dap = begin();
    await assert.rejects(
      dap.start('launch', { mode: 'replay', store: bench.store }),
      /The replay configuration needs a rollout.*"task"/,
    );
    await dap.close();
    const other = begin();
    await assert.rejects(
      other.start('launch', { mode: 'replay', rollout: 'r01aaaaaaaaaaaaaaa', store: bench.store }),
      /no rollout/,
    );
  });
});

describe('a live rollout', () => {
  it('is held by a condition, edited in place, stepped, looked back at, and scored as edited', async () => {
    const dap = begin();
    const held = await dap.start(
      'launch',
      { mode: 'live', batch: 'batches/first.batch.yaml', store: bench.store },
      {
        functions: [{ name: 'renew_loan', condition: 'tool.arguments.loan_id == "L-3001"' }],
      },
    );
    assert.deepEqual([held.reason, held.top], ['breakpoint', 'renew_loan']);
    assert.deepEqual((await dap.scopes())['Result'], undefined, 'it has not run yet');
    assert.equal(await dap.edit('Arguments', 'loan_id', '"L-3002"'), '"L-3002"');
    const stepped = await dap.go('next');
    assert.deepEqual([stepped.reason, stepped.top], ['step', 'renew_loan'], 'the other side of the call');
    const after = await dap.scopes();
    assert.deepEqual(after['Arguments'], ['loan_id="L-3002"']);
    assert.match(after['Result']?.[0] ?? '', /L-3002/);
    assert.equal((await dap.go('stepBack')).reason, 'step', 'into the record, while it is held');
    await dap.go('reverseContinue');
    assert.equal((await dap.go('continue')).top, 'renew_loan', 'back to the head');
    const end = await dap.go('continue');
    assert.equal(end.reason, 'pause');
    assert.match(dap.output.join(''), /renew-one · attempt 1: done, failed, reward 0/, 'another loan was renewed');
    await assert.rejects(dap.client.customRequest('skip', { result: 1 }), /has ended/);

    // Back to the call, fixed, and once more from there: earlier calls are not repeated.
    while ((await dap.go('stepBack')).top !== 'renew_loan') assert.ok(dap.frames.length > 0);
    assert.equal(
      await dap.edit('Arguments', 'loan_id', 'L-3001'),
      '"L-3001"',
      'a text needs no quotes where a text was',
    );
    assert.match(dap.output.join(''), /Restart Frame forks the rollout/);
    const fork = await dap.restart();
    assert.deepEqual([fork.reason, fork.top], ['entry', 'renew_loan']);
    assert.deepEqual((await dap.scopes())['Arguments'], ['loan_id="L-3001"']);
    await dap.go('continue');
    assert.match(dap.output.join(''), /renew-one · attempt 1: done, passed, reward 1/);
  });

  it('stops on entry, skips a call with a provided result, and is cancelled with the session', async () => {
    const dap = begin();
    dap.clientName = 'Neovim';
    const entry = await dap.start(
      'launch',
      { mode: 'live', batch: 'batches/first.batch.yaml', stopOnEntry: true, store: bench.store },
      { functions: [{ name: 'list_loans' }] },
    );
    assert.deepEqual([entry.reason, entry.top], ['entry', 'step 1 · demo']);
    const { rollout: atEntry } = await bench.json<{ rollout: RolloutRow }>(['show', rolloutIn(dap)]);
    assert.equal(atEntry.progress.hold?.by, 'debugger in Neovim');
    assert.equal((await dap.go('continue')).top, 'list_loans');
    await dap.client.customRequest('skip', { result: [] });
    const rollout = rolloutIn(dap);
    await dap.close();
    const { rollout: row, events } = await bench.json<{
      rollout: RolloutRow;
      events: { kind: string; data: { source?: string } }[];
    }>(['show', rollout]);
    assert.ok(
      events.some(({ kind, data }) => kind === 'tool.end' && data.source === 'edited'),
      'the edited result',
    );
    assert.ok(['cancelled', 'done'].includes(row.progress.status ?? ''), 'it does not stay behind, held');
  });

  it('is not left held when it was forked and the fork is stopped', async () => {
    const dap = begin();
    await dap.start(
      'launch',
      { mode: 'live', batch: 'batches/first.batch.yaml', store: bench.store },
      { functions: [{ name: 'renew_loan' }] },
    );
    const first = rolloutIn(dap);
    await dap.restart();
    const fork = rolloutIn(dap);
    assert.notEqual(fork, first);
    await dap.close();
    for (const rollout of [first, fork]) {
      const { rollout: row } = await bench.json<{ rollout: RolloutRow }>(['show', rollout]);
      assert.deepEqual([row.state, row.progress.status], ['ended', 'cancelled']);
    }
  });

  it('is cancelled when the adapter is killed', async () => {
    const dap = begin();
    await dap.start(
      'launch',
      { mode: 'live', batch: 'batches/first.batch.yaml', store: bench.store },
      { functions: [{ name: 'renew_loan' }] },
    );
    const rollout = rolloutIn(dap);
    dap.kill();
    assert.equal((await endOf(rollout)).progress.status, 'cancelled');
    const { batch } = await bench.json<{ batch: BatchRow }>(['show', (await endOf(rollout)).batch]);
    assert.deepEqual([batch.state, batch.debug], ['ended', true]);
  });

  it('of a real batch goes on when the adapter that attached to it is killed', async () => {
    const { batch } = await bench.json<{ batch: string }>(
      // As VS Code launches it.
      ['run', 'batches/first.batch.yaml', '--hold-attempt', '1', '--held-by', 'debugger in VS Code', '--detach'],
      { cwd: bench.path('desk') },
    );
    await until(async () => (await rowsOf(batch))[0]?.state === 'held', 60_000, 'the entry hold');
    assert.equal((await rowsOf(batch))[0]?.progress.hold?.by, 'debugger in VS Code');
    const dap = begin();
    await dap.start(
      'attach',
      { batch, store: bench.store, stopOnEntry: true },
      { functions: [{ name: 'renew_loan' }] },
    );
    assert.equal((await dap.go('continue')).top, 'renew_loan');
    assert.equal((await rowsOf(batch))[0]?.progress.hold?.by, 'rollout dap');
    dap.kill();
    assert.equal((await endOf(rolloutIn(dap))).progress.status, 'done');
  });

  it('is stepped into the code of a call, in the user’s file, and returns after it', async () => {
    const dap = begin();
    await dap.start(
      'launch',
      { mode: 'live', batch: 'batches/first.batch.yaml', store: bench.store },
      { functions: [{ name: 'renew_loan', condition: 'tool.arguments.loan_id == "L-3001"' }] },
    );
    const { child, stopped } = await dap.stepIntoCode();
    assert.deepEqual(
      [child.request, child.configuration['type'], child.configuration['name']],
      ['attach', 'pwa-node', 'renew_loan'],
    );
    const client = await InspectorClient.attach(String(child.configuration['websocketAddress']));
    assert.equal(await sourceOf(await client.paused()), `${loans()}:20`);
    await client.post('Debugger.stepInto');
    assert.match(await sourceOf(await client.paused()), /desk\.ts:\d+$/);
    await client.post('Debugger.resume');
    assert.deepEqual([(await stopped).reason, (await stopped).top], ['step', 'renew_loan']);
    await client.closed;
    assert.match((await dap.scopes())['Result']?.[0] ?? '', /2026-04-03/);
    await dap.go('continue');
    assert.match(dap.output.join(''), /renew-one · attempt 1: done, passed, reward 1/);
  });

  it('says once that it cannot be stepped into, and otherwise only steps', async () => {
    const dap = begin();
    dap.refusesChildren = true;
    await dap.start(
      'launch',
      { mode: 'live', batch: 'batches/first.batch.yaml', store: bench.store },
      { functions: [{ name: 'list_loans' }, { name: 'renew_loan' }] },
    );
    for (let calls = 0; calls < 2; calls++) {
      assert.equal((await dap.go('stepIn')).reason, 'step');
      await dap.go('continue');
    }
    const said = dap.output.filter((text) => !text.startsWith('renew-one'));
    assert.equal(said.length, 1, said.join(''));
    assert.match(said[0] ?? '', /The JavaScript debugger did not start/);
  });

  it('stops where it lost part of its score, and shows the verdict there', async () => {
    const dap = begin();
    await dap.start(
      'launch',
      { mode: 'live', batch: 'batches/first.batch.yaml', store: bench.store },
      { functions: [{ name: 'renew_loan' }], exceptions: [{ filterId: 'reward', condition: '1' }] },
    );
    await dap.edit('Arguments', 'loan_id', '"L-3002"');
    const scored = await dap.go('continue');
    assert.equal(scored.reason, 'exception');
    assert.equal(await dap.evaluate('reward'), '0');
    const end = await dap.go('continue');
    assert.equal(end.reason, 'pause', 'then the end');
  });

  it('is the requested attempt, and the only one @deep', async () => {
    const dap = begin();
    const entry = await dap.start('launch', {
      mode: 'live',
      batch: 'batches/first.batch.yaml',
      attempt: 3,
      stopOnEntry: true,
      store: bench.store,
    });
    assert.equal(entry.top, 'step 1 · demo');
    assert.match(dap.frames.at(-1)?.name ?? '', /attempt 3$/);
    const rollout = rolloutIn(dap);
    const { rollout: row } = await bench.json<{ rollout: RolloutRow }>(['show', rollout]);
    const others = (await rowsOf(row.batch)).filter(({ attempt }) => attempt !== 3);
    assert.deepEqual(
      others.map(({ state, progress }) => [state, progress.status]),
      [
        ['ended', 'cancelled'],
        ['ended', 'cancelled'],
      ],
      'those before it do nothing',
    );
  });

  it('of a batch: the first match is held, the others run; attached to, it is a thread', async () => {
    const { batch } = await bench.json<{ batch: string }>(
      ['run', 'batches/desk.batch.yaml', '--attempts', '2', '--hold', '--detach'],
      { cwd: bench.path('desk') },
    );
    const dap = begin();
    const where = await dap.start('attach', { batch, store: bench.store, stopOnEntry: true });
    assert.match(where.top, /^step 1/);
    const { threads } = (await dap.client.threadsRequest()).body;
    assert.equal(threads.length, 1, 'exactly one is held');
    await dap.close();
  });

  it('of a batch: each held one is a thread, continues independently, and leaves when it ends @deep', async () => {
    await bench.run(['init', bench.path('slow')]);
    const agent = path.join(bench.path('slow'), 'agents', 'desk.agent.yaml');
    await writeFile(
      agent,
      (await readFile(agent, 'utf8')).replace(/endpoint: .*/, "endpoint: 'demo:?latency_ms=2500&slots=16'"),
    ); // an adapter takes a while to attach
    const { batch } = await bench.json<{ batch: string }>(
      ['run', 'batches/desk.batch.yaml', '--attempts', '1', '--limit', '3', '--hold', '--detach'],
      { cwd: bench.path('slow') },
    );
    const dap = begin();
    const threads = new Set<number>();
    let exited = 0;
    dap.client.on('thread', ({ body }: DebugProtocol.ThreadEvent) => {
      if (body.reason === 'started') threads.add(body.threadId);
      else exited += 1;
    });
    const stopped: number[] = [];
    dap.client.on('stopped', ({ body }: DebugProtocol.StoppedEvent) => stopped.push(body.threadId ?? 0));
    await dap.start(
      'attach',
      { batch, store: bench.store, stopOnEntry: true },
      { functions: [{ name: 'model', condition: 'step > 1' }] },
    );
    await until(() => threads.size === 3, 60_000, 'three threads');
    const names = (await dap.client.threadsRequest()).body.threads.map(({ name }) => name);
    assert.deepEqual([names.length, new Set(names).size], [3, 3], names.join(', '));
    await until(() => new Set(stopped).size === 3, 60_000, 'each of them stopped');
    const [first = 0, second = 0] = threads;
    const before = stopped.filter((id) => id === second).length;
    await dap.client.continueRequest({ threadId: first });
    await until(() => stopped.filter((id) => id === first).length === 2, 60_000, 'the first goes on to its next step');
    assert.equal(stopped.filter((id) => id === second).length, before, 'alone');
    await dap.set({ functions: [] });
    for (const threadId of threads) await dap.client.continueRequest({ threadId });
    await until(() => exited === 3, 60_000, 'their ends');
    assert.deepEqual((await dap.client.threadsRequest()).body.threads, []);
    await dap.close();
  });
});
