// The moves of the cursor: each returns an existing place, or undefined.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  changedArguments,
  difference,
  failure,
  into,
  isRepeat,
  out,
  positionOf,
  sameTool,
  step,
} from '../../../src/trace/cursor.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { isInterruption } from '../../../src/trace/trouble.ts';
import { Stream } from '../../support/stream.ts';

interface Desk {
  readonly model: TrajectoryModel;
  readonly first: number;
  readonly second: number;
  readonly third: number;
  /** renew 17, renew 17 again, pay 17, renew 23 (fails). */
  readonly calls: readonly [number, number, number, number];
  readonly message: number;
}

function desk(): Desk {
  const s = new Stream();
  s.start();
  s.message('user', 'Renew both');
  const message = s.last;
  const first = s.model('I renew', [
    { id: 'c1', name: 'renew', arguments: { loan: 17 } },
    { id: 'c2', name: 'renew', arguments: { loan: 17 } },
  ]);
  const one = s.toolStart('c1', 'renew', { loan: 17 }, { parent: first });
  s.toolEnd(one, 'c1', 'ok');
  const two = s.toolStart('c2', 'renew', { loan: 17 }, { parent: first });
  s.toolEnd(two, 'c2', 'ok');
  const second = s.model('I pay', [{ id: 'c3', name: 'pay', arguments: { loan: 17 } }]);
  const three = s.toolStart('c3', 'pay', { loan: 17 });
  s.diff([{ table: 'fines', key: 1, op: 'delete', before: { loan: 17 } }], three);
  s.toolEnd(three, 'c3', 'paid');
  const third = s.model('', [{ id: 'c4', name: 'renew', arguments: { loan: 23 } }]);
  const four = s.toolStart('c4', 'renew', { loan: 23 }, { parent: third });
  s.toolEnd(four, 'c4', 'no', { error: { class: 'tool_error', message: 'limit reached' } });
  s.end({ passed: false, reward: 0 });
  const model = new TrajectoryModel();
  model.push(s.events);
  return { model, first, second, third, calls: [one, two, three, four], message };
}

