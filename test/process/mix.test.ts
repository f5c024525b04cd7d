// A batch whose attempts differ in sampling and prompt.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import type { JsonObject } from '../../src/common/json.ts';
import { answerText, bodiesOf, chatEndpoint, type FakeEndpoint } from '../support/endpoint.ts';
import { WorkspaceBench } from '../support/workspace.ts';

const bench = new WorkspaceBench();
after(() => bench.close());

const MIX =
  'mix:\n  - { share: 75%, sampling: { temperature: 1, extra: { top_k: 4 } } }\n' +
  '  - { name: short, share: 25%, prompt: short.md }\n';

interface Listed {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly temperature?: number;
  readonly top_k?: number;
}

/** How each call was sampled and instructed, as the endpoint saw it. */
function callsOf(endpoint: FakeEndpoint): string[] {
  return bodiesOf(endpoint).map((body: JsonObject) => {
    const { messages, temperature, top_k: topK } = body as unknown as Listed;
    const system = messages.find(({ role }) => role === 'system')?.content.trim();
    return `${system} ${temperature ?? '-'} ${topK ?? '-'}`;
  });
}

const tally = (values: Iterable<string | undefined>): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1;
  return counts;
};

test('each task has the parts of the mix, which decide sampling and prompt, and are shown everywhere', {
  timeout: 180_000,
}, async () => {
  await using model = await chatEndpoint(({ body }, response) =>
    answerText(response, JSON.stringify(body).includes('Be short') ? '41' : '42'),
  );
  bench.write('short.md', 'Be short.\n');
  const file = bench.batch('mixed', {
    model: `{ endpoint: "${model.url}", name: m, sampling: { temperature: 0.5 } }`,
    tasks: { one: 'What?', two: 'Why?', three: 'Who?' },
    batch: `attempts: 8\n${MIX}`,
  });
  const dry = await bench.rollout(['run', file, '--dry-run']);
  assert.match(dry.stdout, /part +attempts +prompt +sampling\n1 +18 +the agent's +temperature 1, top_k 4\n/);
  assert.match(dry.stdout, /\nshort +6 +short\.md +temperature 0\.5\n/);
  const { code, stdout, stderr } = await bench.rollout(['run', file]);
  assert.equal(code, 0, stderr);
  assert.deepEqual(tally(callsOf(model)), { 'Do as you are told. 1 4': 18, 'Be short. 0.5 -': 6 });
  const batch = /\bb[0-9a-z]{8,}/.exec(stderr + stdout)?.[0] ?? '';
  const rows = await bench.rows(batch);
  for (const task of ['one', 'two', 'three'])
    assert.deepEqual(tally(rows.filter((row) => row.task === task).map(({ progress }) => progress.part)), {
      1: 6,
      short: 2,
    });
  assert.match(stdout, /part +attempts +passed +rate +reward +interval +tokens\n/);
  assert.match(stdout, /\n1 +18 +18\/18 +1\.000 +1\.000 +1\.000 to 1\.000 .*\nshort +6 +0\/6 +0\.000 +0\.000 /);

  const short = rows.find(({ progress }) => progress.part === 'short')!;
  const events = await bench.events(short.rollout);
  const start = events.find((event) => event.kind === 'rollout.start');
  const call = events.find((event) => event.kind === 'model.start');
  assert.deepEqual([start?.data.part, call?.data.sampling['temperature']], ['short', 0.5]);
  const csv = bench.path('out.csv');
  const exported = await bench.rollout(['export', batch, '--where', 'part == "short"', '--out', csv]);
  assert.equal(exported.code, 0, exported.stderr);
  const [heads, ...lines] = readFileSync(csv, 'utf8').trim().split('\r\n');
  const column = heads!.split(',').indexOf('part');
  assert.deepEqual(tally(lines.map((line) => line.split(',')[column])), { short: 6 });

  // A fork has the part of its parent, whatever its numbers are.
  const before = bodiesOf(model).length;
  const forked = await bench.rollout(['fork', `${short.rollout}:1`, '-k', '4', '--json']);
  assert.equal(forked.code, 0, forked.stderr);
  const of = (JSON.parse(forked.stdout) as { batch: string }).batch;
  assert.deepEqual(tally((await bench.rows(of)).map(({ progress }) => progress.part)), { short: 4 });
  assert.deepEqual(tally(callsOf(model).slice(before)), { 'Be short. 0.5 -': 4 });
});

test('attempts that are added later have the parts that are due', { timeout: 120_000 }, async () => {
  await using model = await chatEndpoint((_request, response) => answerText(response, 'no'));
  bench.write('short.md', 'Be short.\n');
  const file = bench.batch('added', {
    model: `{ endpoint: "${model.url}", name: m }`,
    batch: `attempts: { least: 2, most: 8, until: solved }\n${MIX}`,
  });
  const { report, stderr } = await bench.runBatch(file);
  const rows = await bench.rows(report.batch);
  assert.deepEqual(tally(rows.map(({ progress }) => progress.part)), { 1: 6, short: 2 }, stderr);
});
