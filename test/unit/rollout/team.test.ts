import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '../../../src/common/abort.ts';
import { ClassedError } from '../../../src/trace/classedError.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { end, NumberWorld, ScriptedTools, worldWithUser } from '../../support/rolloutKit.ts';
import { delegate, handOff, member, team, teamKit } from '../../support/teamKit.ts';

function starts(events: readonly TraceEvent[]): string[] {
  return events.flatMap((event) => (event.kind === 'agent.start' ? [`${event.agent ?? ''} ${event.data.how}`] : []));
}

function ends(events: readonly TraceEvent[]): string[] {
  return events.flatMap((event) =>
    event.kind === 'agent.end'
      ? [
          `${event.agent ?? ''} ` +
            `${event.data.status}${event.data.error === undefined ? '' : ` ${event.data.error.class}`}`,
        ]
      : [],
  );
}

function mail(events: readonly TraceEvent[]): string[] {
  return events.flatMap((event) =>
    event.kind === 'message' && event.data.topic !== undefined
      ? [`${event.data.from ?? ''} → ${event.data.to ?? ''}: ${event.data.topic} ${event.data.priority ?? ''}`]
      : [],
  );
}

describe('a leader', () => {
  it('calls its members as tools; those of one turn work in parallel', async () => {
    const gate = deferred<undefined>();
    let waiting = 0;
    const both = async (): Promise<{ text: string }> => {
      if (++waiting === 2) gate.resolve(undefined);
      await gate.promise; // each continues only once the other has begun
      return { text: 'found' };
    };
    const run = teamKit(team('leader', [member('searcher', { description: 'Finds things.' }), member('writer')]), {
      desk: [
        { calls: [delegate('searcher', 'north'), delegate('searcher', 'south')] },
        { calls: [delegate('writer', 'sum up')] },
        { text: '42' },
      ],
      searcher: [both],
      writer: [{ text: 'a letter' }],
    });
    const events = await run.run();
    assert.equal(end(events).answer, '42');
    assert.equal(end(events).passed, true);
    assert.deepEqual(starts(events), ['desk/searcher#1 parallel', 'desk/searcher#2 parallel', 'desk/writer#1 team']);
    assert.deepEqual(ends(events).sort(), ['desk/searcher#1 ok', 'desk/searcher#2 ok', 'desk/writer#1 ok']);
    assert.deepEqual(mail(events), [
      'desk → desk/searcher#1: task 0',
      'desk → desk/searcher#2: task 0',
      'desk/searcher#1 → desk: answer 0',
      'desk/searcher#2 → desk: answer 0',
      'desk → desk/writer#1: task 0',
      'desk/writer#1 → desk: answer 0',
    ]);
    const specs = run.models.get('desk')!.requests[0]!.tools;
    assert.deepEqual(
      specs.map(({ name, description }) => [name, description]),
      [
        ['look', 'does look'],
        ['searcher', 'Finds things.'],
        ['writer', 'The agent writer performs a task and answers.'],
      ],
    );
    const request = run.models.get('searcher')!.requests[0]!;
    assert.deepEqual(
      request.messages.map(({ role, parts }) => [role, parts[0]]),
      [
        ['system', { type: 'text', content: 'You are searcher.' }],
        ['user', { type: 'text', content: 'north' }],
      ],
    );
    assert.deepEqual(
      request.tools.map(({ name }) => name),
      ['look'],
    );
    // Each instance has its own seeds.
    const seeds = run.models.get('searcher')!.requests.map(({ seed }) => seed);
    assert.equal(new Set(seeds).size, 2);
    // Members begin under the call that started them, and steps are numbered in the order of their starts.
    const model = new TrajectoryModel();
    model.push(events);
    for (const { path, span } of model.agents.filter(({ span }) => span !== undefined))
      assert.equal(model.span(span?.parent ?? 0)?.kind, 'tool', path);
    assert.deepEqual(
      events.flatMap((event) => (event.kind === 'model.start' ? [event.data.step] : [])),
      [1, 2, 3, 4, 5, 6],
    );
    assert.equal(end(events).totals.steps, 6);
  });

  it("sees a member's failure, and continues", async () => {
    const run = teamKit(
      team('leader', [member('searcher', { limits: { steps: 2, seconds: 60, tool_seconds: 10, tokens: 1000 } })]),
      {
        desk: [{ calls: [delegate('searcher', 'find it')] }, { text: '42' }],
        searcher: [{ calls: [{ name: 'look' }] }, { calls: [{ name: 'look' }] }],
      },
    );
    const events = await run.run();
    assert.equal(end(events).status, 'done');
    assert.equal(end(events).answer, '42');
    assert.deepEqual(ends(events), ['desk/searcher#1 error limit']);
    const result = run.models.get('desk')!.requests[1]!.messages.at(-1)!.parts[0];
    assert.deepEqual(result, {
      type: 'tool_call_response',
      id: 'c0_0',
      response: 'Error (tool_error): searcher failed (limit): The limit of 2 steps of searcher was reached.',
    });
    assert.deepEqual(mail(events).at(-1), 'desk/searcher#1 → desk: answer -1');
  });

  it('ends with the limits of the whole, wherever they are reached', async () => {
    const limits = { steps: 3, seconds: 60, tool_seconds: 10, tokens: 100_000 };
    const looks = [
      { calls: [{ name: 'look' }] },
      { calls: [{ name: 'look' }] },
      { calls: [{ name: 'look' }] },
      { text: 'never' },
    ];
    const run = teamKit(team('leader', [member('a'), member('b')], { limits }), {
      desk: [{ calls: [delegate('a', '1'), delegate('b', '2')] }, { text: '42' }],
      a: looks,
      b: looks,
    });
    const events = await run.run();
    assert.equal(end(events).status, 'truncated');
    assert.equal(end(events).error?.message, 'The limit of 3 steps was reached.');
    assert.equal(end(events).totals.steps, 3);
    assert.equal(run.callCount(), 3);
    assert.deepEqual(new TrajectoryModelOf(events).openSpans(), []);
  });

  it('checks answers, and an unparsable call never reaches a member', async () => {
    const run = teamKit(team('leader', [member('searcher')]), {
      desk: [
        { calls: [{ name: 'searcher', arguments: { what: 1 } }] },
        { calls: [delegate('searcher', 'go')] },
        { text: '42' },
      ],
      searcher: [{ text: 'ok' }],
    });
    const events = await run.run();
    assert.deepEqual(starts(events), ['desk/searcher#2 team']);
    assert.match(
      String(events.find((event) => event.kind === 'tool.end')?.data.error?.message),
      /"task" is missing|"what" is not an argument/,
    );
  });

  it('never repeats a call when the try is over, and ends its members with it', async () => {
    const run = teamKit(team('leader', [member('a'), member('b')]), {
      desk: [{ calls: [delegate('a', '1'), delegate('b', '2')] }],
      a: [
        (_request, { signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true }),
          ),
      ],
      b: [{ text: 'done' }],
    });
    const running = run.run();
    await run.recorder.when((event) => event.kind === 'agent.end' && event.agent === 'desk/b#1');
    await run.command('cancel');
    const events = await running;
    assert.equal(end(events).status, 'cancelled');
    assert.deepEqual(ends(events).sort(), ['desk/a#1 error cancelled', 'desk/b#1 ok']);
  });

  it('may be a member itself', async () => {
    const run = teamKit(team('leader', [member('lead', team('leader', [member('searcher')]))]), {
      desk: [{ calls: [delegate('lead', 'go')] }, { text: '42' }],
      lead: [{ calls: [delegate('searcher', 'look there')] }, { text: 'it is there' }],
      searcher: [{ text: 'there' }],
    });
    const events = await run.run();
    assert.deepEqual(starts(events), ['desk/lead#1 team', 'desk/lead#1/searcher#1 team']);
    assert.equal(end(events).answer, '42');
  });

  it('keeps each member to its own tools, and all to one world', async () => {
    const world = new NumberWorld();
    const hosts = new Map<string, ScriptedTools>();
    const run = teamKit(
      team('leader', [member('adder'), member('reader')]),
      {
        desk: [
          { calls: [delegate('adder', 'add'), delegate('reader', 'read')] },
          { calls: [{ name: 'peek' }] },
          { text: '42' },
        ],
        adder: [{ calls: [{ name: 'add', arguments: { n: 2 } }, { name: 'tool_of_adder' }] }, { text: 'added' }],
        reader: [{ calls: [{ name: 'tool_of_adder' }] }, { text: 'read' }],
      },
      {
        world,
        ports: {
          openTools: (_signal, agent) => {
            const host = new ScriptedTools({ [`tool_of_${agent.name}`]: { run: () => 'mine' } });
            hosts.set(agent.name, host);
            return Promise.resolve(host);
          },
        },
      },
    );
    const events = await run.run();
    assert.equal(world.value, 2);
    assert.equal(hosts.get('adder')!.calls.length, 1);
    assert.equal(
      events.filter((event) => event.kind === 'tool.end' && event.data.error?.class === 'unknown_tool').length,
      1,
    );
    assert.deepEqual(
      [...hosts.values()].map(({ closed }) => closed),
      [1, 1, 1],
    );
  });

  it('is the only one that talks to the simulated user', async () => {
    const run = teamKit(
      team('leader', [member('searcher')]),
      { desk: [{ calls: [delegate('searcher', 'go')] }, { text: 'Is it 42?' }], searcher: [{ text: 'ok' }], user: [] },
      {
        more: { world: worldWithUser() },
        world: new NumberWorld(),
        user: {
          complete: () =>
            Promise.resolve({
              parts: [{ type: 'text', content: '###STOP###' }],
              finishReason: 'stop',
              ms: 1,
              retries: [],
            }),
        },
      },
    );
    const events = await run.run();
    assert.equal(end(events).answer, 'Is it 42?');
  });
});

