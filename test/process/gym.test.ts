/** `rollout gym` with a real server, workers, and a demo model: rows of NeMo Gym, and environments of tasks. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import type { JsonObject } from '../../src/common/json.ts';
import { seededSession, toolText, verifiedSession } from '../../src/gym/shapes.ts';
import type { GroupRow } from '../../src/protocol/groups.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { Bench } from '../support/cli.ts';
import { Gym, gymRow as row } from '../support/gymProcess.ts';
import { Workspace } from '../support/testWorkspace.ts';
import { type WatchedDemo, watchedDemo } from '../support/watchedDemo.ts';

const STEPS = 2;
const question = (n: number): string => `call calculate {"expression":"${n} + 1"} times ${STEPS}\nanswer {{last}}`;
const TASKS = [1, 2, 3].map((n) => ({
  id: `task-${n}`,
  question: question(n),
  answer: n === 2 ? 'wrong' : String(n + 1),
}));

const item = z.looseObject({
  type: z.string(),
  prompt_token_ids: z.array(z.number()).optional(),
  generation_token_ids: z.array(z.number()).optional(),
  generation_log_probs: z.array(z.number()).optional(),
});
const answered = z.looseObject({
  reward: z.number(),
  reward_components: z.record(z.string(), z.number()),
  response: z.looseObject({ output: z.array(item), usage: z.looseObject({ total_tokens: z.number() }) }),
  rollout_studio: z.looseObject({ rollout: z.string() }),
});
const errorText = z.object({ error: z.object({ code: z.string(), message: z.string(), hint: z.string().optional() }) });

/** Checks what NeMo RL asserts: the prompt of each call begins with all tokens before it. */
function assertContiguous(output: readonly z.infer<typeof item>[]): number {
  let seen: readonly number[] = [];
  let calls = 0;
  for (const { prompt_token_ids: prompt, generation_token_ids: ids, generation_log_probs: logprobs } of output) {
    if (prompt === undefined || ids === undefined) continue;
    calls += 1;
    assert.deepEqual(prompt.slice(0, seen.length), seen);
    assert.equal(logprobs?.length, ids.length);
    seen = [...prompt, ...ids];
  }
  return calls;
}

