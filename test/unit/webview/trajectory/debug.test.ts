// Breakpoints and forms of the trajectory page: gates of the batch, edits, forks.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from '../../../../src/common/json.ts';
import type { Breakpoint } from '../../../../src/protocol/commands.ts';
import type { EditorBreakpoint } from '../../../../src/protocol/page.ts';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import { TrajectoryData } from '../../../../webview/data/trajectoryData.ts';
import { type StoryHost, storyHost } from '../../../../webview/host/story.ts';
import { sampleBatch } from '../../../../webview/stories/batch/sampleBatch.ts';
import { hitsSoFar, PageBreakpoints } from '../../../../webview/trajectory/debug/breakpoints.ts';
import {
  currentHold,
  editsOf,
  editTargets,
  fieldText,
  forkTarget,
  heldTargets,
  skipTarget,
} from '../../../../webview/trajectory/debug/edits.ts';
import {
  gateOf,
  keyOf,
  type Spot,
  type SpotCondition,
  spotOfGate,
  spotOfRow,
} from '../../../../webview/trajectory/debug/spot.ts';
import { subjectAt } from '../../../../webview/trajectory/detail/subject.ts';
import { StepRows } from '../../../../webview/trajectory/steps/rows.ts';
import { Stream } from '../../../support/stream.ts';
import { aRow } from '../batch/rows.ts';

/** Renews twice; held before the second renewal, or ended after it. */
function desk(held: boolean): {
  readonly events: readonly TraceEvent[];
  readonly calls: readonly number[];
  readonly steps: readonly number[];
} {
  const s = new Stream();
  s.start();
  s.message('user', 'Renew 17.');
  const steps: number[] = [];
  const calls: number[] = [];
  for (const [id, days] of [
    ['c1', 7],
    ['c2', 14],
  ] as const) {
    steps.push(s.model('Now.', [{ id, name: 'renew', arguments: { loan: 17, days, 'a/b': { deep: [1] } } }]));
    const span = s.toolStart(id, 'renew', { loan: 17, days, 'a/b': { deep: [1] } });
    calls.push(span);
    if (held && id === 'c2')
      s.add('hold', { why: 'breakpoint', breakpoint: 'page.tool.renew', side: 'before' }, { span });
    else s.toolEnd(span, id, `due in ${days}`);
  }
  if (!held) s.end();
  return { events: s.events, calls, steps };
}

function modelOf(events: readonly TraceEvent[]): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(events);
  return model;
}

describe('the target of a breakpoint', () => {
  it('is a gate of the batch, and found again in it', () => {
    const spots: Spot[] = [{ on: 'tool', name: 'renew' }, { on: 'model' }, { on: 'step', step: 12 }];
    const narrowings: SpotCondition[] = [{}, { when: 'a == 1 || b == 2' }, { hits: 3 }, { log: 'x', when: 'c' }];
    for (const spot of spots) {
      for (const narrowing of narrowings) {
        const gate = gateOf(spot, narrowing);
        assert.ok(gate !== undefined);
        assert.deepEqual(spotOfGate(gate), { spot, narrowing });
      }
    }
    assert.deepEqual(gateOf({ on: 'step', step: 2 }, { when: 'a' }), {
      id: 'page.step.2',
      side: 'before',
      kind: 'model',
      when: '(step == 2) && (a)',
    });
    assert.equal(gateOf({ on: 'event', seq: 3 }, {}), undefined);
    assert.equal(spotOfGate({ id: 'x', side: 'after', tool: 'renew' }), undefined);
  });

  it('is a row’s tool, else its step', () => {
    const { events } = desk(true);
    const model = modelOf(events);
    const spots = new StepRows(model).all
      .map((row) => spotOfRow(model, row))
      .map((spot) => (spot === undefined ? undefined : keyOf(spot)));
    assert.deepEqual(
      spots,
      ['event.2', 'tool.renew', 'tool.renew', 'tool.renew'],
      'the hold is where the call is that it holds',
    );
  });
});

interface Page {
  readonly host: StoryHost;
  readonly data: TrajectoryData;
  readonly breakpoints: PageBreakpoints;
  /** Once the page shows the change. */
  readonly until: (what: () => boolean) => Promise<void>;
}

