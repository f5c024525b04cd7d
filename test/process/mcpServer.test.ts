// `rollout mcp` as a coding agent uses it: every tool over stdio, on a real store with real batches.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Client } from '@modelcontextprotocol/client';
import { bytesOf } from '../../src/mcp/answers/bounds.ts';
import { STRUCTURED } from '../../src/mcp/tool.ts';
import { end, hasEnded } from '../support/cli.ts';
import { connectMcp, textOf } from '../support/mcpClient.ts';
import { Workspace } from '../support/testWorkspace.ts';
import { type WatchedDemo, watchedDemo } from '../support/watchedDemo.ts';

const READING = [
  'list_batches',
  'show_batch',
  'list_attempts',
  'read_trajectory',
  'read_call',
  'search_trajectories',
  'compare_attempts',
  'check_files',
  'wait_for_batch',
];
const WRITING = [
  ...['launch_batch', 'fork_rollout', 'rescore_batch', 'label_attempt'],
  ...['pause_batch', 'resume_batch', 'stop_batch'],
];
const MAX_BYTES = 40_000;
/** Every client puts the list of tools into its model's context. */
const MAX_LIST_BYTES = 20_000;
/** Characters of the result of the tool `big`. */
const BIG = 90_000;

let demo: WatchedDemo;
let workspace: Workspace;
let client: Client;
let batch: string;

before(async () => {
  demo = await watchedDemo();
  workspace = new Workspace();
  workspace.write(
    'tools.ts',
    `import { tool } from 'rollout-studio';
import { z } from 'zod';
const text = z.object({ text: z.string() });
export const look = tool({ description: 'Looks.', input: text, effect: 'pure', run: ({ text }) => 'seen ' + text });
export const crash = tool({ description: 'Fails.', input: text, effect: 'pure', run: ({ text }) => { throw new \
Error('no ' + text + ' today'); } });
export const big = tool({ description: 'Gives much.', input: z.object({}), effect: 'pure', run: () => \
'Ä'.repeat(${BIG}) });
`,
  );
  workspace.batch('first', {
    endpoint: demo.url,
    demo: 'context=1000000',
    agent: { tools: [{ module: 'tools.ts' }] },
    batch: { attempts: 2 },
    tasks: [
      {
        id: 'good',
        question: 'call look {"text": "sun"}\ncall look {"text": "rain"}\nanswer it rains',
        answer: 'rains',
      },
      { id: 'bad/one', question: 'call crash {"text": "umbrella"}\nanswer lost', answer: 'found' },
      { id: 'big', question: 'call big {}\nanswer much', answer: 'much' },
    ],
  });
  client = await connectMcp(workspace, { mode: 'legacy', capabilities: { elicitation: {} } });
  // A person allows what a batch newly sends to.
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { allow: true } }));
});
after(async () => {
  await client.close();
  await workspace.close();
  await demo.close();
});

/** A tool's answer. Throws its error text. */
async function call<T>(
  name: string,
  args: Record<string, unknown> = {},
  of = client,
): Promise<{ data: T; text: string }> {
  const result = await of.callTool({ name, arguments: args, _meta: { [STRUCTURED]: true } });
  const text = textOf(result);
  assert.ok(result.isError !== true, text);
  assert.ok(bytesOf(text) <= MAX_BYTES, `${name}: ${bytesOf(text)} bytes`);
  assert.notEqual(text, '');
  return { data: result.structuredContent as T, text };
}

async function refused(name: string, args: Record<string, unknown>): Promise<string> {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError, true, textOf(result));
  return textOf(result);
}

interface Page {
  readonly next_cursor?: string;
}

/** All pages of a tool's answers. */
async function pages<T extends Page>(name: string, args: Record<string, unknown>): Promise<T[]> {
  const found: T[] = [];
  let cursor: string | undefined;
  do {
    const { data } = await call<T>(name, { ...args, ...(cursor === undefined ? {} : { cursor }) });
    found.push(data);
    cursor = data.next_cursor;
  } while (cursor !== undefined);
  return found;
}

interface WaitResult {
  readonly ended: boolean;
  readonly batch: { readonly batch: string; readonly state: string; readonly counts: Record<string, number> };
}
interface Attempts extends Page {
  readonly attempts: readonly {
    readonly reference: string;
    readonly rollout: string;
    readonly outcome: string;
    readonly tools: readonly string[];
  }[];
}
interface Places extends Page {
  readonly places: readonly { readonly reference: string; readonly excerpt: string; readonly events: number }[];
}
interface Trajectory extends Page {
  readonly reference: string;
  readonly steps: number;
  readonly text: string;
}
interface ToolCall {
  readonly tool: string;
  readonly status: string;
  readonly text: string;
  readonly total: number;
  readonly next_offset?: number;
  readonly parts: Record<string, number>;
}

