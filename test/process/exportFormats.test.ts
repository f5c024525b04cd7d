/** Every format for trainers, from one batch, against its token groups; selection, rules, redaction, and manifest. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { parquetReadObjects } from 'hyparquet';
import type { Json, JsonObject } from '../../src/common/json.ts';
import { TRAINING_FORMATS } from '../../src/formats/training/registry.ts';
import type { TrainingRow } from '../../src/trace/segments/trainingRows.ts';
import { Bench } from '../support/cli.ts';
import { type DemoServer, startDemoServer } from '../support/demoServer.ts';
import { Workspace } from '../support/testWorkspace.ts';

const KEY = `sk-proj-${'a1B2'.repeat(8)}`;
const ATTEMPTS = 4;

let demo: DemoServer;
let workspace: Workspace;
let batch: string;
let rows: TrainingRow[];
before(async () => {
  demo = await startDemoServer();
  workspace = new Workspace(new Bench({ sharesProcess: true }));
  mkdirSync(workspace.path('out'));
  const once = (expression: string): string => `call calculate {"expression":"${expression}"}\nanswer {{last}}`;
  const file = workspace.batch('formats', {
    endpoint: demo.url,
    tasks: [
      { id: 'right', question: once('1 + 1'), answer: '2' },
      { id: 'wrong', question: once('2 + 2'), answer: '5' },
      { id: 'secret', question: `answer ${KEY}`, answer: KEY },
      { id: 'also right', question: once('3 + 3'), answer: '6' },
    ],
    agent: { tools: [{ builtin: ['calculator'] }] },
    model: { capture: { token_ids: true, logprobs: true } },
    batch: { attempts: ATTEMPTS },
  });
  ({ batch } = await workspace.json<{ batch: string }>('run', file));
  rows = (await lines('groups')) as unknown as TrainingRow[];
});
after(async () => {
  await workspace.close();
  await demo.close();
});

interface Told {
  readonly attempts: number;
  readonly lines: number;
  readonly left_out: { readonly attempts: Record<string, number>; readonly parts: Record<string, number> };
  readonly file: string;
  readonly sha256: string;
}

async function exported(format: string, ...options: string[]): Promise<Told> {
  const file = workspace.path('out', `${format}${format === 'parquet' ? '.parquet' : '.jsonl'}`);
  return workspace.json<Told>('export', batch, '--to', format, '--out', file, ...options);
}

async function lines(format: string, ...options: string[]): Promise<JsonObject[]> {
  const { file } = await exported(format, ...options);
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as JsonObject]));
}

/** JSON in a text. */
const parsed = (text: Json | undefined): unknown => JSON.parse(typeof text === 'string' ? text : 'null');
const all = (row: TrainingRow): number[] => [...row.prompt_ids, ...row.response_ids];
const get = (value: Json | undefined, ...path: (string | number)[]): Json =>
  path.reduce<Json>((inner, key) => (inner as JsonObject)[key as string] ?? null, value ?? null);