class TrajectoryModelOf extends TrajectoryModel {
  constructor(events: readonly TraceEvent[]) {
    super();
    this.push(events);
  }
}

describe('a handoff', () => {
  it("passes the work from one to the next under the same parent; the last one's answer counts", async () => {
    const run = teamKit(team('handoff', [member('searcher', { to: ['writer'] }), member('writer')], {}, true), {
      desk: [handOff('searcher', 'find the book')],
      searcher: [{ calls: [{ name: 'look' }] }, handOff('writer', 'it is blue')],
      writer: [{ text: 'It is 42.' }],
    });
    const events = await run.run();
    assert.equal(end(events).answer, 'It is 42.');
    assert.deepEqual(starts(events), ['desk/desk#1 team', 'desk/searcher#1 handoff', 'desk/writer#1 handoff']);
    assert.deepEqual(ends(events), ['desk/desk#1 ok', 'desk/searcher#1 ok', 'desk/writer#1 ok']);
    assert.deepEqual(mail(events), [
      'desk/desk#1 → desk/searcher#1: handoff 0',
      'desk/searcher#1 → desk/writer#1: handoff 0',
    ]);
    const tools = (name: string): string[] => run.models.get(name)!.requests[0]!.tools.map((tool) => tool.name);
    assert.deepEqual(tools('desk'), ['look', 'hand_off_to_searcher', 'hand_off_to_writer']);
    assert.deepEqual(tools('searcher'), ['look', 'hand_off_to_writer']);
    assert.deepEqual(
      run.models.get('writer')!.requests[0]!.messages.map(({ parts }) => parts[0]),
      [
        { type: 'text', content: 'You are writer.' },
        { type: 'text', content: 'What is six times seven?' },
        { type: 'text', content: 'it is blue' },
      ],
    );
  });

  it('may go back and forth, each time to a new instance, within the limits of the whole', async () => {
    const forever = (to: string) => [handOff(to, 'again')];
    const run = teamKit(
      team('handoff', [member('a'), member('b')], {
        limits: { steps: 5, seconds: 60, tool_seconds: 10, tokens: 100_000 },
      }),
      { a: forever('b'), b: forever('a') },
    );
    const events = await run.run();
    assert.equal(end(events).status, 'truncated');
    assert.deepEqual(starts(events).slice(0, 3), ['desk/a#1 team', 'desk/b#1 handoff', 'desk/a#2 handoff']);
  });

  it('uses the first of several, and ends with the failure of the current member', async () => {
    const run = teamKit(team('handoff', [member('a'), member('b'), member('c')]), {
      a: [
        {
          calls: [
            { name: 'hand_off_to_c', arguments: { message: 'x' } },
            { name: 'hand_off_to_b', arguments: { message: 'y' } },
          ],
        },
      ],
      c: [new ClassedError('model_error', 'the model broke')],
    });
    const events = await run.run();
    assert.deepEqual(starts(events), ['desk/a#1 team', 'desk/c#1 handoff']);
    assert.match(
      events
        .filter((event) => event.kind === 'tool.end')
        .map((event) => event.data.error?.message ?? '')
        .join(''),
      /already handed off to c/,
    );
    assert.equal(end(events).error?.message, 'the model broke');
  });
});

