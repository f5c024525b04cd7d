import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { TrajectoryModel } from '../../../../src/trace/model.ts';
import type { BlobRef } from '../../../../src/trace/schema.ts';
import { firstDifferenceText, splitText } from '../../../../src/trace/segments/text.ts';
import type { RolloutRow } from '../../../../src/trace/summary.ts';
import { splitTokens } from '../../../../webview/stories/trajectory/desk/values.ts';
import { advantageOfRollout, segmentOfCall } from '../../../../webview/trajectory/detail/tabs/training.ts';
import { aRow, failed, passed } from '../batch/rows.ts';

suite('what a trainer makes of a call', () => {
  const { events, blobs } = splitTokens();
  const model = new TrajectoryModel();
  model.push(events);
  const read = ({ $blob: sha }: BlobRef): Promise<unknown> => Promise.resolve(JSON.parse(atob(blobs[sha] ?? '')));
  const calls = events.flatMap(({ kind, seq }) => {
    const span = kind === 'model.start' ? model.span(seq) : undefined;
    return span?.kind === 'model' && span.end?.data.tokens !== undefined ? [span] : [];
  });

  test('is its segment, and why that begins with the first token that differs', async () => {
    const [first, second] = await Promise.all(calls.map((call) => segmentOfCall(model, call, read)));
    assert.equal(first?.number, 1);
    assert.equal(first.split, undefined);
    assert.equal(first.call.trainable, true);
    assert.equal(second?.number, 2);
    assert.ok(second.split !== undefined);
    assert.equal(splitText(second.split), 'the template writes the arguments of the last tool calls in another form');
    assert.equal(
      firstDifferenceText(second.split),
      'token 93: " \\"" (ID 936) in the segment before, "\\"" (ID 2000) in this prompt',
    );
  });

  test('is the advantage of its rollout among the attempts of the task', () => {
    const scored = (attempt: number, reward: number): RolloutRow => {
      const row = reward === 1 ? passed({ attempt }) : failed({ attempt });
      return { ...row, rollout: `r${attempt}`, progress: { ...row.progress, reward } };
    };
    const of = (all: readonly RolloutRow[], rollout: string) => advantageOfRollout(all, rollout, 'ms_swift');
    const rows = [scored(1, 1), scored(2, 0), scored(3, 0), scored(4, 0)];
    assert.equal(of(rows, 'r1'), '+1.50 by ms-swift, 4 of 4 attempts count');
    assert.equal(of(rows, 'r4'), '−0.50 by ms-swift, 4 of 4 attempts count');
    assert.equal(of([scored(1, 1), scored(2, 1)], 'r1'), '0 by ms-swift, no signal: all rewards are equal');
    const lost = aRow({ attempt: 5, rollout: 'r5', state: 'ended', progress: { status: 'infrastructure' } });
    assert.equal(of([...rows, lost], 'r5'), 'none: excluded, it was lost to infrastructure');
    const running = aRow({ attempt: 5, rollout: 'r5', state: 'running' });
    assert.equal(of([...rows, running], 'r5'), 'none yet: the rollout has not ended');
    assert.equal(of([...rows, running], 'r1'), '+1.50 by ms-swift, 4 of 5 attempts count, 1 open');
    const other = { ...scored(1, 0), rollout: 'r1t1', settles: false, try: 0 };
    assert.equal(of([other, ...rows], 'r1t1'), 'none: another try counts for this attempt');
  });
});