describe('rollout gym', { timeout: 480_000 }, () => {
  let demo: WatchedDemo;
  let workspace: Workspace;
  let gym: Gym;
  const groups = async (): Promise<readonly GroupRow[]> =>
    (await (await workspace.api()).groups(gym.batch, { limit: 1000 })).groups;
  /** Waits until a group whose ID begins so has an attempt that runs. */
  const running = async (group: string): Promise<RolloutRow> => {
    const is = (one: RolloutRow): boolean =>
      one.task.startsWith(group) && one.state === 'running' && one.worker !== undefined;
    const rows = await workspace.waitForRows(gym.batch, (some) => some.some(is));
    return rows.find(is)!;
  };

  before(async () => {
    demo = await watchedDemo();
    workspace = new Workspace(new Bench());
    const file = workspace.batch('gym', {
      endpoint: demo.url,
      gate: 'all',
      tasks: TASKS,
      agent: { tools: [{ builtin: ['calculator'] }] },
      model: { capture: { token_ids: true, logprobs: true }, sampling: { temperature: 1 } },
      batch: { seed: 7 },
    });
    gym = await Gym.start(workspace, file);
  });
  after(async () => {
    if ((gym as Gym | undefined)?.process.exitCode === null) await gym.stop();
    await workspace.close();
    await demo.close();
  });

  it('answers a row with the response, its tokens, and the reward', async () => {
    const sent = row('task-1', [0, 0], { verifier: { keep: ['me'] } });
    const { status, body } = await gym.run(sent);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(body['verifier'], { keep: ['me'] });
    assert.deepEqual([body['_ng_task_index'], body['_ng_rollout_index'], body['agent_ref']], [0, 0, sent['agent_ref']]);
    const { reward, response } = answered.parse(body);
    assert.equal(reward, 1);
    assert.equal(assertContiguous(response.output), STEPS + 1);
    assert.deepEqual(
      response.output.flatMap(({ type }) => (type === 'reasoning' ? [] : [type])),
      [...Array.from({ length: STEPS }, () => ['function_call', 'function_call_output']).flat(), 'message'],
    );
    const { input } = z
      .object({ input: z.array(z.looseObject({ role: z.string() })) })
      .parse(body['responses_create_params']);
    assert.deepEqual(
      input.map(({ role }) => role),
      ['system', 'user'],
    );
    assert.equal(answered.parse((await gym.run(row('task-2', [1, 0]))).body).reward, 0);
  });

  it('runs a row once for a client that comes again, and once more after it was answered', async () => {
    demo.shut('all');
    const before = (await groups()).length;
    const sent = row('task-3', [2, 0]);
    const first = new AbortController();
    const broken = gym.run(sent, first.signal);
    await running('2.0.');
    const joined = gym.run(sent);
    first.abort();
    await assert.rejects(broken);
    const again = gym.run(sent);
    demo.open('all');
    const [one, other] = (await Promise.all([joined, again])).map(({ body }) => answered.parse(body).rollout_studio);
    assert.equal(one?.rollout, other?.rollout);
    assert.equal((await groups()).length, before + 1);
    const next = answered.parse((await gym.run(sent)).body).rollout_studio;
    assert.notEqual(next.rollout, one?.rollout);
    assert.equal((await groups()).length, before + 2);
    // Without indices, equal rows at the same time are samples of their own.
    const samples = await Promise.all([gym.run(row('task-3')), gym.run(row('task-3'))]);
    assert.equal(new Set(samples.map(({ body }) => answered.parse(body).rollout_studio.rollout)).size, 2);
  });

  it('runs a whole task, and one whose worker is killed', async () => {
    const whole = row('', [], { task: { question: question(40), answer: '41' } });
    assert.equal(answered.parse((await gym.run(whole)).body).reward, 1);
    demo.shut('all');
    const reply = gym.run(row('task-1', [9, 9]));
    const { worker = '' } = await running('9.9.');
    const pid = Number(/^local-(\d+)$/.exec(worker)?.[1]);
    assert.ok(pid > 0, worker);
    process.kill(pid, 'SIGKILL');
    demo.open('all');
    const { reward, response } = answered.parse((await reply).body);
    assert.equal(reward, 1);
    assert.equal(assertContiguous(response.output), STEPS + 1);
  });

  it('samples as the row asks, and as the agent file says otherwise', async () => {
    const samplings = async (rollout: string): Promise<Set<string>> =>
      new Set(
        (await workspace.events(rollout)).flatMap((event) => {
          if (event.kind !== 'model.start') return [];
          const { temperature = null, max_tokens: most = null } = event.data.sampling;
          return JSON.stringify([temperature, most]);
        }),
      );
    const run = async (asked: JsonObject): Promise<string> => {
      const reply = await gym.run({ ...row('task-1'), responses_create_params: { input: 'x', ...asked } });
      return answered.parse(reply.body).rollout_studio.rollout;
    };
    const rollout = await run({ temperature: 0.5, max_output_tokens: 4000 });
    assert.deepEqual(await samplings(rollout), new Set(['[0.5,4000]']));
    assert.deepEqual(await samplings(await run({ temperature: null })), new Set(['[1,null]']));
    const { batch } = await workspace.json<{ batch: string }>('fork', `${rollout}@0`);
    const [fork] = await workspace.rows(batch);
    assert.deepEqual(await samplings(fork!.rollout), new Set(['[0.5,4000]']), 'a fork from the start');
    assert.deepEqual(
      (await groups()).flatMap(({ sampling }) => sampling ?? []),
      [{ temperature: 0.5, max_tokens: 4000 }],
    );
  });

  it('refuses what it cannot run with a status and a reason', async () => {
    for (const [body, status, text] of [
      ['{', 422, /not JSON/],
      [{}, 422, /responses_create_params/],
      [{ responses_create_params: { input: 'x' } }, 422, /names no task/],
      [row('nope'), 404, /no task nope/],
      [row('', [], { task: { id: 'x' } }), 422, /question/],
      [
        { ...row('task-1'), responses_create_params: { input: 'x', temperature: -1 } },
        422,
        /the sampling of the row: temperature/,
      ],
      [{ ...row('task-1'), responses_create_params: { input: 'x', max_output_tokens: 0.5 } }, 422, /max_output_tokens/],
    ] as const) {
      const reply = await gym.send('POST', '/run', body);
      assert.equal(reply.status, status, JSON.stringify(reply.body));
      assert.match(errorText.parse(reply.body).error.message, text);
    }
    assert.equal((await gym.send('POST', '/v1/responses', {})).status, 404);
    const { hostname, port } = new URL(gym.url);
    for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }]) {
      const sent = httpRequest({ hostname, port, path: '/run', method: 'POST', headers });
      sent.end('{}');
      const [response] = (await once(sent, 'response')) as [{ statusCode: number; resume(): void }];
      response.resume();
      assert.equal(response.statusCode, 403);
    }
    const large = httpRequest({
      ...{ hostname, port, path: '/run', method: 'POST' },
      headers: { 'content-length': String(2 ** 40) },
    });
    large.on('error', () => undefined); // the connection closes
    large.flushHeaders();
    const [refused] = (await once(large, 'response')) as [{ statusCode: number; resume(): void }];
    assert.equal(refused.statusCode, 413);
    large.destroy();
  });

  it('continues after the rollout server was killed', async () => {
    demo.shut('all');
    const reply = gym.run(row('task-1', [20, 0]));
    const before = workspace.bench.serverFile()?.pid;
    assert.ok(before !== undefined);
    await running('20.0.');
    process.kill(before, 'SIGKILL');
    demo.open('all');
    assert.equal(answered.parse((await reply).body).reward, 1);
    assert.notEqual(workspace.bench.serverFile()?.pid, before);
    assert.match(gym.stderr(), /the rollout server is lost[^]*the rollout server is back/);
  });

  it('answers a rollout that gets no reward as a failure, never with 0', async () => {
    demo.shut('all');
    const reply = gym.run(row('task-1', [30, 0]));
    const { task: group } = await running('30.0.');
    const api = await workspace.api();
    await api.commandBatch(gym.batch, { command: 'stop-it', verb: 'cancel_group', args: { group } });
    const { status, body } = await reply;
    demo.open('all');
    assert.equal(status, 200);
    assert.deepEqual([body['reward'], body['_ng_failure_class'], body['_ng_no_persist']], [null, 'kill_shaped', true]);
    // It is not done: the next request runs it again.
    assert.equal(answered.parse((await gym.run(row('task-1', [30, 0]))).body).reward, 1);
  });

  it('ends a rollout at the deadline, as a failure for good', async () => {
    demo.shut('all');
    const brief = await Gym.start(workspace, 'gym.batch.yaml', '--deadline', '1');
    const { body } = await brief.run(row('task-1', [40, 0]));
    demo.open('all');
    assert.deepEqual(
      [body['reward'], body['_ng_failure_class'], body['_ng_failure_terminal']],
      [null, 'timeout_exceeded', true],
      JSON.stringify(body),
    );
    assert.equal(await brief.stop(), 0);
  });

  it('seals its batch when it ends', async () => {
    assert.equal(await gym.stop(), 0, gym.stderr());
    const ended = await workspace.ended(gym.batch);
    assert.ok(ended.length > 0);
    assert.equal((await (await workspace.api()).batch(gym.batch)).state, 'ended');
  });
});