describe('a workflow', () => {
  it('passes each the answers of its predecessors, and runs the others in parallel', async () => {
    const gate = deferred<undefined>();
    let waiting = 0;
    const inParallel = (text: string) => async () => {
      if (++waiting === 2) gate.resolve(undefined);
      await gate.promise;
      return { text };
    };
    const run = teamKit(
      team('workflow', [
        member('write', { after: ['north', 'south'] }),
        member('plan', { after: [] }),
        member('search', { as: 'north', after: ['plan'] }),
        member('search2', { as: 'south', after: ['plan'] }),
      ]),
      {
        plan: [{ text: 'the plan' }],
        search: [inParallel('snow')],
        search2: [inParallel('sun')],
        write: [{ text: '42' }],
      },
    );
    const events = await run.run();
    assert.equal(end(events).answer, '42');
    assert.deepEqual(starts(events), [
      'desk/plan#1 team',
      'desk/north#1 parallel',
      'desk/south#1 parallel',
      'desk/write#1 team',
    ]);
    assert.deepEqual(mail(events), [
      'desk/plan#1 → desk/north#1: output 0',
      'desk/plan#1 → desk/south#1: output 0',
      'desk/north#1 → desk/write#1: output 0',
      'desk/south#1 → desk/write#1: output 0',
    ]);
    assert.deepEqual(
      run.models.get('write')!.requests[0]!.messages.map(({ parts }) => (parts[0] as { content: string }).content),
      ['You are write.', 'What is six times seven?', 'north answered:\nsnow', 'south answered:\nsun'],
    );
  });

  it('continues with a note about a failure, and fails only if its end fails', async () => {
    const nodes = [member('a', { after: [] }), member('b', { after: [] }), member('c', { after: ['a', 'b'] })];
    const one = teamKit(team('workflow', nodes), {
      a: [new ClassedError('model_error', 'broke')],
      b: [{ text: 'fine' }],
      c: [{ text: '42' }],
    });
    const events = await one.run();
    assert.equal(end(events).answer, '42');
    assert.equal(
      (one.models.get('c')!.requests[0]!.messages[2]!.parts[0] as { content: string }).content,
      'a failed (model_error): broke',
    );
  });

  it('combines the answers of all its ends', async () => {
    const run = teamKit(
      team('workflow', [
        member('a', { after: [] }),
        member('b', { after: [], limits: { steps: 1, seconds: 60, tool_seconds: 1, tokens: 1000 } }),
      ]),
      { a: [{ text: 'one' }], b: [{ calls: [{ name: 'look' }] }] },
    );
    assert.deepEqual(end(await run.run()).answer, { a: 'one', b: null });
    const neither = teamKit(
      team('workflow', [member('a', { after: [], limits: { steps: 1, seconds: 60, tool_seconds: 1, tokens: 1000 } })]),
      { a: [{ calls: [{ name: 'look' }] }] },
    );
    const events = await neither.run();
    assert.equal(end(events).status, 'truncated');
    assert.equal(end(events).error?.class, 'limit');
  });

  it('repeats until a rule holds, or up to its maximum', async () => {
    const drafts = ['first', 'second', 'third APPROVED'];
    let turn = 0;
    const run = teamKit(
      team('workflow', [
        member('writer', { after: [], loop: { until: '\\bAPPROVED\\b', most: 5 } }),
        member('last', { after: ['writer'] }),
      ]),
      {
        writer: [() => ({ text: drafts[turn++] ?? '' })],
        last: [{ text: '42' }],
      },
    );
    const events = await run.run();
    assert.deepEqual(starts(events), [
      'desk/writer#1 loop',
      'desk/writer#2 loop',
      'desk/writer#3 loop',
      'desk/last#1 team',
    ]);
    assert.deepEqual(mail(events), [
      'desk/writer#1 → desk/writer#2: again 0',
      'desk/writer#2 → desk/writer#3: again 0',
      'desk/writer#3 → desk/last#1: output 0',
    ]);
    turn = 0;
    const bounded = teamKit(team('workflow', [member('writer', { after: [], loop: { until: 'NEVER', most: 2 } })]), {
      writer: [() => ({ text: drafts[turn++] ?? '' })],
    });
    const short = await bounded.run();
    assert.equal(end(short).answer, 'second');
  });

  it('may be a member, and a team that loops', async () => {
    let critic = 0;
    const pair = member('review', {
      ...team('workflow', [member('writer', { after: [] }), member('critic', { after: ['writer'] })]),
      loop: { until: 'GOOD', most: 3 },
    });
    const run = teamKit(team('handoff', [member('triage', { to: ['review'] }), pair]), {
      triage: [handOff('review', 'please')],
      writer: [{ text: 'a draft' }],
      critic: [() => ({ text: ++critic === 2 ? 'GOOD, 42' : 'no' })],
    });
    assert.equal((await run.run().then(end)).answer, 'GOOD, 42');
    critic = 1;
    const nested = teamKit(team('workflow', [{ ...pair, after: [] }]), {
      writer: [{ text: 'a draft' }],
      critic: [() => ({ text: ++critic === 3 ? 'GOOD, 42' : 'no' })],
    });
    const events = await nested.run();
    assert.equal(end(events).answer, 'GOOD, 42');
    assert.deepEqual(
      starts(events).filter((line) => line.includes('critic')),
      ['desk/review#1/critic#1 team', 'desk/review#2/critic#1 team'],
    );
  });
});

