import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../../src/common/errors.ts';
import type { TraceEvent } from '../../../../src/trace/schema.ts';
import type { RolloutRow } from '../../../../src/trace/summary.ts';
import { AttemptReader } from '../../../../webview/batch/attempt/record/attemptReader.ts';
import { attemptChecks, causeDetail } from '../../../../webview/batch/model/attemptChecks.ts';
import { rightDesk, wrongDesk } from '../../../../webview/stories/trajectory/desk/wrong.ts';
import { Stream } from '../../../support/stream.ts';
import { failed, passed } from './rows.ts';

const { signal } = new AbortController();

/** Reads events, and counts them. */
function eventsOf(streams: Readonly<Record<string, readonly TraceEvent[]>>) {
  let read = 0;
  return {
    read: () => read,
    events: (stream: string, { after = 0, limit = 100 }: { after?: number; limit?: number }) => {
      const all = streams[stream];
      if (all === undefined) return Promise.reject(new StudioError('not_found', 'Deleted.'));
      const events = all.filter(({ seq }) => seq > after).slice(0, limit);
      read += events.length;
      return Promise.resolve({ events, last: all.length });
    },
  };
}

function long(steps: number): TraceEvent[] {
  const s = new Stream();
  s.start();
  for (let i = 0; i < steps; i++) s.model(`Step ${i}`, []);
  s.end({ passed: false, reward: 0 });
  return s.events;
}

describe('the reader of an attempt', () => {
  const own = wrongDesk();
  const row = failed({ rollout: 'r1', attempt: 3, last: own.length });
  const right = passed({ rollout: 'r2', attempt: 4 });

  it('reads a usual attempt as a whole, and finds where it diverges', async () => {
    const api = eventsOf({ r1: own, r2: rightDesk() });
    const reader = new AttemptReader('r1');
    await reader.readOn(api, own.length, signal);
    assert.equal(reader.outline.score?.checks?.length, 3);
    assert.equal(reader.outline.end?.answer, 'L-3001 is renewed until May 15.');
    assert.deepEqual(
      reader.outline.calls.filter(({ kind }) => kind === 'tool').map(({ ms, failed: isFailed }) => [ms, isFailed]),
      [
        [120, false],
        [130, false],
        [90, true],
        [120, false],
      ],
    );
    assert.equal(await reader.findSplit(api, [row, right], signal), true);
    assert.equal(reader.split?.other, right);
    assert.equal(reader.model?.stepOf(reader.split.seq)?.index, 3);
    const before = api.read();
    assert.equal(await reader.findSplit(api, [row, right], signal), false);
    assert.equal(api.read(), before);
  });

  it('has no divergence without a passed attempt, or if it was deleted', async () => {
    for (const others of [[], [right]]) {
      const api = eventsOf({ r1: own });
      const reader = new AttemptReader('r1');
      await reader.readOn(api, own.length, signal);
      await reader.findSplit(api, [row, ...others], signal);
      assert.equal(reader.split, undefined);
    }
  });

  it('reads only the first and the last events of a long attempt', async () => {
    const events = long(2_000);
    const api = eventsOf({ r1: events, r2: rightDesk() });
    const reader = new AttemptReader('r1');
    await reader.readOn(api, events.length, signal);
    assert.equal(api.read(), 300);
    assert.equal(reader.model, undefined);
    assert.equal(reader.outline.ended, true);
    assert.deepEqual(
      reader.outline.calls.filter(({ kind }) => kind === 'gap').length,
      reader.outline.steps.filter(({ kind }) => kind === 'gap').length,
    );
    assert.equal(await reader.findSplit(api, [row, right], signal), false);
  });
});

describe('what explains an attempt', () => {
  const end = { answer: '4.20' } as NonNullable<AttemptReader['outline']['end']>;
  const task = { id: 't1', question: 'How much?', answer: 4.8, meta: {} };
  const wrong = { kind: 'answer', text: 'answer wrong' } as const;

  it('are the checks of its score, or else the answer and the expected one', () => {
    const score = { scorer: 'exact', value: 0, passed: false, parts: { format: 0 } };
    assert.deepEqual(attemptChecks({ score, end }, task, wrong), [{ name: 'format', passed: false, actual: 0 }]);
    assert.deepEqual(attemptChecks({ score: undefined, end }, task, wrong), [
      { name: 'answer', passed: false, expected: 4.8, actual: '4.20' },
    ]);
    assert.deepEqual(attemptChecks({ score: undefined, end }, undefined, wrong), []);
    assert.deepEqual(attemptChecks({ score: undefined, end }, task, { kind: 'limit', text: 'step limit' }), []);
    assert.deepEqual(attemptChecks(undefined, task, wrong), []);
  });

  it('is otherwise the error, or what the score explains beyond the cause', () => {
    const limit: Pick<RolloutRow, 'progress'> = {
      progress: { ...failed().progress, error_message: 'The limit of 30 steps is reached.' },
    };
    assert.equal(causeDetail(undefined, limit, wrong), 'The limit of 30 steps is reached.');
    const score = { scorer: 'model', value: 0, passed: false, explanation: 'answer wrong. It names another book.' };
    assert.equal(causeDetail({ score }, failed(), wrong), 'It names another book.');
    assert.equal(causeDetail(undefined, failed(), wrong), undefined);
  });
});
