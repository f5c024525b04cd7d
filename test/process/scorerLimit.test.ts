/** Scorers that never return end at their limit of time: the attempt has no reward, and says why. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { seededSession, verifiedSession } from '../../src/gym/shapes.ts';
import { fakeEndpoint } from '../support/endpoint.ts';
import { Gym } from '../support/gymProcess.ts';
import { Workspace } from '../support/testWorkspace.ts';
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
  { tasks = TASKS, batch = '' }: { readonly tasks?: Record<string, string>; readonly batch?: string } = {},
): Promise<void> {
  const file = bench.batch(name, { scorer, tasks, batch });
  const { report, stderr } = await bench.runBatch(file);
  const total = Object.keys(tasks).length;
  assert.deepEqual([report.passed, report.unscored, report.infrastructure], [total - 1, 1, 0], stderr);
  const line = `1 attempt without a reward: The scorer ${of} did not end within its limit of ${seconds} s`;
  assert.deepEqual(
    report.incidents.map(({ kind, text }) => [kind, text]),
    [['scorer', line]],
  );
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
    { tasks: { stuck: 'answer 42' } },
  );
  const { stdout } = await bench.rollout(['report', 'last']);
  assert.match(stdout, /\nincidents {2}1 attempt without a reward: The scorer strict did not end within .* of 1 s\n/);
});

/** A world whose verifier never returns for one answer. Its module is loaded before that. */
const VERIFIED_S = 4;
const WORLD = `export const open = () => ({
  tools: {},
  verify: ({ answer }: { answer: unknown }) => {
    if (answer === 'stuck') for (;;);
    return { value: answer === '42' ? 1 : 0, passed: answer === '42' };
  },
});
`;

test('a verifier of a world that loops forever', async () => {
  bench.write('rooms.world.ts', WORLD);
  bench.write('rooms.world.yaml', 'version: 1\nname: rooms\nkind: module\nmodule: rooms.world.ts\n');
  await unscored('verified', `{ kind: world, seconds: ${VERIFIED_S} }`, 'world', VERIFIED_S, {
    batch: 'world: rooms.world.yaml\n',
  });
});

test('a verifier of a world that loops forever in a session of `rollout gym`', async () => {
  const workspace = new Workspace();
  let gym: Gym | undefined;
  try {
    workspace.write('rooms.world.ts', WORLD);
    const file = workspace.batch('rooms', {
      endpoint: 'demo:',
      tasks: [{ id: 'room', question: 'Which number?' }],
      world: { kind: 'module', module: 'rooms.world.ts' },
      batch: { scorer: { kind: 'world', seconds: VERIFIED_S } },
    });
    const started = (gym = await Gym.start(workspace, file));
    const verdictOn = async (session: string, answer: string) =>
      verifiedSession.parse((await started.send('POST', `/sessions/${session}/verify`, { answer })).body);
    const seed = async (): Promise<string> =>
      seededSession.parse((await started.send('POST', '/seed_session', { task_id: 'room' })).body).session_id;
    const [stuck, fine] = [await seed(), await seed()];
    const [late, other] = await Promise.all([verdictOn(stuck, 'stuck'), verdictOn(fine, '42')]);
    assert.deepEqual(
      [late.reward, late.explanation],
      [null, `The scorer failed: It did not end within its limit of ${VERIFIED_S} s.`],
    );
    assert.deepEqual([other.reward, other.explanation], [1, undefined], 'sessions do not wait for each other');
    assert.equal((await verdictOn(await seed(), '42')).reward, 1);
    assert.equal((await started.send('DELETE', `/sessions/${stuck}`)).status, 200, 'a session ends after that');
  } finally {
    assert.equal(await gym?.stop(), 0);
    await workspace.close();
  }
});
