import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { replayModel } from '../../../src/model/replay.ts';
import type { ModelRequest } from '../../../src/rollout/ports.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { type Recording, recording, recordingOf } from '../../../src/trace/replay.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { howObserved } from '../../../src/trace/undone.ts';
import { replayWorld } from '../../../src/worlds/recorded/replay.ts';
import { Stream } from '../../support/stream.ts';

const REQUEST = {} as ModelRequest; // nothing of it is used
const signal = new AbortController().signal;

function modelOf(events: readonly TraceEvent[]): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(events);
  return model;
}

function read(events: readonly TraceEvent[], only?: string): Recording {
  const options = { tools: [], without: new Set(['searcher']), ...(only === undefined ? {} : { only }) };
  return recordingOf(modelOf(events), options);
}

/** A leader that asks a member, which uses a tool. */
function team(): readonly TraceEvent[] {
  const s = new Stream();
  s.start();
  s.message('user', 'Find it.');
  s.model('', [{ id: 'a', name: 'searcher', arguments: { task: 'find' } }], { agent: 'desk' });
  const asked = s.toolStart('a', 'searcher', { task: 'find' });
  s.model('', [{ id: 'b', name: 'find', arguments: { title: 'Emma' } }], { agent: 'desk/searcher' });
  const span = s.toolStart('b', 'find', { title: 'Emma' });
  s.side('judge', 'Grade it.', 'good', { parent: span });
  s.toolEnd(span, 'b', 'Error (tool_error): no such book', { error: { class: 'tool_error', message: 'no such book' } });
  s.model('It is not there.', [], { agent: 'desk/searcher' });
  s.toolEnd(asked, 'a', 'It is not there.');
  s.model('Sorry.', [], { agent: 'desk' });
  s.end();
  return s.events;
}

async function replies(from: Recording, path: string): Promise<unknown[]> {
  const model = replayModel(() => Promise.resolve(from));
  const said: unknown[] = [];
  for (let call = 1; ; call++) {
    try {
      const reply = await model.complete(REQUEST, { signal, caller: { path, call } });
      assert.deepEqual([reply.source, reply.usage, reply.tokens], ['recorded', undefined, undefined]);
      said.push(reply.parts.map((part) => ('name' in part ? part.id : 'content' in part ? part.content : part.type)));
    } catch (error) {
      said.push(`${(error as { class: string }).class}: ${(error as Error).message}`);
      return said;
    }
  }
}

