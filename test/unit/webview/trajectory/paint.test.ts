// The cost of the time axis depends on its pixels, not on its events.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { Lanes } from '../../../../webview/trajectory/axis/lanes.ts';
import { paint } from '../../../../webview/trajectory/axis/paint/paint.ts';
import type { Colours, Scene } from '../../../../webview/trajectory/axis/paint/scene.ts';
import { LINEAR, TimeScale } from '../../../../webview/trajectory/axis/scale.ts';
import { longStream } from '../../../perf/support/longStream.ts';
import { Stream } from '../../../support/stream.ts';

const NAMES = [
  'text',
  'dim',
  'line',
  'grid',
  'background',
  'model',
  'tool',
  'agent',
  'error',
  'world',
  'infra',
  'held',
  'note',
  'focus',
  'selection',
  'font',
] as const;
const COLOURS = Object.fromEntries(NAMES.map((name) => [name, name])) as unknown as Colours;
const [WIDTH, GUTTER] = [1200, 108];

interface Rect {
  readonly colour: string;
  readonly x: number;
  readonly width: number;
  readonly y: number;
}
interface Outline extends Rect {
  readonly dashed: boolean;
}

/** Records filled areas, and the number of operations. */
function recorder(): {
  readonly canvas: CanvasRenderingContext2D;
  readonly rects: Rect[];
  readonly outlines: Outline[];
  readonly texts: string[];
  calls: number;
} {
  const seen = { rects: [] as Rect[], outlines: [] as Outline[], texts: [] as string[], calls: 0 };
  let dashed = false;
  const state: Record<string, unknown> = {};
  const rect = (x: number, y: number, width: number): number =>
    seen.rects.push({ colour: String(state['fillStyle']), x, y, width });
  const canvas = new Proxy(state, {
    get: (_, name) =>
      typeof name === 'string' && name in state
        ? state[name]
        : (...args: number[]) => {
            seen.calls += 1;
            if (name === 'setLineDash') dashed = (args as unknown as [readonly number[]])[0].length > 0;
            if (name === 'strokeRect')
              seen.outlines.push({
                colour: String(state['strokeStyle']),
                x: args[0]!,
                y: args[1]!,
                width: args[2]!,
                dashed,
              });
            if (name === 'fillText') seen.texts.push(String(args[0]));
            if (name === 'fillRect' || name === 'roundRect') rect(args[0]!, args[1]!, args[2]!);
            return name === 'measureText' ? { width: 20 } : undefined;
          },
  });
  return Object.assign(seen, { canvas: canvas as unknown as CanvasRenderingContext2D });
}

function painted(model: TrajectoryModel, options: Partial<Scene> = {}): ReturnType<typeof recorder> {
  const lanes = new Lanes(model);
  lanes.advance();
  const whole = { from: 0, to: lanes.end };
  const scene: Scene = {
    lanes,
    marks: [],
    range: whole,
    whole,
    scale: LINEAR,
    diverges: undefined,
    selected: undefined,
    width: WIDTH,
    gutter: GUTTER,
    colours: COLOURS,
    now: 0,
    ...options,
  };
  const seen = recorder();
  paint(seen.canvas, scene);
  return seen;
}

function modelOf(s: Stream): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(s.events);
  return model;
}

