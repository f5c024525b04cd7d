/** Worlds with real, simulated, and overlaid tools: who is asked what, and what survives what. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonObject } from '../../../src/common/json.ts';
import type { SubmittedSimulatedWorld } from '../../../src/config/submission/world.ts';
import type { ModelRequest, World } from '../../../src/rollout/ports.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import type { EventData, TraceEvent } from '../../../src/trace/schema.ts';
import { hybridWorld } from '../../../src/worlds/simulated/hybrid.ts';
import {
  end,
  type Kit,
  type KitOptions,
  kit,
  NumberWorld,
  normalizedEvents,
  plain,
  ScriptedModel,
  submission,
  USER,
} from '../../support/rolloutKit.ts';
import { responses } from '../../support/worldCalls.ts';

const MODEL = { ...USER.model, name: 'world-model' };
const WORLD: SubmittedSimulatedWorld = {
  name: 'practice',
  file: 'worlds/practice.world.yaml',
  kind: 'simulated',
  domain: 'mcp',
  model: MODEL,
  definitions: [{ name: 'note', description: 'Notes something.', parameters: { type: 'object' } }],
  texts: {},
  perturb: [],
  route: [
    { tools: ['ad*'], by: 'real' },
    { tools: ['peek'], by: 'overlay' },
  ],
};
const NUMBERS: SubmittedSimulatedWorld['worlds'] = {
  real: {
    name: 'numbers',
    file: 'worlds/n.world.yaml',
    kind: 'module',
    module: { file: 'n.ts', bundle: '0'.repeat(64), map: '0'.repeat(64) },
    perturb: [],
  },
};

interface Call {
  readonly name: string;
  readonly arguments?: JsonObject;
}

/** A turn each: a real write, an overlaid read, a simulated write, an overlaid read, a real write, an overlaid read. */
const TURNS: readonly (readonly Call[])[] = [
  [{ name: 'add', arguments: { n: 2 } }],
  [{ name: 'peek' }],
  [{ name: 'burn', arguments: { n: 5 } }],
  [{ name: 'peek' }],
  [{ name: 'add', arguments: { n: 3 } }, { name: 'note' }],
  [{ name: 'peek' }],
];

class WorldModel extends ScriptedModel {
  constructor() {
    super(
      Array.from({ length: 20 }, () => (request: ModelRequest) => ({
        text: `reply to ${textsOf(request).length - 1}`,
      })),
    );
  }

  get asked(): string[][] {
    return this.requests.map(textsOf);
  }
}

function textsOf({ messages }: ModelRequest): string[] {
  return messages.map(
    ({ role, parts }) => `${role}: ${parts.map((part) => (part.type === 'text' ? plain(part.content) : '')).join('')}`,
  );
}

interface Run extends Kit {
  readonly model: WorldModel;
  readonly real: NumberWorld;
}

function run(
  options: KitOptions = {},
  {
    turns = TURNS,
    world = WORLD,
    real = new NumberWorld({ snapshots: false }),
    wrapped = real,
  }: { turns?: typeof TURNS; world?: SubmittedSimulatedWorld; real?: NumberWorld; wrapped?: World } = {},
): Run {
  const model = new WorldModel();
  const one = kit({
    model: new ScriptedModel([...turns.map((calls) => ({ calls })), { text: '42' }]),
    world: hybridWorld(world, wrapped),
    ...options,
    job: { submission: submission({}, { world: { ...world, worlds: NUMBERS } }), ...options.job },
    ports: { modelOf: ({ name }) => (name === MODEL.name ? model : assert.fail(`no model ${name}`)) },
  });
  return { ...one, model, real };
}

const after = (events: readonly TraceEvent[], from: Kit, job: KitOptions['job'] = {}): KitOptions => ({
  job: { submission: submission({}, { world: { ...WORLD, worlds: NUMBERS } }), how: 'resumed', epoch: 2, ...job },
  after: { events, blobs: new Map(from.recorder.blobs) },
});

const endsOf = (events: readonly TraceEvent[]): EventData['tool.end'][] =>
  events.flatMap((event) => (event.kind === 'tool.end' ? [event.data] : []));

