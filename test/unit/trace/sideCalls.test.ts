/** Calls of side models in everything that reads a trajectory: they are not steps, and never mix with the agents. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventLine } from '../../../src/client/text/lines.ts';
import { RolloutCursor } from '../../../src/debug/cursor.ts';
import { frameName, framesAt } from '../../../src/debug/frames.ts';
import { TrajectoryDocument } from '../../../src/debug/sources/trajectoryDocument.ts';
import { findStep } from '../../../src/protocol/findStep.ts';
import { actionsOf } from '../../../src/trace/align/actions.ts';
import { step as moveStep } from '../../../src/trace/cursor.ts';
import { stateAt } from '../../../src/trace/fold.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { advanceProgress } from '../../../src/trace/progress.ts';
import { environmentOf } from '../../../src/trace/query/environment.ts';
import { compileQuery } from '../../../src/trace/query.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { Stops } from '../../../src/trace/stops.ts';
import { EMPTY_PROGRESS } from '../../../src/trace/summary.ts';
import { stepText, trajectoryText } from '../../../src/trace/text.ts';
import { conversation, Stream } from '../../support/stream.ts';
import { task } from '../../support/trajectories.ts';

const { events } = conversation();
const PLAIN = { width: 100, color: false };

function modelOf(all: readonly TraceEvent[] = events): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(all);
  return model;
}

const starts = events.filter((event) => event.kind === 'model.start');
const [, user, , judge] = starts.map(({ seq }) => seq) as [number, number, number, number];

describe('calls of side models', () => {
  it('are not steps, actions, or usage of the agents', () => {
    const model = modelOf();
    assert.deepEqual(
      model.steps.map(({ model: call, sides }) => [call?.agent, sides.map(({ seq }) => seq)]),
      [
        [undefined, []],
        ['desk', [user]],
        ['desk', [judge]],
      ],
    );
    assert.deepEqual(model.usageAt(), { calls: 2, input_tokens: 200, output_tokens: 20, cached_tokens: 0 });
    assert.deepEqual(model.usageAt(undefined, 'side'), {
      calls: 2,
      input_tokens: 80,
      output_tokens: 8,
      cached_tokens: 0,
    });
    assert.deepEqual(
      actionsOf(model).map(({ step, agent }) => [step, agent]),
      [
        [1, 'desk'],
        [2, 'desk'],
      ],
    );
    assert.equal(moveStep(model, starts[0]!.seq, 1), starts[2]!.seq);
    const context = stateAt(model, starts[2]!.seq).messages.map(({ event }) => event.data.parts);
    assert.doesNotMatch(JSON.stringify(context), /You are Ada/);
    assert.match(
      JSON.stringify(stateAt(model, judge).messages.map(({ event }) => event.data.parts)),
      /You are a judge/,
    );
  });

  it('are counted separately in the row', () => {
    const row = advanceProgress(EMPTY_PROGRESS, events);
    assert.deepEqual([row.steps, row.step, row.input_tokens, row.output_tokens], [2, 2, 200, 20]);
    assert.deepEqual(row.side, { calls: 2, input_tokens: 80, output_tokens: 8, cached_tokens: 0 });
    assert.equal(row.open_side, undefined);
    const open = advanceProgress(EMPTY_PROGRESS, events.slice(0, user));
    assert.deepEqual(open.open_side, [user]);
    const lost = new Stream(user + 1);
    lost.add(
      'model.end',
      {
        status: 'error',
        trainable: false,
        source: 'live',
        error: { class: 'infrastructure', message: 'Its worker was lost.' },
      },
      { span: user },
    );
    assert.equal(advanceProgress(open, lost.events).side, undefined, 'a lost call is repeated');
  });

  it('are skipped by a step over, and entered by a step in', () => {
    const stops = Stops.of(modelOf());
    const [first, , second] = starts.map(({ seq }) => seq) as [number, number, number];
    const reply = events.find((event) => event.kind === 'message' && event.data.from === 'user')!.seq;
    assert.deepEqual(stops.children(first), [user]);
    assert.deepEqual(stops.children(second), [judge]);
    assert.equal(stops.next({ seq: first, at: first })?.seq, reply, 'what the user said to the agent');
    assert.equal(stops.into({ seq: first, at: first })?.seq, user);
    assert.equal(stops.out({ seq: user, at: user })?.seq, reply);
    assert.equal(stops.into({ seq: second, at: second })?.seq, judge);
    assert.equal(stops.next({ seq: second, at: second }), undefined);
    const frames = framesAt(modelOf(), { seq: judge, at: judge });
    assert.deepEqual(
      frames.map((frame) => frameName(frame, 'r')),
      ['Judge · judge-model', 'step 2 · demo', 'agent desk', 'r'],
    );
    assert.match(new TrajectoryDocument(modelOf(), 't').text, /\n {2}Simulated user · user-model\n/);
  });

  it('stop a recorded run only at a breakpoint whose condition names the side model', () => {
    const stop = (when?: string): number[] => {
      const cursor = new RolloutCursor(modelOf(), task('t'), { seq: 0, at: 0 });
      const seqs: number[] = [];
      for (const { seq } of starts) {
        const { matched } = cursor.at(seq, [
          { id: 'b', side: 'before', kind: 'model', ...(when === undefined ? {} : { when }) },
        ]);
        if (matched.length > 0) seqs.push(seq);
      }
      return seqs;
    };
    assert.deepEqual(stop(), [starts[0]!.seq, starts[2]!.seq]);
    assert.deepEqual(stop('step == 2'), [starts[2]!.seq]);
    assert.deepEqual(stop('side == "judge"'), [judge]);
    assert.deepEqual(stop('side in ["judge", "user"] && step == 1'), [user]);
  });

  it('are found by search and by expressions', () => {
    const model = modelOf();
    const found = (text: string): number[] => {
      const query = compileQuery(text);
      return events.flatMap(({ seq }) => (query.matches(environmentOf(model, seq)).matched ? [seq] : []));
    };
    assert.deepEqual(found('side == "judge" && event.kind == "model.start"'), [judge]);
    assert.equal(found('side == "judge"').length, 4, 'its prompt, start, reply, and end');
    assert.deepEqual(found('side == "" && event.kind == "model.start"'), [starts[0]!.seq, starts[2]!.seq]);
    assert.equal(found('"You are Ada"').length, 1);
    assert.equal(environmentOf(model, events.length).usage['input_tokens'], 200);
  });

  it('are lines of their step in texts; the whole text has the prompt', () => {
    const text = trajectoryText(modelOf(), PLAIN);
    assert.match(text, /2 steps/);
    assert.match(text, /side +Simulated user +user-model, 300 ms, 40 in, 4 out/);
    assert.match(text, /2 model calls .*side models: 2 calls, 80 tokens\s+in, 8 out/);
    assert.doesNotMatch(text, /You are Ada|step 3/);
    assert.match(stepText(modelOf(), 1, PLAIN), /You are Ada/);
    assert.match(eventLine(events[judge - 1]!), /judge in step 2, judge-model/);
  });

  it('do not hide steps from the search for one', async () => {
    const api = {
      events: (
        _: string,
        { after, until = events.length, limit = 1000 }: { after: number; until?: number; limit?: number },
      ) => Promise.resolve({ events: events.slice(after, until).slice(0, limit), last: events.length }),
    };
    const extent = { last: events.length, steps: 2 };
    const found = await findStep(api, 'r', 2, extent, new AbortController().signal);
    assert.equal(found?.seq, starts[2]!.seq);
  });
});