describe('a team in a handoff', () => {
  it('hands the work on from any of its members; its own members take precedence', async () => {
    const inner = member('back', team('handoff', [member('finder'), member('clerk', { to: [] })]));
    const run = teamKit(team('handoff', [inner, member('writer'), member('judge', { as: 'checker' })]), {
      finder: [handOff('clerk', 'look it up')],
      clerk: [handOff('writer', 'it is blue')],
      writer: [handOff('checker', 'is it?')],
      judge: [{ text: '42' }],
    });
    const events = await run.run();
    assert.deepEqual(starts(events), [
      'desk/back#1 team',
      'desk/back#1/finder#1 team',
      'desk/back#1/clerk#1 handoff',
      'desk/writer#1 handoff',
      'desk/checker#1 handoff',
    ]);
    assert.deepEqual(ends(events).slice(0, 3), ['desk/back#1/finder#1 ok', 'desk/back#1/clerk#1 ok', 'desk/back#1 ok']);
    assert.deepEqual(mail(events), [
      'desk/back#1/finder#1 → desk/back#1/clerk#1: handoff 0',
      'desk/back#1 → desk/writer#1: handoff 0',
      'desk/writer#1 → desk/checker#1: handoff 0',
    ]);
    const tools = run.models.get('clerk')!.requests.map(({ tools: offered }) => offered.map(({ name }) => name));
    assert.deepEqual(tools[0], ['look', 'hand_off_to_writer', 'hand_off_to_checker']);
    assert.equal(end(events).answer, '42');
  });

  it('does so at the ends of a workflow, with all their answers', async () => {
    const pair = team('workflow', [
      member('plan', { after: [] }),
      member('north', { after: ['plan'] }),
      member('south', { after: ['plan'] }),
    ]);
    const run = teamKit(team('handoff', [member('pair', pair), member('writer')]), {
      plan: [{ text: 'the plan' }],
      north: [{ text: 'snow' }],
      south: [handOff('writer', 'sun')],
      writer: [{ text: '42' }],
    });
    const events = await run.run();
    assert.equal(end(events).answer, '42');
    assert.deepEqual(
      run.models.get('plan')!.requests[0]!.tools.map(({ name }) => name),
      ['look'],
    );
    assert.deepEqual(run.models.get('writer')!.requests[0]!.messages.at(-1)!.parts[0], {
      type: 'text',
      content: 'north answered:\nsnow\n\nsouth hands off:\nsun',
    });
  });
});

