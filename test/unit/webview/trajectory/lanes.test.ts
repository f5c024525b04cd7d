// The contents of the time axis, and their positions.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { EventData, EventKind, TraceEvent } from '../../../../src/trace/schema.ts';
import { Lanes } from '../../../../webview/trajectory/axis/lanes.ts';
import { labelOf } from '../../../../webview/trajectory/axis/paint/bars.ts';
import { waitText } from '../../../../webview/trajectory/axis/paint/calls.ts';
import { Stream } from '../../../support/stream.ts';

function lanesOf(events: readonly TraceEvent[]): Lanes {
  const model = new TrajectoryModel();
  model.push(events);
  const lanes = new Lanes(model);
  lanes.advance();
  return lanes;
}

/** An event of the batch's stream, this many ms after another one. */
function outside<K extends EventKind>(
  after: TraceEvent | undefined,
  ms: number,
  kind: K,
  data: EventData[K],
): TraceEvent {
  return { seq: 1, v: 1, at: (after?.at ?? 0) + ms, kind, data } as TraceEvent;
}

function infra(lanes: Lanes): string[] {
  return (
    lanes.lanes
      .find((lane) => lane.kind === 'infra')
      ?.items.map((item) => `${item.form} ${item.label} ${item.from}-${lanes.endOf(item)} @${item.seq}`) ?? []
  );
}

function leased(): Stream {
  const s = new Stream();
  s.start();
  s.add('rollout.lease', { epoch: 1, worker: 'w1', how: 'fresh' });
  s.model('Hello');
  return s;
}

