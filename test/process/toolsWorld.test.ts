// Worlds written as modules: sessions, verdicts, snapshots, changes; and exported functions.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import type { SubmittedModule, SubmittedModuleWorld } from '../../src/config/submission.ts';
import type { Verdict, World, WorldSession } from '../../src/rollout/ports.ts';
import { runExport } from '../../src/tools/modules/exports.ts';
import { ClassedError } from '../../src/trace/classedError.ts';
import { openWorld } from '../../src/worlds/open.ts';
import { hasEnded } from '../support/cli.ts';
import { isClass } from '../support/stubServer.ts';
import type { ToolBench } from '../support/tools.ts';
import { callContext, callText, callTool, toolBench } from '../support/tools.ts';

const never = new AbortController().signal;
const judging = { signal: never, ask: () => assert.fail('no model is asked') };
const task = { id: 't1', question: 'q', meta: {} };
let bench: ToolBench;
let world: World;
let submitted: SubmittedModuleWorld;

before(async () => {
  bench = await toolBench({ sandbox: 'on' });
  submitted = {
    name: 'shop',
    file: 'shop.world.yaml',
    kind: 'module',
    module: await bench.module('shop.world.ts'),
    perturb: [],
  };
  world = openWorld(submitted, bench.environment);
});
after(() => bench.close());

const open = (seed = 5, from?: Uint8Array): Promise<WorldSession> =>
  world.open({ task, seed, ...(from === undefined ? {} : { from }) }, never);

describe('a world of a module', () => {
  it('has tools that act on its state, and reports changes', async () => {
    const session = await open();
    const take = session.specs.find((spec) => spec.name === 'take');
    assert.deepEqual(
      [take?.effect, take?.sessionBound, take?.from, take?.place?.line],
      ['restorable', false, { kind: 'world', name: 'shop' }, 21],
    );
    const outcome = await callTool(session, 'take', { thing: 'apple' });
    assert.deepEqual(outcome, {
      response: { left: 4 },
      changes: [{ table: 'stock', key: 'apple', op: 'update', before: 5, after: 4 }],
    });
    assert.deepEqual(await callTool(session, 'count'), { response: { apple: 4, pear: 2 } });
    await session.close();
  });

  it('reports the changes before a tool failed', async () => {
    const session = await open();
    const error = await callTool(session, 'take', { thing: 'plum' }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof ClassedError);
    assert.equal(error.message, 'there is not enough plum');
    assert.deepEqual(error.place, { file: 'shop.world.ts', line: 26, column: 31 });
    assert.deepEqual(error.changes, [{ table: 'stock', key: 'plum', op: 'insert', after: -1 }]);
    await session.close();
  });

  it('verifies its final state', async () => {
    const session = await open();
    assert.deepEqual(await session.verify?.({ answer: 'x', expected: 5 }, judging), {
      value: 1,
      passed: true,
      explanation: '5 apples, answer "x"',
    });
    assert.equal((await session.verify?.({ answer: 'x', expected: undefined }, judging))?.passed, false);
    await assert.rejects(
      async () => session.verify?.({ answer: 'bad', expected: 5 }, judging),
      isClass('world_error', /^verify must return/),
    );
    await session.close();
  });

  it('continues from a snapshot', async () => {
    const session = await open();
    await callTool(session, 'take', { thing: 'pear', count: 2 });
    const snapshot = await session.snapshot?.(never);
    await session.close();
    const again = await open(9, snapshot);
    assert.deepEqual((await callTool(again, 'count')).response, { apple: 5, pear: 0 });
    await again.close();
  });

  it('keeps sessions apart, and leaves its thread to the next when it closed', async () => {
    const [one, two] = await Promise.all([open(1), open(2)]);
    await callTool(one, 'take', { thing: 'apple' });
    assert.deepEqual((await callTool(two, 'count')).response, { apple: 2, pear: 2 });
    const before = (await callTool(one, 'opened')).response;
    await one.close();
    const three = await open(3);
    assert.equal((await callTool(three, 'opened')).response, Number(before) + 1);
    assert.deepEqual((await callTool(three, 'count')).response, { apple: 3, pear: 2 });
    await Promise.all([two.close(), three.close()]);
    assert.ok(bench.late.includes('out: closed\n'));
  });

  it('runs one call at a time', async () => {
    const session = await open();
    const slow = callTool(session, 'slow');
    const cancelled = callTool(session, 'count', {}, callContext(AbortSignal.timeout(10)));
    await assert.rejects(cancelled, isClass('timeout', /time limit/));
    assert.equal((await slow).response, 'done');
    assert.deepEqual((await callTool(session, 'count')).response, { apple: 5, pear: 2 });
    await session.close();
  });

  it('is lost with its thread, and reports that from then on', async () => {
    const session = await open();
    await assert.rejects(
      callTool(session, 'hang', {}, callContext(AbortSignal.timeout(50))),
      isClass('timeout', /time limit/),
    );
    await assert.rejects(callTool(session, 'count'), isClass('world_error', /thread has exited/));
    await assert.rejects(
      async () => session.verify?.({ answer: 'x', expected: 5 }, judging),
      isClass('world_error', /thread has exited/),
    );
    await session.close();
    const other = await open();
    await assert.rejects(callTool(other, 'leave'), isClass('world_error', /process\.exit\(1\)/));
    await other.close();
    const next = await open();
    assert.deepEqual((await callTool(next, 'count')).response, { apple: 5, pear: 2 });
    await next.close();
  });

  it('that does not open is a world_error with its place', async () => {
    await assert.rejects(world.open({ task: { ...task, id: 'broken' }, seed: 1 }, never), (error) => {
      assert.ok(error instanceof ClassedError);
      assert.deepEqual(
        [error.class, error.message, error.place?.file, error.place?.line],
        ['world_error', 'no such shop', 'shop.world.ts', 14],
      );
      return true;
    });
  });

  it('without open is a world_error', async () => {
    const wrong = openWorld({ ...submitted, module: await bench.module('hostile.ts') }, bench.environment);
    await assert.rejects(wrong.open({ task, seed: 1 }, never), isClass('world_error', /must export a function `open`/));
  });
});