describe('the limits of a member', () => {
  const limits = { steps: 30, seconds: 60, tool_seconds: 10, tokens: 100_000 };
  const forever = (_request: unknown, { signal }: { readonly signal: AbortSignal }): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true }));

  it("in seconds end its turn and its calls, but not the others'", async () => {
    const run = teamKit(team('leader', [member('slow', { limits: { ...limits, seconds: 0.05 } }), member('quick')]), {
      desk: [{ calls: [delegate('slow', 'go'), delegate('quick', 'go')] }, { text: '42' }],
      slow: [forever],
      quick: [{ text: 'done' }],
    });
    const events = await run.run();
    assert.equal(end(events).answer, '42');
    assert.deepEqual(ends(events).sort(), ['desk/quick#1 ok', 'desk/slow#1 error limit']);
    assert.deepEqual(
      events.flatMap((event) => (event.kind === 'tool.end' ? [event.data.error?.message ?? ''] : [])).sort(),
      ['', 'slow failed (limit): The limit of 0.05 seconds of slow was reached.'],
    );
  });

  it('bound a team with all its members', async () => {
    const inner = team('workflow', [member('a', { after: [] }), member('b', { after: ['a'] })], {
      limits: { ...limits, steps: 1 },
    });
    const run = teamKit(team('leader', [member('pair', inner)]), {
      desk: [{ calls: [delegate('pair', 'go')] }, { text: '42' }],
      a: [{ text: 'one' }],
      b: [{ text: 'never' }],
    });
    const events = await run.run();
    assert.deepEqual(ends(events), ['desk/pair#1/a#1 ok', 'desk/pair#1/b#1 error limit', 'desk/pair#1 error limit']);
    assert.equal(run.models.get('b')!.requests.length, 0);
    const late = team('leader', [member('slow')], { limits: { ...limits, seconds: 0.05 } });
    const waits = teamKit(team('leader', [member('lead', late)]), {
      desk: [{ calls: [delegate('lead', 'go')] }, { text: '42' }],
      lead: [{ calls: [delegate('slow', 'go')] }],
      slow: [forever],
    });
    const waited = await waits.run();
    assert.deepEqual(ends(waited), ['desk/lead#1/slow#1 error limit', 'desk/lead#1 error limit']);
    assert.equal(end(waited).answer, '42');
  });

  it('in seconds are those it had left when its worker was lost', async () => {
    const agent = team('leader', [member('slow', { limits: { ...limits, seconds: 0.05 } })]);
    const scripts = {
      desk: [{ calls: [delegate('slow', 'go')] }, { text: '42' }],
      slow: [{ calls: [{ name: 'look' }] }, forever],
    };
    const first = teamKit(agent, scripts);
    const whole = await first.run();
    const at = whole.findIndex((event) => event.kind === 'tool.end' && event.agent === 'desk/slow#1') + 1;
    const events = whole.slice(0, at).map((event) => (event.seq < at ? event : { ...event, at: event.at + 1_000 }));
    const again = teamKit(agent, scripts, {
      job: { how: 'resumed', epoch: 2 },
      after: { events, blobs: new Map(first.recorder.blobs) },
    });
    const resumed = await again.run();
    assert.equal(end(resumed).answer, '42');
    assert.equal(again.models.get('slow')!.requests.length, 0); // no new call began
    assert.deepEqual(ends(resumed).at(-1), 'desk/slow#1 error limit');
  });
});