describe('lanes of the time axis', () => {
  it('include one for each sub-agent, for all its instances, with its calls', () => {
    const s = leased();
    const call = s.toolStart('c1', 'searcher', {}, { agent: 'desk' });
    for (const n of [1, 2]) {
      const agent = `desk/searcher#${n}`;
      const span = s.add('agent.start', { how: 'team' }, { agent, parent: call });
      s.model('I look', [], { agent, parent: span });
      s.toolEnd(s.toolStart(`s${n}`, 'find', {}, { agent }), `s${n}`, 'found', { agent });
      s.add('agent.end', { status: 'ok' }, { agent, span });
    }
    s.toolEnd(call, 'c1', 'found');
    const lanes = lanesOf(s.events);
    assert.deepEqual(
      lanes.lanes.map((lane) => [lane.kind, lane.name, lane.items.map((item) => item.label), lane.frames.length]),
      [
        ['model', 'model', ['demo'], 0],
        ['tools', 'tools', ['searcher'], 0],
        ['agent', 'searcher', ['demo', 'find', 'demo', 'find'], 2],
      ],
    );
  });

  it('show a hold from its beginning to its release, and count while it holds', () => {
    const s = leased();
    const hold = s.add('hold', { why: 'pause', side: 'before' });
    const standing = lanesOf(s.events);
    const held = s.events[hold - 1];
    const [open] = standing.lanes.find((lane) => lane.kind === 'infra')?.items ?? [];
    assert.ok(open !== undefined && held !== undefined);
    assert.equal(standing.isOpen(open), true);
    assert.equal(labelOf({ lanes: standing, now: held.at + 42_300 }, open), 'held 42.0 s');
    assert.equal(labelOf({ lanes: standing, now: held.at - 5_000 }, open), 'held 0 ms', 'another clock');
    s.add('release', { how: 'continue', held_ms: 61_000 });
    s.model('On');
    const lanes = lanesOf(s.events);
    const [item] = lanes.lanes.find((lane) => lane.kind === 'infra')?.items ?? [];
    assert.ok(item !== undefined);
    assert.equal(lanes.isOpen(item), false);
    assert.equal(lanes.endOf(item) - item.from, 10);
    assert.equal(labelOf({ lanes, now: 0 }, item), 'held 1 min 1 s');
  });

  it('show when a call started, and what went wrong in a step', () => {
    const s = leased();
    const lost = { class: 'infrastructure', message: 'Its worker was lost.' } as const;
    const call = s.toolStart('c1', 'look', {});
    s.add('hold', { why: 'pause', side: 'before' }, { span: call });
    s.add('release', { how: 'continue', held_ms: 10 }, { span: call });
    s.toolEnd(call, 'c1', 'ok', { ms: 20 });
    s.model('', []);
    s.add('tool.end', { status: 'error', source: 'live', error: lost }, { span: s.toolStart('c2', 'look', {}) });
    const [first] = s.events;
    const timed = lanesOf(s.events);
    const [item] = timed.lanes.find((lane) => lane.kind === 'tools')?.items ?? [];
    assert.ok(item !== undefined);
    assert.deepEqual([item.from, timed.startOf(item), timed.endOf(item)], [50, 70, 90]);
    assert.deepEqual(timed.waitsOf(item).map(waitText), ['waited 10 ms', 'held 10 ms']);
    assert.deepEqual([timed.interrupted, timed.troubleIn(1), timed.troubleIn(2)], [true, undefined, 'interrupted']);
    s.add(
      'tool.end',
      { status: 'error', source: 'live', error: { class: 'tool_error', message: 'no' } },
      { span: s.toolStart('c3', 'look', {}) },
    );
    assert.equal(lanesOf(s.events).troubleIn(2), 'error');
    // Without times, only with an order, nothing waits.
    const untimed = lanesOf(
      s.events.map((event) =>
        event === first && event.kind === 'rollout.start'
          ? { ...event, data: { ...event.data, times: 'none' } }
          : event,
      ),
    );
    const [same] = untimed.lanes.find((lane) => lane.kind === 'tools')?.items ?? [];
    assert.ok(same !== undefined);
    assert.equal(untimed.startOf(same), same.from);
  });

  it("show the batch's messages about its worker, its model server, and commands, at their time and duration", () => {
    const s = leased();
    for (let i = 0; i < 10; i++) s.model('More');
    const [first] = s.events;
    const lanes = lanesOf(s.events);
    lanes.advanceOutside([
      outside(first, 200, 'infra', { what: 'preempted', worker: 'w1', ms: 50, text: 'waited for memory' }),
      outside(first, 100, 'control', { command: 'c1', verb: 'hold', by: 'ada', rollout: 'r1' }),
      outside(first, 120, 'control', { command: 'c2', verb: 'pause', by: 'ada' }),
      outside(first, 130, 'infra', { what: 'pod_evicted', pod: 'w1', text: 'node pressure' }),
      outside(first, 140, 'infra', { what: 'endpoint', endpoint: 'e1', text: 'answers again' }),
      outside(first, 160, 'infra', { what: 'workers_back', ms: 10, text: 'The connection was lost' }),
      // About others, about earlier times, and about what does not affect a rollout.
      outside(first, 150, 'infra', { what: 'worker_exit', worker: 'w2', text: 'gone' }),
      outside(first, -10, 'infra', { what: 'worker_exit', worker: 'w1', text: 'gone' }),
      outside(first, 150, 'control', { command: 'c3', verb: 'seal', by: 'ada' }),
    ]);
    assert.deepEqual(infra(lanes), [
      'control hold 100-100 @11',
      'control pause 120-120 @13',
      'infra pod evicted 130-130 @14',
      'infra endpoint 140-140 @15',
      'infra preempted 150-200 @21',
      'infra workers back 150-160 @17',
    ]);
    lanes.advanceOutside([]);
    assert.equal(infra(lanes).length, 6, 'once each');
  });

  it('show what happens to all replicas of a service, or to the one called, but not to another one', () => {
    const s = leased();
    const [called, other] = ['http://10.0.0.1:8000/v1', 'http://10.0.0.2:8000/v1'];
    for (let i = 0; i < 10; i++) s.model('More', [], { endpoint: called });
    const [first] = s.events;
    const lanes = lanesOf(s.events);
    const service = { endpoint: 'http://models:8000/v1', all_replicas: true } as const;
    lanes.advanceOutside([
      outside(first, 100, 'infra', { ...service, what: 'replica_draining', text: 'is draining' }),
      outside(first, 110, 'infra', { what: 'endpoint', endpoint: called, text: 'is not available' }),
      outside(first, 120, 'infra', { what: 'endpoint', endpoint: other, text: 'is not available' }),
      outside(first, 180, 'infra', { ...service, what: 'replica_drained', ms: 80, text: 'ended' }),
    ]);
    assert.deepEqual(infra(lanes), [
      'infra replica draining 100-100 @11',
      'infra replica drained 100-180 @19',
      'infra endpoint 110-110 @12',
    ]);
  });

  it('omit what happened after the end, and messages about a worker that no longer held it', () => {
    const s = leased();
    s.add('rollout.lease', { epoch: 2, worker: 'w2', how: 'resumed' });
    s.model('On');
    s.end();
    const lanes = lanesOf(s.events);
    const resumed = s.events.find((event) => event.kind === 'rollout.lease' && event.data.how === 'resumed');
    lanes.advanceOutside([
      outside(resumed, -1, 'infra', { what: 'worker_exit', worker: 'w1', text: 'gone' }),
      outside(resumed, 1, 'infra', { what: 'worker_exit', worker: 'w1', text: 'gone' }),
      // Only the end of its pod is worth a late message.
      outside(resumed, 2, 'infra', { what: 'pod_deleted', pod: 'w1', text: 'deleted' }),
      outside(s.events.at(-1), 1, 'infra', { what: 'worker_exit', worker: 'w2', text: 'gone' }),
    ]);
    assert.deepEqual(
      infra(lanes).map((line) => line.split(' ')[0]),
      ['infra', 'lease', 'infra'],
    );
  });
});