const WORLD = readFileSync(new URL('../fixtures/tools/shop.world.ts', import.meta.url), 'utf8');
/** Its stock is the last digit of the seed. */
const SHOP_TASK = { id: 'shop', question: 'Leave three apples.', answer: 3, world: { seed: 5 } };

describe('an environment of rollout gym', { timeout: 480_000 }, () => {
  let workspace: Workspace;
  let file: string;
  let gym: Gym;
  before(async () => {
    workspace = new Workspace(new Bench());
    workspace.write('shop.world.ts', WORLD);
    file = workspace.batch('shop', {
      endpoint: 'demo:',
      tasks: [SHOP_TASK, { ...SHOP_TASK, id: 'broken' }],
      agent: { prompt: 'You keep the shop {{task.id}}.', tools: [{ builtin: ['files'] }], answer: { tag: 'final' } },
      world: { kind: 'module', module: 'shop.world.ts' },
      batch: {
        mix: [{ share: '50%' }, { name: 'cool', share: '50%', sampling: { temperature: 0, extra: { top_k: 4 } } }],
      },
    });
    gym = await Gym.start(workspace, file);
  });
  after(async () => {
    await (gym as Gym | undefined)?.stop();
    await workspace.close();
  });
  const seed = async (task = 'shop'): Promise<z.infer<typeof seededSession>> =>
    seededSession.parse((await gym.send('POST', '/seed_session', { task_id: task })).body);
  const call = async (session: string, tool: string, args: JsonObject = {}): Promise<z.infer<typeof toolText>> =>
    toolText.parse((await gym.send('POST', `/sessions/${session}/tools/${tool}`, args)).body);
  const verify = async (session: string, body: JsonObject = {}): Promise<z.infer<typeof verifiedSession>> =>
    verifiedSession.parse((await gym.send('POST', `/sessions/${session}/verify`, body)).body);

  it('has the part of the mix that the request names, that of its row, or the next one', async () => {
    const partOf = async (request: JsonObject): Promise<unknown> => {
      const { part, sampling } = seededSession.parse(
        (await gym.send('POST', '/seed_session', { task_id: 'shop', ...request })).body,
      );
      return part === 'cool' ? [part, sampling] : part;
    };
    const cool = ['cool', { temperature: 0, top_k: 4 }];
    assert.deepEqual(await partOf({ part: 'cool' }), cool);
    const rows = [await partOf({ _ng_rollout_index: 0 }), await partOf({ _ng_rollout_index: 1 })];
    assert.deepEqual(
      new Set(rows.map((row) => JSON.stringify(row))),
      new Set([JSON.stringify('1'), JSON.stringify(cool)]),
    );
    assert.deepEqual(await partOf({ _ng_rollout_index: 0 }), rows[0], 'a row keeps its part');
    assert.deepEqual([await partOf({}), await partOf({})], rows, 'the first and the second attempt');
    const unknown = await gym.send('POST', '/seed_session', { task_id: 'shop', part: 'hot' });
    assert.equal(unknown.status, 422);
    assert.match(JSON.stringify(unknown.body), /no part .*hot.*Its parts are 1, cool/);
  });

  it('has the messages and tools of an agent, its world, and its verdict', async () => {
    const { session_id: session, messages, tools } = await seed();
    assert.deepEqual(messages, [
      { role: 'system', content: 'You keep the shop shop.' },
      { role: 'user', content: 'Leave three apples.' },
    ]);
    const names = z.array(z.object({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) }));
    const offered = names.parse(tools).map((one) => one.function.name);
    assert.deepEqual(
      ['read_file', 'write_file', 'take', 'count'].filter((name) => !offered.includes(name)),
      [],
    );
    const other = await seed();
    assert.deepEqual(await call(session, 'take', { thing: 'apple', count: 2 }), { text: '{"left":3}' });
    assert.deepEqual(await call(session, 'count'), { text: '{"apple":3,"pear":2}' });
    assert.deepEqual(await call(other.session_id, 'count'), { text: '{"apple":5,"pear":2}' }, 'a state of its own');
    await call(session, 'write_file', { path: 'note.txt', content: 'mine' });
    assert.match((await call(session, 'read_file', { path: 'note.txt' })).text, /mine/);
    const none = await call(other.session_id, 'read_file', { path: 'note.txt' });
    assert.equal(none.error, true, 'a folder of its own');
    const { reward, explanation } = await verify(session, { message: 'Done: <final>3 left</final>' });
    assert.deepEqual([reward, explanation], [1, '3 apples, answer "3 left"']);
    assert.equal((await verify(other.session_id)).reward, 0);
    assert.equal((await gym.send('DELETE', `/sessions/${session}`)).status, 200);
    assert.equal((await gym.send('POST', `/sessions/${session}/verify`, {})).status, 404);
  });

  it('shows errors of tools as an agent sees them, and goes on', async () => {
    const { session_id: session } = await seed();
    for (const [tool, args, text] of [
      ['take', { thing: 'apple', count: 9 }, /^Error \(tool_error\): there is not enough apple/],
      ['take', { things: 1 }, /^Error \(invalid_arguments\): /],
      ['fly', {}, /^Error \(unknown_tool\): Unknown tool "fly"\. Available tools: .*take/],
    ] as const) {
      const failed = await call(session, tool, args);
      assert.equal(failed.error, true);
      assert.match(failed.text, text);
    }
    assert.equal((await call(session, 'count')).error, undefined);
    const nobody = await verify(session, { answer: 'bad' });
    assert.equal(nobody.reward, null, 'a verifier that fails gives no reward');
    assert.match(nobody.explanation ?? '', /failed/);
  });

  it('refuses unknown tasks and worlds that do not open, and ends after a time without calls', async () => {
    const unknown = await gym.send('POST', '/seed_session', { task_id: 'nope' });
    assert.deepEqual([unknown.status, errorText.parse(unknown.body).error.code], [404, 'not_found']);
    const broken = await gym.send('POST', '/seed_session', { task_id: 'broken' });
    assert.equal(broken.status, 422);
    assert.match(errorText.parse(broken.body).error.message, /no such shop/);
    const brief = await Gym.start(workspace, file, '--idle', '1');
    const { session_id: session } = seededSession.parse(
      (await brief.send('POST', '/seed_session', { task_id: 'shop' })).body,
    );
    while (!brief.stderr().includes(`session ${session} ends`)) await once(brief.process.stderr!, 'data');
    assert.equal((await brief.send('POST', `/sessions/${session}/tools/count`, {})).status, 404);
    assert.equal(await brief.stop(), 0);
  });
});
