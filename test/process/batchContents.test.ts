// The possible contents of a batch, each in a real one: attachments, built-in tools, a simulated user, scorers,
// captured tokens, imports.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { JsonObject } from '../../src/common/json.ts';
import { type BlobRef, type EventOf, type TraceEvent, tokenRecord } from '../../src/trace/schema.ts';
import type { Report } from '../../src/trace/statistics/schema.ts';
import { root } from '../support/cli.ts';
import { type BatchFiles, endOf, ofKind, Workspace } from '../support/testWorkspace.ts';
import { type WatchedDemo, watchedDemo } from '../support/watchedDemo.ts';

let demo: WatchedDemo;
let workspace: Workspace;
before(async () => {
  demo = await watchedDemo();
  workspace = new Workspace();
});
after(async () => {
  await workspace.close();
  await demo.close();
});

interface BatchResult {
  readonly report: Report;
  /** By task. */
  readonly events: ReadonlyMap<string, TraceEvent[]>;
}

async function run(name: string, files: Omit<BatchFiles, 'endpoint'>): Promise<BatchResult> {
  const report = await workspace.json<Report>('run', workspace.batch(name, { endpoint: demo.url, ...files }));
  const rows = await workspace.rows(report.batch);
  return {
    report,
    events: new Map(
      await Promise.all(rows.map(async (row) => [row.task, await workspace.events(row.rollout)] as const)),
    ),
  };
}

const results = (events: readonly TraceEvent[]): unknown[] =>
  ofKind(events, 'message')
    .filter((event) => event.data.role === 'tool')
    .map((event) => event.data.parts[0])
    .map((part) => part?.type === 'tool_call_response' && part.response);
const scoreOf = (events: readonly TraceEvent[]): EventOf<'score'>['data'] => ofKind(events, 'score').at(-1)!.data;

/** Requests to the model in conversations that contain these words. */
const requestsWith = (words: string): JsonObject[] =>
  demo.receivedRequests.filter((body) => JSON.stringify(body['messages']).includes(words));

