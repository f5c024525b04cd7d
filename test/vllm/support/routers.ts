/** A real router in front of two replicas of a real vLLM: one engine with two addresses, one of which goes away. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { sha256Hex } from '../../../src/common/hash.ts';
import { until } from '../../support/until.ts';
import { type Call, textOf, toolCallsOf } from './calls.ts';
import { DeskBench } from './deskBench.ts';
import { Door, SESSION_HEADER } from './door.ts';
import type { Engine } from './engine.ts';
import { MissingRouter, ROUTERS, RouterProcess } from './router.ts';
import { deskTasks } from './tasks.ts';

const PATIENCE_MS = 240_000;
const TASKS = 24;
const ATTEMPTS = 6;

/** Describes them on a running engine. */
export function describeRouters(running: () => Engine): void {
  for (const kind of ROUTERS)
    describe(`a ${kind.name} in front of two replicas`, { timeout: 2 * PATIENCE_MS }, () => {
      let engine: Engine;
      let doors: readonly [Door, Door];
      let router: RouterProcess;
      let missing: string | undefined;
      const tasks = deskTasks(TASKS, 5);
      const ids = tasks.map(({ id }) => id);

      const cleanUp = new AsyncDisposableStack();
      before(async () => {
        engine = running();
        doors = [await Door.open(engine.port), await Door.open(engine.port)];
        for (const door of doors) cleanUp.defer(() => door.close());
        try {
          router = await RouterProcess.start(
            kind,
            doors.map(({ url }) => url),
          );
        } catch (error) {
          if (!(error instanceof MissingRouter)) throw error;
          missing = error.message;
          return;
        }
        cleanUp.defer(() => router.stop());
      });
      after(() => cleanUp.disposeAsync());

      it('keeps calls of a task together, shows no load, pauses, and loses no call with a replica', async (test) => {
        if (missing !== undefined) {
          test.skip(missing);
          return;
        }
        const bench = new DeskBench(router.url, tasks, { session_header: SESSION_HEADER, stream: 'always' });
        const [first, second] = doors;
        try {
          const batch = await bench.launch({ attempts: ATTEMPTS, concurrency: 8, tasks: ids });
          const ended = new Set<string>();
          const finished = bench.follow(
            batch,
            (rows) => {
              for (const { state, rollout } of rows) if (state === 'ended') ended.add(rollout);
            },
            AbortSignal.timeout(PATIENCE_MS),
          );
          finished.catch(() => undefined);

          // What the router passes on as its metrics are those of one engine.
          const endpoint = await bench.waitForEndpoint((one) => one.router !== undefined, PATIENCE_MS);
          assert.equal(endpoint.router, `${kind.name}, 2 engines`);
          assert.deepEqual([endpoint.running, endpoint.waiting, endpoint.kv_cache], [undefined, undefined, undefined]);
          assert.ok(endpoint.permits >= 1);

          await until('some attempts have ended', () => ended.size > (TASKS * ATTEMPTS) / 4, PATIENCE_MS);
          assert.ok(first.calls > 0 && second.calls > 0);
          // The router's own health checks name no session.
          const [sessions = [], others = []] = doors.map((door) =>
            [...door.sessions.keys()].filter((key) => key !== ''),
          );
          assert.ok(sessions.length > 0 && others.length > 0);
          assert.deepEqual(
            sessions.filter((session) => others.includes(session)),
            [],
            'each task has one replica',
          );
          const known = ids.map((id) => sha256Hex(id).slice(0, 16));
          assert.ok([...sessions, ...others].every((session) => known.includes(session)));

          // The endpoint as a whole can be paused: workers stop calling it.
          const { api } = await bench.connection();
          const paused = await api.setEndpoint({ endpoint: router.url, state: 'paused' });
          assert.deepEqual([paused.state, paused.calls, first.open + second.open], ['paused', 0, 0]);
          await assert.rejects(
            api.setEndpoint({ endpoint: router.url, replica: first.url, state: 'paused' }),
            (error) => StudioError.is(error, 'not_found') && /no replicas of its own/.test(error.message),
          );
          const before = first.calls + second.calls;
          await api.setEndpoint({ endpoint: router.url, state: 'serving', version: 1 });
          await until('calls go on', () => first.calls + second.calls > before && second.open > 0, PATIENCE_MS);

          const gone = Date.now();
          assert.ok(ended.size < TASKS * ATTEMPTS, 'it is in the middle of the batch');
          const atFirst = first.calls;
          await second.goAway();
          await finished;

          const rows = await bench.rows(batch);
          assert.equal(rows.filter((row) => row.settles).length, TASKS * ATTEMPTS);
          assert.deepEqual(
            rows.filter((row) => row.try !== 1 || row.progress.passed === null).map((row) => row.progress),
            [],
            'all settled by their first try',
          );
          assert.ok(first.calls > atFirst, 'the other replica got the calls');
          const trajectories = await bench.trajectories(batch);
          const calls = trajectories.flatMap((trajectory) => trajectory.calls);
          await wholeReplies(engine, calls);
          for (const { end } of calls)
            assert.ok((end.data.first_ms ?? Infinity) < (end.data.ms ?? 0), 'it is streamed');
          const retries = calls.flatMap(({ end }) => end.data.retries ?? []);
          test.diagnostic(
            `${calls.length} calls, ${calls.filter(({ end }) => end.at > gone).length} after a replica went away ` +
              `with ${second.cut} calls; retries: ${retries.map((one) => one.class).join(' ')}`,
          );
        } finally {
          await bench.close();
          await second.comeBack().catch(() => undefined);
        }
      });

      it('passes on whole replies too, and no command of engines', async (test) => {
        if (missing !== undefined) {
          test.skip(missing);
          return;
        }
        const bench = new DeskBench(router.url, tasks, {
          session_header: SESSION_HEADER,
          stream: 'never',
          control: 'vllm',
        });
        const model = { endpoint: router.url, state: 'paused' } as const;
        try {
          const batch = await bench.launch({ attempts: 2, concurrency: 4, tasks: ids.slice(0, 8) });
          await bench.waitForEndpoint(() => true, PATIENCE_MS);
          const { api } = await bench.connection();
          // Of two engines, it would pause one.
          await assert.rejects(
            api.setEndpoint(model),
            (error) => StudioError.is(error, 'unsupported') && error.message.includes(`(${kind.name}, 2 engines)`),
          );
          await bench.follow(batch, () => undefined, AbortSignal.timeout(PATIENCE_MS));
          const trajectories = await bench.trajectories(batch);
          assert.equal(trajectories.length, 16);
          await wholeReplies(
            engine,
            trajectories.flatMap((trajectory) => trajectory.calls),
          );
          const commands = doors.flatMap(({ others }) => others).filter((one) => /pause|resume|weight/.test(one));
          assert.deepEqual([commands, await engine.isPaused()], [[], false]);
        } finally {
          await bench.close();
        }
      });
    });
}