describe('rollout export in formats for trainers', { timeout: 480_000 }, () => {
  it('writes every format, with the same bytes again, and a manifest that matches', async () => {
    for (const { id } of TRAINING_FORMATS) {
      const first = await exported(id);
      const bytes = readFileSync(first.file);
      const manifestFile = first.file.replace(/\.\w+$/, '.manifest.json');
      const manifest = readFileSync(manifestFile, 'utf8');
      // No task of the batch has two rewards, so there are no pairs.
      assert.ok(bytes.length > 100 || id.startsWith('pairs-'), id);
      const again = await exported(id);
      assert.ok(bytes.equals(readFileSync(again.file)), `${id}: the same bytes`);
      assert.equal(readFileSync(manifestFile, 'utf8'), manifest, `${id}: the same manifest`);
      const facts = JSON.parse(manifest) as JsonObject;
      assert.deepEqual(facts['files'], [
        {
          name: first.file.split('/').at(-1) ?? '',
          bytes: bytes.length,
          sha256: createHash('sha256').update(bytes).digest('hex'),
        },
      ]);
      assert.deepEqual(facts['batches'], [{ batch, name: 'formats' }]);
      assert.equal(get(facts, 'taken', 'lines'), first.lines);
    }
    assert.deepEqual(
      readdirSync(workspace.path('out')).filter((name) => name.endsWith('.part')),
      [],
    );
  });

  it('leaves out tokens that spell a key, and redacts it in messages', async () => {
    assert.ok(rows.every(({ task }) => task !== 'secret') && rows.length > 0);
    const { left_out: left } = await exported('groups');
    assert.equal(left.attempts['its text has something to redact, which its tokens would spell'], ATTEMPTS);
    assert.ok((await lines('groups', '--redact', 'none')).some(({ task }) => task === 'secret'));
    const chats = await lines('sft-openai');
    assert.ok(!JSON.stringify(chats).includes(KEY) && JSON.stringify(chats).includes('[redacted]'));
    const manifest = JSON.parse(readFileSync(workspace.path('out', 'sft-openai.manifest.json'), 'utf8')) as JsonObject;
    // In the question and the answer of each attempt.
    assert.ok(Number(get(manifest, 'redaction', 'keys')) >= 2 * ATTEMPTS);
    const csv = (await workspace.run('export', batch)).stdout;
    assert.ok(!csv.includes(KEY) && csv.includes('[redacted]'));
  });

  it('keeps IDs, masks, and log probabilities in the formats of tokens', async () => {
    const verl = await lines('verl');
    assert.deepEqual(
      verl.map((line) => [line['prompt_ids'], line['response_ids'], line['response_mask'], line['response_logprobs']]),
      rows.map((row) => [row.prompt_ids, row.response_ids, row.response_mask, row.response_logprobs]),
    );
    assert.deepEqual(
      verl.map((line) => line['reward_score']),
      rows.map(({ reward }) => reward),
    );
    const trl = await lines('trl');
    assert.deepEqual(
      trl.map((line) => line['completion_ids']),
      rows.map((row) => row.response_ids),
    );
    const swift = await lines('swift');
    for (const [index, line] of swift.entries()) {
      const row = rows[index];
      assert.ok(row !== undefined);
      // One reply with all IDs: the trainer would train what its template writes between replies of their own.
      assert.deepEqual(line['response_token_ids'], [row.response_ids]);
      assert.deepEqual(line['response_loss_mask'], [row.response_mask]);
      assert.equal(
        (line['rollout_logprobs'] as number[][])[0]?.length,
        row.response_mask.filter((one) => one === 1).length,
      );
      assert.equal(get(line, 'rollout_infos', 'total_reward'), row.reward);
      const messages = line['messages'] as JsonObject[];
      assert.equal(messages.at(-1)?.['role'], 'assistant');
      assert.equal(messages.filter(({ role }) => role === 'assistant').length, 1);
      assert.ok(messages.every((message) => !('tool_calls' in message)));
    }
    const async = await lines('trl-async');
    assert.deepEqual(
      async.map((line) => line['input_ids']),
      rows.map(all),
    );
    for (const { task, advantage } of async.map((line, index) => ({ task: rows[index]?.task, ...line }) as JsonObject))
      assert.equal(advantage, 0, `all attempts of ${JSON.stringify(task)} have the same reward`);
    const gym = await lines('nemo-gym');
    assert.equal(gym.length, rows.length);
    for (const [index, line] of gym.entries()) {
      const items = (get(line, 'response', 'output') as JsonObject[]).filter((item) => 'generation_token_ids' in item);
      const row = rows[index];
      assert.deepEqual(
        items.map((item) => item['generation_token_ids']),
        row?.calls.map(({ from, to }) => row.response_ids.slice(from, to)),
      );
      // Each prompt continues what came before, as the trainer asserts.
      assert.deepEqual(items[0]?.['prompt_token_ids'], row?.prompt_ids);
    }
    const groups = await lines('atropos');
    assert.deepEqual(
      groups.map((line) => (line['scores'] as number[]).length),
      [2, 2, 2].map(() => ATTEMPTS),
    );
  });

  it('writes Parquet that reads back as the lines', async () => {
    const { file } = await exported('parquet');
    const bytes = readFileSync(file);
    const read = await parquetReadObjects({
      file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
    });
    assert.equal(read.length, rows.length);
    for (const [index, { calls, ...cells }] of read.entries()) {
      const row = rows[index];
      assert.deepEqual(cells['response_ids'], row?.response_ids);
      assert.deepEqual(
        cells['response_logprobs'],
        row?.response_logprobs.map((value) => Math.fround(value)),
      );
      assert.deepEqual(parsed(calls as Json), row?.calls);
      assert.equal(cells['reward'], row?.reward);
    }
  });

  it('writes conversations in each variant of supervised training', async () => {
    const trl = await lines('sft-trl');
    // wrong has no successes.
    assert.equal(trl.length, 3 * ATTEMPTS);
    const [line] = trl;
    assert.deepEqual((line?.['prompt'] as JsonObject[]).at(-1)?.['role'], 'user');
    const completion = line?.['completion'] as JsonObject[];
    assert.deepEqual(
      completion.map(({ role }) => role),
      ['assistant', 'tool', 'assistant'],
    );
    assert.deepEqual(get(completion[0], 'tool_calls', 0, 'function'), {
      name: 'calculate',
      arguments: { expression: '1 + 1' },
    });
    assert.equal(completion[1]?.['name'], 'calculate');
    assert.equal(get(parsed(line?.['tools']) as Json, 0, 'function', 'name'), 'calculate');
    const [swift] = await lines('sft-swift');
    const messages = swift?.['messages'] as JsonObject[];
    assert.deepEqual(messages.map(({ role }) => role).slice(-3), ['tool_call', 'tool_response', 'assistant']);
    assert.deepEqual(parsed(messages.at(-3)?.['content']), {
      name: 'calculate',
      arguments: { expression: '1 + 1' },
    });
    assert.equal((await lines('sft-openai', '--outcome', 'failed')).length, ATTEMPTS);
  });

  it('takes the same selection for every format', async () => {
    for (const format of ['groups', 'verl', 'sft-trl']) {
      const { attempts, left_out: left } = await exported(
        format,
        '--max-per-task',
        '1',
        '--outcome',
        'passed',
        '--redact',
        'none',
      );
      assert.equal(attempts, 3, format);
      assert.deepEqual(left.attempts, { 'their outcome': ATTEMPTS, 'their task has enough': 3 * (ATTEMPTS - 1) });
    }
    const table = (await workspace.run('export', batch, '--where', 'attempt == 2')).stdout.trim().split('\r\n');
    assert.equal(table.length, 1 + 4);
    // No task has both outcomes.
    const { attempts } = await exported('groups', '--rate-above', '0', '--rate-below', '1');
    assert.equal(attempts, 0);
    const parts = await Promise.all(
      ['train', 'test'].map((part) =>
        exported('sft-openai', '--split', part, '--test-size', '0.5', '--redact', 'none'),
      ),
    );
    assert.equal(
      parts.reduce((sum, part) => sum + part.attempts, 0),
      3 * ATTEMPTS,
    );
    const pairs = await exported('pairs-trl', '--redact', 'none');
    assert.deepEqual(pairs.left_out.attempts, { 'all rewards of their task are the same': 4 * ATTEMPTS });
    // The same batch twice is one batch.
    const twice = await workspace.json<Told>('export', batch, batch, '--to', 'groups');
    assert.equal(twice.attempts, new Set(rows.map(({ rollout }) => rollout)).size);
  });

  it('previews counts, first lines, and size, and writes nothing', async () => {
    const size = readFileSync((await exported('groups')).file).length;
    const before = readdirSync(workspace.path('out'));
    const shown = await workspace.json<JsonObject>('export', batch, '--to', 'groups', '--preview');
    assert.equal(shown['attempts'], 4 * ATTEMPTS);
    assert.equal(shown['groups'], 4);
    assert.equal((JSON.parse((shown['first'] as string[])[0] ?? '') as TrainingRow).batch, batch);
    assert.ok(Number(shown['estimated_bytes']) > size / 4 && Number(shown['estimated_bytes']) < size * 4);
    assert.deepEqual(readdirSync(workspace.path('out')), before);
  });

  it('refuses what it cannot do, and leaves the file that was there', async () => {
    const file = workspace.path('out', 'kept.jsonl');
    writeFileSync(file, 'kept');
    const refused: [RegExp, ...string[]][] = [
      [/no rule keep for null rewards\. .*drop_row/s, '--to', 'verl', '--null-reward', 'keep'],
      [/no rule zero for null rewards/, '--to', 'verl', '--null-reward', 'zero'],
      [/cannot use tool/, '--where', 'tool.name == "x"'],
      [/selection is invalid/, '--outcome', 'great'],
      [/need --split/, '--seed', '3'],
      [/must be a number/, '--min-reward', 'much'],
      [/no rule everything to redact/, '--redact', 'everything'],
      [/pattern \( is invalid/, '--redact', 'pattern:('],
      [/it is not set/, '--redact', 'env:ROLLOUT_TEST_NONE'],
    ];
    for (const [message, ...options] of refused) {
      const { code, stderr } = await workspace.run('export', batch, '--out', file, ...options);
      assert.equal(code, 2, options.join(' '));
      assert.match(stderr, message);
    }
    const { stderr } = await workspace.run('export', 'b00000000000000000', '--out', file);
    assert.match(stderr, /b0000/);
    assert.equal(readFileSync(file, 'utf8'), 'kept');
    assert.equal(existsSync(workspace.path('out', 'kept.manifest.json')), false);
  });
});
