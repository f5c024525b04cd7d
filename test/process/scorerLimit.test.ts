/** Scorers that never return end at their limit of time: the attempt has no reward, and says why. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { fakeEndpoint } from '../support/endpoint.ts';
import { WorkspaceBench } from '../support/workspace.ts';

const bench = new WorkspaceBench();
after(() => bench.close());

/** Long enough for a module to load on a busy machine. */
const LOADED_S = 6;
/** The second task is scored in the same thread as the first one. */
const TASKS = { stuck: 'answer stuck', fine: 'answer 42' };

async function unscored(
  name: string,
  scorer: string,
  of: string,
  seconds: number,
  tasks: Record<string, string> = TASKS,
): Promise<void> {
  const file = bench.batch(name, { scorer, tasks });
  const { report, stderr } = await bench.runBatch(file);
  const total = Object.keys(tasks).length;
  assert.deepEqual([report.passed, report.unscored, report.infrastructure], [total - 1, 1, 0], stderr);
  const row = (await bench.rows(report.batch)).find(({ task }) => task === 'stuck')!;
  assert.deepEqual([row.progress.status, row.progress.reward, row.progress.passed], ['done', null, null]);
  assert.equal(
    row.progress.cause?.text,
    `scoring failed: The scorer ${of} did not end within its limit of ${seconds} s`,
  );
  const events = await bench.events(row.rollout);
  const scores = events.filter((event) => event.kind === 'score');
  assert.deepEqual(
    scores.map(({ data }) => [data.value, data.error?.class]),
    [[null, 'timeout']],
  );
}

for (const [how, stuck] of [
  ['loops', 'for (;;);'],
  ['waits', 'await new Promise(() => undefined);'],
] as const)
  test(`a module that ${how} forever`, async () => {
    bench.write(
      `${how}.ts`,
      `export async function score({ answer }: { answer: string }) {\n  if (answer === 'stuck') ${stuck}\n` +
        "  return { value: answer === '42' ? 1 : 0 };\n}\n",
    );
    await unscored(
      how,
      `{ kind: module, module: ${how}.ts, seconds: ${LOADED_S} }`,
      `module score of ${how}.ts`,
      LOADED_S,
    );
  });

test('a judge that never answers', async () => {
  await using judge = await fakeEndpoint(({ path }, response) => {
    if (!path.endsWith('/chat/completions')) response.writeHead(404).end();
  });
  await unscored(
    'silent',
    `{ kind: judge, model: { endpoint: "${judge.url}", name: j }, rubric: Is it right?, seconds: 1s, name: strict }`,
    'strict',
    1,
    { stuck: 'answer 42' },
  );
});