async function page(
  events: readonly TraceEvent[],
  options: { readonly ended?: boolean; readonly editor?: readonly EditorBreakpoint[] } = {},
): Promise<Page> {
  const sample = sampleBatch({ tasks: 1, attempts: 1, state: options.ended === true ? 'ended' : 'running' });
  const row = aRow({
    rollout: 'r1',
    batch: sample.batch.batch,
    task: sample.tasks[0]?.id ?? '',
    state: 'running',
    last: events.at(-1)?.seq ?? 0,
  });
  const host = storyHost({
    ...sample,
    rows: [row],
    events: { r1: events },
    ...(options.editor === undefined ? {} : { breakpoints: options.editor }),
  });
  const data = new TrajectoryData(host, 'r1');
  const breakpoints = new PageBreakpoints(data, { readOnly: false, canEditor: options.editor !== undefined });
  const until = (what: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      if (what()) resolve();
      const listening = data.changed(() => {
        if (!what()) return;
        listening.dispose();
        resolve();
      });
    });
  await until(() => data.loading === 'head' && data.batch !== undefined);
  return { host, data, breakpoints, until };
}

function breakpointEvent(seq: number, breakpoints: readonly Breakpoint[], of: string): TraceEvent {
  return {
    seq,
    v: 1,
    at: 1,
    kind: 'control',
    data: {
      command: `c${seq}`,
      verb: 'breakpoints',
      by: 'page',
      args: { breakpoints: JSON.parse(JSON.stringify(breakpoints)) as Json, of },
    },
  };
}

describe('breakpoints of the page', { timeout: 60_000 }, () => {
  const spot: Spot = { on: 'tool', name: 'renew' };

  it('are sent to the batch while it runs, and shown once its stream has them', async () => {
    const { host, data, breakpoints, until } = await page(desk(true).events);
    await breakpoints.set(spot, { when: 'tool.arguments.days > 7' });
    const gate = { id: 'page.tool.renew', side: 'before', tool: 'renew', when: 'tool.arguments.days > 7' } as const;
    const [sent] = host.commands as { verb: string; args: Json }[];
    assert.deepEqual([sent?.verb, sent?.args], ['breakpoints', { breakpoints: [gate], of: 'page.' }]);
    assert.equal(breakpoints.get(spot), undefined, 'nothing holds before the batch says so');
    host.push(data.batch?.batch ?? '', [
      breakpointEvent(1, [gate], 'page.'),
      breakpointEvent(2, [{ id: 'dap.1', side: 'after', kind: 'tool' }], 'dap.'),
    ]);
    await until(() => breakpoints.all.length === 2);
    assert.deepEqual([breakpoints.get(spot)?.armed, breakpoints.get(spot)?.foreign], [true, false]);
    const foreign = breakpoints.all.find((one) => one.foreign);
    assert.deepEqual([foreign?.spot, foreign?.ids], [undefined, ['dap.1']]);
    await breakpoints.toggle(spot);
    assert.deepEqual((host.commands[1] as { args: Json }).args, { breakpoints: [], of: 'page.' });
    assert.ok(foreign !== undefined);
    await breakpoints.remove(foreign);
    assert.deepEqual((host.commands[2] as { args: Json }).args, { breakpoints: [gate] }, 'the others stay');
    await assert.rejects(breakpoints.set(spot, { when: 'tool.arguments.days >' }), /the expression is incomplete/);
    assert.equal(host.commands.length, 3, 'what is none is not sent');
    data.close();
  });

  it("include the editor's, and one that is not armed yet is armed by a toggle", async () => {
    const { events, steps } = desk(true);
    const { host, data, breakpoints } = await page(events, {
      editor: [
        { id: 'e1', on: { name: 'renew' }, enabled: true, hits: '>= 2' },
        { id: 'e2', on: { rollout: 'r1', seq: steps[1] ?? 0 }, enabled: true },
        { id: 'e3', on: { rollout: 'r2', seq: 3 }, enabled: true },
      ],
    });
    assert.deepEqual(
      breakpoints.all.map(({ key, armed, hits }) => [key, armed, hits]),
      [
        ['tool.renew', false, 2],
        ['step.2', false, undefined],
      ],
    );
    await breakpoints.toggle(spot);
    assert.deepEqual(host.actions, [{ do: 'breakpoint', on: { name: 'renew' }, set: { hits: '2' } }]);
    assert.deepEqual((host.commands[0] as { args: Json }).args, {
      breakpoints: [{ id: 'page.tool.renew', side: 'before', tool: 'renew', hits: 2 }],
      of: 'page.',
    });
    data.close();
  });

  it('of an ended batch are only the editor’s; without an editor none can be set', async () => {
    const { events, steps } = desk(false);
    const none = await page(events, { ended: true });
    assert.equal(none.breakpoints.settable, false);
    none.data.close();
    const { host, data, breakpoints } = await page(events, {
      ended: true,
      editor: [{ id: 'e1', on: { name: 'renew' }, enabled: true }],
    });
    assert.deepEqual([breakpoints.settable, breakpoints.get(spot)?.armed], [true, true]);
    await breakpoints.toggle(spot);
    await breakpoints.toggle({ on: 'step', step: 1 });
    assert.deepEqual(host.actions, [
      { do: 'breakpoint', on: { name: 'renew' } },
      { do: 'breakpoint', on: { rollout: 'r1', seq: steps[0] }, set: {} },
    ]);
    assert.deepEqual(host.commands, []);
    assert.deepEqual(await hitsSoFar(data, spot, { when: 'tool.arguments.days > 7' }), { hits: 1, of: 2 });
    assert.equal(await hitsSoFar(data, spot, { when: 'tool.' }), undefined);
    data.close();
  });
});

