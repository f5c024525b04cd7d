/** Which batch the statistics of a tool come from. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Connection } from '../../../../src/client/connect.ts';
import { Observable } from '../../../../src/common/emitter.ts';
import { StudioError } from '../../../../src/common/errors.ts';
import type { Submission, SubmittedCodeWorld } from '../../../../src/config/submission.ts';
import { type StatisticsPorts, ToolStatistics } from '../../../../src/host/toolCalls/state/toolStatistics.ts';
import type { BatchRow } from '../../../../src/protocol/client.ts';
import type { RolloutRow } from '../../../../src/trace/summary.ts';
import { Stream } from '../../../support/stream.ts';
import { batchRow, scored } from '../rows.ts';

let folder: string;
let elsewhere: string;
before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-test-'));
  elsewhere = path.join(folder, 'elsewhere');
  for (const root of [folder, elsewhere]) {
    mkdirSync(path.join(root, 'tools'), { recursive: true });
    writeFileSync(
      path.join(root, 'tools', 'loans.ts'),
      "import { tool } from 'rollout-studio';\nexport const renew = tool({});\nexport const lend = tool({});\n",
    );
    writeFileSync(path.join(root, 'desk.agent.yaml'), 'tools:\n  - module: tools/loans.ts\n');
  }
});
after(() => rmSync(folder, { recursive: true, force: true }));

function submissionOf(root: string): Submission {
  const sha = 'a'.repeat(64);
  const model = {
    endpoints: ['demo:'],
    name: 'demo',
    headers: {},
    sampling: {},
    capture: { token_ids: false, logprobs: false },
    endpoint_wait_seconds: 1,
  };
  return {
    version: 1,
    name: 'desk',
    file: 'desk.batch.yaml',
    scorer: { kind: 'exact' },
    attempts: 1,
    seed: 1,
    stop: {},
    retry: { infrastructure: 0 },
    order: 'breadth',
    priority: 0,
    concurrency: 'auto',
    hold_limit_seconds: 1,
    env: { names: [], shown: [] },
    product: 'test',
    agent: {
      name: 'desk',
      file: 'desk.agent.yaml',
      model,
      prompt: { text: '' },
      answer: { kind: 'last_message' },
      tools: [
        {
          kind: 'module',
          module: { file: 'tools/loans.ts', path: path.join(root, 'tools', 'loans.ts'), bundle: sha, map: sha },
        },
      ],
      context: { reasoning: 'keep', tool_result_tokens: 1, overflow: 'fail' },
      limits: { steps: 1, seconds: 1, tool_seconds: 1, tokens: 1 },
    },
  };
}

/** Hash of the code of scenarios. */
const CODE = 'c'.repeat(64);

function codeWorld(scenario: string): SubmittedCodeWorld {
  return {
    ...{ kind: 'code', name: 'w', file: 'w.world.yaml', perturb: [], format: 'awm', expose: 'tools', verifier: 'code' },
    rewards: { complete: 1, partial: 0, agent_error: 0, format: 0, environment_error: null },
    session: { memory_mb: 1, network: 'none' },
    scenarios: {
      [scenario]: { code: CODE, template: CODE, verifiers: CODE, place: { file: 'awm/gen_envs.jsonl', line: 2 } },
    },
  };
}

interface Stored {
  readonly row: BatchRow;
  readonly root: string;
  /** Of its code world. */
  readonly scenario?: string;
  readonly rows: readonly RolloutRow[];
}

function stored(
  batch: string,
  created: number,
  used: readonly string[],
  over: { root?: string; imported?: boolean; debug?: boolean; rescores?: string; scenario?: string } = {},
): Stored {
  const row = batchRow({
    batch,
    state: 'ended',
    created_at: created,
    submission: batch,
    imported: over.imported ?? false,
    ...(over.debug === true ? { debug: true } : {}),
    ...(over.rescores === undefined ? {} : { rescores: over.rescores }),
  });
  return {
    row,
    root: over.root ?? folder,
    ...(over.scenario === undefined ? {} : { scenario: over.scenario }),
    rows: [scored('t', 1, true, { rollout: `r-${batch}`, batch, progress: { tools: [...used] } })],
  };
}

