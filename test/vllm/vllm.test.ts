/**
 * A real vLLM under real batches: the content of its answers, that the record equals the engine's own tokens, that an
 * engine is not overloaded, and that a restarted one costs nothing. The model is tiny and mostly wrong, so nothing here
 * requires right answers.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { jsonOf } from '../../src/common/json.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { type Call, type Trajectory, textOf, toolCallsOf, toolUses } from './support/calls.ts';
import { DeskBench, type Report } from './support/deskBench.ts';
import { Engine } from './support/engine.ts';
import { GaiaBench } from './support/gaiaBench.ts';
import { describeNewWeights } from './support/newWeights.ts';
import { describeRouters } from './support/routers.ts';
import { deskTasks, endlessTask, scriptTasks } from './support/tasks.ts';
import { describeTemplates } from './support/templates.ts';

const TASKS = 40;
/** Tools of the workspace for GAIA, without the one that needs a browser. */
const TOOLS = ['terminal', 'code', 'calculator', 'files', 'spreadsheet', 'documents'];
/** Longest time one batch may take. */
const PATIENCE_MS = 240_000;
/** No vLLM restarts within this time. */
const SOONEST_START_MS = 5_000;
/** The results that explain to a model how to improve a call. */
const WHAT_IS_WRONG: Readonly<Record<string, RegExp>> = {
  unknown_tool: /Unknown tool .*Available tools: find_member, loans_of, renew_loan\.$/s,
  malformed_output: /not valid JSON .*Pass one JSON object that matches \{"type":"object"/s,
  invalid_arguments: /match.*(?:its schema|\{"type":"object")/s,
};
/** An answer with calls, in the form of the model's template. */
const WELL_WRITTEN = /^<think>[^<]*<\/think>[^<]*(?:<tool_call>\n[^<\n]*\n<\/tool_call>\s*)+<\|im_end\|>$/;
/** Limit on simultaneous calls after an engine was too busy. */
const A_HANDFUL = 16;
const MARKS = /<\/?think>|<\|im_end\|>/g;

describe('a real vLLM', { timeout: 20 * 60_000 }, () => {
  let engine: Engine;
  let bench: DeskBench;
  const tasks = deskTasks(TASKS, 5);
  const ids = tasks.map((task) => task.id);
  const scripts = scriptTasks(8);

  const cleanUp = new AsyncDisposableStack();
  before(async () => {
    engine = await Engine.start();
    cleanUp.defer(() => engine.stop());
    bench = new DeskBench(engine.url, [...tasks, ...scripts, endlessTask()]);
    cleanUp.defer(() => bench.close());
  });
  after(() => cleanUp.disposeAsync());

  describe('within its capacity', () => {
    let report: Report;
    let trajectories: Trajectory[];
    let calls: Call[];
    before(async () => {
      report = await bench.run({ attempts: 8, concurrency: 6, tasks: ids.slice(0, 12) });
      trajectories = await bench.trajectories(report.batch);
      calls = trajectories.flatMap((trajectory) => trajectory.calls);
    });

    it('gets every attempt to a score', () => {
      assert.deepEqual([report.attempts, report.scored, report.infrastructure], [96, 96, 0]);
      assert.equal(trajectories.length, 96);
      assert.deepEqual(
        calls.filter((call) => call.end.data.status !== 'ok').map((call) => call.end.data),
        [],
      );
      assert.ok(calls.every((call) => ['stop', 'length', 'tool_calls'].includes(call.end.data.finish_reason ?? '')));
    });

    it('streams: the first text arrives before the last', () => {
      for (const { end } of calls) {
        assert.ok(end.data.first_ms !== undefined && end.data.ms !== undefined);
        assert.ok(
          end.data.first_ms > 0 && end.data.first_ms < end.data.ms,
          `first ${end.data.first_ms} of ${end.data.ms} ms`,
        );
      }
    });

    it('reports its usage, its cached part, and how long the call was queued', () => {
      for (const { end, tokens } of calls) {
        const { usage, queue_ms: queued } = end.data;
        assert.ok(
          usage?.cached_tokens !== undefined && usage.reasoning_tokens !== undefined && queued !== undefined,
          JSON.stringify(end.data),
        );
        assert.deepEqual([usage.input_tokens, usage.output_tokens], [tokens?.prompt.length, tokens?.completion.length]);
        assert.ok(
          usage.cached_tokens < usage.input_tokens && usage.reasoning_tokens <= usage.output_tokens && queued >= 0,
        );
      }
      assert.ok(
        calls.filter((call) => (call.end.data.usage?.cached_tokens ?? 0) > 0).length > calls.length / 2,
        'prompts begin alike',
      );
    });

    it('keeps reasoning apart from the answer', async () => {
      const reasoned = calls.filter((call) => textOf(call.parts, 'reasoning').trim() !== '');
      assert.ok(reasoned.length > calls.length * 0.9, `${reasoned.length} of ${calls.length}`);
      assert.ok(reasoned.every((call) => !textOf(call.parts, 'reasoning').includes('</think>')));
      const answers = calls.filter((call) => textOf(call.parts, 'text').trim() !== '');
      assert.ok(answers.length > calls.length / 4);
      for (const { parts, tokens } of answers) {
        if (!textOf(parts, 'text').includes('</think>')) continue;
        const said = await engine.detokenize(tokens!.completion);
        assert.ok(said.split('</think>').length > 2, `only where the model itself wrote it twice: ${said}`);
      }
    });

    it('calls tools, and they run', () => {
      const started = trajectories.flatMap(({ events }) => events.filter((event) => event.kind === 'tool.start'));
      const well = trajectories.flatMap(({ events }) =>
        events.filter((event) => event.kind === 'tool.end' && event.data.status === 'ok'),
      );
      assert.equal(
        started.length,
        calls.reduce((sum, call) => sum + call.parts.filter((part) => part.type === 'tool_call').length, 0),
      );
      assert.ok(well.length >= 15, `${well.length} of ${started.length} calls went well`);
    });

    it('sees what is wrong with a malformed call, which is recorded as written, and continues', (test) => {
      const names = ['find_member', 'loans_of', 'renew_loan'];
      const met = new Map<string, number>();
      for (const { events, calls: own, end, rollout } of trajectories) {
        for (const { start, end: done, written, toolMessage } of toolUses(events)) {
          const { name, arguments: args, raw, call } = start.data;
          const where = `call ${start.seq} of ${rollout}`;
          const wrong = !names.includes(name) ? 'unknown_tool' : raw !== undefined ? 'malformed_output' : undefined;
          assert.equal(written.name, name, where);
          assert.deepEqual(written.arguments, raw ?? args, where);
          if (raw !== undefined) assert.deepEqual([args, isObject(raw)], [{}, false], where);
          // Arguments that are JSON may still be invalid, and a tool may refuse valid ones.
          const error = done.data.error;
          if (wrong !== undefined) assert.equal(error?.class, wrong, where);
          else
            assert.ok(
              error === undefined || error.class === 'invalid_arguments' || error.class === 'tool_error',
              `${where}: ${error?.class ?? ''}`,
            );
          if (error !== undefined) {
            met.set(error.class, (met.get(error.class) ?? 0) + 1);
            assert.equal(done.data.status, 'error');
            assert.match(error.message, WHAT_IS_WRONG[error.class] ?? /./, where);
            assert.deepEqual(
              toolMessage.parts,
              [{ type: 'tool_call_response', id: call, response: `Error (${error.class}): ${error.message}` }],
              where,
            );
          }
          const next = own.find((one) => one.start.seq > done.seq);
          if (next === undefined) assert.equal(end.error?.class, 'limit', `${where} was its last step`);
          else
            assert.ok(
              next.start.data.context.some(([first, last]) => first <= toolMessage.m && toolMessage.m <= last),
              `${where} is answered`,
            );
        }
      }
      test.diagnostic([...met].map(([name, count]) => `${name} ${count}`).join(', '));
    });

    it('got the recorded requests: every prompt equals its template over the recorded messages and tools', async () => {
      for (const call of calls)
        assert.deepEqual(
          call.tokens?.prompt,
          await engine.tokenize(call.messages, call.tools),
          `call ${call.start.seq} of ${call.rollout}`,
        );
    });

    it('continues from its own tokens: a prompt is written as a difference to the previous call', async () => {
      let whole = 0;
      let later = 0;
      for (const { calls: own } of trajectories) {
        for (const [index, { start, end, tokens }] of own.entries()) {
          assert.ok(tokens !== undefined);
          const { of, keep = 0 } = tokens.record.prompt;
          const before = own[index - 1];
          assert.equal(of, before?.start.seq);
          if (before === undefined) continue;
          later += 1;
          const base = tokens.base ?? [];
          // It contains the whole previous prompt, and as much of the answer as the template reproduces unchanged.
          assert.ok(keep >= (before.tokens?.prompt.length ?? Infinity) && keep <= base.length, `call ${start.seq}`);
          const { drift } = end.data;
          if (keep < base.length) {
            const [was, is] = [base[keep]!, tokens.prompt[keep]!];
            assert.notEqual(is, was, `call ${start.seq}`);
            assert.deepEqual(drift, {
              at: keep,
              was: { id: was, text: await engine.detokenize([was]) },
              is: { id: is, text: await engine.detokenize([is]) },
            });
          } else {
            assert.equal(drift, undefined);
            whole += 1;
          }
        }
      }
      assert.ok(later >= 15);
      assert.ok(
        whole > later / 2,
        `${whole} of ${later} prompts begin with all that was said before; the others follow malformed calls`,
      );
    });

    it('returns one log probability for each sampled token', () => {
      for (const { tokens, end } of calls) {
        assert.ok(end.data.trainable, end.data.why_not);
        assert.equal(tokens?.logprobs.length, tokens?.completion.length);
        assert.ok(tokens!.logprobs.every((value) => value <= 0 && Number.isFinite(value)));
      }
    });

    it('sampled what is recorded: its tokens are the text, the reasoning, and the calls', async () => {
      let compared = 0;
      for (const { parts, tokens } of calls) {
        const said = await engine.detokenize(tokens!.completion);
        const reasoning = textOf(parts, 'reasoning');
        if (!parts.some((part) => part.type === 'tool_call')) {
          // In a stream, vLLM drops the text of a call whose name it cannot parse.
          const [text = '', dropped] = said.split('<tool_call>');
          const recorded = reasoning + textOf(parts, 'text');
          if (dropped === undefined || recorded.includes('<tool_call>'))
            assert.equal(recorded.replace(MARKS, ''), said.replace(MARKS, ''));
          else assert.equal(recorded.replace(MARKS, '').trimEnd(), text.replace(MARKS, '').trimEnd());
          continue;
        }
        assert.ok(said.includes(reasoning));
        const written = WELL_WRITTEN.test(said)
          ? [...said.matchAll(/<tool_call>\n(.*)\n<\/tool_call>/g)].map(([, text]) => parsed(text ?? ''))
          : [];
        // malformed: engines differ
        if (written.length === 0 || written.includes(undefined)) continue;
        assert.deepEqual(toolCallsOf(parts), written);
        compared += 1;
      }
      assert.ok(compared >= 15, `${compared} answers with well-formed calls`);
    });
  });

  it('reports when the messages are longer than its context', async () => {
    const report = await bench.run({ attempts: 2, concurrency: 2, tasks: ['endless'] });
    for (const { calls, end } of await bench.trajectories(report.batch)) {
      assert.deepEqual(
        calls.map((call) => call.end.data.error?.class),
        ['context_overflow'],
      );
      assert.match(calls[0]!.end.data.error!.message, /2048/);
      assert.equal(end.error?.class, 'context_overflow');
      assert.equal(end.status, 'truncated');
    }
    assert.equal(report.infrastructure, 0);
  });

  describe('with the workspace for GAIA', () => {
    let gaia: GaiaBench;
    before(() => {
      gaia = new GaiaBench(engine.url);
    });
    after(() => gaia.close());

    it('reports that its replies may not be that long, and stops before anything is scored', async () => {
      assert.equal((await gaia.init()).code, 0);
      gaia.change({ tools: TOOLS });
      const { code, stderr } = await gaia.run();
      assert.equal(code, 3, stderr);
      const why = new RegExp(
        String.raw`does not support the value of model\.sampling\.max_tokens \(400\): max_tokens=8192 ` +
          '.*max_model_len=2048.* Decrease it, .*--max-model-len',
      );
      assert.match(stderr, why);
      const rows = await gaia.rows();
      assert.ok(
        rows.some(({ progress }) => why.test(progress.error_message ?? '')),
        'the attempt that met it reports the same',
      );
      assert.ok(
        rows.every(({ progress }) => progress.status === 'infrastructure' || progress.status === 'cancelled'),
        JSON.stringify(rows),
      );
    });

    it('reports that prompt and tools fill its context, and what to change', async () => {
      gaia.change({ maxTokens: 128 });
      const { code, stderr, stdout } = await gaia.run();
      assert.equal(code, 0, stderr);
      const why = new RegExp(
        'too long for desk: .*2048 tokens.*There are no older steps to drop: shorten the prompt ' +
          '.*fewer tools.*--max-model-len',
      );
      assert.match(stderr, /12 attempts were cut short by a full context: /);
      assert.match(stderr, why);
      assert.match(stdout, /12 attempts: 0 passed, 12 failed, 12 truncated/);
      for (const { progress } of await gaia.rows()) {
        assert.equal(progress.error_class, 'context_overflow');
        assert.match(progress.error_message ?? '', why);
      }
    });

    it('ends scored, with a report by level', async () => {
      gaia.change({ tools: ['calculator'] });
      const { code, stderr, stdout } = await gaia.run();
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^3 tasks, 12 attempts: \d+ passed, \d+ failed/);
      assert.match(
        stdout,
        /^level +tasks +solved +passed +pass@1\n1 +1 +\d +\d\/4 .*\n2 +1 +\d +\d\/4 .*\n3 +1 +\d +\d\/4 /m,
      );
      const rows = await gaia.rows();
      assert.equal(rows.filter(({ settles, progress }) => settles && typeof progress.passed === 'boolean').length, 12);
    });
  });

  it('beyond its capacity: gets fewer calls, then more again, and no attempt is affected', async (test) => {
    const refusedBefore = await engine.metric('vllm:admission_rejections_total');
    const batch = await bench.launch({ attempts: 5, concurrency: 64, tasks: ids });
    const end = new AbortController();
    const watching = bench.watchEndpoint(end.signal);
    const listening = new Map<string, Promise<Map<number, string>>>();
    try {
      await bench.follow(
        batch,
        (rows) => {
          for (const row of rows)
            if (row.state === 'running' && listening.size < 8 && !listening.has(row.rollout))
              listening.set(row.rollout, bench.listen(row.rollout, end.signal));
        },
        AbortSignal.timeout(PATIENCE_MS),
      );
    } finally {
      end.abort();
    }
    const seen = await watching;
    const refused = (await engine.metric('vllm:admission_rejections_total')) - refusedBefore;
    const trajectories = await bench.trajectories(batch);
    const calls = trajectories.flatMap((trajectory) => trajectory.calls);
    test.diagnostic(`${calls.length} calls, ${refused} refused; permits ${seen.map((one) => one.permits).join(' ')}`);

    everyAttemptOnce(await bench.rows(batch), trajectories, TASKS * 5);
    // Each refusal was waited out in the call it affected, and is recorded there.
    assert.ok(refused > 0, 'there was more work than it takes');
    assert.equal(
      calls.flatMap((call) => call.end.data.retries ?? []).filter((retry) => retry.class === '503').length,
      refused,
    );

    // Permits: everything requested, none while it refuses, a few once it accepts calls again, then more.
    assert.ok(seen[0]!.permits >= 32);
    const first = seen.findIndex((one) => one.state === 'busy');
    assert.match(seen[first]?.text ?? '', /currently busy/);
    assert.ok(seen.some((one) => one.state === 'busy' && one.permits === 0));
    // The minimum may be where the batch ends, so the growth between two refusals counts.
    let [lowest, grown] = [Infinity, 0];
    let start = Infinity;
    for (const { state, permits } of seen.slice(first)) {
      start = state === 'ok' ? Math.min(start, permits) : Infinity;
      lowest = Math.min(lowest, start);
      if (start <= A_HANDFUL) grown = Math.max(grown, permits - start);
    }
    assert.ok(lowest <= A_HANDFUL, `lowest ${lowest}`);
    assert.ok(grown >= 2, `grown by ${grown}`);
    // The engine's own numbers.
    assert.ok(
      seen.every((one) => (one.kv_cache ?? 0) <= 1 && (one.running === undefined) === (one.waiting === undefined)),
    );

    // Watchers saw the text arrive.
    let characters = 0;
    for (const [rollout, texts] of listening) {
      for (const [span, text] of await texts) {
        const call = calls.find((one) => one.rollout === rollout && one.start.seq === span);
        if (call === undefined || call.parts.some((part) => part.type === 'tool_call')) continue;
        assert.ok((textOf(call.parts, 'reasoning') + textOf(call.parts, 'text')).startsWith(text), text);
        characters += text.length;
      }
    }
    assert.ok(characters > 0, 'no text arrived before its call had ended');
  });

  it('in use: is shown with its own numbers', async () => {
    // More work than is needed: it ends as soon as a reading falls into a call.
    const batch = await bench.launch({ attempts: 50, concurrency: 8, tasks: ids });
    try {
      const inUse = await bench.waitForEndpoint(
        (one) => (one.running ?? 0) > 0 && (one.kv_cache ?? 0) > 0,
        PATIENCE_MS,
      );
      assert.ok((inUse.kv_cache ?? 0) <= 1);
    } finally {
      await bench.cancel(batch);
    }
  });

  describe('as agent and world at once', () => {
    it('reuses its cache: a request of the world begins with the previous one', async (test) => {
      const shares: Record<string, number> = {};
      for (const [name, concurrency] of [
        ['alone', 1],
        ['among other attempts', 8],
      ] as const) {
        const report = await bench.run({
          batch: 'script',
          attempts: 2,
          concurrency,
          tasks: scripts.map(({ id }) => id),
        });
        assert.deepEqual([report.attempts, report.scored, report.infrastructure], [16, 16, 0]);
        const worlds = (await bench.trajectories(report.batch)).map(({ calls }) => calls.filter(isOfWorld));
        const later = worlds.flatMap((calls) => {
          for (const [index, { messages }] of calls.entries())
            if (index > 0)
              assert.deepEqual(messages.slice(0, calls[index - 1]!.messages.length), calls[index - 1]!.messages);
          return calls.slice(1);
        });
        assert.ok(later.length >= 16 * 5, `${later.length} later calls of the world`);
        shares[name] = cachedShare(later);
        test.diagnostic(
          `${name}: ${(100 * cachedShare(worlds.flat())).toFixed(0)} % of the world's input tokens were cached, ` +
            `${(100 * cachedShare(later)).toFixed(0)} % after the first call of an attempt`,
        );
      }
      assert.ok(shares['alone']! > 0.5, 'the previous request is most of the next one');
    });

    it('never waits for itself: all attempts end with as many of them as it takes calls, and with more', async () => {
      for (const concurrency of ['auto', 64] as const) {
        const report = await bench.run({
          batch: 'simulated',
          attempts: 4,
          concurrency,
          tasks: ids.slice(0, 16),
        });
        assert.deepEqual([report.attempts, report.scored, report.infrastructure], [64, 64, 0], String(concurrency));
        const trajectories = await bench.trajectories(report.batch);
        assert.ok(trajectories.some(({ calls }) => calls.some(isOfWorld)));
        for (const { calls } of trajectories)
          for (const { end } of calls) assert.equal(end.data.status, 'ok', JSON.stringify(end.data));
      }
    });
  });

  it('restarted during a batch: calls wait for it, and nothing is lost', async (test) => {
    const attempts = TASKS * 4;
    const batch = await bench.launch({ attempts: 4, concurrency: 24, tasks: ids });
    const following = new AbortController();
    const disturb = Promise.withResolvers<undefined>();
    const ended = new Set<string>();
    const finished = bench.follow(
      batch,
      (rows) => {
        for (const row of rows) if (row.state === 'ended') ended.add(row.rollout);
        if (ended.size > attempts * 0.15) disturb.resolve(undefined);
      },
      AbortSignal.any([following.signal, AbortSignal.timeout(2 * PATIENCE_MS)]),
    );
    const times = { down: 0, gone: 0, up: 0 };
    try {
      await Promise.race([disturb.promise, finished]);
      times.down = Date.now();
      await engine.down();
      times.gone = Date.now();
      const away = await bench.waitForEndpoint((one) => one.state === 'down' && one.running === undefined, 20_000);
      assert.ok(away.permits <= 1);
      assert.ok(ended.size < attempts / 2, 'it was the middle of the batch');
      await engine.up();
      times.up = Date.now();
      const back = await bench.waitForEndpoint((one) => one.state === 'ok' && one.running !== undefined, 60_000);
      assert.ok(back.permits >= 1);
      await finished;
    } finally {
      following.abort();
      await finished.catch(() => undefined);
    }

    const trajectories = await bench.trajectories(batch);
    everyAttemptOnce(await bench.rows(batch), trajectories, attempts);
    const calls = trajectories.flatMap((trajectory) => trajectory.calls);
    // Calls that were pending or due when it stopped were answered by the new one.
    const waited = calls.filter(({ start, end }) => start.at < times.gone && end.at > times.gone);
    const retries = waited.flatMap((call) => call.end.data.retries ?? []).map((retry) => retry.class);
    test.diagnostic(
      `away for ${times.up - times.gone} ms; ${waited.length} calls waited, retries: ${retries.join(' ')}`,
    );
    assert.ok(waited.length >= 8, `${waited.length} calls`);
    assert.ok(waited.every(({ end }) => end.at > times.gone + SOONEST_START_MS));
    assert.ok(
      retries.some((name) => ['refused', 'cut', 'aborted'].includes(name)),
      retries.join(' '),
    );
    // Users got one line that it was gone, and one that it was back. The same applies when a new engine, which gets all
    // calls at once, is too busy for any.
    const messages = await bench.endpointMessages(batch);
    assert.ok(messages.length >= 2 && messages.length % 2 === 0, messages.join('\n'));
    for (const [index, line] of messages.entries())
      assert.match(
        line,
        index % 2 === 1
          ? /is available again/
          : index === 0
            ? /is not available: (?!.*busy)/
            : /is not available: .*busy/,
      );
    // A call that the engine aborted at its end is nobody's answer.
    assert.deepEqual(
      calls
        .filter((call) => !['stop', 'length', 'tool_calls'].includes(call.end.data.finish_reason ?? ''))
        .map((call) => call.end.data),
      [],
    );
  });

  describeNewWeights(() => engine);
  describeRouters(() => engine);
  describeTemplates();
});

const isOfWorld = ({ start }: Call): boolean => start.data.side === 'world';

/** The share of the input tokens of calls that the engine had cached. */
function cachedShare(calls: readonly Call[]): number {
  const sum = (key: 'input_tokens' | 'cached_tokens'): number =>
    calls.reduce((total, { end }) => total + (end.data.usage?.[key] ?? 0), 0);
  return sum('cached_tokens') / sum('input_tokens');
}

/** All settled, by their first try, and without an infrastructure failure. */
function everyAttemptOnce(rows: readonly RolloutRow[], trajectories: readonly Trajectory[], attempts: number): void {
  assert.equal(new Set(rows.filter((row) => row.settles).map((row) => `${row.task}/${row.attempt}`)).size, attempts);
  assert.deepEqual(
    rows
      .filter((row) => row.try !== 1 || row.state !== 'ended' || row.progress.passed === null)
      .map((row) => row.progress),
    [],
  );
  assert.equal(trajectories.length, attempts, 'no further tries');
  const errors = trajectories
    .flatMap((trajectory) => [trajectory.end.error, ...trajectory.calls.map((call) => call.end.data.error)])
    .filter((error) => error !== undefined && error.class !== 'limit');
  assert.deepEqual(errors, []);
}

function isObject(text: string): boolean {
  const value = jsonOf(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A call as the model wrote it; undefined when it is not one. */
function parsed(text: string): unknown {
  try {
    const call = JSON.parse(text) as { name?: unknown; arguments?: unknown } | null;
    return typeof call?.name === 'string' && typeof call.arguments === 'object' && Object.keys(call).length === 2
      ? call
      : undefined;
  } catch {
    return undefined;
  }
}
