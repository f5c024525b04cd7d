/** Side calls inside tool calls, in everything that reads a trajectory. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RolloutCursor } from '../../../src/debug/cursor.ts';
import { frameName, framesAt } from '../../../src/debug/frames.ts';
import { TrajectoryDocument } from '../../../src/debug/sources/trajectoryDocument.ts';
import { findStep, stepBefore } from '../../../src/protocol/findStep.ts';
import { actionsOf } from '../../../src/trace/align/actions.ts';
import { stateAt } from '../../../src/trace/fold.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { advanceProgress } from '../../../src/trace/progress.ts';
import { environmentOf } from '../../../src/trace/query/environment.ts';
import { compileQuery } from '../../../src/trace/query.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { Stops } from '../../../src/trace/stops.ts';
import { EMPTY_PROGRESS } from '../../../src/trace/summary.ts';
import { stepText, trajectoryText } from '../../../src/trace/text.ts';
import { askingTools, Stream } from '../../support/stream.ts';
import { task } from '../../support/trajectories.ts';

const { events } = askingTools();
const PLAIN = { width: 120, color: false };
const model = new TrajectoryModel();
model.push(events);
const seqs = (kind: TraceEvent['kind']): number[] => events.flatMap((e) => (e.kind === kind ? [e.seq] : []));
const [agent, polite, rude, last] = seqs('model.start') as [number, number, number, number];
const [grade, rank] = seqs('tool.start') as [number, number];

describe('side calls inside tool calls', () => {
  it('belong to the step of their tool call, and are no actions or usage of the agent', () => {
    assert.deepEqual(
      model.steps.map(({ tools, sides }) => [tools.map(({ seq }) => seq), sides.map(({ seq }) => seq)]),
      [
        [[], []],
        [
          [grade, rank],
          [polite, rude],
        ],
        [[], []],
      ],
    );
    assert.deepEqual(model.usageAt(), { calls: 2, input_tokens: 200, output_tokens: 20, cached_tokens: 0 });
    assert.equal(model.usageAt(undefined, 'side').calls, 2);
    assert.deepEqual(
      actionsOf(model).map(({ step }) => step),
      [1, 2],
    );
    assert.match(JSON.stringify(stateAt(model, rude).messages.map(({ event }) => event.data.parts)), /Is b polite/);
    assert.deepEqual(advanceProgress(EMPTY_PROGRESS, events).side?.calls, 2);
  });

  it('are entered by a step into their tool call, and skipped by a step over it', () => {
    const stops = Stops.of(model);
    const place = (seq: number): { seq: number; at: number } => ({ seq, at: seq });
    assert.deepEqual([stops.children(grade), stops.children(rank)], [[polite], [rude]]);
    assert.equal(stops.into(place(grade))?.seq, polite);
    assert.equal(stops.next(place(grade))?.seq, rank);
    assert.equal(stops.into(place(rank))?.seq, rude);
    assert.equal(stops.next(place(rank))?.seq, last);
    assert.equal(stops.out(place(rude))?.seq, last);
    assert.equal(stops.previous(place(rude))?.seq, rank);
    assert.deepEqual(
      framesAt(model, place(rude)).map((frame) => frameName(frame, 'r')),
      ['Judge · judge-model', 'rank', 'step 1 · demo', 'agent desk', 'r'],
    );
    const { text } = new TrajectoryDocument(model, 't');
    assert.match(text, /\n {4}Judge · judge-model\n {6}“Very polite\.”\n/);
  });

  it('stop at a breakpoint on `model` only if its condition names the side model', () => {
    const cursor = new RolloutCursor(model, task('t'), { seq: 0, at: 0 });
    const stopped = (when?: string): number[] =>
      seqs('model.start').filter(
        (seq) =>
          cursor.at(seq, [{ id: 'b', side: 'before', kind: 'model', ...(when === undefined ? {} : { when }) }]).matched
            .length > 0,
      );
    assert.deepEqual(stopped(), [agent, last]);
    assert.deepEqual(stopped('side == "judge"'), [polite, rude]);
  });

  it('are found by search, and name the tool that asked in texts', () => {
    const found = (text: string): number[] => {
      const query = compileQuery(text);
      return events.flatMap(({ seq }) => (query.matches(environmentOf(model, seq)).matched ? [seq] : []));
    };
    assert.deepEqual(found('side == "judge" && event.kind == "model.start"'), [polite, rude]);
    assert.equal(found('"Quite rude"').length, 1);
    const text = trajectoryText(model, PLAIN);
    assert.match(text, /side +Judge +judge-model, in grade, 300 ms, 40 in, 4 out/);
    assert.match(text, /side +Judge +judge-model, in rank, 300 ms, 40 in, 4 out/);
    assert.doesNotMatch(text, /Is a polite/);
    assert.match(stepText(model, 1, PLAIN), /Is a polite/);
  });

  it('that are recorded again when their tool call is made again count once', () => {
    const s = askingTools();
    const copy = new Stream(s.last);
    const start = copy.add(
      'model.start',
      { step: 1, side: 'judge', model: 'judge-model', context: [[3, 3]], sampling: {} },
      { agent: 'judge', parent: grade },
    );
    copy.add(
      'model.end',
      { status: 'ok', m: 4, ms: 0, finish_reason: 'stop', trainable: false, source: 'recorded' },
      { agent: 'judge', span: start },
    );
    const all = [...s.events.slice(0, -1), ...copy.events];
    assert.deepEqual(advanceProgress(EMPTY_PROGRESS, all).side, {
      calls: 2,
      input_tokens: 80,
      output_tokens: 8,
      cached_tokens: 0,
    });
    const whole = new TrajectoryModel();
    whole.push(all);
    assert.equal(whole.usageAt(undefined, 'side').calls, 2);
    assert.match(trajectoryText(whole, PLAIN), /side +Judge +judge-model, in grade, recorded/);
  });

  it('after steps of other agents do not mislead the search for a step', async () => {
    const s = new Stream();
    s.start();
    s.model('', [{ id: 'c', name: 'grade', arguments: {} }], { agent: 'desk/a#1' });
    const call = s.toolStart('c', 'grade', {}, { agent: 'desk/a#1' });
    const second = s.model('done', [], { agent: 'desk/b#1' });
    for (let n = 0; n < 600; n++) {
      s.message('system', `question ${n}`, 'given', { agent: 'judge' }, { to: 'judge', side: 'judge' });
      const span = s.add(
        'model.start',
        { step: 1, side: 'judge', context: [], sampling: {} },
        { agent: 'judge', parent: call },
      );
      s.add('model.end', { status: 'ok', trainable: false, source: 'live' }, { agent: 'judge', span });
    }
    const api = {
      events: (_: string, { after, until = s.last, limit = 1000 }: { after: number; until?: number; limit?: number }) =>
        Promise.resolve({ events: s.events.slice(after, until).slice(0, limit), last: s.last }),
    };
    const { signal } = new AbortController();
    const found = await findStep(api, 'r', 2, { last: s.last, steps: 2 }, signal);
    assert.equal(found?.seq, second);
    assert.equal(await stepBefore(api, 'r', s.last, signal), 2);
  });
});
