// `stop.rollout`: a condition over what a rollout used and did, which ends it as truncated.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import {
  end,
  type Kit,
  type KitOptions,
  kit,
  NumberWorld,
  normalizedEvents,
  ScriptedModel,
  submission,
} from '../../support/rolloutKit.ts';

/** Adds these numbers one after another, then answers. */
function adding(condition: string, numbers: readonly number[], options: KitOptions = {}): Kit {
  const model = new ScriptedModel([
    ...numbers.map((n) => ({ calls: [{ name: 'add', arguments: { n } }] })),
    { text: 'It is 42.' },
  ]);
  const job = { submission: submission({}, { stop: { rollout: condition } }), ...options.job };
  return kit({ model, world: new NumberWorld(), ...options, job });
}

async function stepsUntilEnd(condition: string, numbers: readonly number[]): Promise<number> {
  const { status, totals } = end(await adding(condition, numbers).run());
  assert.equal(status, 'truncated');
  return totals.steps;
}

describe('stop.rollout', () => {
  it('ends a rollout as truncated after the step that makes it true, and scores its final state', async () => {
    const { status, error, reward, passed, answer } = end(await adding('repeats >= 2', [1, 2, 2, 2, 5]).run());
    assert.deepEqual([status, reward, passed, answer], ['truncated', 7, true, null]);
    assert.deepEqual(error, {
      class: 'limit',
      limit: 'condition',
      message: 'stop.rollout: repeats >= 2 was true after step 4.',
    });
  });

  it('knows the steps, calls, errors, repeats, and tokens of the agents', async () => {
    assert.equal(await stepsUntilEnd('steps == 3', [1, 2, 3, 4, 5]), 3);
    assert.equal(await stepsUntilEnd('calls > 1', [1, 2, 3, 4, 5]), 2);
    assert.equal(await stepsUntilEnd('usage.tokens > 40', [1, 2, 3, 4, 5]), 3); // 15 per step
    assert.equal(await stepsUntilEnd('usage.output_tokens * 2 == usage.input_tokens', [1, 2, 3]), 1);
    assert.equal(await stepsUntilEnd('repeats > 0', [1, 2, 1, 2, 2]), 5); // in a row
    const model = new ScriptedModel(Array.from({ length: 5 }, () => ({ calls: [{ name: 'nothing' }] })));
    const failing = adding('errors * 2 > calls && steps > 1', [], { model });
    assert.equal(end(await failing.run()).totals.steps, 2);
  });

  it('does not end a rollout that answers in the same step, or whose condition cannot be evaluated', async () => {
    for (const condition of ['steps == 3', 'steps / 0 > 1 && steps > 100', 'ms > 3600000'])
      assert.equal(end(await adding(condition, [1, 2]).run()).status, 'done', condition);
  });

  it('ends at the same step wherever the worker was lost', async () => {
    for (const condition of ['repeats >= 2', 'usage.tokens > 50', 'calls == 4']) {
      const whole = adding(condition, [1, 2, 2, 2, 5, 5]);
      const undisturbed = await whole.run();
      for (const boundary of whole.recorder.boundaries.slice(0, -1)) {
        const events: TraceEvent[] = undisturbed.slice(0, boundary);
        const again = adding(condition, [1, 2, 2, 2, 5, 5], {
          job: { submission: submission({}, { stop: { rollout: condition } }), how: 'resumed', epoch: 2 },
          after: { events, blobs: new Map(whole.recorder.blobs) },
        });
        assert.deepEqual(
          normalizedEvents(await again.run()),
          normalizedEvents(undisturbed),
          `${condition}, resumed after event ${boundary}`,
        );
      }
    }
  });

  it('never takes back a recorded step, even if more time has passed since', async () => {
    const whole = adding('ms > 3600000', [1, 2, 3]);
    const undisturbed = await whole.run();
    const third = undisturbed.filter(({ kind }) => kind === 'model.start')[2]!;
    const again = adding('', [1, 2, 3], {
      job: { submission: submission({}, { stop: { rollout: 'ms >= 0' } }), how: 'resumed', epoch: 2 },
      after: { events: undisturbed.slice(0, third.seq), blobs: new Map(whole.recorder.blobs) },
    });
    const { status, error } = end(await again.run());
    assert.deepEqual([status, error?.message], ['truncated', 'stop.rollout: ms >= 0 was true after step 3.']);
  });
});
