// Where a debugger stops, and how it steps: nesting, and that stepping back reverses stepping forward.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RolloutCursor, type Step } from '../../../src/debug/cursor.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { type Place, Stops } from '../../../src/trace/stops.ts';
import { Random } from '../../support/random.ts';
import { lendingDesk, Stream } from '../../support/stream.ts';
import { task } from '../../support/trajectories.ts';

function modelOf(stream: Stream): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(stream.events);
  return model;
}

/** The label of a place: a tool's name, `step n`, or a role. */
function nameOf(model: TrajectoryModel, place: Place | undefined): string {
  if (place === undefined) return 'end';
  const span = model.span(place.seq);
  if (span?.kind === 'tool') return span.start.data.name;
  if (span?.kind === 'model') return `step ${span.start.data.step}`;
  if (span?.kind === 'agent') return `agent ${span.agent}`;
  const event = model.event(place.seq);
  return event?.kind === 'message' && !('unknown' in event) ? event.data.role : '?';
}

function walk(model: TrajectoryModel, moves: readonly Step[]): string[] {
  const stops = Stops.of(model);
  let place = stops.first;
  return moves.map((move) => {
    place = place === undefined ? undefined : stops[move](place);
    return nameOf(model, place);
  });
}

/** A leader whose tool call runs two members in parallel, their events interleaved. */
function team(): Stream {
  const s = new Stream();
  s.start();
  s.message('user', 'Find both', 'given', { agent: 'lead' });
  s.model('', [{ id: 'c1', name: 'ask', arguments: {} }], { agent: 'lead' });
  const request = s.toolStart('c1', 'ask', {}, { agent: 'lead' });
  const one = s.add('agent.start', { how: 'parallel' }, { agent: 'lead/a', parent: request });
  const two = s.add('agent.start', { how: 'parallel' }, { agent: 'lead/b', parent: request });
  s.model('', [{ id: 'c2', name: 'look', arguments: { n: 1 } }], { agent: 'lead/a', parent: one });
  const look = s.toolStart('c2', 'look', { n: 1 }, { agent: 'lead/a' });
  s.model('b thinks', [], { agent: 'lead/b', parent: two });
  s.toolEnd(look, 'c2', 'seen', { agent: 'lead/a' });
  s.model('a thinks', [], { agent: 'lead/a', parent: one });
  s.add('agent.end', { status: 'ok' }, { agent: 'lead/a', span: one });
  s.add('agent.end', { status: 'ok' }, { agent: 'lead/b', span: two });
  s.toolEnd(request, 'c1', 'both found', { agent: 'lead' });
  s.model('done', [], { agent: 'lead' });
  s.end();
  return s;
}

describe('stops', () => {
  it('step over calls, into them, and out to what follows', () => {
    const model = modelOf(lendingDesk());
    assert.deepEqual(walk(model, ['next', 'next', 'next', 'next', 'next']), [
      'user',
      'step 1',
      'step 2',
      'step 3',
      'end',
    ]);
    assert.deepEqual(walk(model, ['next', 'next', 'into', 'into', 'into', 'next', 'next']), [
      'user',
      'step 1',
      'find_member',
      'step 2',
      'renew_loan',
      'renew_loan',
      'step 3',
    ]);
    assert.deepEqual(walk(model, ['next', 'next', 'into', 'out']), ['user', 'step 1', 'find_member', 'step 2']);
  });

  it('keep the members of a team apart, and step out to where their caller continues', () => {
    const model = modelOf(team());
    assert.deepEqual(
      walk(model, ['next', 'into', 'into', 'into', 'into', 'next', 'next']),
      ['step 1', 'ask', 'agent lead/a', 'step 2', 'look', 'step 4', 'step 5'],
      'never through the other one',
    );
    assert.deepEqual(walk(model, ['next', 'into', 'into', 'next', 'into', 'next']), [
      'step 1',
      'ask',
      'agent lead/a',
      'agent lead/b',
      'step 3',
      'step 5',
    ]);
    const stops = Stops.of(model);
    const look = model.tools.find((tool) => tool.start.data.name === 'look');
    assert.deepEqual(
      stops.chain(look?.seq ?? 0).map((seq) => nameOf(model, { seq, at: seq })),
      ['look', 'step 2', 'agent lead/a', 'ask', 'step 1'],
    );
  });

  it('grow with the model and have the place of every event', () => {
    const { events } = lendingDesk();
    const model = new TrajectoryModel();
    for (const event of events) {
      model.push([event]);
      const place = Stops.of(model).placeOf(event.seq);
      assert.equal(place === undefined, Stops.of(model).all.length === 0, `event ${event.seq}`);
      if (place !== undefined) assert.equal(place.at, event.seq);
    }
    const failed = model.tools[2];
    assert.deepEqual(
      Stops.of(model).placeOf(failed?.end?.seq ?? 0),
      { seq: failed?.seq, at: failed?.end?.seq },
      'an end is at its call',
    );
  });

  it('end at the start after any steps forward and as many back', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const random = new Random(seed);
      const model = modelOf(seed % 2 === 0 ? team() : lendingDesk());
      const first = Stops.of(model).first ?? { seq: 0, at: 0 };
      const cursor = new RolloutCursor(model, task('t1'), first);
      let moved = 0;
      for (let step = 0; step < 30; step++) {
        const move = (['next', 'into', 'out'] as const)[Math.floor(random.next() * 3)] ?? 'next';
        const before = cursor.place;
        if (!cursor.step(move)) continue; // at the end, or nothing to step out of
        moved += 1;
        assert.ok(cursor.place.at > before.at, `seed ${seed}: a step goes on`);
      }
      assert.ok(moved > 0);
      for (; moved > 0; moved--) assert.ok(cursor.back());
      assert.deepEqual(cursor.place, first, `seed ${seed}`);
    }
  });

  it('step back without history to the previous stop, then to the enclosing one', () => {
    const model = modelOf(lendingDesk());
    const stops = Stops.of(model);
    const last = model.tools.at(-1);
    const cursor = new RolloutCursor(model, task('t1'), { seq: last?.seq ?? 0, at: last?.end?.seq ?? 0 });
    const visited: string[] = [];
    while (cursor.back()) visited.push(nameOf(model, cursor.place));
    assert.deepEqual(visited, ['renew_loan', 'renew_loan', 'step 2', 'step 1', 'user', 'system']);
    assert.equal(stops.previous(cursor.place), undefined);
  });
});