/** Each reply is complete: its tokens are those of its text and of its calls, and continue the prompt that was sent. */
async function wholeReplies(engine: Engine, calls: readonly Call[]): Promise<void> {
  assert.ok(calls.length > 0);
  assert.deepEqual(
    calls
      .filter(({ end }) => end.data.status !== 'ok' || end.data.finish_reason === undefined)
      .map(({ end }) => end.data),
    [],
  );
  let tools = 0;
  for (const call of calls) {
    const { tokens, parts, end } = call;
    const where = `call ${call.start.seq} of ${call.rollout}`;
    assert.ok(tokens !== undefined && end.data.trainable, `${where}: ${end.data.why_not}`);
    assert.equal(tokens.logprobs.length, tokens.completion.length, where);
    assert.equal(end.data.usage?.output_tokens, tokens.completion.length, where);
    tools += toolCallsOf(parts).length;
  }
  assert.ok(tools > 0, 'some call tools');
  // The engine's own template and tokenizer, for some of them.
  for (const call of calls.slice(-20)) {
    const { tokens, parts } = call;
    assert.ok(tokens !== undefined);
    assert.deepEqual(tokens.prompt, await engine.tokenize(call.messages, call.tools));
    const said = await engine.detokenize(tokens.completion);
    assert.ok(said.includes(textOf(parts, 'reasoning')), said);
    for (const { name } of toolCallsOf(parts)) assert.ok(said.includes(name), said);
  }
}
