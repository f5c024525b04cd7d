/** `rollout call --predict`: a world that a model plays says what a call returns, and nothing is recorded. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { Json, JsonObject } from '../../src/common/json.ts';
import { Bench } from '../support/cli.ts';
import { answerText, type FakeEndpoint, fakeEndpoint } from '../support/endpoint.ts';
import { ofKind, Workspace } from '../support/testWorkspace.ts';

interface Predicted {
  readonly before: number;
  readonly prediction?: Json;
  readonly error?: { readonly class: string };
  readonly thinking?: string;
  readonly real?: Json;
  readonly difference?: { readonly places: readonly { readonly path: string; readonly verdict: string }[] };
  readonly asked: number;
}

const KEY = 'sk-predict-0123456789abcdef';

describe('rollout call --predict', { timeout: 480_000 }, () => {
  let workspace: Workspace;
  let world: FakeEndpoint;
  /** What the world model replies to the next questions. */
  let reply: () => string;

  const texts = (): string[] =>
    (world.seen.at(-1)?.body['messages'] as JsonObject[]).map(({ content }) => content as string);
  const simulation = (name: string, model: JsonObject, tools: readonly string[]): void => {
    workspace.write(
      `${name}.tools.json`,
      JSON.stringify(tools.map((tool) => ({ name: tool, description: tool, inputSchema: { type: 'object' } }))),
    );
    workspace.write(
      `${name}.world.yaml`,
      JSON.stringify({
        version: 1,
        name,
        kind: 'simulated',
        model: { endpoint: world.url, name: 'world-model', ...model },
        tools: [{ file: `${name}.tools.json` }],
      }),
    );
  };

  before(async () => {
    workspace = new Workspace(new Bench({ sharesProcess: true }));
    world = await fakeEndpoint(({ path }, response) => {
      if (path.endsWith('/chat/completions')) answerText(response, reply());
      else response.writeHead(404).end();
    });
    simulation('calc', {}, ['calculate']);
  });
  after(async () => {
    await workspace.close();
    await world[Symbol.asyncDispose]();
  });

  it('predicts a held call before it is made, and compares it after it ran', async () => {
    const file = workspace.batch('held', {
      endpoint: 'demo:',
      agent: { tools: [{ builtin: ['calculator'] }] },
      tasks: [
        {
          id: 'a',
          question: 'call calculate {"expression": "40 + 2"}\ncall calculate {"expression": "40 + 3"}\nanswer {{last}}',
          answer: '43',
        },
      ],
    });
    const { batch } = await workspace.json<{ batch: string }>(
      ...['run', file, '--detach', '--hold-where', 'tool.name == "calculate" && tool.arguments.expression == "40 + 3"'],
    );
    const [row] = await workspace.waitForRows(batch, (all) => all.some(({ state }) => state === 'held'));
    const rollout = row?.rollout ?? '';
    const events = await workspace.events(rollout);
    const seq = ofKind(events, 'tool.start').at(-1)?.seq ?? 0;
    reply = () => '<think>It is a sum.</think>\n{"value": 44}';
    const held = await workspace.json<Predicted>('call', `${rollout}@${seq}`, '--predict', 'calc.world.yaml');
    assert.deepEqual(
      [held.before, held.prediction, held.real, held.difference],
      [1, '{"value": 44}', undefined, undefined],
    );
    const asked = texts();
    assert.equal(asked.length, 4, 'the system prompt, one turn, and the call');
    assert.match(asked[1] ?? '', /40 \+ 2/);
    assert.match(asked[2] ?? '', /42/);
    assert.match(asked[3] ?? '', /40 \+ 3/);
    assert.equal((await workspace.events(rollout)).length, events.length, 'nothing is recorded');

    assert.equal((await workspace.run('resume', rollout)).code, 0);
    await workspace.waitForEvents(rollout, (all) => ofKind(all, 'rollout.end').length > 0);
    const ran = await workspace.json<Predicted>('call', `${rollout}@${seq}`, '--predict', 'calc.world.yaml');
    assert.deepEqual(texts(), asked, 'the same is asked after it ran');
    assert.notEqual(ran.real, undefined);
    assert.ok((ran.difference?.places.length ?? 0) > 0);
    const { stdout, stderr } = await workspace.run('call', `${rollout}@${seq}`, '--predict', 'calc.world.yaml');
    assert.match(stdout, /Predicted by calc \(world-model\):\n\{\n {2}"value": 44/);
    assert.match(stdout, /Difference: \d+ places? differs?/);
    assert.match(stderr, /The prediction is not recorded\./);
  });

  it('predicts a call of an imported recording, with the definitions of the world file', async () => {
    const call = (id: string, name: string, args: Json): JsonObject => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
    });
    const recording = workspace.write(
      'talk.json',
      JSON.stringify([
        {
          task_id: 0,
          trial: 0,
          reward: 1,
          info: { task: { instruction: 'Count them.' } },
          traj: [
            { role: 'user', content: 'How many are left?' },
            call('c1', 'count', { shelf: 'A' }),
            { role: 'tool', tool_call_id: 'c1', content: '{"left": 3}' },
            call('c2', 'unknown', {}),
            { role: 'tool', tool_call_id: 'c2', content: 'nothing' },
            call('c3', 'count', { shelf: 'B' }),
            { role: 'tool', tool_call_id: 'c3', content: '{"left": 5}' },
            { role: 'assistant', content: '8' },
          ],
        },
      ]),
    );
    const { batch } = await workspace.json<{ batch: string }>('import', recording);
    const [row] = await workspace.rows(batch);
    const rollout = row?.rollout ?? '';
    const seq = ofKind(await workspace.events(rollout), 'tool.start').at(-1)?.seq ?? 0;
    simulation('shelves', {}, ['count']);
    reply = () => '{"left": 5}';
    const predicted = await workspace.json<Predicted>('call', `${rollout}@${seq}`, '--predict', 'shelves.world.yaml');
    assert.deepEqual([predicted.before, predicted.real, predicted.difference?.places], [1, '{"left": 5}', []]);
    const other = await workspace.run('call', `${rollout}@${seq}`, '--predict', 'calc.world.yaml');
    assert.equal(other.code, 2);
    assert.match(other.stderr, /The world calc has no tool count\. Its tools: calculate\./);
  });

  it('asks with the values of the environment and hides them, and reports a world that does not answer', async () => {
    simulation('keyed', { api_key: '${env:PREDICT_KEY}' }, ['calculate']);
    const file = workspace.batch('done', {
      endpoint: 'demo:',
      agent: { tools: [{ builtin: ['calculator'] }] },
      tasks: [{ id: 'a', question: 'call calculate {"expression": "40 + 2"}\nanswer {{last}}', answer: '42' }],
    });
    const { batch } = await workspace.json<{ batch: string }>('run', file);
    const [row] = await workspace.rows(batch);
    const rollout = row?.rollout ?? '';
    const seq = ofKind(await workspace.events(rollout), 'tool.start').at(-1)?.seq ?? 0;
    const words = ['call', `${rollout}@${seq}`, '--predict', 'keyed.world.yaml', '--json'];
    const cwd = workspace.path();
    reply = () => `The key is ${KEY}.`;
    const missing = await workspace.bench.run(words, { cwd });
    assert.equal(missing.code, 2);
    assert.match(missing.stdout, /"missing":\s*\[\s*"PREDICT_KEY"/);
    const told = await workspace.bench.run(words, { cwd, env: { PREDICT_KEY: KEY } });
    assert.equal(told.code, 0, told.stderr);
    assert.equal(world.seen.at(-1)?.headers.authorization, `Bearer ${KEY}`);
    assert.ok(!told.stdout.includes(KEY), told.stdout);
    assert.match(told.stdout, /The key is /);

    reply = () => '<think>Nothing to say.</think>';
    const silent = await workspace.bench.run(words, { cwd, env: { PREDICT_KEY: KEY } });
    assert.equal(silent.code, 1);
    const result = JSON.parse(silent.stdout) as Predicted;
    assert.deepEqual([result.error?.class, result.prediction, result.asked], ['world_error', undefined, 3]);
  });

  it('asks only the model of a hybrid, opens nothing real, and knows the real answer of an overlay', async () => {
    const opened = workspace.path('opened');
    workspace.write(
      'shelf.ts',
      `import { appendFileSync } from 'node:fs';
import { tool } from 'rollout-studio';
import { z } from 'zod';
export const left = tool({ description: 'Counts.', input: z.object({}), effect: 'pure', run: () => ({ left: 3 }) });
export const lend = tool({ description: 'Lends.', input: z.object({}), effect: 'restorable', run: () => 'lent' });
export const open = () => {
  appendFileSync(${JSON.stringify(opened)}, 'x');
  return { state: {}, tools: { left, lend } };
};
`,
    );
    workspace.write(
      'shelf.world.yaml',
      JSON.stringify({ version: 1, name: 'shelf', kind: 'module', module: 'shelf.ts' }),
    );
    const hybrid = (route: JsonObject[]): JsonObject => ({
      kind: 'simulated',
      model: { endpoint: world.url, name: 'world-model' },
      real: { world: 'shelf.world.yaml' },
      route,
    });
    let replies = 0;
    reply = () => `reply ${++replies}`;
    const file = workspace.batch('hybrid', {
      endpoint: 'demo:',
      tasks: [{ id: 'a', question: 'call left {}\ncall lend {}\ncall left {}\nanswer done', answer: 'done' }],
      world: hybrid([{ tools: ['left'], by: 'overlay' }]),
      batch: { scorer: { kind: 'exact' }, sandbox: 'off' },
    });
    const { batch } = await workspace.json<{ batch: string }>('run', file);
    const [row] = await workspace.rows(batch);
    const rollout = row?.rollout ?? '';
    const [first, lend, last] = ofKind(await workspace.events(rollout), 'tool.start').map(({ seq }) => seq);
    const predict = (seq = 0, ...more: string[]) =>
      workspace.json<Predicted>('call', `${rollout}@${seq}`, '--predict', 'hybrid.world.yaml', ...more);
    const openings = readFileSync(opened, 'utf8').length;
    const bodies = world.seen.length;

    // The agent saw the real answer of the first one: the model predicts it without knowing it.
    const real = await predict(first);
    assert.deepEqual([real.before, real.prediction, real.real], [0, 'reply 3', { left: 3 }]);
    assert.doesNotMatch(texts().at(-1) ?? '', /Real Result/);
    assert.deepEqual([(await predict(lend)).prediction, (await predict(last)).prediction], ['reply 4', 'reply 5']);
    assert.match(texts().at(-1) ?? '', /\*\*Real Result:\*\*\n\{"left":3\}/);
    assert.match(texts()[0] ?? '', /# Tools\n.*"left".*\n.*"lend".*\n\n# Real Results/);
    await predict(last, '--arguments', workspace.write('args.json', '{"shelf": 2}'));
    assert.doesNotMatch(texts().at(-1) ?? '', /Real Result/, 'what is recorded is not the answer to other arguments');
    assert.equal(world.seen.length - bodies, 4);
    assert.equal(readFileSync(opened, 'utf8').length, openings, 'the real world was never opened');
  });

  it('predicts by recordings: what was answered in the same place, or that nobody knows', async () => {
    const run = async (name: string, expression: string) => {
      const file = workspace.batch(name, {
        endpoint: 'demo:',
        agent: { tools: [{ builtin: ['calculator'] }] },
        tasks: [{ id: 'sum', question: `call calculate {"expression": "${expression}"}\nanswer x`, answer: 'x' }],
      });
      const { batch } = await workspace.json<{ batch: string }>('run', file);
      const [row] = await workspace.rows(batch);
      const [start] = ofKind(await workspace.events(row?.rollout ?? ''), 'tool.start');
      return { batch, place: `${row?.rollout ?? ''}@${start?.seq ?? 0}` };
    };
    const recorded = await run('recorded', '1 + 1');
    const recording: JsonObject = { version: 1, name: 'tape', kind: 'recorded', from: [recorded.batch] };
    workspace.write('tape.world.yaml', JSON.stringify(recording));
    const known = await run('known', '1 + 1');
    const bodies = world.seen.length;
    const same = await workspace.json<Predicted>('call', known.place, '--predict', 'tape.world.yaml');
    assert.deepEqual([same.prediction, same.difference?.places, same.asked], [same.real, [], 0]);
    const { stdout } = await workspace.run('call', known.place, '--predict', 'tape.world.yaml');
    assert.match(stdout, /Predicted by tape \(recorded\):/);
    const other = await run('unknown', '2 + 2');
    const unknown = await workspace.run('call', other.place, '--predict', 'tape.world.yaml', '--json');
    assert.equal(unknown.code, 1);
    assert.match(unknown.stdout, /This call is not in the recording/);
    assert.equal(world.seen.length, bodies, 'no model is asked');

    const otherwise = { world: 'calc.world.yaml' };
    workspace.write('tape.world.yaml', JSON.stringify({ ...recording, otherwise }));
    reply = () => '4';
    const model = await workspace.json<Predicted>('call', other.place, '--predict', 'tape.world.yaml');
    assert.deepEqual([model.prediction, model.asked], ['4', 1]);
  });
});
