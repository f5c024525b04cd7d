import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { SqlStore } from '../../../src/store/sqlStore.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { endOf, event, eventsOf, logLine, logLines, openBatch, wholeRollout } from '../../support/trajectories.ts';
import type { Subject } from './suite.ts';

export function appendTests(subject: Subject): void {
  describe('appends', () => {
    it('keeps events unchanged, whatever they contain', async () => {
      const store = subject.store();
      const { session } = await openBatch(store, 1);
      const [lease] = await store.lease(session, 1);
      const odd = '\0 \ud800 \udfff" \\ \n \r \u2028 \t é 漢 😀 $1 ?';
      const events: TraceEvent[] = [
        event(1, 'log', { stream: 'out', text: odd }),
        event(2, 'message', {
          m: 1,
          role: 'tool',
          parts: [{ type: 'tool_call_response', id: odd, response: { [odd]: [odd, 1e308, -0.1, null] } }],
          origin: 'tool',
        }),
        { ...event(3, 'log', { stream: 'out', text: '' }), unheard_of: { a: [1] } } as unknown as TraceEvent,
        { seq: 4, v: 1, at: 9, kind: 'from.the.future', data: { deep: odd } } as unknown as TraceEvent,
      ];
      assert.deepEqual(await store.append({ rollout: lease!.rollout, epoch: 1, from: 1, events }), {
        ok: true,
        durable: 4,
      });
      assert.deepEqual(await eventsOf(store, lease!.rollout), events);
      assert.deepEqual(
        (await store.read(lease!.rollout, 2, 1)).map(({ seq, body }) => [seq, body]),
        [[3, JSON.stringify(events[2])]],
      );
    });

    it('acknowledges a repeat, takes the rest of an overlap, refuses a gap', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 1);
      const [lease] = await store.lease(session, 1);
      const append = (from: number, count: number) =>
        store.append({ rollout: lease!.rollout, epoch: 1, from, events: logLines(from, count) });
      assert.deepEqual(await append(1, 3), { ok: true, durable: 3 });
      const { rev } = (await store.batch(batch))!.row;
      assert.deepEqual(await append(1, 3), { ok: true, durable: 3 });
      assert.deepEqual(await append(2, 1), { ok: true, durable: 3 });
      assert.equal((await store.batch(batch))!.row.rev, rev, 'a repeat changes nothing');
      assert.deepEqual(await append(2, 4), { ok: true, durable: 5 });
      const gap = await append(7, 1);
      assert.deepEqual([gap.ok, !gap.ok && gap.code, gap.durable], [false, 'gap', 5]);
      const wrong = await store.append({
        rollout: lease!.rollout,
        epoch: 1,
        from: 6,
        events: [logLine(6), logLine(8)],
      });
      assert.deepEqual([wrong.ok, !wrong.ok && wrong.code], [false, 'gap']);
      assert.deepEqual(
        (await eventsOf(store, lease!.rollout)).map(({ seq }) => seq),
        [1, 2, 3, 4, 5],
      );
    });

    it('fences every epoch but the newest, and everybody after the end', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 1, { attempts: 1 });
      const [lease] = await store.lease(session, 1);
      const { rollout } = lease!;
      for (const epoch of [0, 2]) {
        const result = await store.append({ rollout, epoch, from: 1, events: [logLine(1)] });
        assert.deepEqual([result.ok, !result.ok && result.code, result.durable], [false, 'fenced', 0]);
      }
      const events = wholeRollout(1, lease!, batch);
      assert.equal((await store.append({ rollout, epoch: 1, from: 1, events })).ok, true);
      assert.deepEqual(await store.append({ rollout, epoch: 1, from: 1, events }), {
        ok: true,
        durable: events.length,
      });
      const late = await store.append({
        rollout,
        epoch: 1,
        from: events.length + 1,
        events: [logLine(events.length + 1)],
      });
      assert.deepEqual([late.ok, !late.ok && late.code], [false, 'fenced']);
      const after = await store.append({ rollout: 'r-none', epoch: 1, from: 1, events: [logLine(1)] });
      assert.deepEqual([after.ok, !after.ok && after.code], [false, 'fenced']);
    });

    it('takes nothing after an end', async () => {
      const store = subject.store();
      const { session } = await openBatch(store, 1);
      const [lease] = await store.lease(session, 1);
      const result = await store.append({
        rollout: lease!.rollout,
        epoch: 1,
        from: 1,
        events: [event(1, 'rollout.end', endOf({})), logLine(2)],
      });
      assert.equal(result.ok, false);
      assert.equal((await store.rollout(lease!.rollout))?.row.last, 0);
    });

    it('answers each of many simultaneous appends separately', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 8);
      const leases = await store.lease(session, 8);
      const results = await Promise.all(
        leases.flatMap(({ rollout, epoch }, n) => [
          store.append({ rollout, epoch, from: 1, events: logLines(1, 2) }),
          store.append({ rollout, epoch, from: 3, events: logLines(3, 2) }), // behind one that is not committed yet
          store.append({ rollout, epoch: n === 3 ? 9 : epoch, from: 5, events: logLines(5, 1) }),
          store.append({ rollout, epoch, from: 9, events: logLines(9, 1) }),
        ]),
      );
      for (let n = 0; n < 8; n++) {
        const [a, b, c, d] = results.slice(4 * n, 4 * n + 4);
        assert.deepEqual([a?.ok, b?.ok, c?.ok, d?.ok], [true, true, n !== 3, false]);
        assert.equal((await eventsOf(store, leases[n]!.rollout)).length, n === 3 ? 4 : 5);
      }
      const rows = await store.rowsSince(batch, 0, 100);
      assert.equal(new Set(rows.map(({ rev }) => rev)).size, rows.length, 'every change has a revision of its own');
    });

    it('keeps the row and the counters up to date', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 1);
      const [lease] = await store.lease(session, 1);
      const append = (events: TraceEvent[]) =>
        store.append({ rollout: lease!.rollout, epoch: 1, from: events[0]!.seq, events });
      const row = async () => (await store.rollout(lease!.rollout))!.row;
      const counts = async () => (await store.batch(batch))!.row.counts;
      const all = wholeRollout(1, lease!, batch, { steps: 2 });
      await append(all.slice(0, 4));
      assert.deepEqual(
        [(await row()).progress.steps, (await row()).state, (await counts()).running],
        [1, 'running', 1],
      );
      await append([event(5, 'hold', { why: 'breakpoint', side: 'before', breakpoint: 'x' })]);
      assert.deepEqual(
        [(await row()).state, (await row()).progress.hold?.why, (await counts()).held, (await counts()).running],
        ['held', 'breakpoint', 1, 0],
      );
      await append([event(6, 'release', { how: 'continue', held_ms: 5 })]);
      assert.deepEqual(
        [(await row()).state, (await row()).progress.hold, (await counts()).held],
        ['running', undefined, 0],
      );
      await append(all.slice(4).map((one, index) => ({ ...one, seq: 7 + index })));
      const ended = await row();
      assert.deepEqual(
        [ended.state, ended.settles, ended.progress.steps, ended.progress.passed, ended.last],
        ['ended', true, 2, true, 9],
      );
      assert.deepEqual(await counts(), {
        passed: 1,
        failed: 0,
        unscored: 0,
        cancelled: 0,
        infrastructure: 0,
        running: 0,
        held: 0,
        queued: 1,
      });
      const { steps, input_tokens, output_tokens } = (await store.batch(batch))!.row;
      assert.deepEqual([steps, input_tokens, output_tokens], [2, 20, 10]);
      assert.equal((await store.rollout(lease!.rollout))?.session, undefined);
      assert.equal(await store.rollout('r-none'), undefined);
    });

    it('counts side models separately; the limit of tokens counts them, too', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 1);
      const [lease] = await store.lease(session, 1);
      const usage = { input_tokens: 100, output_tokens: 7 };
      const side = { calls: 1, cached_tokens: 0, ...usage };
      const [start, held, first, done, end] = wholeRollout(1, lease!, batch) as [
        TraceEvent,
        TraceEvent,
        TraceEvent,
        TraceEvent,
        TraceEvent,
      ];
      const events = [
        start,
        held,
        first,
        done,
        event(5, 'model.start', { step: 1, side: 'judge', model: 'j', context: [], sampling: {} }, { agent: 'judge' }),
        event(6, 'model.end', { status: 'ok', usage, trainable: false, source: 'live' }, { agent: 'judge', span: 5 }),
      ];
      await store.append({ rollout: lease!.rollout, epoch: 1, from: 1, events });
      const check = async (): Promise<void> => {
        const { progress } = (await store.rollout(lease!.rollout))!.row;
        assert.deepEqual(
          [progress.steps, progress.input_tokens, progress.output_tokens, progress.side],
          [1, 10, 5, side],
        );
        const { row } = (await store.batch(batch))!;
        assert.deepEqual([row.steps, row.input_tokens, row.output_tokens], [1, 10, 5]);
        assert.deepEqual(row.side_tokens, { input: 100, output: 7 });
        assert.equal((await store.batchProgress(batch, undefined)).tokens, 122);
      };
      await check();
      await store.append({ rollout: lease!.rollout, epoch: 1, from: 7, events: [{ ...end, seq: 7 }] });
      await check();
    });

    it('reads a long stream from any seq, also after it was compressed', async () => {
      const store = subject.store();
      const { session } = await openBatch(store, 1);
      const [lease] = await store.lease(session, 1);
      const N = 3000;
      for (let from = 1; from < N; ) {
        const count = Math.min(1 + ((from * 7) % 97), N - from);
        await store.append({ rollout: lease!.rollout, epoch: 1, from, events: logLines(from, count, 300) });
        from += count;
      }
      const check = async (): Promise<void> => {
        for (const after of [0, 1, 17, 998, N - 3, N - 2, N - 1, N + 5]) {
          const page = await store.read(lease!.rollout, after, 20_000);
          assert.deepEqual(
            page.map(({ seq }) => seq),
            Array.from({ length: Math.max(0, Math.min(page.length, N - 1 - after)) }, (_, n) => after + 1 + n),
          );
          assert.ok(page.length > 0 || after >= N - 1);
          for (const { seq, body } of page.slice(0, 3)) assert.deepEqual(JSON.parse(body), logLine(seq, 300));
          assert.ok(page.reduce((sum, { body }) => sum + body.length, 0) < 21_000);
        }
      };
      await check();
      assert.equal((await store.read(lease!.rollout, 5, 1)).length, 1, 'at least one');
      await store.append({ rollout: lease!.rollout, epoch: 1, from: N, events: [event(N, 'rollout.end', endOf({}))] });
      const other = subject.other();
      assert.ok(store instanceof SqlStore && other instanceof SqlStore);
      const reading = (async () => {
        for (let n = 0; n < 20; n++) assert.equal((await eventsOf(store, lease!.rollout)).length, N);
      })();
      await Promise.all([store.pack(), reading, other.pack()]);
      assert.equal((await eventsOf(store, lease!.rollout)).length, N);
      for (const after of [0, 998, N - 2])
        assert.equal((await store.read(lease!.rollout, after, 1))[0]?.seq, after + 1);
      await assert.rejects(store.read('r-none', 0, 1), (error) => StudioError.is(error, 'not_found'));
    });

    it('returns rows by revision, none lost while others append', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 6, { attempts: 4 });
      const leases = await store.lease(session, 24);
      let writing = true;
      const appends = Promise.all(
        leases.map(async ({ rollout, epoch }, n) => {
          const writer = n % 2 === 0 ? store : subject.other();
          for (let seq = 1; seq <= 25; seq++) {
            const result = await writer.append({ rollout, epoch, from: seq, events: [logLine(seq)] });
            assert.equal(result.ok, true);
          }
        }),
      ).finally(() => {
        writing = false;
      });
      const last = new Map<string, number>();
      let rev = 0;
      for (let more = true; more; ) {
        more = writing;
        for (
          let page = await store.rowsSince(batch, rev, 7);
          page.length > 0;
          page = await store.rowsSince(batch, rev, 7)
        ) {
          for (const row of page) {
            assert.ok(row.rev > rev);
            rev = row.rev;
            last.set(row.rollout, row.last);
          }
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      await appends;
      assert.deepEqual(
        [...last.values()],
        Array.from({ length: 24 }, () => 25),
      );
    });

    it('calls watchers after a commit, and not after they are closed', async () => {
      const store = subject.store();
      const { batch, session } = await openBatch(store, 1);
      const seen = new Set<string>();
      const end = store.watch((ids) => ids.forEach((id) => seen.add(id)));
      const [lease] = await store.lease(session, 1);
      await store.append({ rollout: lease!.rollout, epoch: 1, from: 1, events: [logLine(1)] });
      assert.ok(seen.has(batch) && seen.has(lease!.rollout));
      end();
      seen.clear();
      await store.append({ rollout: lease!.rollout, epoch: 1, from: 2, events: [logLine(2)] });
      assert.deepEqual([...seen], []);
    });
  });
}