describe('an edit', () => {
  it('applies in place to the held event, and as a fork to past ones', () => {
    const {
      events,
      calls: [first = 0, second = 0],
      steps,
    } = desk(true);
    const model = modelOf(events);
    const hold = currentHold(model);
    assert.ok(hold !== undefined);
    const [here, ...more] = heldTargets(model, hold);
    assert.deepEqual([here?.kind, here?.of, more], ['arguments', { seq: second }, []]);
    assert.equal(skipTarget(model, hold)?.kind, 'skip');
    const before = editTargets(model, subjectAt(model, first)!);
    assert.deepEqual(
      before.map(({ kind, where, cut }) => [kind, where, cut]),
      [
        ['arguments', 'fork', first],
        ['result', 'fork', first + 2],
      ],
    );
    assert.deepEqual(
      editTargets(model, subjectAt(model, steps[0] ?? 0)!).map(({ kind, where }) => [kind, where]),
      [
        ['reply', 'fork'],
        ['sampling', 'fork'],
      ],
    );
    assert.deepEqual(
      editTargets(model, subjectAt(model, 2)!).map(({ kind, of, cut }) => [kind, of, cut]),
      [['message', { m: 1 }, 2]],
    );
  });

  it('has a change for each changed member, and none for the others', () => {
    const { events, calls } = desk(false);
    const model = modelOf(events);
    const [target] = editTargets(model, subjectAt(model, calls[1] ?? 0)!);
    assert.ok(target !== undefined);
    assert.deepEqual(
      target.fields.map(({ path }) => path),
      ['/arguments/loan', '/arguments/days', '/arguments/a~1b'],
    );
    const texts = new Map(target.fields.map((field) => [field.path, fieldText(field.before)]));
    assert.deepEqual(editsOf(target, texts), { edits: [], wrong: [] });
    texts.set('/arguments/days', '7').set('/arguments/a~1b', '{"deep": [2]}');
    assert.deepEqual(editsOf(target, texts).edits, [
      { of: { seq: calls[1] }, path: '/arguments/days', value: 7 },
      { of: { seq: calls[1] }, path: '/arguments/a~1b', value: { deep: [2] } },
    ]);
    texts.set('/arguments/days', 'seven');
    assert.deepEqual(editsOf(target, texts).wrong, ['days']);
  });

  it('of a fork repeats the model call or the call itself', () => {
    const { events, calls, steps } = desk(false);
    const model = modelOf(events);
    assert.equal(forkTarget(model, subjectAt(model, calls[1] ?? 0)!)?.cut, calls[1]);
    assert.equal(forkTarget(model, subjectAt(model, steps[1] ?? 0)!)?.cut, (steps[1] ?? 0) - 1);
    assert.equal(forkTarget(model, subjectAt(model, 2)!)?.cut, 2);
    assert.equal(forkTarget(model, subjectAt(model, model.last)!), undefined);
  });
});