describe('tools and files', { timeout: 480_000, concurrency: 2 }, () => {
  it('GAIA attachments are in the working directory, where files and terminal read them', async () => {
    const record = (id: string, question: string, answer: string, level: number, file = ''): string =>
      JSON.stringify({
        task_id: id,
        Question: question,
        'Final answer': answer,
        Level: level,
        file_name: file,
        'Annotator Metadata': {},
      });
    const metadata = [
      record('0-0-0-0-0', 'an example', '?', 1),
      record('by-files', 'call read_file {"path": "sum.txt"}\nanswer {{last}}', '17', 1, 'sum.txt'),
      record(
        'by-terminal',
        `call execute_command {"command": "${process.platform === 'win32' ? 'type' : 'cat'} pets.csv"}\nsay ` +
          'done\nanswer cat, dog',
        'cat,dog',
        2,
        'pets.csv',
      ),
      record('by-eye', 'call read_file {"path": "dot.png"}\nanswer 2', '2', 2, 'dot.png'),
      record('without', 'call list_files {}\nanswer 3', '3', 3),
    ];
    workspace.write('gaia/metadata.jsonl', metadata.join('\n'));
    workspace.write('gaia/sum.txt', '17');
    workspace.write('gaia/pets.csv', 'cat,dog');
    const png = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    writeFileSync(workspace.path('gaia', 'dot.png'), png);
    const { report, events } = await run('gaia', {
      tasks: [],
      agent: { tools: [{ builtin: ['files', 'terminal'] }] },
      batch: { dataset: { file: 'gaia/metadata.jsonl', format: 'gaia' }, scorer: { kind: 'exact' } },
    });
    assert.deepEqual(
      [report.tasks, report.passed],
      [4, 4],
      JSON.stringify([...events.values()].map((one) => [endOf(one).answer, results(one)])),
    );
    assert.deepEqual(
      Object.entries(report.by_level).map(([level, one]) => [level, one.passed]),
      [
        ['1', 1],
        ['2', 2],
        ['3', 1],
      ],
    );
    assert.deepEqual(results(events.get('by-terminal')!), [{ exit_code: 0, output: 'cat,dog' }]);
    assert.doesNotMatch(
      JSON.stringify(results(events.get('without')!)),
      /sum|pets|dot/,
      'attachments are those of the task',
    );
    const image = demo.receivedRequests
      .flatMap((body) => body['messages'] as { content: unknown }[])
      .flatMap((message) => (Array.isArray(message.content) ? (message.content as JsonObject[]) : []))
      .find((part) => part['type'] === 'image_url');
    assert.equal(
      (image?.['image_url'] as { url: string } | undefined)?.url,
      `data:image/png;base64,${png.toString('base64')}`,
    );
  });

  it('one agent uses all built-in tools', async () => {
    const calls = [
      ['calculate', { expression: '6 * 7' }],
      ['write_file', { path: 'sub/a.txt', content: 'one two' }],
      ['edit_file', { path: 'sub/a.txt', find: 'two', replace: '2' }],
      ['read_file', { path: 'sub/a.txt' }],
      [
        'run_code',
        { code: 'import("node:fs").then((fs) => console.log(fs.readFileSync("sub/a.txt", "utf8").length))' },
      ],
      ['execute_command', { command: 'echo out && exit 3' }],
      ['read_file', { path: '../../../server.json' }],
    ] as const;
    const { report, events } = await run('builtins', {
      agent: { tools: [{ builtin: ['terminal', 'code', 'calculator', 'files'] }] },
      tasks: [
        {
          id: 'it',
          question: `${calls.map(([name, args]) => `call ${name} ${JSON.stringify(args)}`).join('\n')}\nanswer done`,
          answer: 'done',
        },
      ],
    });
    assert.equal(report.passed, 1);
    const all = events.get('it')!;
    const [sum, , , text, code, command] = results(all);
    assert.deepEqual([sum, text, code], [42, 'one 2', { exit_code: 0, output: '5\n' }]);
    assert.equal((command as { exit_code: number }).exit_code, 3);
    assert.match((command as { output: string }).output, /^out\s*$/);
    const outside = ofKind(all, 'tool.end').at(-1)!.data;
    assert.equal(outside.error?.class, 'tool_error');
    assert.match(outside.error.message, /working directory/);
  });
});

describe('a simulated user', { timeout: 480_000 }, () => {
  const world = `export const open = () => ({ tools: {}, verify: () => ({ value: 1, passed: true }) });\n`;

  it('talks with the agent until it wants nothing more, or the agent reaches its limit', async () => {
    workspace.write('empty.ts', world);
    const { report, events } = await run('user', {
      agent: { limits: { steps: 3 } },
      world: {
        kind: 'module',
        module: 'empty.ts',
        user: {
          model: { endpoint: demo.url, name: 'demo' },
          prompt: 'You are a library member named {{task.meta.who}}.',
        },
      },
      tasks: [
        { id: 'question', question: 'answer What is your name?', who: 'Ada Moreno' },
        { id: 'statement', question: 'answer It is done.', who: 'Bob' },
      ],
    });
    assert.deepEqual([report.scored, report.passed, report.truncated], [2, 2, 1]);
    const statement = events.get('statement')!;
    assert.deepEqual([endOf(statement).status, endOf(statement).answer], ['done', 'It is done.']);
    // The user's call is in the agent's step, and nobody trains on it.
    const starts = ofKind(statement, 'model.start').map((event) => [event.agent, event.data.step, event.data.side]);
    assert.deepEqual(starts, [
      ['tester', 1, undefined],
      ['user', 1, 'user'],
    ]);
    const { totals } = endOf(statement);
    assert.deepEqual([totals.steps, totals.side?.calls], [1, 1]);
    assert.deepEqual(
      ofKind(statement, 'model.end')
        .map((event) => event.data.trainable)
        .at(-1),
      false,
    );

    const cut = events.get('question')!;
    assert.deepEqual(
      [endOf(cut).status, endOf(cut).error?.class, endOf(cut).answer],
      ['truncated', 'limit', 'What is your name?'],
    );
    const said = ofKind(cut, 'message')
      .filter((event) => event.data.from === 'user')
      .map((event) => [event.data.role, event.data.origin, event.data.parts]);
    assert.deepEqual(said[0], ['user', 'given', [{ type: 'text', content: 'My name is Ada Moreno.' }]]);
    assert.equal(said.length, 3);
    // The user sees the agent as the other side, and knows how it began.
    const heard = requestsWith('named Ada Moreno')[0]!['messages'] as { role: string; content: string }[];
    assert.match(heard[0]!.content, /You began the conversation by saying: answer What is your name\?/);
    assert.deepEqual(
      heard.slice(1).map(({ role, content }) => [role, content]),
      [['user', 'What is your name?']],
    );
  });
});

