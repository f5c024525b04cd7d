/** Token groups for trainers, exported from batches, against the token records of each call, read by another route. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { tokenRecord } from '../../src/trace/schema.ts';
import type { TrainingRow } from '../../src/trace/segments/trainingRows.ts';
import type { Report } from '../../src/trace/statistics/schema.ts';
import { Bench } from '../support/cli.ts';
import { type DemoServer, startDemoServer } from '../support/demoServer.ts';
import { ofKind, Workspace } from '../support/testWorkspace.ts';

let demo: DemoServer;
let workspace: Workspace;
before(async () => {
  demo = await startDemoServer();
  workspace = new Workspace(new Bench());
});
after(async () => {
  await workspace.close();
  await demo.close();
});

const STEPS = 4;
/** `space`: between the keys and values of arguments. */
const question = (n: number, space = ''): string =>
  `call calculate {"expression":${space}"${n} + 1"} times ${STEPS}\nanswer {{last}}`;

interface Counted {
  readonly attempts: number;
  readonly lines: number;
  readonly left_out: {
    readonly attempts: Readonly<Record<string, number>>;
    readonly parts: Readonly<Record<string, number>>;
  };
}

/** Exports a batch and returns the lines. */
async function exported(batch: string): Promise<{ rows: TrainingRow[]; counts: Counted; text: string }> {
  const file = workspace.path(`${batch}.jsonl`);
  const counts = await workspace.json<Counted>('export', batch, '--to', 'groups', '--out', file);
  const text = readFileSync(file, 'utf8');
  return {
    counts,
    text,
    rows: text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as TrainingRow])),
  };
}

/** The completions of a rollout's agents in order, from the blob of each call. */
async function completionsOf(rollout: string): Promise<number[]> {
  const api = await workspace.api();
  const ids: number[] = [];
  for (const { data } of ofKind(await workspace.events(rollout), 'model.end')) {
    if (data.tokens === undefined || !data.trainable) continue;
    const bytes = await api.getBlob(data.tokens.$blob);
    ids.push(...tokenRecord.parse(JSON.parse(new TextDecoder().decode(bytes))).completion);
  }
  return ids;
}

const maskedOf = (rows: readonly TrainingRow[]): number[] =>
  rows.flatMap((row) => row.response_ids.filter((_, at) => row.response_mask[at] === 1));

describe('rollout export --to groups', { timeout: 480_000 }, () => {
  it('writes all sampled tokens of each attempt, tasks together, and the same bytes again', async () => {
    const file = workspace.batch('groups', {
      endpoint: demo.url,
      tasks: [1, 2].map((n) => ({ id: `t${n}`, question: question(n), answer: n === 1 ? '2' : 'wrong' })),
      agent: { tools: [{ builtin: ['calculator'] }] },
      model: { capture: { token_ids: true, logprobs: true } },
      batch: { attempts: 3 },
    });
    const { batch } = await workspace.json<{ batch: string }>('run', file);
    const { rows, counts, text } = await exported(batch);
    assert.deepEqual(
      [counts.attempts, counts.lines, rows.length, counts.left_out],
      [6, 6, 6, { attempts: {}, parts: {} }],
    );
    assert.deepEqual(
      [...new Set(rows.map(({ group, attempt }) => `${group}/${attempt}`))],
      ['t1', 't2'].flatMap((task) => [1, 2, 3].map((attempt) => `${batch}/${task}/${attempt}`)),
    );
    for (const row of rows) {
      const { response_ids: ids, response_mask: mask, response_logprobs: logprobs, calls } = row;
      assert.deepEqual([mask.length, logprobs.length], [ids.length, ids.length]);
      assert.equal(row.reward, row.task === 't1' ? 1 : 0);
      assert.equal(row.outcome, row.task === 't1' ? 'passed' : 'failed');
      for (const { from, to } of calls)
        assert.ok(mask.slice(from, to).every((one) => one === 1) && logprobs.slice(from, to).every((one) => one <= 0));
      assert.ok(row.ms.model > 0 && row.finish_reasons.length === calls.length);
    }
    for (const row of await workspace.rows(batch)) {
      const own = rows.filter(({ rollout }) => rollout === row.rollout);
      assert.deepEqual(maskedOf(own), await completionsOf(row.rollout));
      assert.equal(
        own.reduce((sum, { calls }) => sum + calls.length, 0),
        STEPS + 1,
      );
      assert.deepEqual(
        own.map(({ segment, segments }) => [segment, segments]),
        own.map((_, at) => [at + 1, own.length]),
      );
    }
    assert.equal((await exported(batch)).text, text);
  });

  it('begins a segment where the template writes a call in another form than the model, and says why', async () => {
    const file = workspace.batch('spaces', {
      endpoint: demo.url,
      tasks: [{ id: 'it', question: question(1, ' '), answer: '2' }],
      agent: { tools: [{ builtin: ['calculator'] }] },
      model: { capture: { token_ids: true, logprobs: true } },
      batch: { attempts: 6, seed: 3 },
    });
    const { batch } = await workspace.json<{ batch: string }>('run', file);
    const { rows } = await exported(batch);
    const splits = rows.flatMap(({ split }) => split ?? []);
    assert.equal(splits.length, STEPS * 6, 'the template writes arguments without spaces');
    assert.deepEqual([...new Set(splits.map(({ why }) => why))], ['arguments']);
    for (const { was, is } of splits) assert.notEqual(was, is);
    // The endpoint decodes the first token that differs: that with the quote, which the space was before.
    assert.deepEqual([...new Set(splits.map(({ was_text: was, is_text: is }) => `${was} ${is}`))], ['": ":"']);
    assert.deepEqual((await workspace.json<Report>('report', batch)).drift, { attempts: 6, of: 6, calls: STEPS * 6 });
    assert.match((await workspace.run('report', batch)).stdout, /^drift +24 calls in 6 of 6 attempts \(100%\)$/m);
    for (const row of await workspace.rows(batch))
      assert.deepEqual(
        maskedOf(rows.filter(({ rollout }) => rollout === row.rollout)),
        await completionsOf(row.rollout),
      );
  });

  it('leaves out calls without tokens, with the reason', async () => {
    const file = workspace.batch('plain', {
      endpoint: demo.url,
      tasks: [{ id: 'it', question: question(1), answer: '2' }],
      agent: { tools: [{ builtin: ['calculator'] }] },
      model: { capture: { token_ids: false, logprobs: false } },
    });
    const { batch } = await workspace.json<{ batch: string }>('run', file);
    const { rows, counts } = await exported(batch);
    assert.deepEqual([rows, counts.attempts], [[], 0]);
    assert.deepEqual(counts.left_out, {
      attempts: { 'no tokens of it were captured': 1 },
      parts: { 'model calls: token IDs are not captured (capture.token_ids)': STEPS + 1 },
    });
    const { code, stderr } = await workspace.run('export', batch, '--to', 'arrow');
    assert.equal(code, 2);
    assert.match(stderr, /There is no format arrow\. .*csv, groups, parquet/s);
  });
});
