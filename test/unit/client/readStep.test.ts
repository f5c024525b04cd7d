// One step is shown without the rest, and exactly like the whole trajectory shows it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readStep } from '../../../src/client/readStep.ts';
import { readSteps } from '../../../src/client/readSteps.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { Api, type RolloutInfo } from '../../../src/protocol/api.ts';
import { stepBefore } from '../../../src/protocol/findStep.ts';
import { TrajectoryModel } from '../../../src/trace/model.ts';
import { advanceProgress } from '../../../src/trace/progress.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { EMPTY_PROGRESS, type Progress } from '../../../src/trace/summary.ts';
import { stepText, type TrajectoryPart, trajectoryPieces, wholePart } from '../../../src/trace/text.ts';
import { Random } from '../../support/random.ts';
import { Stream } from '../../support/stream.ts';
import { task } from '../../support/trajectories.ts';
import { aRow } from '../webview/batch/rows.ts';

const STEPS = 3_000;
const WIDE = { width: 120, color: false, rollout: 'r1' };
const { signal } = new AbortController();

interface Shape {
  /** Whether a step calls another agent, which has steps of its own. */
  readonly team?: boolean;
  readonly ended?: boolean;
}

/** Steps of very different lengths, with edits, holds, and takeovers. */
function eventful({ team = false, ended = true }: Shape = {}): TraceEvent[] {
  const random = new Random(5);
  const agent = { agent: 'desk' };
  const s = new Stream();
  s.start();
  s.add('rollout.lease', { epoch: 1, worker: 'w1', how: 'fresh' });
  const world = s.add('world.open', { world: 'library', kind: 'module', seed: 7 });
  s.message('user', 'Renew everything.');
  for (let step = 1; step <= STEPS; step++) {
    const calls = random.next() < 0.02 ? 60 : random.next() < 0.5 ? 0 : 2;
    if (random.next() < 0.05) {
      // A lost worker: the call is repeated, with the same number.
      const span = s.add('model.start', { step, model: 'demo', context: [[1, 1]], sampling: {} }, agent);
      s.add('rollout.lease', { epoch: 2, worker: 'w2', how: 'resumed' });
      const error = { class: 'infrastructure' as const, message: 'the worker was lost' };
      s.add('model.end', { status: 'error', error, trainable: false, source: 'live' }, { ...agent, span });
    }
    s.model(
      `Step ${step} ${'and so on '.repeat(20)}`,
      Array.from({ length: calls }, (_, i) => ({ id: `c${step}-${i}`, name: 'renew', arguments: { step, i } })),
      agent,
    );
    for (let i = 0; i < calls; i++) {
      const call = s.toolStart(`c${step}-${i}`, 'renew', { step, i }, agent);
      if (random.next() < 0.1) {
        s.add('hold', { why: 'step', side: 'before' }, { ...agent, span: call });
        s.add('edit', { of: { seq: call }, path: '/arguments/i', value: 7, by: 'me' }, agent);
        s.add('release', { how: 'continue', by: 'me', held_ms: 90 }, { ...agent, span: call });
      }
      if (team && step === STEPS / 2) s.model('Me too.', [], { agent: 'desk/searcher#1', parent: call });
      s.toolEnd(call, `c${step}-${i}`, { ok: true }, agent);
    }
  }
  if (!ended) return s.events;
  s.add('score', { scorer: 'world', value: 1, passed: true });
  s.add('world.close', { ms: 3, error: { class: 'world_error', message: 'already closed' } }, { span: world });
  s.end();
  return s.events;
}

/** Pages end after so many characters, like those of the server. */
const PAGE_CHARS = 100_000;

const encoded = new WeakMap<readonly TraceEvent[], { lines: readonly string[]; progress: Progress }>();

/** Returns the lines and the progress that the server has stored. */
function encodedOf(events: readonly TraceEvent[]): { lines: readonly string[]; progress: Progress } {
  const known = encoded.get(events);
  if (known !== undefined) return known;
  const lines = events.map((event) => JSON.stringify(event));
  const made = { lines, progress: advanceProgress(EMPTY_PROGRESS, events) };
  encoded.set(events, made);
  return made;
}

function served(events: readonly TraceEvent[]): { api: Api; info: RolloutInfo; read: () => number } {
  const { lines, progress } = encodedOf(events);
  let chars = 0;
  const api = new Api({
    request({ path }) {
      const query = new URL(path, 'http://localhost').searchParams;
      const after = Number(query.get('after') ?? 0);
      const end = Math.min(Number(query.get('until') ?? Infinity), after + Number(query.get('limit') ?? 10_000));
      const page: string[] = [];
      let size = 0;
      for (const line of lines.slice(after, end)) {
        if (size > PAGE_CHARS) break;
        page.push(line);
        size += line.length;
      }
      chars += size;
      const text = `{"events":[${page.join(',')}],"last":${events.length}}`;
      return Promise.resolve({
        status: 200,
        text: () => Promise.resolve(text),
        bytes: () => Promise.resolve(new TextEncoder().encode(text)),
      });
    },
  });
  const row = aRow({
    last: events.length,
    state: events.at(-1)?.kind === 'rollout.end' ? 'ended' : 'running',
    progress,
  });
  return { api, info: { row, lineage: [], task: task('t1'), submission: '' }, read: () => chars };
}

