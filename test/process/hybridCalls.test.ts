/** Calls and verdicts of a hybrid that are made again: its session is told what the agent saw, whoever answered it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { JsonObject } from '../../src/common/json.ts';
import type { EventOf } from '../../src/trace/schema.ts';
import { answerText, type FakeEndpoint, fakeEndpoint } from '../support/endpoint.ts';
import { ofKind, Workspace } from '../support/testWorkspace.ts';

const COUNTER = `import { tool } from 'rollout-studio';
import { z } from 'zod';

const state = (context) => context.state;
export const add = tool({ description: 'Adds.', input: z.object({ n: z.number() }), effect: 'restorable',
  run: ({ n }, context) => ({ value: (state(context).value += n) }) });
export const take = tool({ description: 'Takes.', input: z.object({ n: z.number() }), effect: 'restorable',
  run: ({ n }, context) => ({ value: (state(context).value -= n) }) });
export const look = tool({ description: 'Looks.', input: z.object({}), effect: 'pure',
  run: (_, context) => ({ value: state(context).value }) });

export const open = (task, seed, from) => {
  const counter = { value: from === undefined ? 0 : Number(new TextDecoder().decode(from)) };
  return {
    state: counter,
    tools: { add, take, look },
    verify: () => ({ value: counter.value, passed: counter.value > 0 }),
    snapshot: () => new TextEncoder().encode(String(counter.value)),
  };
};
`;

const ADD = 'call add {"n": 2}';
const TAKE = 'call take {"n": 1}';
const LOOK = 'call look {}';

describe('a call of a hybrid that is made again', { timeout: 480_000 }, () => {
  let workspace: Workspace;
  let model: FakeEndpoint;
  before(async () => {
    workspace = new Workspace();
    model = await fakeEndpoint(({ path, body }, response) => {
      const turns = (body['messages'] as JsonObject[] | undefined)?.filter(({ role }) => role === 'user').length ?? 0;
      if (path.endsWith('/chat/completions')) answerText(response, `observation ${turns}`);
      else response.writeHead(404).end();
    });
    workspace.write('counter.ts', COUNTER);
    workspace.write(
      'counter.world.yaml',
      JSON.stringify({ version: 1, name: 'counter', kind: 'module', module: 'counter.ts' }),
    );
  });
  after(async () => {
    await workspace.close();
    await model[Symbol.asyncDispose]();
  });

  /** Runs one attempt in which additions are real, looks are overlays, and the model takes. */
  const run = async (name: string, question: readonly string[], world: JsonObject = {}, batch: JsonObject = {}) => {
    const file = workspace.batch(name, {
      endpoint: 'demo:',
      tasks: [{ id: 'one', question: [...question, 'answer done'].join('\n'), answer: 'done' }],
      world: {
        kind: 'simulated',
        model: { endpoint: model.url, name: 'world-model' },
        real: { world: 'counter.world.yaml' },
        route: [
          { tools: ['add'], by: 'real' },
          { tools: ['look'], by: 'overlay' },
        ],
        ...world,
      },
      batch: { scorer: { kind: 'exact' }, ...batch },
    });
    // An attempt without a score ends it with 1.
    const { batch: id } = JSON.parse((await workspace.run('run', file, '--json')).stdout) as { batch: string };
    const [row] = await workspace.rows(id);
    const events = await workspace.events(row!.rollout);
    return { rollout: row!.rollout, reference: `${id}/one/1`, events, looks: startsOf(events) };
  };
  const startsOf = (events: Parameters<typeof ofKind>[0]): EventOf<'tool.start'>[] =>
    ofKind(events, 'tool.start').filter(({ data }) => data.name === 'look');
  const again = async (rollout: string, seq: number) =>
    await workspace.json<{ status: string; result?: unknown; same: boolean | null; notes: string[] }>(
      'call',
      `${rollout}@${seq}`,
    );

  it('changes the real answer by what the agent saw, as it was', async () => {
    const { rollout, looks } = await run('plain', [ADD, TAKE, LOOK, ADD, LOOK]);
    const asked = model.seen.length;
    for (const { seq } of looks) {
      const { status, same, notes } = await again(rollout, seq);
      assert.deepEqual([status, same, notes], ['ok', true, []]);
    }
    assert.equal(model.seen.length, asked, 'the recorded replies answer');
  });

  it('knows answers that a rule wrote, and calls before the newest snapshot', async () => {
    const lie = { name: 'lie', when: 'tool.name == "take"', effect: 'error', args: { message: 'closed' } };
    const told = await run('told', [ADD, TAKE, LOOK], { perturb: [lie] });
    assert.deepEqual(
      ofKind(told.events, 'tool.end').map(({ data: { source, injected } }) => injected ?? source),
      ['live', 'lie', 'overlay'],
    );
    const { status, same } = await again(told.rollout, told.looks[0]!.seq);
    assert.deepEqual([status, same], ['ok', true]);

    // A snapshot after 16 real calls, with a simulated one before it.
    const many = await run('many', [TAKE, ...Array.from({ length: 16 }, () => ADD), LOOK]);
    assert.ok(ofKind(many.events, 'world.snapshot').some(({ seq }) => seq < many.looks[0]!.seq));
    assert.deepEqual((await again(many.rollout, many.looks[0]!.seq)).same, true);
  });

  it('has no verdict either if the attempt had none because of what was invented', async () => {
    const verify = async (reference: string) => {
      const { stdout } = await workspace.run('world', 'verify', reference, '--json');
      const { rollouts } = JSON.parse(stdout) as { rollouts: { now: { value: number } | null; error?: string }[] };
      assert.ok(rollouts[0] !== undefined);
      return rollouts[0];
    };
    const lie = { name: 'lie', when: 'tool.name == "take"', effect: 'error', args: { message: 'closed' } };
    const worlds: Readonly<Record<string, JsonObject>> = { simulated: {}, injected: { perturb: [lie] } };
    for (const [name, world] of Object.entries(worlds)) {
      const { reference, events } = await run(name, [TAKE, ADD, LOOK], world, { scorer: { kind: 'world' } });
      const [score] = ofKind(events, 'score');
      assert.equal(score?.data.value, null, name);
      const { now, error = '' } = await verify(reference);
      assert.equal(now, null, name);
      assert.match(error, /calls of take were simulated/);
    }
    const real = await run('real', [ADD, LOOK], {}, { scorer: { kind: 'world' } });
    assert.equal((await verify(real.reference)).now?.value, 2);
  });
});
