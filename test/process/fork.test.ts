// Forks: events before the cut cost neither a model call nor a tool call; those after it run again.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { TraceEvent } from '../../src/trace/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { Bench } from '../support/cli.ts';
import { type DemoServer, startDemoServer } from '../support/demoServer.ts';
import { endOf, ofKind, Workspace } from '../support/testWorkspace.ts';

let demo: DemoServer;
let workspace: Workspace;
let marks: string;

before(async () => {
  demo = await startDemoServer();
  // Its tools leave marks elsewhere.
  workspace = new Workspace(new Bench({ sharesProcess: true, env: { ROLLOUT_SANDBOX: 'off' } }));
  marks = workspace.bench.path('marks');
  const head = `import { appendFileSync } from 'node:fs';
import { tool } from 'rollout-studio';
import { z } from 'zod';
const mark = (text) => appendFileSync(${JSON.stringify(marks)}, text + '\\n');
`;
  workspace.write(
    'marking.ts',
    `${head}
const text = z.object({ text: z.string() });
export const look = tool({ description: 'Looks.', input: text, effect: 'pure', run: ({ text }) => { mark('look ' + \
text); return 'seen ' + text; } });
export const linger = tool({ description: 'Looks slowly.', input: text, effect: 'pure', run: async ({ text }) => { \
mark('linger ' + text); await new Promise((resolve) => setTimeout(resolve, 300)); return 'seen ' + text; } });
export const send = tool({ description: 'Sends.', input: text, effect: 'irreversible', run: ({ text }) => { \
mark('send ' + text); return 'sent ' + text; } });
`,
  );
  workspace.write(
    'counting.ts',
    `${head}
export const add = tool({ description: 'Adds.', input: z.object({ n: z.number() }), run: ({ n }, { state }) => { \
mark('add'); state.count += n; return state.count; } });
export const open = (task, seed, from) => {
  const state = { count: from === undefined ? 0 : Number(new TextDecoder().decode(from)) };
  return {
    state, tools: { add },
    verify: ({ expected }) => ({ value: state.count === expected ? 1 : 0, passed: state.count === expected, \
explanation: 'counted ' + state.count }),
    snapshot: () => new TextEncoder().encode(String(state.count)),
  };
};
`,
  );
});
after(async () => {
  await workspace.close();
  await demo.close();
});

/** The tool calls since the previous call of this, sorted. */
function newCalls(): string[] {
  const lines = existsSync(marks) ? readFileSync(marks, 'utf8').trim().split('\n') : [];
  rmSync(marks, { force: true });
  return lines.sort();
}

/** Runs a batch of one task and one attempt, and returns its rollout. */
async function parent(
  name: string,
  question: string,
  answer: string,
): Promise<{ rollout: string; batch: string; events: TraceEvent[] }> {
  const file = workspace.batch(name, {
    endpoint: demo.url,
    tasks: [{ id: 'it', question, answer }],
    agent: { tools: [{ module: 'marking.ts' }] },
  });
  const { batch } = await workspace.json<{ batch: string }>('run', file);
  const [row] = await workspace.rows(batch);
  assert.equal(row?.progress.passed, true);
  return { rollout: row.rollout, batch, events: await workspace.events(row.rollout) };
}

interface Forked {
  readonly report: { batch: string; attempts: number; passed: number };
  readonly rows: RolloutRow[];
  readonly events: TraceEvent[][];
  /** Model calls during `run`. */
  readonly calls: number;
  readonly toolCalls: string[];
}

async function fork(...args: string[]): Promise<Forked> {
  newCalls();
  const before = demo.counters().completions;
  const report = await workspace.json<Forked['report']>('fork', ...args);
  const rows = await workspace.rows(report.batch);
  const events = await Promise.all(rows.map((row) => workspace.events(row.rollout)));
  return { report, rows, events, calls: demo.counters().completions - before, toolCalls: newCalls() };
}

const stepStart = (events: readonly TraceEvent[], step: number): number =>
  ofKind(events, 'model.start').find((event) => event.data.step === step)!.seq;
const toolMessage = (events: readonly TraceEvent[], nth: number): number =>
  ofKind(events, 'message').filter((event) => event.data.role === 'tool')[nth]!.data.m;
/** Edits in the form of the file that --edit reads. */
const editFile = (name: string, edits: unknown): string => workspace.write(name, JSON.stringify(edits));

