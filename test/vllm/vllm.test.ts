/**
 * A real vLLM under real batches: what its answers hold, that the record is the engine's own truth down to the token,
 * that an engine with more work than it takes is not run over, and that one that is started anew costs nothing.
 * The model is tiny and mostly wrong, so nothing here asks for right answers.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { textOf, toolCallsOf, type Call, type Trajectory } from './support/calls.ts';
import { DeskBench, type Report } from './support/deskBench.ts';
import { Engine } from './support/engine.ts';
import { deskTasks, endlessTask } from './support/tasks.ts';

const TASKS = 40;
/** Longest time one batch may take. */
const PATIENCE_MS = 240_000;
/** No vLLM is up again within this time. */
const SOONEST_START_MS = 5_000;
const MARKS = /<\/?think>|<\|im_end\|>/g;

describe('a real vLLM', { timeout: 10 * 60_000 }, () => {
  let engine: Engine;
  let bench: DeskBench;
  const tasks = deskTasks(TASKS, 5);
  const ids = tasks.map((task) => task.id);

  const cleanUp = new AsyncDisposableStack();
  before(async () => {
    engine = await Engine.start();
    cleanUp.defer(() => engine.stop());
    bench = new DeskBench(engine.url, [...tasks, endlessTask()]);
    cleanUp.defer(() => bench.close());
  });
  after(() => cleanUp.disposeAsync());

  describe('with as much work as it takes', () => {
    let report: Report;
    let trajectories: Trajectory[];
    let calls: Call[];
    before(async () => {
      report = await bench.run({ attempts: 8, concurrency: 6, tasks: ids.slice(0, 12) });
      trajectories = await bench.trajectories(report.batch);
      calls = trajectories.flatMap((trajectory) => trajectory.calls);
    });

    it('takes every attempt to a score', () => {
      assert.deepEqual([report.attempts, report.scored, report.infrastructure], [96, 96, 0]);
      assert.equal(trajectories.length, 96);
      assert.deepEqual(calls.filter((call) => call.end.data.status !== 'ok').map((call) => call.end.data), []);
      assert.ok(calls.every((call) => ['stop', 'length', 'tool_calls'].includes(call.end.data.finish_reason ?? '')));
    });

    it('streams: the first text is there before the last', () => {
      for (const { end } of calls) {
        assert.ok(end.data.first_ms !== undefined && end.data.ms !== undefined);
        assert.ok(end.data.first_ms > 0 && end.data.first_ms < end.data.ms, `first ${end.data.first_ms} of ${end.data.ms} ms`);
      }
    });

    it('tells its usage, what of it came from the cache, and how long the call was queued', () => {
      for (const { end, tokens } of calls) {
        const { usage, queue_ms: queued } = end.data;
        assert.ok(usage?.cached_tokens !== undefined && usage.reasoning_tokens !== undefined && queued !== undefined, JSON.stringify(end.data));
        assert.deepEqual([usage.input_tokens, usage.output_tokens], [tokens?.prompt.length, tokens?.completion.length]);
        assert.ok(usage.cached_tokens < usage.input_tokens && usage.reasoning_tokens <= usage.output_tokens && queued >= 0);
      }
      assert.ok(calls.filter((call) => (call.end.data.usage?.cached_tokens ?? 0) > 0).length > calls.length / 2, 'prompts begin alike');
    });

    it('keeps reasoning apart from the answer', () => {
      const reasoned = calls.filter((call) => textOf(call.parts, 'reasoning').trim() !== '');
      assert.ok(reasoned.length > calls.length * 0.9, `${reasoned.length} of ${calls.length}`);
      assert.ok(reasoned.every((call) => !textOf(call.parts, 'reasoning').includes('think>')));
      const answers = calls.filter((call) => textOf(call.parts, 'text').trim() !== '');
      assert.ok(answers.length > calls.length / 4);
      assert.ok(answers.filter((call) => textOf(call.parts, 'text').includes('think>')).length < answers.length / 10, 'only where the model itself wrote it twice');
    });

    it('calls tools, and they run', () => {
      const started = trajectories.flatMap(({ events }) => events.filter((event) => event.kind === 'tool.start'));
      const well = trajectories.flatMap(({ events }) => events.filter((event) => event.kind === 'tool.end' && event.data.status === 'ok'));
      assert.equal(started.length, calls.reduce((sum, call) => sum + call.parts.filter((part) => part.type === 'tool_call').length, 0));
      assert.ok(well.length >= 15, `${well.length} of ${started.length} calls went well`);
    });

    it('was asked what the record says: every prompt is what it makes of the recorded messages and tools', async () => {
      for (const call of calls) assert.deepEqual(call.tokens?.prompt, await engine.tokenize(call.messages, call.tools), `call ${call.start.seq} of ${call.rollout}`);
    });

    it('goes on from its own tokens: a prompt is written as a difference to the call before', () => {
      let whole = 0;
      let later = 0;
      for (const { calls: own } of trajectories) {
        for (const [index, { start, tokens }] of own.entries()) {
          assert.ok(tokens !== undefined);
          const { of, keep = 0 } = tokens.record.prompt;
          if (index === 0) assert.equal(of, undefined);
          if (of === undefined) continue;
          later += 1;
          const base = tokens.base ?? [];
          assert.equal(of, own[index - 1]?.start.seq);
          assert.ok(keep > 0 && keep <= base.length);
          // As far as it goes, and no further: what the template writes anew differs at once.
          if (keep < base.length) assert.notEqual(tokens.prompt[keep], base[keep], `call ${start.seq}`);
          else whole += 1;
        }
      }
      assert.ok(later >= 15);
      assert.ok(whole > later / 2, `${whole} of ${later} prompts begin with all that was said before; the others follow malformed calls`);
    });

    it('gives one log probability for each token it sampled', () => {
      for (const { tokens, end } of calls) {
        assert.ok(end.data.trainable, end.data.why_not);
        assert.equal(tokens?.logprobs.length, tokens?.completion.length);
        assert.ok(tokens!.logprobs.every((value) => value <= 0 && Number.isFinite(value)));
      }
    });

    it('said what is recorded: its tokens are the text, the reasoning and the calls', async () => {
      let compared = 0;
      for (const { parts, tokens } of calls) {
        const said = await engine.detokenize(tokens!.completion);
        const reasoning = textOf(parts, 'reasoning');
        if (!parts.some((part) => part.type === 'tool_call')) {
          // In a stream, vLLM drops the text of a call whose name it cannot read.
          const [text = '', dropped] = said.split('<tool_call>');
          const recorded = reasoning + textOf(parts, 'text');
          if (dropped === undefined || recorded.includes('<tool_call>')) assert.equal(recorded.replace(MARKS, ''), said.replace(MARKS, ''));
          else assert.equal(recorded.replace(MARKS, '').trimEnd(), text.replace(MARKS, '').trimEnd());
          continue;
        }
        assert.ok(said.includes(reasoning));
        const written = [...said.matchAll(/<tool_call>\n(.*?)\n<\/tool_call>/g)].map(([, text]) => parsed(text ?? ''));
        if (written.length === 0 || written.includes(undefined)) continue; // malformed: engines make of it what they like
        assert.deepEqual(toolCallsOf(parts), written);
        compared += 1;
      }
      assert.ok(compared >= 15, `${compared} well-formed calls`);
    });
  });

  it('says when the messages are longer than its context', async () => {
    const report = await bench.run({ attempts: 2, concurrency: 2, tasks: ['endless'] });
    for (const { calls, end } of await bench.trajectories(report.batch)) {
      assert.deepEqual(calls.map((call) => call.end.data.error?.class), ['context_overflow']);
      assert.match(calls[0]!.end.data.error!.message, /2048/);
      assert.equal(end.error?.class, 'context_overflow');
      assert.equal(end.status, 'truncated');
    }
    assert.equal(report.infrastructure, 0);
  });

  it('with more work than it takes: is asked less, then more again, and no attempt notices', async (test) => {
    const refusedBefore = await engine.metric('vllm:admission_rejections_total');
    const batch = await bench.launch({ attempts: 5, concurrency: 64, tasks: ids });
    const end = new AbortController();
    const watching = bench.watchEndpoint(end.signal);
    const listening = new Map<string, Promise<Map<number, string>>>();
    try {
      await bench.follow(batch, (rows) => {
        for (const row of rows) if (row.state === 'running' && listening.size < 8 && !listening.has(row.rollout)) listening.set(row.rollout, bench.listen(row.rollout, end.signal));
      }, AbortSignal.timeout(PATIENCE_MS));
    } finally {
      end.abort();
    }
    const seen = await watching;
    const refused = (await engine.metric('vllm:admission_rejections_total')) - refusedBefore;
    const trajectories = await bench.trajectories(batch);
    const calls = trajectories.flatMap((trajectory) => trajectory.calls);
    test.diagnostic(`${calls.length} calls, ${refused} refused; permits ${seen.map((one) => one.permits).join(' ')}`);

    everyAttemptOnce(await bench.rows(batch), trajectories, TASKS * 5);
    // Each refusal was waited out inside the call it met, and is told there.
    assert.ok(refused > 0, 'there was more work than it takes');
    assert.equal(calls.flatMap((call) => call.end.data.retries ?? []).filter((retry) => retry.class === '503').length, refused);

    // Permits: all that was asked for, none while it refuses, a handful once it takes calls again, then more.
    assert.ok(seen[0]!.permits >= 32);
    const first = seen.findIndex((one) => one.state === 'busy');
    assert.match(seen[first]?.text ?? '', /currently busy/);
    assert.ok(seen.some((one) => one.state === 'busy' && one.permits === 0));
    const settled = seen.slice(first).filter((one) => one.state === 'ok').map((one) => one.permits);
    const lowest = settled.indexOf(Math.min(...settled));
    assert.ok(settled[lowest]! <= 16, `lowest ${settled[lowest]!}`);
    assert.ok(Math.max(...settled.slice(lowest)) >= settled[lowest]! + 2, `grown to ${Math.max(...settled.slice(lowest))}`);
    // The engine's own numbers.
    assert.ok(seen.some((one) => (one.running ?? 0) > 0 && (one.kv_cache ?? 0) > 0));
    assert.ok(seen.every((one) => (one.kv_cache ?? 0) <= 1 && (one.running === undefined) === (one.waiting === undefined)));

    // Whoever watched saw the text come.
    let heard = 0;
    for (const [rollout, texts] of listening) {
      for (const [span, text] of await texts) {
        const call = calls.find((one) => one.rollout === rollout && one.start.seq === span);
        if (call === undefined || call.parts.some((part) => part.type === 'tool_call')) continue;
        assert.ok((textOf(call.parts, 'reasoning') + textOf(call.parts, 'text')).startsWith(text), text);
        heard += text.length;
      }
    }
    assert.ok(heard > 0, 'some text was heard before its call had ended');
  });

  it('started anew in the middle of a batch: calls wait for it, and nothing is lost', async (test) => {
    const attempts = TASKS * 4;
    const batch = await bench.launch({ attempts: 4, concurrency: 24, tasks: ids });
    const following = new AbortController();
    const disturb = Promise.withResolvers<undefined>();
    const ended = new Set<string>();
    const finished = bench.follow(batch, (rows) => {
      for (const row of rows) if (row.state === 'ended') ended.add(row.rollout);
      if (ended.size > attempts * 0.15) disturb.resolve(undefined);
    }, AbortSignal.any([following.signal, AbortSignal.timeout(2 * PATIENCE_MS)]));
    const times = { down: 0, gone: 0, up: 0 };
    try {
      await Promise.race([disturb.promise, finished]);
      times.down = Date.now();
      await engine.down();
      times.gone = Date.now();
      const away = await bench.endpointUntil((one) => one.state === 'down' && one.running === undefined, 20_000);
      assert.ok(away.permits <= 1);
      assert.ok(ended.size < attempts / 2, 'it was the middle of the batch');
      await engine.up();
      times.up = Date.now();
      const back = await bench.endpointUntil((one) => one.state === 'ok' && one.running !== undefined, 60_000);
      assert.ok(back.permits >= 1);
      await finished;
    } finally {
      following.abort();
      await finished.catch(() => undefined);
    }

    const trajectories = await bench.trajectories(batch);
    everyAttemptOnce(await bench.rows(batch), trajectories, attempts);
    const calls = trajectories.flatMap((trajectory) => trajectory.calls);
    // Those that were under way or due when it went away were answered by the new one.
    const waited = calls.filter(({ start, end }) => start.at < times.gone && end.at > times.gone);
    const retries = waited.flatMap((call) => call.end.data.retries ?? []).map((retry) => retry.class);
    test.diagnostic(`away for ${times.up - times.gone} ms; ${waited.length} calls waited, retries: ${retries.join(' ')}`);
    assert.ok(waited.length >= 8, `${waited.length} calls`);
    assert.ok(waited.every(({ end }) => end.at > times.gone + SOONEST_START_MS));
    assert.ok(retries.some((name) => ['refused', 'cut', 'aborted'].includes(name)), retries.join(' '));
    // People were told in one line that it was gone, and in one that it was back. So are they when a new engine, which
    // everybody asks at once, is too busy for any call.
    const told = await bench.toldOfEndpoint(batch);
    assert.ok(told.length >= 2 && told.length % 2 === 0, told.join('\n'));
    for (const [index, line] of told.entries()) assert.match(line, index % 2 === 1 ? /takes calls again/ : index === 0 ? /takes no calls: (?!.*busy)/ : /takes no calls: .*busy/);
    // What the engine broke off when it was told to end is nobody's answer.
    assert.deepEqual(calls.filter((call) => !['stop', 'length', 'tool_calls'].includes(call.end.data.finish_reason ?? '')).map((call) => call.end.data), []);
  });
});

/** All settled, by their first try, and nothing of it the infrastructure's fault. */
function everyAttemptOnce(rows: readonly RolloutRow[], trajectories: readonly Trajectory[], attempts: number): void {
  assert.equal(new Set(rows.filter((row) => row.settles).map((row) => `${row.task}/${row.attempt}`)).size, attempts);
  assert.deepEqual(rows.filter((row) => row.try !== 1 || row.state !== 'ended' || row.progress.passed === null).map((row) => row.progress), []);
  assert.equal(trajectories.length, attempts, 'no further tries');
  const errors = trajectories.flatMap((trajectory) => [trajectory.end.error, ...trajectory.calls.map((call) => call.end.data.error)]).filter((error) => error !== undefined && error.class !== 'limit');
  assert.deepEqual(errors, []);
}

/** A call as the model wrote it; undefined when it is not one. */
function parsed(text: string): unknown {
  try {
    const call = JSON.parse(text) as { name?: unknown; arguments?: unknown } | null;
    return typeof call?.name === 'string' && typeof call.arguments === 'object' && Object.keys(call).length === 2 ? call : undefined;
  } catch {
    return undefined;
  }
}
