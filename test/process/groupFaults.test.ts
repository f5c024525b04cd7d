/**
 * Whatever breaks while groups run, a trainer gets the same groups: rewards, advantages, and tokens equal those of a
 * run in which nothing broke. The report of the batch has one line for each fault, which this prints.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { batchSnapshot } from '../../src/client/commands/batchSnapshot.ts';
import { reportInput } from '../../src/client/commands/reportInput.ts';
import { reportText } from '../../src/client/text/reportText.ts';
import { newId } from '../../src/common/ids.ts';
import { canonicalJson } from '../../src/common/json.ts';
import { submissionSha } from '../../src/config/submission.ts';
import type { FinishedGroup, GroupSettings, RequestGroup } from '../../src/protocol/groups.ts';
import type { TrainingRow } from '../../src/trace/segments/trainingRows.ts';
import { report as makeReport } from '../../src/trace/statistics.ts';
import { submission, task } from '../support/directed.ts';
import { refuse } from '../support/endpoint.ts';
import { BrokenJudge, BrokenModel } from '../support/groupFaults.ts';
import { type TestServer, TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';

const GROUPS = 6;
const SIZE = 4;
/** Of the terminal. */
const WIDTH = 100;
const TASKS = [2, 3].map((steps) =>
  task(`steps-${steps}`, `call calculate {"expression": "40 + 2"} times ${steps}\nanswer {{last}}`, '42'),
);
/** Calls of the policy in an undisturbed run: a fault happens in the middle. */
const CALLS = (GROUPS / 2) * SIZE * (3 + 4);

const store = new TestStore();
let model: BrokenModel;
let judge: BrokenJudge;
let server: TestServer;
let calm: unknown[];
let calmLines: string[];
const workers: TestWorker[] = [];

before(async () => {
  [model, judge, server] = await Promise.all([BrokenModel.start(), BrokenJudge.start(), store.start()]);
  const batch = await openGroups();
  await requestAll(batch);
  await using worker = await TestWorker.start(store, server, batch);
  calm = statistics(await feedOf(batch));
  calmLines = await incidentsOf(batch);
  assert.equal(worker.process.exitCode, null, worker.stderr);
  assert.equal(model.received, CALLS);
});
after(async () => {
  await Promise.all(workers.map((worker) => worker.kill()));
  await Promise.all([model[Symbol.asyncDispose](), judge[Symbol.asyncDispose]()]);
  await store[Symbol.asyncDispose]();
});

async function openGroups(group: Partial<GroupSettings> = {}): Promise<string> {
  const plain = submission({ retry: { infrastructure: 3 } });
  const own = {
    ...plain,
    agent: {
      ...plain.agent,
      model: { ...plain.agent.model, endpoints: [model.url], capture: { token_ids: true, logprobs: true } },
    },
    scorer: {
      kind: 'judge' as const,
      model: { ...plain.agent.model, endpoints: [judge.url], name: 'judge' },
      rubric: 'Is it right?',
      pass: 0.5,
    },
  };
  const batch = newId('b');
  const sha = submissionSha(own);
  await server.api.putBlob(sha, new TextEncoder().encode(canonicalJson(own)));
  await server.api.createBatch({
    batch,
    submission: sha,
    open: true,
    tasks: TASKS,
    group: { size: SIZE, extra: 0, estimator: 'rloo', stale: 'mark', ...group },
  });
  return batch;
}

async function startWorker(batch: string): Promise<TestWorker> {
  const worker = await TestWorker.start(store, server, batch);
  workers.push(worker);
  return worker;
}

const requests = (batch: string): RequestGroup[] =>
  Array.from({ length: GROUPS }, (_, n) => ({ batch, group: `step-${n}`, task: TASKS[n % TASKS.length]!.id }));

const requestAll = (batch: string): Promise<unknown> =>
  Promise.all(requests(batch).map((one) => server.api.requestGroup(one)));

/** Reads the feed until all groups are there, from the server that runs. */
async function feedOf(batch: string, count = GROUPS): Promise<FinishedGroup[]> {
  const groups: FinishedGroup[] = [];
  while (groups.length < count) {
    const last = groups.at(-1);
    const next = await server.api
      .finishedGroups(batch, { wait: 5, ...(last === undefined ? {} : { after: last.cursor }) })
      .catch(() => []); // its server died
    groups.push(...next);
  }
  return groups;
}

/** What a trainer learns from: everything apart from times, IDs, and versions of weights. */
function statistics(groups: readonly FinishedGroup[]): unknown[] {
  return groups
    .map(({ group, task: of, state, mean, members, rows, cut, excluded }) => ({
      ...{ group, of, state, mean, cut, excluded },
      members: members
        .map(({ attempt, reward, advantage, steps }) => ({ attempt, reward, advantage, steps }))
        .sort((a, b) => a.attempt - b.attempt),
      rows: (rows as unknown as TrainingRow[])
        .map(({ attempt, segment, prompt_ids, response_ids, response_mask, response_logprobs }) => ({
          ...{ attempt, segment, prompt_ids, response_ids, response_mask, response_logprobs },
        }))
        .sort((a, b) => a.attempt - b.attempt || a.segment - b.segment),
    }))
    .sort((a, b) => a.group.localeCompare(b.group));
}