it('lists its tools, and which of them change something', async () => {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name).sort(), [...READING, ...WRITING].sort());
  for (const tool of tools) {
    assert.equal(tool.annotations?.readOnlyHint, READING.includes(tool.name), tool.name);
    assert.ok(tool.title !== undefined && tool.description !== undefined, tool.name);
  }
  assert.equal(tools.find((tool) => tool.name === 'stop_batch')?.annotations?.destructiveHint, true);
  assert.ok(bytesOf(JSON.stringify(tools)) <= MAX_LIST_BYTES, `the list has ${bytesOf(JSON.stringify(tools))} bytes`);
  assert.match(client.getInstructions() ?? '', /BATCH\/TASK\/ATTEMPT/);
});

it('answers with the text, and with the data only on request', async () => {
  const plain = await client.callTool({ name: 'list_batches', arguments: {} });
  assert.notEqual(textOf(plain), '');
  assert.equal(plain.structuredContent, undefined);
  assert.deepEqual((await call('list_batches')).data, { batches: [] });
});

it('reports an empty store, a wrong reference, and a file elsewhere with their hint', async () => {
  assert.match((await call('list_batches')).text, /launch_batch/);
  assert.match(await refused('show_batch', {}), /no batches yet/);
  assert.match(await refused('read_trajectory', { reference: 'nonsense' }), /not a reference/);
  assert.match(await refused('launch_batch', { file: '../elsewhere.batch.yaml' }), /--folder/);
  assert.match(await refused('launch_batch', { file: 'absent.batch.yaml' }), /not found/);
  assert.match(await refused('list_batches', { limit: 0 }), /limit/);
  assert.match(await refused('list_batches', { cursor: 'xyz' }), /next_cursor/);
});

it('checks files', async () => {
  assert.deepEqual((await call<{ ok: boolean }>('check_files')).data.ok, true);
  workspace.write('broken.agent.yaml', 'version: 1\nname: broken\nprompt: hm\nmodle: x\n');
  const { data, text } = await call<{ ok: boolean; problems: { line: number; hint: string }[] }>('check_files', {
    files: ['broken.agent.yaml'],
  });
  assert.equal(data.ok, false);
  assert.ok(
    data.problems.some((problem) => problem.line === 4),
    text,
  );
  assert.match(text, /broken\.agent\.yaml:4:/);
});