describe('painting the time axis', () => {
  it('costs as much for twenty thousand steps as for two thousand, and leaves no false gap', () => {
    const [short, long] = [painted(modelOf(longStream(2_000))), painted(modelOf(longStream(20_000)))];
    assert.ok(long.calls < 4_000, `${long.calls} calls`);
    assert.ok(long.calls < short.calls * 1.5, `${long.calls} calls after ${short.calls}`);
    for (const colour of ['model', 'tool']) {
      const bars = long.rects.filter((one) => one.colour === colour);
      for (let x = GUTTER + 1; x < WIDTH - 1; x += 10)
        assert.ok(
          bars.some((bar) => bar.x <= x && bar.x + bar.width >= x),
          `${colour} at ${x}`,
        );
    }
  });

  it('labels the diverging step among thousands', () => {
    const model = modelOf(longStream(2_000));
    const step = model.steps[1_000]?.model?.start;
    const { texts } = painted(model, { diverges: { at: (step?.at ?? 0) - (model.event(1)?.at ?? 0), step: 1_000 } });
    assert.deepEqual(
      texts.filter((text) => text.includes('1000')),
      ['1000 diverges'],
    );
    assert.ok(texts.length > 20, 'other steps have their numbers');
  });

  it('says how long each collapsed time took', () => {
    const s = new Stream();
    s.start();
    s.model('Hello');
    s.add('hold', { why: 'pause', side: 'before' });
    s.add('release', { how: 'continue', held_ms: 30_000 });
    for (const event of s.events.slice(-1)) event.at += 30_000;
    const model = modelOf(s);
    const idle = { from: 40, to: 30_050, held: true, text: '' };
    const { texts } = painted(model, { scale: new TimeScale([idle], 10) });
    assert.ok(texts.includes('30.0 s'), texts.join(', '));
  });

  it('has a clock whose labels differ, however near they are', () => {
    const s = new Stream();
    s.start();
    const clock = (from: number, to: number): string[] =>
      painted(modelOf(s), { range: { from, to } }).texts.filter((text) => /^\d[\d.a-z ]* m?s$/.test(text));
    assert.deepEqual(clock(6_080, 6_390).slice(0, 4), ['6.1 s', '6.15 s', '6.2 s', '6.25 s']);
    assert.deepEqual(clock(65_000, 65_500).slice(0, 3), ['1 min 5 s', '1 min 5.05 s', '1 min 5.1 s']);
    for (const from of [0, 990, 59_990, 65_001, 7_201_003]) {
      const labels = clock(from, from + 30);
      assert.ok(labels.length > 5, labels.join());
      assert.equal(new Set(labels).size, labels.length, labels.join());
    }
  });

  it('outlines the wait before a call, and fills it from there on', () => {
    const s = new Stream();
    s.start();
    const call = s.toolStart('c1', 'look', {});
    s.add('hold', { why: 'pause', side: 'before' }, { span: call });
    s.add('release', { how: 'continue', held_ms: 10 }, { span: call });
    s.toolEnd(call, 'c1', '', { ms: 20 });
    const { rects, outlines } = painted(modelOf(s)); // from 0 to 50 ms: requested at 10, started at 30, ended at 50
    const at = (ms: number): number => GUTTER + (ms / 50) * (WIDTH - GUTTER);
    const lane = (one: Rect): boolean => one.y > 22 && one.x >= GUTTER;
    assert.deepEqual(
      outlines
        .filter((one) => lane(one) && one.dashed)
        .map(({ colour, x, width }) => [colour, Math.round(x), Math.round(x + width)]),
      [
        ['tool', Math.round(at(10) + 0.5), Math.round(at(20) - 0.5)],
        ['held', Math.round(at(20) + 0.5), Math.round(at(30) - 0.5)],
      ],
    );
    assert.deepEqual(
      rects
        .filter((one) => lane(one) && one.colour === 'tool')
        .map(({ x, width }) => [Math.round(x), Math.round(x + width)]),
      [[Math.round(at(30)), Math.round(at(50))]],
    );
    assert.equal(
      rects.filter((one) => one.y < 22 && one.colour === 'tool').length,
      2,
      'a line and a bar in the small picture',
    );
  });

  it('draws infrastructure failures differently from errors: hatched in another color, not filled', () => {
    const s = new Stream();
    s.start();
    s.add(
      'tool.end',
      { status: 'error', source: 'live', error: { class: 'infrastructure', message: 'Its worker was lost.' } },
      { span: s.toolStart('c1', 'look', {}) },
    );
    s.add('rollout.lease', { epoch: 2, worker: 'w2', how: 'resumed' });
    const { rects, outlines } = painted(modelOf(s));
    assert.deepEqual(
      rects.filter((one) => one.colour === 'error' || one.colour === 'tool'),
      [],
    );
    assert.deepEqual(
      outlines.map(({ colour, dashed }) => [colour, dashed]),
      [['infra', false]],
    );
  });

  it('keeps failures visible in their color among thousands', () => {
    const s = new Stream();
    s.start();
    const steps = 3_000;
    for (let step = 1; step <= steps; step++) {
      s.model('', [{ id: `c${step}`, name: 'look', arguments: {} }]);
      const failed = step > steps / 2 && step <= steps / 2 + 100;
      s.toolEnd(
        s.toolStart(`c${step}`, 'look', {}),
        `c${step}`,
        '',
        failed ? { error: { class: 'tool_error', message: 'no' } } : {},
      );
    }
    const errors = painted(modelOf(s)).rects.filter((one) => one.colour === 'error' && one.y > 22);
    assert.ok(errors.length > 0, 'they are seen');
    const middle = GUTTER + (WIDTH - GUTTER) / 2;
    for (const { x, width } of errors)
      assert.ok(x > middle - 10 && x + width < middle + 60, `from ${x}, ${width} wide`);
  });
});