describe('a recording', () => {
  it('has the replies of each agent, and the calls that tools answered, but not those of judges', async () => {
    const from = read(team());
    assert.deepEqual(recording.parse(JSON.parse(JSON.stringify(from))), from);
    assert.deepEqual(await replies(from, 'desk'), [['a'], ['Sorry.'], 'limit: The recording ends here.']);
    assert.deepEqual(await replies(from, 'desk/searcher'), [
      ['b'],
      ['It is not there.'],
      'limit: The recording ends here.',
    ]);
    assert.deepEqual(
      from.calls.map(({ call, name, response, error }) => [call, name, response, error?.class]),
      [['b', 'find', 'Error (tool_error): no such book', 'tool_error']],
    );
  });

  it('of an unknown team is that of one agent, which makes the calls of all', async () => {
    const from = read(team(), 'agent');
    // The call of the member, which is a tool of the loop, is not replayed.
    assert.deepEqual(await replies(from, 'agent'), [['b'], ['Sorry.'], [], 'limit: The recording ends here.']);
  });

  it('of another tool ends with a call that nobody answered, and says which calls reached no tool', async () => {
    const s = new Stream();
    s.start();
    s.message('user', 'Renew it.');
    const name = 'renew_loan';
    const raw = '{"loan_id": 17';
    s.model('', [{ id: 'a', name, arguments: raw }]);
    const unreadable = s.add('tool.start', { call: 'a', name, arguments: {}, raw, effect: 'restorable' });
    s.toolEnd(unreadable, 'a', 'Error: no JSON', { error: { class: 'tool_error', message: 'no JSON' } });
    s.model('', [{ id: 'b', name: 'renew', arguments: {} }]);
    const unknown = s.toolStart('b', 'renew', {});
    s.toolEnd(unknown, 'b', 'no such tool', { error: { class: 'unknown_tool', message: 'no such tool' } });
    s.model('I hand you over.', [{ id: 'c', name: 'transfer', arguments: {} }]);
    s.end();
    const from = read(s.events, 'agent');
    assert.deepEqual(recording.parse(JSON.parse(JSON.stringify(from))), from);
    assert.deepEqual(await replies(from, 'agent'), [
      ['a'],
      ['b'],
      ['I hand you over.'],
      [],
      'limit: The recording ends here.',
    ]);
    assert.deepEqual(
      from.calls.map(({ call, response, refused }) => [call, response, refused]),
      [
        ['a', 'Error: no JSON', true],
        ['b', 'no such tool', true],
      ],
    );
  });

  it('ends as it ended, and a failed call fails again', async () => {
    const s = new Stream();
    s.start();
    s.message('user', 'Go.');
    const span = s.add('model.start', { step: 1, context: [[1, 1]], sampling: {} }, { agent: 'desk' });
    s.add(
      'model.end',
      { status: 'error', trainable: false, source: 'live', error: { class: 'context_overflow', message: 'too long' } },
      { agent: 'desk', span },
    );
    s.end({
      status: 'truncated',
      error: { class: 'limit', message: 'The limit of 30 steps is reached.', limit: 'steps' },
    });
    const from = read(s.events);
    assert.deepEqual(await replies(from, 'desk'), ['context_overflow: too long']);
    const model = replayModel(() => Promise.resolve(from));
    await assert.rejects(model.complete(REQUEST, { signal, caller: { path: 'desk', call: 2 } }), {
      class: 'limit',
      message: 'The limit of 30 steps is reached.',
      fatal: true,
    });
  });
});

describe('a replayed world', () => {
  const call = (id: string): { id: string; name: string; arguments: object } => ({ id, name: 'find', arguments: {} });
  const context = { signal, seed: 1, onLog: () => undefined, onProgress: () => undefined };

  it('answers each call by its ID; one ID of several calls gives their answers in order', async () => {
    const calls = [
      ['x', 'first'],
      ['y', 'other'],
      ['x', 'second'],
    ] as const;
    const from: Recording = {
      replies: {},
      tools: [{ name: 'find', description: 'Finds.', parameters: { type: 'object' } }],
      calls: calls.map(([id, response], at) => ({
        ...{ call: id, name: 'find', arguments: {}, seq: at + 1, effect: 'pure', response },
      })),
    };
    const sha = '0'.repeat(64);
    const of = { recording: sha, rollout: 'r1', batch: 'b1', task: 't', attempt: 1 };
    const world = replayWorld(
      { kind: 'replay', name: 'desk', file: 'desk', perturb: [], recordings: { 't/1': of } },
      { readBlob: () => Promise.resolve(new TextEncoder().encode(JSON.stringify(from))) },
    );
    const session = await world.open({ task: { id: 't/1', question: '', meta: {} }, seed: 1 }, signal);
    assert.deepEqual(
      session.specs.map(({ name, effect }) => [name, effect]),
      [['find', 'pure']],
    );
    const answered: unknown[] = [];
    for (const id of ['y', 'x', 'x', 'x']) {
      const made = { ...call(id), arguments: {} };
      const { response, source } = await session.call(made, context);
      session.observed?.(made, response, howObserved(undefined, undefined));
      answered.push([response, source]);
    }
    assert.deepEqual(
      answered,
      ['other', 'first', 'second', 'second'].map((response) => [response, 'recorded']),
    );
    await assert.rejects(session.call({ ...call('z'), arguments: {} }, context), { class: 'tool_error' });
    await assert.rejects(world.open({ task: { id: 'u', question: '', meta: {} }, seed: 1 }, signal), {
      class: 'world_error',
    });
  });
});