describe('a batch', () => {
  before(async () => {
    batch = (await call<{ batch: string }>('launch_batch', { file: 'first.batch.yaml' })).data.batch;
    let waited: WaitResult;
    do {
      waited = (await call<WaitResult>('wait_for_batch', { batch, seconds: 30 })).data;
    } while (!waited.ended);
    assert.deepEqual(
      [waited.batch.counts['passed'], waited.batch.counts['failed']],
      [4, 2],
      (await call('list_attempts', { batch })).text,
    );
  });

  it('is listed and displayed', async () => {
    const { data } = await call<{ batches: { batch: string; name: string }[] }>('list_batches');
    assert.deepEqual(
      data.batches.map((row) => [row.batch, row.name]),
      [[batch, 'first']],
    );
    const result = await call<{ report: { passed: number; pass_at: Record<string, number> }; hardest_tasks: unknown }>(
      'show_batch',
      { ks: [2] },
    );
    assert.equal(result.data.report.passed, 4);
    assert.ok(Math.abs((result.data.report.pass_at['2'] ?? 0) - 2 / 3) < 1e-9);
    assert.deepEqual(result.data.hardest_tasks, [{ task: 'bad/one', passed: 0, scored: 2 }]);
    assert.match(result.text, /pass@k/);
    assert.match(result.text, /crash 0\/2/);
  });

  it('filters and pages its attempts', async () => {
    const references = (found: readonly Attempts[]): string[] =>
      found.flatMap((page) => page.attempts.map((one) => one.reference));
    assert.deepEqual(references(await pages<Attempts>('list_attempts', { outcome: 'failed' })), [
      `${batch}/bad/one/1`,
      `${batch}/bad/one/2`,
    ]);
    assert.deepEqual(references(await pages<Attempts>('list_attempts', { tool: 'big' })), [
      `${batch}/big/1`,
      `${batch}/big/2`,
    ]);
    assert.deepEqual(references(await pages<Attempts>('list_attempts', { query: 'attempt == 2 && step > 2' })), [
      `${batch}/good/2`,
    ]);
    assert.deepEqual(
      references(
        await pages<Attempts>('list_attempts', { query: 'task.question.contains("umbrella") && attempt == 1' }),
      ),
      [`${batch}/bad/one/1`],
    );
    const paged = await pages<Attempts>('list_attempts', { limit: 4 });
    assert.deepEqual(
      paged.map((page) => page.attempts.length),
      [4, 2],
    );
    assert.equal(new Set(references(paged)).size, 6);
  });

  it('prints a trajectory step by step, as rollout show does', async () => {
    const { data } = await call<Trajectory>('read_trajectory', { reference: `${batch}/good/1` });
    assert.equal(data.steps, 3);
    assert.equal(data.next_cursor, undefined);
    const output = (await workspace.run('show', `${batch}/good/1`)).stdout;
    const words = (text: string): string => text.replace(/[\s─]+/g, ' ').trim();
    assert.equal(words(data.text), words(output));
    const second = (await call<Trajectory>('read_trajectory', { reference: `${batch}/good/1:2`, to_step: 2 })).data
      .text;
    assert.match(second, /look \{text: "rain"\}/);
    assert.doesNotMatch(second, /"sun"|it rains/);
    assert.match(await refused('read_trajectory', { reference: `${batch}/good/1`, from_step: 9 }), /step from 0 to 3/);
  });

  it('splits a long trajectory into pages that add up to the whole', async () => {
    const found = await pages<Trajectory>('read_trajectory', { reference: `${batch}/big/1`, detail: 'full' });
    assert.ok(found.length >= 1);
    const text = found.map((page) => page.text).join('');
    assert.match(text, /step 0[^]*step 1[^]*step 2[^]*much/);
  });

  it('reads a call whole, by ranges', async () => {
    const first = (await call<ToolCall>('read_call', { reference: `${batch}/big/1:1`, part: 'result' })).data;
    assert.equal(first.tool, 'big');
    assert.equal(first.total, BIG);
    let text = '';
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const part: ToolCall = (
        await call<ToolCall>('read_call', { reference: `${batch}/big/1:1`, part: 'result', offset })
      ).data;
      text += part.text;
      offset = part.next_offset;
    }
    assert.equal(text, 'Ä'.repeat(BIG));
    const middle = (
      await call<ToolCall>('read_call', { reference: `${batch}/big/1:1`, part: 'result', offset: 80_000, length: 7 })
    ).data;
    assert.deepEqual([middle.text, middle.next_offset], ['ÄÄÄÄÄÄÄ', 80_007]);
    const crashed = await call<ToolCall>('read_call', { reference: `${batch}/bad/one/1` });
    assert.equal(crashed.data.status, 'error');
    assert.match(crashed.text, /arguments:\n\{\n {2}"text": "umbrella"[^]*no umbrella today[^]*tools\.ts/);
    assert.match(await refused('read_call', { reference: `${batch}/good/1:3` }), /Steps with calls: 1, 2/);
  });

  it('is searched by words and by conditions', async () => {
    const words = (await call<Places>('search_trajectories', { query: 'umbrella today', in: batch })).data.places;
    assert.deepEqual(
      words.map((place) => place.reference),
      [`${batch}/bad/one/1:1`, `${batch}/bad/one/2:1`],
    );
    assert.match(words[0]?.excerpt ?? '', /umbrella/);
    const cel = await pages<Places>('search_trajectories', { query: 'tool.name == "look"', in: batch, limit: 1 });
    assert.deepEqual(
      cel.flatMap((page) => page.places.map((place) => place.reference)),
      ['1:1', '1:2', '2:1', '2:2'].map((at) => `${batch}/good/${at}`),
    );
    const [one] = (await call<Places>('search_trajectories', { query: 'rain', in: `${batch}/good/1` })).data.places;
    assert.equal(one?.reference, `${batch}/good/1:0`);
    assert.match(await refused('search_trajectories', { query: 'tool.name == ', in: batch }), /tool\.name/);
  });

  it('compares a fork with an edit, and says where it diverges', async () => {
    const from = `${batch}/good/1`;
    const events = await workspace.events(
      (await call<Attempts>('list_attempts', { task: 'good' })).data.attempts[0]?.rollout ?? '',
    );
    const question = events.find((event) => event.kind === 'message' && event.data.role === 'user');
    assert.ok(question?.kind === 'message');
    const part = question.data.parts.findIndex((one) => one.type === 'text');
    const forked = (
      await call<{ batch: string; rollout: string }>('fork_rollout', {
        from: `${from}:2`,
        attempts: 2,
        edit: [
          {
            of: { m: question.data.m },
            path: `/parts/${part}/content`,
            value: 'call look {"text": "sun"}\ncall look {"text": "snow"}\nanswer it snows',
          },
        ],
      })
    ).data;
    while (!(await call<WaitResult>('wait_for_batch', { batch: forked.batch, seconds: 30 })).data.ended);
    const { data, text } = await call<{
      common: number;
      same: boolean;
      differs: { a?: { step: number }; b?: { step: number } };
    }>('compare_attempts', { a: from, b: `${forked.batch}/good/2` });
    assert.equal(data.same, false);
    assert.equal(data.common, 1, text);
    assert.deepEqual([data.differs.a?.step, data.differs.b?.step], [2, 2]);
    assert.match(text, /"rain"[^]*"snow"/);
    assert.equal(
      (await call<{ same: boolean }>('compare_attempts', { a: from, b: `${batch}/good/2` })).data.same,
      true,
    );
    assert.match(await refused('fork_rollout', { from }), /ROLLOUT:STEP/);

    // Its pass rate next to the parent's, and the effect of another model.
    const result = await call<{
      batch: { forked_from: string };
      fork: { fork: { scored: number }; parent: { scored: number }; siblings: { scored: number } };
    }>('show_batch', { batch: forked.batch });
    assert.deepEqual(
      [result.data.fork.fork.scored, result.data.fork.parent.scored, result.data.fork.siblings.scored],
      [2, 2, 2],
    );
    assert.match(result.text, /parent, same path +2\/2/);
    workspace.write(
      'larger.agent.yaml',
      'version: 1\nname: larger\nprompt: hm\nmodel: { endpoint: "demo:", name: larger }\n',
    );
    const dry = await call<{ batch?: string; differs: string[] }>('fork_rollout', {
      from: `${from}:2`,
      model: 'larger',
      dry_run: true,
    });
    assert.deepEqual([dry.data.batch, dry.data.differs], [undefined, ['agent.model.name: demo → larger']]);
    assert.match(dry.text, /nothing was launched/);
    assert.match(
      await refused('fork_rollout', { from: `${from}:2`, agent_file: '../elsewhere.agent.yaml' }),
      /is outside the workspace/,
    );
  });

  it('its resources and prompts hold text', async () => {
    const { resources } = await client.listResources();
    assert.ok(resources.some((resource) => resource.uri === `rollout://${batch}`));
    const read = async (uri: string): Promise<string> =>
      (await client.readResource({ uri })).contents.map((content) => ('text' in content ? content.text : '')).join('');
    assert.match(await read(`rollout://${batch}`), /pass@k/);
    assert.match(await read(`rollout://${batch}/${encodeURIComponent('bad/one')}/1`), /no umbrella today/);
    const [row] = (await call<Attempts>('list_attempts', { outcome: 'failed', batch })).data.attempts;
    assert.match(await read(`rollout://${row?.rollout ?? ''}`), /no umbrella today/);
    const { prompts } = await client.listPrompts();
    assert.equal(prompts.length, 2);
    for (const { name } of prompts) {
      const prompt = await client.getPrompt({ name, arguments: { batch } });
      assert.match(JSON.stringify(prompt.messages), /pass@k/);
    }
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: prompts[0]?.name ?? '' },
      argument: { name: 'batch', value: batch.slice(0, 4) },
    });
    assert.ok(completion.values.includes(batch));
  });
});

