// A distant place is shown before everything that precedes it is read.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import { type Place, placeIn, readAround } from '../../../../webview/data/around.ts';
import { TrajectoryData } from '../../../../webview/data/trajectoryData.ts';
import { storyHost } from '../../../../webview/host/story.ts';
import { Look } from '../../../../webview/trajectory/look.ts';
import { Random } from '../../../support/random.ts';
import { Stream } from '../../../support/stream.ts';
import { aRow } from '../batch/rows.ts';

/** Steps of very different lengths: some have no calls, some hundreds. */
function uneven(steps: number): TraceEvent[] {
  const random = new Random(5);
  const s = new Stream();
  s.start();
  s.message('user', 'Renew everything.');
  for (let step = 1; step <= steps; step++) {
    const calls = random.next() < 0.02 ? 60 : random.next() < 0.5 ? 0 : 2;
    s.model(
      `Step ${step}`,
      Array.from({ length: calls }, (_, i) => ({ id: `c${step}-${i}`, name: 'renew', arguments: { step, i } })),
    );
    for (let i = 0; i < calls; i++)
      s.toolEnd(s.toolStart(`c${step}-${i}`, 'renew', { step, i }), `c${step}-${i}`, { ok: true });
  }
  s.end();
  return s.events;
}

function wholeOf(events: readonly TraceEvent[]): TrajectoryModel {
  const model = new TrajectoryModel();
  model.push(events);
  return model;
}

/** Like the server's responses: a page also ends after this many characters. */
class Server {
  reads = 0;
  readonly #events: readonly TraceEvent[];

  constructor(events: readonly TraceEvent[]) {
    this.#events = events;
  }