function figuresOver(
  batches: readonly Stored[],
  over: Partial<StatisticsPorts> = {},
): { figures: ToolStatistics; reads: string[] } {
  const reads: string[] = [];
  const find = (id: string): Stored => {
    const found = batches.find(({ row, rows }) => row.batch === id || rows[0]?.rollout === id);
    assert.ok(found, id);
    return found;
  };
  const api = {
    getBlob: (sha: string) => {
      const { root, scenario } = sha === CODE ? { root: '', scenario: undefined } : find(sha);
      const world = scenario === undefined ? {} : { world: codeWorld(scenario) };
      const text = sha === CODE ? 'first\nsecond' : JSON.stringify({ ...submissionOf(root), ...world });
      return Promise.resolve(new TextEncoder().encode(text));
    },
    allRollouts: async function* (batch: string) {
      reads.push(batch);
      yield* await Promise.resolve(find(batch).rows);
    },
    events: (rollout: string) => {
      const stream = new Stream();
      stream.start();
      for (const name of find(rollout).rows[0]?.progress.tools ?? [])
        stream.toolEnd(stream.toolStart(name, name, {}), name, 'fine');
      while (stream.last < 10) stream.message('user', 'x');
      return Promise.resolve({ events: stream.events, last: stream.last });
    },
  } as unknown as Connection['api']; // the part in use
  const kept = new Map<string, unknown>();
  const figures = new ToolStatistics({
    server: {
      connection: () => Promise.resolve({ api } as Connection),
      connected: () => ({ dispose: () => undefined }),
    },
    batches: { rows: new Observable<readonly BatchRow[]>(batches.map(({ row }) => row)) },
    folders: () => [folder],
    log: (text) => assert.fail(text),
    memory: { get: (key) => kept.get(key), update: (key, value) => Promise.resolve(void kept.set(key, value)) },
    follow: async (_connection, row, handlers, signal) => {
      await handlers.rows(find(row.batch).rows, row.rev);
      handlers.head(0, row.rev);
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
    ...over,
  });
  return { figures, reads };
}

const code = (): string => path.join(folder, 'tools', 'loans.ts');

test('the newest batch that used the tool, of those with the same code', async () => {
  const { figures, reads } = figuresOver([
    stored('b1', 1, ['renew']),
    stored('b2', 2, ['renew', 'lend']),
    stored('b3', 3, ['lend']),
    stored('b4', 4, ['renew', 'lend'], { root: elsewhere }),
    stored('b5', 5, ['renew', 'lend'], { debug: true }),
  ]);
  assert.equal((await figures.of('code', code(), ['renew']))?.row.batch, 'b2');
  const lend = await figures.of('code', code(), ['lend']);
  assert.equal(lend?.row.batch, 'b3');
  assert.equal(lend.calls.stats(lend.names).calls, 1);
  assert.equal(await figures.of('code', code(), ['other']), undefined);
  assert.equal((await figures.of('agent', path.join(folder, 'desk.agent.yaml'), ['renew', 'lend']))?.row.batch, 'b3');
  assert.equal((await figures.ofWorkspace(path.join(folder, 'src', 'any.ts')))?.row.batch, 'b3');
  assert.equal(await figures.ofWorkspace(path.join(os.tmpdir(), 'any.ts')), undefined);
  assert.ok(!reads.includes('b4'), 'of another workspace');
  figures.dispose();
});

test('a batch that was chosen for a file stays chosen, even if it did not use the tool', async () => {
  const { figures } = figuresOver([stored('b1', 1, ['renew']), stored('b2', 2, ['renew'])]);
  await figures.choose(code(), 'b1');
  assert.equal((await figures.of('code', code(), ['renew']))?.row.batch, 'b1');
  const lend = await figures.of('code', code(), ['lend']);
  assert.deepEqual([lend?.row.batch, lend?.calls.stats(new Set(['lend'])).calls], ['b1', 0]);
  assert.deepEqual(
    (await figures.candidates('code', code(), ['renew'])).map(({ batch }) => batch),
    ['b2', 'b1'],
  );
  await figures.choose(code(), undefined);
  assert.equal((await figures.of('code', code(), ['renew']))?.row.batch, 'b2');
  figures.dispose();
});

test('an imported batch counts by tool name when no other used them', async () => {
  const { figures } = figuresOver([stored('b1', 1, ['lend']), stored('b2', 2, ['renew', 'lend'], { imported: true })]);
  assert.equal((await figures.of('code', code(), ['renew']))?.row.batch, 'b2');
  assert.equal((await figures.of('code', code(), ['lend']))?.row.batch, 'b1');
  figures.dispose();
});

test('the errors of a scenario are those of the newest batch that ran it, with its code as submitted', async () => {
  const { figures } = figuresOver([
    stored('b1', 1, ['renew'], { scenario: 'shelf' }),
    stored('b2', 2, ['renew'], { scenario: 'shelf' }),
    stored('b3', 3, ['renew'], { scenario: 'other' }),
    stored('b4', 4, ['renew'], { scenario: 'shelf', rescores: 'b2' }),
  ]);
  const file = path.join(folder, 'copy', 'gen_envs', 'shelf.py');
  const found = await figures.ofScenario(file, 'shelf');
  assert.equal(found?.row.batch, 'b2', 'not the one that only scores');
  const name = found.definition.codeFileOf('shelf') ?? '';
  assert.equal(name, 'awm/gen_envs.jsonl/shelf.py');
  assert.deepEqual(await found.definition.linesOf(name), ['first', 'second']);
  assert.equal(await figures.ofScenario(file, 'absent'), undefined);
  await figures.choose(file, 'b1');
  assert.equal((await figures.ofScenario(file, 'shelf'))?.row.batch, 'b1');
  figures.dispose();
});

test('without a server there are no statistics, and no message', async () => {
  const { figures } = figuresOver([stored('b1', 1, ['renew'])], {
    server: {
      connection: () => Promise.reject(new StudioError('unavailable', 'No server runs.')),
      connected: () => ({ dispose: () => undefined }),
    },
  });
  assert.equal(await figures.of('code', code(), ['renew']), undefined);
  figures.dispose();
});