it('a running batch is waited for with progress, paused, resumed, stopped', { timeout: 120_000 }, async () => {
  demo.shut('slow');
  workspace.batch('slow', {
    endpoint: demo.url,
    gate: 'slow',
    tasks: ['a', 'b', 'c'].map((id) => ({ id, question: 'answer yes', answer: 'yes' })),
    batch: { concurrency: 1 },
  });
  const { batch: slow } = (await call<{ batch: string }>('launch_batch', { file: 'slow.batch.yaml', limit: 2 })).data;

  const short = (await call<WaitResult>('wait_for_batch', { batch: slow, seconds: 0.2 })).data;
  assert.equal(short.ended, false);
  const cancelling = new AbortController();
  const cancelled = client.callTool(
    { name: 'wait_for_batch', arguments: { batch: slow, seconds: 600 } },
    { signal: cancelling.signal },
  );
  cancelling.abort();
  await assert.rejects(cancelled);

  await call('pause_batch', { target: slow });
  assert.equal((await call<WaitResult>('wait_for_batch', { batch: slow, seconds: 0 })).data.batch.state, 'paused');
  await call('resume_batch', { target: slow });
  // Its progress is reported immediately and after each attempt: each report lets the next attempt continue.
  const messages: string[] = [];
  const waiting = client.callTool(
    { name: 'wait_for_batch', arguments: { batch: slow, seconds: 600 }, _meta: { [STRUCTURED]: true } },
    {
      timeout: 100_000,
      onprogress: ({ message = '' }) => {
        if (messages.push(message) === 1) demo.pass('slow');
        else demo.open('slow');
      },
    },
  );
  assert.equal(((await waiting).structuredContent as WaitResult | undefined)?.ended, true);
  // The client may miss the report of the last change, because the response follows immediately.
  assert.deepEqual(messages.slice(0, 2), ['0 of 2 attempts ended', '1 of 2 attempts ended']);

  demo.shut('slow');
  const { batch: stopped } = (await call<{ batch: string }>('launch_batch', { file: 'slow.batch.yaml', tasks: ['c'] }))
    .data;
  await call('stop_batch', { target: stopped, reason: 'enough' });
  let last: WaitResult;
  do last = (await call<WaitResult>('wait_for_batch', { batch: stopped, seconds: 30 })).data;
  while (!last.ended);
  assert.deepEqual(last.batch.counts['cancelled'], 1);
  demo.open('slow');
});

