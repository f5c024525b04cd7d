// Versions of the weights in the events of a rollout, and in its row.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ModelClient } from '../../../src/rollout/ports.ts';
import { advanceProgress } from '../../../src/trace/progress.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';
import { EMPTY_PROGRESS } from '../../../src/trace/summary.ts';
import { kit, ScriptedModel } from '../../support/rolloutKit.ts';

/** Plays a rollout of one call. `start`: the version when the call begins; `from`, `to`: when it was sent and ended. */
async function callEnd(start: string | undefined, from: string, to: string) {
  const scripted = new ScriptedModel([{ text: '42' }]);
  const model: ModelClient = {
    complete: async (request, context) => ({ ...(await scripted.complete(request, context)), weights: { from, to } }),
  };
  const events: readonly TraceEvent[] = await kit({ model, ports: { weightsOf: () => start } }).run();
  const data = events.find(({ kind }) => kind === 'model.end')?.data;
  assert.ok(data !== undefined && 'trainable' in data);
  const range = Object.values(advanceProgress(EMPTY_PROGRESS, events).weights ?? {});
  return { end: [data.weights, data.weights_from], range };
}

it('a call says under which weights it was sent and ended, unless they never changed', async () => {
  assert.deepEqual(await callEnd('1', '1', '1'), { end: ['1', undefined], range: [['1', '1']] });
  assert.deepEqual(await callEnd('1', '1', '3'), { end: ['3', '1'], range: [['1', '3']] }, 'replaced in flight');
  assert.deepEqual(await callEnd('1', '2', '2'), { end: ['2', '2'], range: [['2', '2']] }, 'it waited in a pause');
});