describe('a fork', { timeout: 480_000 }, () => {
  it('answers its prefix without a model or tool call, in every attempt, world included', async () => {
    const question =
      'call look {"text": "a"}\ncall look {"text": "b"}\ncall add {"n": 1} times 16\ncall look {"text": ' +
      '"c"}\ncall add {"n": 2}\nanswer {{last}}';
    const file = workspace.batch('prefix', {
      endpoint: demo.url,
      tasks: [{ id: 'it', question, answer: 18 }],
      agent: { tools: [{ module: 'marking.ts' }] },
      world: { kind: 'module', module: 'counting.ts' },
    });
    const { batch } = await workspace.json<{ batch: string }>('run', file);
    const [row] = await workspace.rows(batch);
    assert.deepEqual([row?.progress.passed, row?.progress.steps], [true, 21]);
    assert.equal(newCalls().length, 20);
    const shared = await workspace.events(row!.rollout);
    const cut = stepStart(shared, 19) - 1;

    const forked = await fork(`${row!.rollout}:19`, '-k', '3');
    assert.equal(forked.calls, 3 * 3, 'three model calls each: steps 19, 20 and 21');
    assert.deepEqual(forked.toolCalls, ['add', 'add', 'add', 'look c', 'look c', 'look c']);
    assert.deepEqual([forked.report.attempts, forked.report.passed], [3, 3]);
    for (const [index, events] of forked.events.entries()) {
      assert.deepEqual(events.slice(0, cut), shared.slice(0, cut));
      assert.deepEqual(
        events.map((event) => event.seq),
        events.map((_, at) => at + 1),
      );
      assert.deepEqual(events[cut]?.kind === 'rollout.start' && events[cut].data.fork, {
        rollout: row!.rollout,
        seq: cut,
      });
      assert.equal(endOf(events).answer, '18');
      assert.deepEqual(
        [endOf(events).totals.steps, endOf(events).totals.tool_calls],
        [3, 2],
        'what is shared is not counted twice',
      );
      assert.equal(forked.rows[index]?.progress.steps, 3);
    }
    const parentOf = (await (await workspace.api()).batch(forked.report.batch)).parent;
    assert.deepEqual(parentOf, { rollout: row!.rollout, seq: cut });
    // `show` prints the whole, including shared steps.
    const output = await workspace.run('show', forked.rows[0]!.rollout);
    assert.equal(output.code, 0, output.stderr);
    for (let step = 1; step <= 21; step++) assert.match(output.stdout, new RegExp(`\\bstep ${step}\\b`));
    assert.match(output.stdout, /seen a[^]*seen b[^]*seen c/);
    const whole = await workspace.json<{ events: TraceEvent[]; lineage: unknown }>('show', forked.rows[0]!.rollout);
    assert.deepEqual(whole.lineage, [{ rollout: row!.rollout, to: cut }]);
    assert.equal(whole.events.length, forked.events[0]!.length);

    // After the newest snapshot the world is restored by repeating its restorable calls, which are not recorded.
    const later = await fork(`${row!.rollout}:21`);
    assert.deepEqual([later.calls, later.toolCalls], [1, ['add']]);
    assert.equal(endOf(later.events[0]!).totals.tool_calls, 0);
    assert.equal(later.report.passed, 1, 'the world is as it was');
    // Before it, by repeating all of them.
    const earlier = await fork(`${row!.rollout}:5`);
    assert.deepEqual(
      [earlier.calls, earlier.toolCalls.filter((mark) => mark === 'add').length, earlier.toolCalls.length],
      [17, 17, 18],
    );
    assert.equal(earlier.report.passed, 1);
  });

  it('continues from an edited message, and leaves its parent unchanged', async () => {
    const { rollout, events } = await parent('edited', 'call look {"text": "a"}\nanswer It is {{last}}.', 'seen a');
    const m = toolMessage(events, 0);
    const edit = editFile('edit-result.json', [{ of: { m }, path: '/parts/0/response', value: 'changed' }]);
    const result = await fork(`${rollout}:2`, '-k', '2', '--edit', edit);
    assert.deepEqual([result.calls, result.toolCalls], [2, []]);
    assert.deepEqual(
      result.events.map((all) => endOf(all).answer),
      ['It is changed.', 'It is changed.'],
    );
    assert.equal(
      result.rows.every((row) => !row.progress.touched),
      true,
      'an edit of the definition is no touch',
    );
    const [first] = result.events;
    const cut = stepStart(events, 2) - 1;
    assert.deepEqual(
      first!.slice(cut, cut + 4).map((event) => event.kind),
      ['rollout.start', 'rollout.lease', 'edit', 'message'],
    );
    assert.deepEqual(await workspace.events(rollout), events);

    // The question itself, in YAML: the fork of step 1 does something else.
    const m1 = ofKind(events, 'message').find((event) => event.data.role === 'user')!.data.m;
    const question = workspace.write(
      'edit-question.yaml',
      `- of: { m: ${m1} }\n  path: /parts/0/content\n  value: |\n    call look {"text": "z"}\n    answer Now ` +
        '{{last}}.\n',
    );
    const edited = await fork(`${rollout}:1`, '--edit', question);
    assert.deepEqual([edited.calls, edited.toolCalls], [2, ['look z']]);
    assert.equal(endOf(edited.events[0]!).answer, 'Now seen z.');

    const wrong = await workspace.run(
      'fork',
      `${rollout}:2`,
      '--edit',
      editFile('edit-none.json', [{ of: { m: 99 }, path: '/parts/0/response', value: 1 }]),
    );
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /Message 99 is not among the shared events/);
    const nothing = await workspace.run('fork', `${rollout}:2`, '--edit', editFile('edit-bad.json', { of: 1 }));
    assert.equal(nothing.code, 2);
    assert.match(nothing.stderr, /must contain a list such as/);
  });

  it('of a fork has a lineage of two, and gc keeps what a living fork reads @deep', async () => {
    const question = 'call look {"text": "a"}\ncall look {"text": "b"}\ncall look {"text": "c"}\nanswer {{last}}';
    const first = await parent('lineage', question, 'seen c');
    const edit = (m: number, value: string): string =>
      editFile(`edit-${m}.json`, [{ of: { m }, path: '/parts/0/response', value }]);
    const second = await fork(`${first.rollout}:2`, '--edit', edit(toolMessage(first.events, 0), 'A'));
    const child = second.rows[0]!.rollout;
    const third = await fork(`${child}:4`, '--edit', edit(toolMessage(second.events[0]!, 3), 'B'));
    assert.deepEqual([third.calls, third.toolCalls], [1, []]);
    const info = await (await workspace.api()).rollout(third.rows[0]!.rollout);
    const cuts = [stepStart(first.events, 2) - 1, stepStart(second.events[0]!, 4) - 1];
    assert.deepEqual(info.lineage, [
      { rollout: first.rollout, to: cuts[0] },
      { rollout: child, to: cuts[1] },
    ]);
    const [events] = third.events;
    assert.deepEqual(events!.slice(0, cuts[1]), second.events[0]!.slice(0, cuts[1]));
    assert.deepEqual(
      events!.map((event) => event.seq),
      events!.map((_, index) => index + 1),
    );
    assert.equal(endOf(events!).answer, 'B');
    // A cut in the events that a fork itself shares belongs to the oldest ancestor that has them.
    const inside = await fork(`${child}@${cuts[0]! - 1}`);
    assert.deepEqual((await (await workspace.api()).rollout(inside.rows[0]!.rollout)).lineage, [
      { rollout: first.rollout, to: cuts[0]! - 1 },
    ]);

    interface Collected {
      batches: string[];
      kept: { batch: string; why: string }[];
    }
    const batches = [first.batch, second.report.batch, inside.report.batch];
    const dry = await workspace.json<Collected>('gc', ...batches, '--dry-run');
    assert.deepEqual(dry.batches, [inside.report.batch]);
    assert.deepEqual(new Set(dry.kept.map(({ batch }) => batch)), new Set([first.batch, second.report.batch]));
    assert.match(dry.kept.find(({ batch }) => batch === second.report.batch)!.why, new RegExp(third.report.batch));
    assert.deepEqual((await workspace.json<Collected>('gc', ...batches)).batches, [inside.report.batch]);
    assert.equal((await workspace.events(third.rows[0]!.rollout)).length, events!.length, 'nothing it reads is gone');
    assert.deepEqual(
      new Set((await workspace.json<Collected>('gc', ...batches.slice(0, 2), third.report.batch)).batches),
      new Set([first.batch, second.report.batch, third.report.batch]),
    );
    assert.equal((await workspace.run('show', first.rollout)).code, 2);
  });

  it('may be cut between parallel calls: finished ones keep their results, the others run @deep', async () => {
    const { rollout, events } = await parent(
      'parallel',
      'call look {"text": "1"}\nand linger {"text": "2"}\nand look {"text": "3"}\nanswer {{last}}',
      'seen',
    );
    const ends = ofKind(events, 'tool.end');
    const starts = ofKind(events, 'tool.start');
    const nameOf = (span: number | undefined): string =>
      JSON.stringify(starts.find((event) => event.seq === span)!.data.arguments);
    assert.equal(
      starts.every((start) => start.seq < ends[0]!.seq),
      true,
      'they were requested at once',
    );
    assert.equal(nameOf(ends[2]!.span), '{"text":"2"}', 'the slow one ends last');

    const after1 = await fork(`${rollout}@${ends[0]!.seq}`, '-k', '2');
    const ended = nameOf(ends[0]!.span).includes('1') ? '1' : '3';
    const open = ended === '1' ? '3' : '1';
    assert.deepEqual(after1.toolCalls, ['linger 2', 'linger 2', `look ${open}`, `look ${open}`]);
    assert.deepEqual([after1.calls, after1.report.passed], [2, 2]);
    for (const all of after1.events) {
      // Those that were open at the cut are closed as such, then requested again.
      const lost = ofKind(all, 'tool.end').filter((end) => end.data.status === 'cut');
      assert.deepEqual(new Set(lost.map((end) => nameOf(end.span))), new Set(['{"text":"2"}', `{"text":"${open}"}`]));
      const last = ofKind(all, 'model.start').at(-1)!;
      const responses = ofKind(all, 'message').filter(
        (message) =>
          message.data.role === 'tool' &&
          last.data.context.some(([from, to]) => message.data.m >= from && message.data.m <= to),
      );
      assert.deepEqual(
        responses
          .flatMap((message) => message.data.parts.map((part) => part.type === 'tool_call_response' && part.response))
          .sort(),
        ['seen 1', 'seen 2', 'seen 3'],
      );
    }
    // Right after the model's message, before any call was requested: all three run.
    const none = await fork(`${rollout}@${starts[0]!.seq - 1}`);
    assert.deepEqual([none.calls, none.toolCalls], [1, ['linger 2', 'look 1', 'look 3']]);
    // After the last of them: none.
    const all = await fork(`${rollout}@${ends[2]!.seq}`);
    assert.deepEqual([all.calls, all.toolCalls], [1, []]);
  });

  it('requires confirmation to repeat irreversible calls after its cut', async () => {
    const { rollout, events } = await parent(
      'irreversible',
      'call send {"text": "1"}\ncall look {"text": "2"}\ncall send {"text": "3"}\nanswer {{last}}',
      'sent 3',
    );
    newCalls();
    const refused = await workspace.run('fork', `${rollout}:2`);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /cannot be undone and may be repeated: send\b.*--accept-irreversible/s);
    const refusal = await workspace.run('fork', `${rollout}:1`, '--json');
    assert.equal(refusal.code, 2);
    const sends = ofKind(events, 'tool.start').filter((event) => event.data.name === 'send');
    const { error } = JSON.parse(refusal.stdout) as { error: { code: string; details: unknown } };
    assert.deepEqual(error.details, {
      irreversible: sends.map((event) => ({ seq: event.seq, name: 'send', call: event.data.call })),
    });
    assert.deepEqual(newCalls(), []);

    const accepted = await fork(`${rollout}:2`, '--accept-irreversible');
    assert.deepEqual([accepted.calls, accepted.toolCalls], [3, ['look 2', 'send 3']]);
    // The first ran before the cut: it is answered from the record and needs no confirmation.
    const behind = await fork(`${rollout}:4`);
    assert.deepEqual([behind.calls, behind.toolCalls, behind.report.passed], [1, [], 1]);
  });

  it('requires an existing point @deep', async () => {
    const { rollout, batch } = await parent('points', 'call look {"text": "a"}\nanswer {{last}}', 'seen a');
    for (const [reference, pattern] of [
      [rollout, /requires a point/],
      [`${rollout}:9`, /has no step 9; it has 2/],
      [`${rollout}@999`, /cannot be forked after event 999/],
      [`${batch}/it/2:1`, /has no attempt 2/],
    ] as const) {
      const { code, stderr } = await workspace.run('fork', reference);
      assert.equal(code, 2, reference);
      assert.match(stderr, pattern);
    }
    const named = await fork(`${batch}/it/1:2`);
    assert.equal(named.calls, 1);
  });
});