it('an agent scores a batch again, and labels an attempt under a name of its own', async () => {
  workspace.write('never.yaml', 'scorer: { kind: regex, name: strict, pattern: never-said }\n');
  const scored = (
    await call<{ batch: string; rescores: string; attempts: number }>('rescore_batch', {
      batch,
      scorer: 'never.yaml',
      tasks: ['good'],
    })
  ).data;
  assert.deepEqual([scored.rescores, scored.attempts], [batch, 2]);
  let waited: WaitResult;
  do waited = (await call<WaitResult>('wait_for_batch', { batch: scored.batch, seconds: 30 })).data;
  while (!waited.ended);
  assert.deepEqual(waited.batch.counts['failed'], 2);
  const labeled = await call<{ rollout: string; passed: boolean | null; by: string }>('label_attempt', {
    attempt: `${batch}/good/1`,
    verdict: 'failed',
    note: 'it did not rain',
  });
  assert.match(labeled.data.by, / \(agent\)$/);
  const verdicts = async (): Promise<Record<string, boolean | null>> => {
    const { row } = await (await workspace.api()).rollout(labeled.data.rollout);
    return Object.fromEntries(Object.entries(row.progress.verdicts ?? {}).map(([name, { passed }]) => [name, passed]));
  };
  assert.deepEqual(await verdicts(), { strict: false, [`person:${labeled.data.by}`]: false });
  await call('label_attempt', { attempt: `${batch}/good/1`, verdict: 'none' });
  assert.deepEqual(
    Object.values(await verdicts()).filter((passed) => passed !== null),
    [false],
  );
  assert.match(await refused('label_attempt', { attempt: batch, verdict: 'passed' }), /belongs to an attempt/);
  assert.match(await refused('rescore_batch', { batch, scorer: '../elsewhere.yaml' }), /--folder/);
  assert.match(await refused('rescore_batch', { batch, tasks: ['absent'] }), /no task “absent”/);
});

it('a server that went away is found again', async () => {
  const pid = workspace.bench.serverFile()?.pid ?? 0;
  await end(pid);
  assert.equal(await hasEnded(pid, 10_000), true);
  assert.ok((await call<{ batches: unknown[] }>('list_batches')).data.batches.length > 0);
});

it('read-only offers nothing that changes anything', async () => {
  const reader = await connectMcp(workspace, { mode: 'auto', options: ['--read-only'] });
  try {
    assert.deepEqual((await reader.listTools()).tools.map((tool) => tool.name).sort(), [...READING].sort());
    assert.ok((await call<{ batches: unknown[] }>('list_batches', {}, reader)).data.batches.length > 0);
    assert.equal((await call<WaitResult>('wait_for_batch', { batch, seconds: 1 }, reader)).data.ended, true);
  } finally {
    await reader.close();
  }
});