describe('cursor', () => {
  it('rests on starts and messages; other events belong to one', () => {
    const {
      model,
      first,
      calls: [one],
      message,
    } = desk();
    assert.equal(positionOf(model, message), message);
    assert.equal(positionOf(model, first), first);
    assert.equal(positionOf(model, one + 2), one, 'the end of a call belongs to the call');
    assert.equal(positionOf(model, 1), undefined, 'nothing is before the first');
    assert.equal(positionOf(model, model.last + 1), undefined);
    const last = positionOf(model, model.last);
    assert.ok(last !== undefined && model.parentOf(last) !== undefined, 'the end belongs to the last place before it');
  });

  it('moves from step to step and stops at both ends', () => {
    const {
      model,
      first,
      second,
      third,
      calls: [, two],
      message,
    } = desk();
    assert.equal(step(model, message, 1), first);
    assert.equal(step(model, first, 1), second);
    assert.equal(step(model, two, 1), second);
    assert.equal(step(model, third, -1), second);
    assert.equal(step(model, third, 1), undefined);
    assert.equal(step(model, first, -1), undefined);
  });

  it("enters a step's calls and leaves them, whether they are nested or follow", () => {
    const {
      model,
      first,
      second,
      calls: [one, two, three],
    } = desk();
    assert.equal(into(model, first), one);
    assert.equal(into(model, second), three);
    assert.equal(into(model, one), undefined, 'nothing ran inside the call');
    assert.equal(out(model, two), first);
    assert.equal(out(model, three), second);
    assert.equal(out(model, first), undefined);
  });

  it('enters an agent that a tool started', () => {
    const s = new Stream();
    s.start();
    const desk = s.model('', [{ id: 'a', name: 'searcher', arguments: {} }]);
    const tool = s.toolStart('a', 'searcher', {}, { parent: desk });
    const agent = s.add('agent.start', { how: 'team' }, { agent: 'desk/searcher', parent: tool });
    const inner = s.model('found', [], { agent: 'desk/searcher', parent: agent });
    const model = new TrajectoryModel();
    model.push(s.events);
    assert.deepEqual([into(model, desk), into(model, tool), into(model, agent)], [tool, agent, inner]);
    assert.deepEqual([out(model, inner), out(model, agent), out(model, tool)], [agent, tool, desk]);
  });

  it('finds failures in both directions', () => {
    const {
      model,
      first,
      calls: [, , , four],
    } = desk();
    assert.equal(failure(model, 0, 1), four);
    assert.equal(failure(model, first, 1), four);
    assert.equal(failure(model, four, 1), undefined);
    assert.equal(failure(model, model.last, -1), four);
    assert.equal(failure(model, four, -1), undefined);
  });

  it('skips infrastructure failures after which the rollout continued', () => {
    const s = new Stream();
    s.start();
    const world = s.add('world.open', { world: 'library', kind: 'module' });
    s.model('', [{ id: 'c1', name: 'renew', arguments: {} }]);
    const call = s.toolStart('c1', 'renew', {});
    const model = new TrajectoryModel();
    const lost = { class: 'infrastructure', message: 'Its worker was lost.' } as const;
    const taken = (epoch: number): void => void s.add('rollout.lease', { epoch, worker: `w${epoch}`, how: 'resumed' });
    taken(2);
    s.add('tool.end', { status: 'error', source: 'live', error: lost }, { span: call });
    s.add('world.close', { error: lost }, { span: world });
    model.push(s.events);
    assert.equal(failure(model, 0, 1), undefined, 'nobody knows yet');
    assert.equal(
      model.errors.every((one) => isInterruption(model, one)),
      true,
    );
    const again = s.add('world.open', { world: 'library', kind: 'module' });
    const second = s.toolStart('c1', 'renew', {});
    model.push(s.events);
    assert.equal(failure(model, 0, 1), undefined);
    // This time nothing continues: the call ended it, not its surroundings.
    taken(3);
    s.add('tool.end', { status: 'error', source: 'live', error: lost }, { span: second });
    s.add('world.close', { error: lost }, { span: again });
    s.end({
      status: 'infrastructure',
      passed: null,
      error: { class: 'infrastructure', message: 'It may have happened.' },
    });
    model.push(s.events);
    assert.deepEqual(
      model.errors.map((one) => isInterruption(model, one)),
      [true, true, false, true, false],
    );
    assert.equal(failure(model, 0, 1), second);
    assert.equal(failure(model, second, -1), undefined);
  });

  it('finds a world that failed to open, and a model server that stayed away', () => {
    const away = { class: 'infrastructure', message: 'It does not answer.' } as const;
    const unopened = new Stream();
    unopened.start();
    const world = unopened.add('world.open', { world: 'library', kind: 'module' });
    unopened.add('world.close', { error: away }, { span: world });
    const unanswered = new Stream();
    unanswered.start();
    unanswered.add('world.open', { world: 'library', kind: 'module' });
    const call = unanswered.add('model.start', { step: 1, model: 'demo', context: [], sampling: {} });
    unanswered.add(
      'model.end',
      { status: 'error', ms: 600_000, trainable: false, source: 'live', error: away },
      { span: call },
    );
    for (const [s, place] of [
      [unopened, world],
      [unanswered, call],
    ] as const) {
      s.end({ status: 'infrastructure', passed: null, error: away });
      const model = new TrajectoryModel();
      model.push(s.events);
      assert.equal(failure(model, 0, 1), place);
    }
  });

  it('moves along the calls of one tool', () => {
    const {
      model,
      first,
      calls: [one, two, three, four],
    } = desk();
    assert.equal(sameTool(model, first, 1), one, 'from elsewhere to the next call at all');
    assert.equal(sameTool(model, one, 1), two);
    assert.equal(sameTool(model, two, 1), four);
    assert.equal(sameTool(model, four, -1), two);
    assert.equal(sameTool(model, three, 1), undefined);
    assert.equal(sameTool(model, four, 1), undefined);
  });

  it('finds the next difference: other arguments, or a change of the world', () => {
    const {
      model,
      calls: [one, two, three, four],
    } = desk();
    assert.equal(difference(model, one), three, 'the repeated call differs in nothing');
    assert.equal(difference(model, three), four);
    assert.equal(difference(model, four), undefined);
    const spans = [one, two, four].map((seq) => model.tools.find((tool) => tool.seq === seq));
    assert.deepEqual(
      spans.map((span) => (span === undefined ? undefined : [isRepeat(model, span), changedArguments(model, span)])),
      [
        [false, []],
        [true, []],
        [false, ['loan']],
      ],
    );
  });
});