describe('a hybrid world', () => {
  it('calls real tools, simulates others, and changes real answers only once something was simulated', async () => {
    const one = run();
    const events = await one.run();
    assert.deepEqual(responses(events), [
      { value: 2 }, // real
      { value: 2 }, // nothing to change: the model is not asked
      'reply to 5',
      'reply to 7',
      { value: 5 }, // `burn` of 5 is nowhere in it
      'reply to 11',
      'reply to 13',
    ]);
    assert.deepEqual(
      endsOf(events).map(({ source, real }) => (real === undefined ? source : [source, real])),
      ['live', 'live', 'simulated', ['overlay', { value: 2 }], 'live', 'simulated', ['overlay', { value: 5 }]],
    );
    assert.deepEqual(one.real.calls, ['add 2', 'peek', 'peek', 'add 3', 'peek']);
    assert.deepEqual([end(events).totals.side?.calls, one.real.closed], [4, 1]);
  });

  it('tells the model every call and the real results of overlays: each request begins with the last', async () => {
    const one = run();
    await one.run();
    const asked = one.model.asked;
    for (const [index, messages] of asked.entries())
      if (index > 0) assert.deepEqual(messages.slice(0, asked[index - 1]!.length), asked[index - 1]);
    const [system, ...turns] = asked.at(-1)!;
    assert.match(
      system!,
      /\n\n# Tools\n\{"name":"add",.*\}\n.*"peek".*\n.*"burn".*\n.*"note".*\n\n# Real Results\nSome/,
    );
    assert.deepEqual(turns.slice(0, 8), [
      'user: ### Turn 1\n**Action:**\n```json\n{"name":"add","arguments":{"n":2}}\n```',
      'assistant: **Environment Observation:**\n{"value":2}',
      'user: ### Turn 2\n**Action:**\n```json\n{"name":"peek","arguments":{}}\n```',
      'assistant: **Environment Observation:**\n{"value":2}',
      'user: ### Turn 3\n**Action:**\n```json\n{"name":"burn","arguments":{"n":5}}\n```',
      'assistant: **Environment Observation:**\nreply to 5',
      'user: ### Turn 4\n**Action:**\n```json\n{"name":"peek","arguments":{}}\n```\n\n**Real Result:**\n{"value":2}',
      'assistant: **Environment Observation:**\nreply to 7',
    ]);
  });

  it('never writes to the real system by a call that is not real', async () => {
    const real = new NumberWorld();
    const world = { ...WORLD, route: [{ tools: ['peek'], by: 'overlay' as const }] };
    const state = async (): Promise<string> => {
      const session = await real.open({ seed: 1, from: Buffer.from(String(real.value)) });
      return Buffer.from(await session.snapshot!(AbortSignal.timeout(1000))).toString('hex');
    };
    const before = await state();
    await run({}, { real, world }).run();
    assert.deepEqual(real.calls, ['peek', 'peek', 'peek']);
    assert.equal(await state(), before);
  });

  it('sends no recorded request again, and repeats only real calls, wherever its workers are lost', async () => {
    const whole = run();
    const events = await whole.run();
    for (const boundary of whole.recorder.boundaries.slice(0, -1)) {
      const before = events.slice(0, boundary);
      const again = run(after(before, whole));
      const lengthened = await again.run();
      const answered = before.filter(({ kind, agent }) => kind === 'model.end' && agent === 'world').length;
      assert.equal(again.model.requests.length, 4 - answered, `requests after ${boundary}`);
      // A session without snapshots has made all its writes again, and no recorded read.
      assert.deepEqual(
        again.real.calls.filter((call) => call.startsWith('add')),
        ['add 2', 'add 3'],
        `repeated after ${boundary}`,
      );
      assert.ok(!again.real.calls.some((call) => call.startsWith('burn')));
      assert.deepEqual(responses(lengthened), responses(events), `resumed after ${boundary}`);
      assert.deepEqual(
        end(normalizedEvents(lengthened) as TraceEvent[]),
        end(normalizedEvents(events) as TraceEvent[]),
      );
      if (answered > 0 && again.model.requests.length > 0)
        assert.deepEqual(again.model.asked.at(-1), whole.model.asked.at(-1), `asked after ${boundary}`);
    }
  });

  it('continues a fork from what its agent saw, with an edit in the reply of the model', async () => {
    const parent = run();
    const events = await parent.run();
    const overlaid = events.find((event) => event.kind === 'tool.end' && event.data.source === 'overlay')!;
    const m = overlaid.kind === 'tool.end' ? overlaid.data.m! : 0;
    const fork = run(
      after(events.slice(0, overlaid.seq), parent, {
        how: 'fresh',
        rollout: 'r2',
        fork: { rollout: 'r1', seq: overlaid.seq },
        edits: [{ of: { m }, path: '/parts/0/response', value: 'seven' }],
      }),
    );
    assert.deepEqual(responses(await fork.run()).slice(-1), ['reply to 13']);
    assert.deepEqual(fork.real.calls, ['add 2', 'add 3', 'peek']);
    assert.equal(fork.model.asked.at(-1)![8], 'assistant: **Environment Observation:**\nseven');
    assert.match(fork.model.asked.at(-1)![7]!, /\*\*Real Result:\*\*\n\{"value":2\}$/);
  });

  it('is saved by the snapshots of the real world, which count only its calls', async () => {
    const turns = Array.from({ length: 17 }, (_, index): Call[] => [
      { name: 'add', arguments: { n: index + 1 } },
      { name: 'note' },
    ]);
    const real = new NumberWorld();
    const one = run(
      { job: { submission: submission({ limits: { steps: 40, seconds: 60, tool_seconds: 10, tokens: 1e6 } }) } },
      { turns, real },
    );
    const events = await one.run();
    const snapshots = events.flatMap((event) => (event.kind === 'world.snapshot' ? [event.seq] : []));
    assert.equal(snapshots.length, 2); // after 16 calls, and at the end
    const again = run(after(events.slice(0, snapshots[0]), one), { turns, real: new NumberWorld() });
    await again.run();
    assert.deepEqual(
      again.real.opened.map(({ from }) => from),
      ['136'],
    );
    assert.deepEqual(again.real.calls, ['add 17']);
  });

  it('restores the real world after a real call that was interrupted, and not after a simulated one', async () => {
    for (const [name, opened] of [
      ['add', 2],
      ['note', 1],
    ] as const) {
      const real = new NumberWorld({ snapshots: false });
      const stuck: World = {
        name: real.name,
        kind: real.kind,
        open: async (input) => {
          const session = await real.open(input);
          return {
            ...session,
            call: (call, context) =>
              call.arguments['n'] === 9
                ? Promise.reject(new ClassedError('timeout', 'too slow'))
                : session.call(call, context),
          };
        },
      };
      const turns: Call[][] = [
        [{ name: 'add', arguments: { n: 2 } }],
        [{ name, arguments: { n: 9 } }],
        [{ name: 'peek' }],
      ];
      const one = run({}, { turns, real, wrapped: stuck });
      if (name === 'note') one.model.complete = () => Promise.reject(new ClassedError('timeout', 'too slow'));
      const events = await one.run();
      assert.deepEqual(responses(events), [{ value: 2 }, 'Error (timeout): too slow', { value: 2 }]);
      assert.equal(real.opened.length, opened, name);
    }
  });

  it('neither undoes nor repeats calls of real tools, whose effects belong to no world', async () => {
    const toolsOf = (real: NumberWorld): World => ({
      name: real.name,
      kind: 'tools',
      open: async (input) => {
        const session = await real.open(input);
        const write = { effect: 'irreversible', sessionBound: true } as const;
        return {
          specs: session.specs.map((spec) => (spec.name === 'add' ? { ...spec, ...write } : spec)),
          call: (one, context) =>
            one.arguments['n'] === 9
              ? Promise.reject(new ClassedError('timeout', 'too slow'))
              : session.call(one, context),
          close: () => session.close(),
          observed: () => undefined,
          answeredBy: () => 'tool',
        };
      },
    });
    const turns: Call[][] = [
      [{ name: 'peek' }],
      [{ name: 'note' }],
      [{ name: 'add', arguments: { n: 2 } }],
      [{ name: 'add', arguments: { n: 9 } }],
      [{ name: 'peek' }],
    ];
    const real = new NumberWorld({ snapshots: false });
    const one = run({}, { turns, real, wrapped: toolsOf(real) });
    const events = await one.run();
    assert.deepEqual(responses(events).slice(2), [{ value: 2 }, 'Error (timeout): too slow', 'reply to 7']);
    assert.deepEqual([real.opened.length, real.calls], [1, ['peek', 'add 2', 'peek']]);

    const ends = events.flatMap((event) => (event.kind === 'tool.end' ? [event.seq] : []));
    const resumed = async (until: number | undefined) => {
      const own = new NumberWorld({ snapshots: false });
      const again = run(after(events.slice(0, until), one), { turns, real: own, wrapped: toolsOf(own) });
      const { status, error } = end(await again.run());
      return { status, message: error?.message, calls: own.calls };
    };
    assert.deepEqual((await resumed(ends[1])).calls, ['add 2', 'peek'], 'nothing is repeated');
    // After a write, what it did in its server is lost with the worker.
    const lost = await resumed(ends[2]);
    assert.deepEqual([lost.status, lost.calls], ['infrastructure', []]);
    assert.match(lost.message!, /lost with the sessions of add, which cannot be restored/);
  });

  it('lets the model answer an overlaid call that the real system refuses, once something was simulated', async () => {
    const real = new NumberWorld();
    const refusing: World = {
      name: real.name,
      kind: real.kind,
      open: async (input) => {
        const session = await real.open(input);
        return {
          ...session,
          call: (call, context) =>
            call.name === 'peek'
              ? Promise.reject(new ClassedError('tool_error', 'No such number.'))
              : session.call(call, context),
        };
      },
    };
    const turns: Call[][] = [[{ name: 'peek' }], [{ name: 'note' }], [{ name: 'peek' }]];
    const one = run({}, { turns, real, wrapped: refusing });
    const events = await one.run();
    assert.deepEqual(responses(events), ['Error (tool_error): No such number.', 'reply to 3', 'reply to 5']);
    assert.equal(endsOf(events).at(-1)!.real, 'Error (tool_error): No such number.');
  });

  it('has the verdict of the real world only if everything that writes was real', async () => {
    const real = await run({}, { turns: [[{ name: 'add', arguments: { n: 2 } }], [{ name: 'peek' }]] }).run();
    const score = (events: readonly TraceEvent[]) =>
      events.flatMap((event) => (event.kind === 'score' ? [[event.data.value, event.data.error?.message]] : []))[0];
    assert.deepEqual(score(real), [2, undefined]);
    assert.deepEqual(score(await run().run()), [
      null,
      'The verifier of the real world cannot judge this attempt: calls of burn, note were simulated, so their ' +
        'effects exist only for the agent. Route them to `real` in the world practice, or use another scorer.',
    ]);
  });

  const wrong: readonly (readonly [string, Partial<SubmittedSimulatedWorld>, RegExp])[] = [
    [
      'a route that names no tool',
      { route: [{ tools: ['peak'], by: 'real' }] },
      /`peak` in `route` of the world practice names none of its tools\./,
    ],
    [
      'a tool that does not exist routed to the real world',
      { route: [{ tools: ['no*'], by: 'real' }] },
      /The tool note of the world practice exists only as a definition\./,
    ],
    [
      'an overlay of a tool that writes',
      { route: [{ tools: ['*'], by: 'overlay' }] },
      /The tool add of the world practice may write, so it cannot be an overlay\./,
    ],
    [
      'a definition of a tool that exists',
      { definitions: [{ name: 'add', description: '', parameters: {} }] },
      /The world practice defines the tool add, which its real world has\./,
    ],
  ];
  for (const [name, changes, message] of wrong)
    it(`is refused with ${name}, and closes the real world`, async () => {
      const one = run({}, { world: { ...WORLD, ...changes } });
      const { status, error } = end(await one.run());
      assert.deepEqual([status, error?.class], ['done', 'world_error']);
      assert.match(error!.message, message);
      assert.equal(one.real.closed, 1);
    });
});