describe('scorers', { timeout: 480_000, concurrency: 2 }, () => {
  it('judge: a model grades by the rubric, and its explanation is kept', async () => {
    const { report, events } = await run('judged', {
      tasks: [
        { id: 'good', question: 'answer I think it is 42.', answer: '42' },
        { id: 'bad', question: 'answer no idea', answer: '42' },
      ],
      batch: {
        scorer: {
          kind: 'judge',
          model: { endpoint: demo.url, name: 'demo' },
          rubric: 'Is the number right?',
          pass: 0.5,
        },
      },
    });
    assert.deepEqual([report.passed, report.failed], [1, 1]);
    const good = scoreOf(events.get('good')!);
    assert.deepEqual([good.scorer, good.value, good.passed], ['judge', 1, true]);
    assert.match(good.explanation ?? '', /contains the expected text/);
    assert.deepEqual([scoreOf(events.get('bad')!).value, endOf(events.get('bad')!).reward], [0, 0]);
    assert.equal(requestsWith('You are a judge').length, 2);
    assert.deepEqual(requestsWith('You are a judge'), requestsWith('Is the number right?'));
  });

  it('module: a function of the user; one that throws leaves the attempt unscored', async () => {
    workspace.write(
      'score.ts',
      `import type { Score } from 'rollout-studio';
export const score: Score = ({ task, answer, messages }) => {
  if (answer === 'throw') throw new Error('cannot score this');
  const tools = messages.filter((message) => message.role === 'tool').length;
  return { value: String(answer).length / 10, passed: answer === task.answer, parts: { tools }, explanation: 'tag ' \
+ String(task.meta.tag) };
};
`,
    );
    const { report, events } = await run('scored', {
      agent: { tools: [{ builtin: ['calculator'] }] },
      tasks: [
        { id: 'good', question: 'call calculate {"expression": "1"}\nanswer right', answer: 'right', tag: 'x' },
        { id: 'bad', question: 'answer wrong one', answer: 'right' },
        { id: 'broken', question: 'answer throw', answer: 'right' },
      ],
      batch: { scorer: { kind: 'module', module: 'score.ts' } },
    });
    assert.deepEqual([report.passed, report.failed, report.unscored], [1, 1, 1]);
    const good = scoreOf(events.get('good')!);
    assert.deepEqual([good.value, good.passed, good.parts, good.explanation], [0.5, true, { tools: 1 }, 'tag x']);
    assert.equal(endOf(events.get('bad')!).reward, 0.9);
    const broken = scoreOf(events.get('broken')!);
    assert.deepEqual(
      [broken.value, broken.passed, broken.error?.class, broken.error?.message],
      [null, null, 'tool_error', 'cannot score this'],
    );
    assert.deepEqual(broken.error?.place, { file: 'score.ts', line: 3, column: 33 });
  });
});