/** What `rollout report` says about what happened to a batch. */
async function incidentsOf(batch: string): Promise<string[]> {
  const { signal } = new AbortController();
  const { batch: row, rows } = await batchSnapshot(server.api, batch, signal);
  const report = makeReport(await reportInput(server.api, row, [], signal, rows));
  const lines = reportText(report, WIDTH).split('\n');
  const first = lines.findIndex((line) => line.startsWith('incidents '));
  return lines.slice(first, first + report.incidents.length).map((line) => line.replace(/^incidents/, '').trim());
}

/** Each breaks something while the groups of the batch run, and returns the line that the report must have then. */
const FAULTS: Readonly<Record<string, (batch: string) => Promise<() => RegExp | Promise<RegExp>>>> = {
  'worker killed': async (batch) => {
    const held = model.hold(CALLS / 2);
    const victim = await startWorker(batch);
    await held;
    await victim.kill();
    model.release();
    await startWorker(batch);
    return () => /^1 worker lost \(The worker did not renew its lease\); \d+ rollouts? continued on another worker$/;
  },
  '500 from the engine': async (batch) => {
    const { refused, url } = model;
    model.refusal = (nth, response) => {
      if (nth % 3 !== 0) return false;
      refuse(response, 500, { message: 'EngineCore encountered an issue.', type: 'InternalServerError', code: 500 });
      return true;
    };
    await startWorker(batch);
    return () => {
      model.refusal = undefined;
      return new RegExp(`^model ${url}: ${model.refused - refused} requests failed \\(500\\) and were made again$`);
    };
  },
  'verifier hangs until it is restarted': async (batch) => {
    const held = judge.hold(5);
    await startWorker(batch);
    await held;
    const cut = judge.cut();
    const failed = `${cut} requests? failed \\(connection cut\\)`;
    return () => new RegExp(`^model ${judge.url}: ${failed} and (was|were) made again$`);
  },
  'duplicate submit': async (batch) => {
    await Promise.all([requestAll(batch), requestAll(batch)]);
    await startWorker(batch);
    await requestAll(batch);
    return async () => {
      await requestAll(batch);
      const { groups } = await server.api.groups(batch);
      const rows = await Array.fromAsync(server.api.allRollouts(batch));
      assert.deepEqual([groups.length, rows.length], [GROUPS, GROUPS * SIZE]);
      const own = (await server.api.events(batch)).events.filter(({ kind }) => kind === 'infra');
      assert.ok(own.length <= 5, `${own.length} events for ${GROUPS * 4} requests`);
      return new RegExp(`^${GROUPS} groups requested again ${GROUPS * 4} times; answered with the groups that exist$`);
    };
  },
  'pause during generation': async (batch) => {
    const held = model.hold(CALLS / 2);
    await startWorker(batch);
    await held;
    await server.api.setEndpoint({ endpoint: model.url, state: 'paused', mode: 'abort', version: 1 });
    model.release();
    await server.api.setEndpoint({ endpoint: model.url, state: 'serving', version: 2 });
    return () =>
      new RegExp(
        String.raw`^model http\S+ paused by \S.* for version 2 of its weights: \d+ calls waited, .* at most; ` +
          String.raw`\d+ requests? aborted and made again$`,
      );
  },
  'server killed': async (batch) => {
    const held = model.hold(CALLS / 2);
    await startWorker(batch);
    await held;
    await server.kill();
    model.release();
    server = await store.start();
    return () => /^server restarted; batch resumed after \S+ m?s(, workers reconnected within .*)?$/;
  },
};

describe('a fault changes no statistics of groups', { timeout: 480_000 }, () => {
  it('apart from those of other rewards: the comparison finds a difference', () => {
    assert.equal(calm.length, GROUPS);
    const rewards = JSON.stringify(calm).match(/"reward":[\d.]+/g) ?? [];
    assert.equal(rewards.length, GROUPS * SIZE);
    assert.ok(new Set(rewards).size > 2, 'members differ');
  });

  it('and has no line if nothing happened', () => assert.deepEqual(calmLines, []));

  for (const [name, breaks] of Object.entries(FAULTS))
    it(name, async (t) => {
      const batch = await openGroups();
      await requestAll(batch);
      const outcome = await breaks(batch);
      const groups = await feedOf(batch);
      const expected = await outcome();
      assert.deepEqual(statistics(groups), calm);
      const lines = await incidentsOf(batch);
      assert.equal(lines.length, 1, lines.join('\n'));
      assert.match(lines[0]!, expected);
      await server.api.commandBatch(batch, { command: newId('c'), verb: 'seal' }); // its worker ends
      t.diagnostic(`${name}: ${lines[0]}`);
    });
});
