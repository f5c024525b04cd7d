import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ScoreInput, Scorer } from '../../../src/rollout/ports.ts';
import { advanceProgress } from '../../../src/trace/progress.ts';
import { EMPTY_PROGRESS } from '../../../src/trace/summary.ts';
import { end, kit, ScriptedModel, submission } from '../../support/rolloutKit.ts';

const limited = (seconds: number) => ({ submission: { ...submission(), scorer: { kind: 'exact' as const, seconds } } });
const scorer = (score: (input: ScoreInput) => Promise<never>): Scorer => ({ name: 'careful judge', score });
const MESSAGE = 'The scorer careful judge did not end within its limit of 0.05 s.';

describe('scorer.seconds', () => {
  it('ends a scorer that never returns: no reward, and the cause says which scorer and what limit', async () => {
    let signal: AbortSignal | undefined;
    const one = kit({
      job: limited(0.05),
      scorer: scorer((input) => {
        ({ signal } = input);
        return new Promise(() => undefined);
      }),
    });
    const events = await one.run();
    const { status, reward, passed, error } = end(events);
    assert.deepEqual([status, reward, passed, error], ['done', null, null, undefined]);
    assert.deepEqual(one.recorder.of('score')[0]!.data, {
      scorer: 'careful judge',
      value: null,
      passed: null,
      error: { class: 'timeout', message: MESSAGE },
    });
    assert.ok(signal?.aborted);
    const { cause } = advanceProgress(EMPTY_PROGRESS, events);
    assert.deepEqual(
      [cause?.kind, cause?.text],
      ['unscored', 'scoring failed: The scorer careful judge did not end within its limit of 0.05 s'],
    );
  });

  it('is the reason whatever the interrupted scorer throws', async () => {
    const one = kit({
      job: limited(0.05),
      scorer: scorer(
        ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(new Error('aborted')));
          }),
      ),
    });
    assert.equal(end(await one.run()).reward, null);
    assert.equal(one.recorder.of('score')[0]!.data.error?.message, MESSAGE);
  });

  it('ends the call of a judge that never answers', async () => {
    const model = new ScriptedModel([() => new Promise(() => undefined)]);
    const asked = submission().agent.model;
    const one = kit({
      ports: { modelOf: () => model },
      job: limited(0.05),
      scorer: scorer(async ({ ask }) => {
        await ask({ side: 'judge', model: asked, messages: [{ role: 'user', text: 'Is it right?' }] });
        throw new Error('it never answers');
      }),
    });
    assert.deepEqual([end(await one.run()).status, end(one.recorder.events).reward], ['done', null]);
    const call = one.recorder.of('model.end').at(-1)!.data;
    assert.deepEqual([call.status, call.error?.class, call.error?.message], ['error', 'timeout', MESSAGE]);
    assert.equal(one.recorder.of('score')[0]!.data.error?.class, 'timeout');
  });

  it('does not count the time that the agent took, or that a question waits for its endpoint', async () => {
    const wait = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 400)); // longer than the limit
    const slow = new ScriptedModel([
      async () => {
        await wait();
        return { text: '42' };
      },
    ]);
    const model = new ScriptedModel([
      async (_request, context) => {
        context.onWait?.(true);
        await wait();
        context.onWait?.(false);
        return { text: 'yes' };
      },
    ]);
    const asked = submission().agent.model;
    const judging: Scorer = {
      name: 'judge',
      score: async ({ ask }) => {
        await ask({ side: 'judge', model: asked, messages: [{ role: 'user', text: 'Is it right?' }] });
        return { value: 1, passed: true };
      },
    };
    const one = kit({ model: slow, ports: { modelOf: () => model }, job: limited(0.3), scorer: judging });
    assert.equal(end(await one.run()).reward, 1);
  });
});