async function sameAsWhole(events: readonly TraceEvent[], steps: readonly number[], most: number): Promise<void> {
  const whole = new TrajectoryModel();
  whole.push(events);
  for (const step of steps) {
    const { api, info, read } = served(events);
    const { model, header, events: own } = await readStep(api, info, step, signal);
    assert.equal(stepText(model, step, WIDE, header), stepText(whole, step, WIDE), `step ${step}`);
    assert.deepEqual(
      own.map(({ seq }) => seq),
      whole.step(step)!.seqs,
    );
    assert.ok(read() <= most, `${read()} characters were read for step ${step}`);
  }
}

/** The first and the last steps, those of the team, and some between. */
function someSteps(): number[] {
  const random = new Random(3);
  const between = Array.from({ length: 30 }, () => 1 + Math.floor(random.next() * (STEPS - 1)));
  return [0, 1, 2, ...between, STEPS / 2, STEPS / 2 + 1, STEPS - 1, STEPS];
}

/** Compares the text of all parts from a step on with that of the whole. */
async function partsAsWhole(events: readonly TraceEvent[], from: number, full: boolean): Promise<number> {
  const whole = new TrajectoryModel();
  whole.push(events);
  const { api, info } = served(events);
  const parts: TrajectoryPart[] = [];
  async function* counted(): AsyncGenerator<TrajectoryPart> {
    for await (const part of readSteps(api, info, from, signal)) {
      parts.push(part);
      yield part;
    }
  }
  const pieces = await Array.fromAsync(trajectoryPieces(counted(), WIDE, full));
  const expected = [{ ...wholePart(whole, from), isWhole: false }]; // it says whose each step is, as parts do
  assert.deepEqual(pieces, await Array.fromAsync(trajectoryPieces(expected, WIDE, full)));
  const most = Math.max(...parts.map(({ model }) => Object.keys(model.events).length));
  assert.ok(parts.length === 1 || most < 6_000 || parts.at(-1)?.isWhole === true, `${most} events in a part`);
  return parts.length;
}

describe('reading all steps', () => {
  it('shows what the whole trajectory does, in parts', async () => {
    const events = eventful();
    for (const full of [true, false]) assert.ok((await partsAsWhole(events, 0, full)) >= 4);
    await partsAsWhole(events, STEPS - 5, true);
    await partsAsWhole(events, STEPS + 1, true);
  });

  it('shows a running trajectory, and a team', async () => {
    await partsAsWhole(eventful({ ended: false }), 0, true);
    await partsAsWhole(eventful({ team: true }), 0, false);
    await partsAsWhole(eventful({ team: true }), STEPS / 2 - 3, true);
  });

  it('reads no more than what is asked for', async () => {
    for (const from of [0, 1, STEPS / 2]) {
      const { api, info, read } = served(eventful());
      for await (const piece of trajectoryPieces(readSteps(api, info, from, signal), WIDE))
        if (piece.step === from + 3) break;
      assert.ok(read() < 2_000_000, `${read()} characters were read from step ${from} on`);
    }
  });

  it('finds the step of an event', async () => {
    const events = eventful();
    const whole = new TrajectoryModel();
    whole.push(events);
    const { api } = served(events);
    for (const { seq } of events.filter((_, index) => index % 997 === 0))
      assert.equal(await stepBefore(api, 'r1', seq, signal), whole.stepOf(seq)?.index);
  });
});

describe('reading one step', () => {
  it('reads a small part of a long trajectory', async () => {
    const events = eventful();
    const size = JSON.stringify(events).length;
    assert.ok(size > 5_000_000);
    await sameAsWhole(events, someSteps(), 1_000_000);
  });

  it('shows a running trajectory', () => sameAsWhole(eventful({ ended: false }), someSteps(), 1_000_000));

  it('shows the steps of a team, which can overlap', () => {
    const steps = [STEPS / 2 - 1, STEPS / 2, STEPS / 2 + 1, STEPS / 2 + 2];
    return sameAsWhole(eventful({ team: true }), steps, Infinity);
  });

  it('reads nothing for a step that does not exist', async () => {
    const { api, info, read } = served(eventful());
    await assert.rejects(readStep(api, info, STEPS + 1, signal), (error) => {
      assert.ok(StudioError.is(error, 'not_found'));
      assert.equal(error.hint, `It has steps 0 to ${STEPS}.`);
      return true;
    });
    assert.equal(read(), 0);
  });
});