  events(
    _stream: string,
    { after = 0, until = Infinity, limit = 10_000 }: { after?: number; until?: number; limit?: number } = {},
  ): Promise<{ events: TraceEvent[]; last: number }> {
    this.reads += 1;
    const page: TraceEvent[] = [];
    let chars = 0;
    for (const event of this.#events.slice(after, Math.min(until, after + limit))) {
      if (chars > 2_000_000) break;
      page.push(event);
      chars += JSON.stringify(event).length;
    }
    return Promise.resolve({ events: page, last: this.#events.length });
  }
}

function around(server: Server, whole: TrajectoryModel, place: Place): Promise<TrajectoryModel | undefined> {
  return readAround(
    server,
    'r',
    place,
    () => Promise.resolve({ last: whole.last, steps: whole.steps.length - 1 }),
    new AbortController().signal,
  );
}

describe('reading around a place', () => {
  const events = uneven(3_000);
  const whole = wholeOf(events);

  it('shows any step like the whole does, after a few reads', async () => {
    const random = new Random(8);
    for (let turn = 0; turn < 40; turn++) {
      const step = 1 + Math.floor(random.next() * 3_000);
      const server = new Server(events);
      const part = await around(server, whole, { step });
      const there = whole.step(step)!;
      if (there.seq <= 1_000) {
        assert.equal(part, undefined, 'the first events come as soon');
        continue;
      }
      assert.equal(placeIn(part!, { step }), there.seq);
      assert.deepEqual(part!.step(step)!.seqs, there.seqs);
      assert.deepEqual(part!.step(step)!.tools, there.tools);
      assert.equal(part!.start, part!.event(1));
      assert.ok(server.reads < 24, `${server.reads} reads for step ${step}`);
      const { from, to } = part!.skipped!;
      assert.equal(from, 2);
      for (const seq of [2, to]) assert.equal(part!.event(seq) ?? part!.stepOf(seq), undefined);
      assert.ok(part!.last - there.seq >= 400 || part!.last === whole.last);
      // Every event of it is in the same step as in the whole.
      for (let seq = to + 1; seq <= part!.last; seq++) assert.equal(part!.stepOf(seq)!.index, whole.stepOf(seq)!.index);
    }
  });

  it('has the rows and the times of the whole', async () => {
    const choice = { only: new Set<never>(), toggled: new Set<number>() };
    const part = await around(new Server(events), whole, { seq: 20_000 });
    const [look, all] = [new Look(part!, choice), new Look(whole, choice)];
    look.advance();
    all.advance();
    const row = look.rowOf(20_000);
    assert.deepEqual(row, all.rowOf(20_000));
    const rowsAt = (one: Look): unknown => one.rows.all.slice(one.rows.indexOf(20_000), one.rows.indexOf(20_000) + 50);
    assert.deepEqual(rowsAt(look), rowsAt(all));
    assert.deepEqual(look.lanes.rangeOf(20_000), all.lanes.rangeOf(20_000));
  });

  it('is undefined for an unknown place, or when no step begins near it', async () => {
    assert.equal(await around(new Server(events), whole, { step: 3_001 }), undefined);
    assert.equal(await around(new Server(events), whole, { step: 0 }), undefined);
    assert.equal(await around(new Server(events), whole, { seq: whole.last + 1 }), undefined);
    const s = new Stream();
    s.start();
    s.model('', [{ id: 'c', name: 'watch', arguments: {} }]);
    const span = s.toolStart('c', 'watch', {});
    for (let i = 0; i < 5_000; i++) s.diff([{ table: 'loans', key: i, op: 'delete', before: i }], span);
    assert.equal(await around(new Server(s.events), wholeOf(s.events), { seq: 4_000 }), undefined);
  });

  it('begins at the place when large events fill a page before it', async () => {
    const s = new Stream();
    s.start();
    for (let step = 1; step <= 800; step++) s.model('x'.repeat(20_000));
    const all = wholeOf(s.events);
    const seq = all.step(700)!.seq;
    const part = await around(new Server(s.events), all, { step: 700 });
    assert.equal(part!.skipped!.to, seq - 1);
    assert.deepEqual(part!.step(700)!.seqs, all.step(700)!.seqs);
  });
});

describe('the data of a trajectory', () => {
  it('shows a part until the whole has reached it, with identical events', async () => {
    const events = uneven(6_000);
    const row = aRow({ last: events.length, progress: { step: 6_000, steps: 6_000 } });
    const batch = {
      batch: 'b1',
      name: 'long',
      created_at: 1,
      state: 'ended' as const,
      submission: '0'.repeat(64),
      tasks: 1,
      attempts: 1,
      truncated: 0,
      steps: 0,
      input_tokens: 0,
      output_tokens: 0,
      imported: true,
      rev: 1,
      last: 0,
      counts: { passed: 1, failed: 0, unscored: 0, cancelled: 0, infrastructure: 0, running: 0, held: 0, queued: 0 },
    };
    const host = storyHost({
      batch,
      rows: [row],
      tasks: [{ id: row.task, question: '?', meta: {} }],
      events: { r1: events },
    });
    const data = new TrajectoryData(host, 'r1');
    const seen = { part: 0, kept: true };
    let there: unknown;
    data.seek({ step: 5_500 });
    data.seek({ step: 5_500 }); // is read once
    const took = data.onEvents(() => {
      const { model } = data;
      const seq = placeIn(model, { step: 5_500 });
      if (model.skipped !== undefined && seq !== undefined) {
        seen.part += 1;
        there ??= model.event(seq);
      }
      if (there !== undefined) seen.kept &&= seq !== undefined && model.event(seq) === there;
    });
    await new Promise<void>((resolve) => {
      const changed = data.changed(() => {
        if (data.loading !== 'head') return;
        changed.dispose();
        resolve();
      });
    });
    took.dispose();
    assert.ok(seen.part > 0, 'a part was visible');
    assert.ok(seen.kept, 'the place stayed visible from then on');
    assert.equal(data.model, data.whole);
    assert.equal(data.whole.last, events.length);
    assert.equal(data.whole.event(data.whole.step(5_500)!.seq), there);
    data.seek({ step: 3 });
    assert.equal(data.model, data.whole, 'nothing is read again');
    data.close();
  });
});