describe('a world that judges', () => {
  let own: ToolBench; // without a sandbox, in which processes would have IDs of their own
  let module: SubmittedModule;
  let judge: World;
  before(async () => {
    own = await toolBench();
    module = await own.module('spy.world.ts');
    judge = openWorld({ ...submitted, module }, own.environment, true);
  });
  after(() => own.close());
  const openJudge = (id: string): Promise<WorldSession> => judge.open({ task: { ...task, id }, seed: 1 }, never);
  const judged = (session: WorldSession): Promise<Verdict> | undefined =>
    session.verify?.({ answer: 'x', expected: 'the answer' }, judging);
  const pidOf = (session: WorldSession): Promise<string> => callText(session, 'pid');

  it('gets the answer where no tool runs, and judges the final state there', async () => {
    const spy = await openJudge('saved');
    await callTool(spy, 'listen');
    await spy.close();
    const honest = await openJudge('saved'); // on the same thread
    await callTool(honest, 'write', { text: 'the answer' });
    own.late.length = 0;
    const verdict = await judged(honest);
    assert.equal(verdict?.passed, true);
    assert.deepEqual(own.late, ['out: judged\n']);
    const pid = await pidOf(honest);
    await honest.close();
    const next = await openJudge('saved');
    assert.deepEqual((await callTool(next, 'heard')).response, []);
    await next.close();
    assert.notEqual(verdict.explanation, pid);
  });

  it('fails with what its own code says', async () => {
    const session = await openJudge('saved');
    await callTool(session, 'write', { text: 'broken' });
    await assert.rejects(
      async () => judged(session),
      (error) =>
        isClass('world_error', /^no rule for this$/)(error) &&
        error instanceof ClassedError &&
        error.place?.file === 'spy.world.ts',
    );
    await callTool(session, 'write', { text: 'unsavable' });
    await assert.rejects(async () => judged(session), isClass('world_error', /^cannot save$/));
    await session.close();
  });

  it('has a process of its own if it has no snapshots, which ends with its rollout', async () => {
    const shared = openWorld({ ...submitted, module }, own.environment);
    const other = await shared.open({ task, seed: 1 }, never);
    for (const _ of [1, 2]) {
      const session = await openJudge('unsaved');
      const pid = await pidOf(session);
      assert.notEqual(pid, await pidOf(other));
      assert.equal((await judged(session))?.explanation, pid);
      await session.close();
      await own.environment.pools.endRollout(own.cwd);
      assert.ok(await hasEnded(Number(pid), 10_000));
    }
    await other.close();
  });
});

describe('an exported function', () => {
  it('takes and returns JSON', async () => {
    assert.deepEqual(
      await runExport(submitted.module, 'count_words', [{ answer: 'three small words' }], bench.environment, never),
      { value: 3, passed: true },
    );
  });

  it('that throws is a tool_error in its file', async () => {
    await assert.rejects(
      runExport(submitted.module, 'scorer_throws', [], bench.environment, never),
      (error) =>
        error instanceof ClassedError && error.message === 'cannot score this' && error.place?.file === 'shop.world.ts',
    );
  });

  it('that is missing is a config error that lists the exports', async () => {
    await assert.rejects(
      runExport(submitted.module, 'score', [], bench.environment, never),
      (error) =>
        StudioError.is(error, 'config') &&
        error.message === 'shop.world.ts does not export "score".' &&
        (error.hint ?? '').includes('count_words'),
    );
  });
});