describe('what a trainer needs', { timeout: 480_000 }, () => {
  it('token IDs and logprobs of each call are what the engine sampled, prompts as differences', async () => {
    const { events } = await run('captured', {
      agent: { tools: [{ builtin: ['calculator'] }] },
      model: { capture: { token_ids: true, logprobs: true } },
      tasks: [{ id: 'it', question: 'call calculate {"expression": "6 * 7"} times 3\nanswer {{last}}', answer: '42' }],
    });
    const all = events.get('it')!;
    const api = await workspace.api();
    const ends = ofKind(all, 'model.end');
    assert.equal(ends.length, 4);
    const whole = new Map<number, number[]>();
    for (const [index, end] of ends.entries()) {
      assert.equal(end.data.trainable, true);
      const record = tokenRecord.parse(
        JSON.parse(new TextDecoder().decode(await api.getBlob((end.data.tokens as BlobRef).$blob))),
      );
      const before = record.prompt.of === undefined ? [] : whole.get(record.prompt.of)!.slice(0, record.prompt.keep);
      const prompt = [...before, ...record.prompt.ids];
      whole.set(end.span!, [...prompt, ...record.completion]);
      assert.ok(index === 0 || before.length > record.prompt.ids.length, 'what was there is not written again');
      // The same request once more, answered whole: the engine samples by seed.
      const body = requestsWith('6 * 7\\"} times 3')[index]!;
      const again = (await (
        await fetch(`${demo.url}/chat/completions`, {
          method: 'POST',
          body: JSON.stringify({ ...body, stream: false, stream_options: undefined }),
        })
      ).json()) as {
        prompt_token_ids: number[];
        choices: { token_ids: number[]; logprobs: { content: { logprob: number }[] } }[];
      };
      assert.deepEqual(prompt, again.prompt_token_ids);
      assert.deepEqual(record.completion, again.choices[0]!.token_ids);
      assert.equal(record.completion.length, end.data.usage!.output_tokens);
      const bytes = Buffer.from(record.logprobs!, 'base64');
      const logprobs = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
      assert.deepEqual(
        logprobs,
        again.choices[0]!.logprobs.content.map(({ logprob }) => Math.fround(logprob)),
      );
    }
  });
});

describe('import', { timeout: 480_000 }, () => {
  it('makes a batch of tau-bench results that reports and displays like any other', async () => {
    const file = path.join(root, 'test', 'fixtures', 'tau-bench', 'two-tasks.json');
    const imported = await workspace.json<{
      batch: string;
      tasks: string[];
      rollouts: number;
      skipped: { place: string; why: string }[];
    }>('import', file);
    const source = JSON.parse(readFileSync(file, 'utf8')) as {
      task_id: number;
      trial: number;
      traj: { content: string | null }[];
    }[];
    assert.equal(imported.rollouts + imported.skipped.length, source.length);
    const report = await workspace.json<Report>('report', imported.batch);
    // One passed, one failed, one was lost to its model server.
    assert.deepEqual(
      [report.attempts, report.passed, report.failed, report.infrastructure],
      [imported.rollouts, 1, 1, 1],
    );
    assert.deepEqual(
      [report.tokens, report.ms, report.cost],
      [null, null, null],
      'what the source does not report is not invented',
    );
    assert.ok(report.why['cost'] !== undefined);
    const first = source.find(({ task_id, trial }) => task_id === 0 && trial === 1)!;
    const output = await workspace.run('show', `${imported.batch}/0/2`);
    assert.equal(output.code, 0, output.stderr);
    for (const { content } of first.traj) if (content !== null) assert.ok(output.stdout.includes(content), content);
    assert.match(output.stdout, /imported without times/);
    const fork = await workspace.run('fork', `${imported.batch}/0/2:1`);
    assert.equal(fork.code, 2);
    assert.match(fork.stderr, /has no agent to continue with/);
  });
});
