// The time axis costs what its pixels cost, not what its events do.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import { Lanes } from '../../../../webview/trajectory/axis/lanes.ts';
import { paint } from '../../../../webview/trajectory/axis/paint/paint.ts';
import type { Colours, Scene } from '../../../../webview/trajectory/axis/paint/scene.ts';
import { longStream } from '../../../perf/support/longStream.ts';
import { Stream } from '../../../support/stream.ts';

const NAMES = ['text', 'dim', 'line', 'grid', 'background', 'model', 'tool', 'agent', 'error', 'world', 'infra', 'held', 'note', 'focus', 'selection', 'font'] as const;
const COLOURS = Object.fromEntries(NAMES.map((name) => [name, name])) as unknown as Colours;
const [WIDTH, GUTTER] = [1200, 108];

interface Rect { readonly colour: string; readonly x: number; readonly width: number; readonly y: number }

/** Notes what is filled, and how often anything was asked of it. */
function recorder(): { readonly canvas: CanvasRenderingContext2D; readonly rects: Rect[]; calls: number } {
  const seen = { rects: [] as Rect[], calls: 0 };
  const state: Record<string, unknown> = {};
  const rect = (x: number, y: number, width: number): number => seen.rects.push({ colour: String(state['fillStyle']), x, y, width });
  const canvas = new Proxy(state, {
    get: (_, name) => (typeof name === 'string' && name in state ? state[name] : (...given: number[]) => {
      seen.calls += 1;
      if (name === 'fillRect' || name === 'roundRect') rect(given[0]!, given[1]!, given[2]!);
      return name === 'measureText' ? { width: 20 } : undefined;
    }),
  });
  return Object.assign(seen, { canvas: canvas as unknown as CanvasRenderingContext2D });
}

function painted(model: TrajectoryModel): ReturnType<typeof recorder> {
  const lanes = new Lanes(model);
  lanes.advance();
  const whole = { from: 0, to: lanes.end };
  const scene: Scene = { lanes, marks: [], range: whole, whole, selected: undefined, width: WIDTH, gutter: GUTTER, colours: COLOURS, now: 0 };
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
  it('takes as much for twenty thousand steps as for two thousand, and leaves no gap where there is none', () => {
    const [short, long] = [painted(modelOf(longStream(2_000))), painted(modelOf(longStream(20_000)))];
    assert.ok(long.calls < 4_000, `${long.calls} calls`);
    assert.ok(long.calls < short.calls * 1.5, `${long.calls} calls after ${short.calls}`);
    for (const colour of ['model', 'tool']) {
      const bars = long.rects.filter((one) => one.colour === colour);
      for (let x = GUTTER + 1; x < WIDTH - 1; x += 10) assert.ok(bars.some((bar) => bar.x <= x && bar.x + bar.width >= x), `${colour} at ${x}`);
    }
  });

  it('keeps what failed in its own colour among thousands', () => {
    const s = new Stream();
    s.start();
    const steps = 3_000;
    for (let step = 1; step <= steps; step++) {
      s.model('', [{ id: `c${step}`, name: 'look', arguments: {} }]);
      const failed = step > steps / 2 && step <= steps / 2 + 100;
      s.toolEnd(s.toolStart(`c${step}`, 'look', {}), `c${step}`, '', failed ? { error: { class: 'tool_error', message: 'no' } } : {});
    }
    const errors = painted(modelOf(s)).rects.filter((one) => one.colour === 'error' && one.y > 22);
    assert.ok(errors.length > 0, 'they are seen');
    const middle = GUTTER + (WIDTH - GUTTER) / 2;
    for (const { x, width } of errors) assert.ok(x > middle - 10 && x + width < middle + 60, `from ${x}, ${width} wide`);
  });
});
