/** Arguments that a model nests thousands of levels deep: its own fault, and no problem of whoever reads them. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isTooDeep } from '../../../src/common/json.ts';
import { startOf } from '../../../src/rollout/tools/toolEvents.ts';
import { readTauBench } from '../../support/tauBench.ts';

const DEEP = `{"a":${'['.repeat(3000)}${']'.repeat(3000)}}`;

it('are too deep, however wide', () => {
  assert.equal(isTooDeep(JSON.parse(DEEP)), true);
  assert.equal(isTooDeep({ a: [[1], { b: Array.from({ length: 10_000 }, (_, n) => ({ n })) }] }), false);
});

it('are kept as text in an import, with all other entries', async () => {
  const call = (args: unknown) => ({ id: 'c', type: 'function', function: { name: 'find', arguments: args } });
  const entry = (id: number, args: unknown, info: unknown = {}) => ({
    task_id: id,
    trial: 0,
    reward: 1,
    info,
    traj: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: null, tool_calls: [call(args)] },
    ],
  });
  const { rollouts, skipped } = await readTauBench(
    [entry(0, DEEP), entry(1, JSON.parse(DEEP)), entry(2, '{"x":1}'), entry(3, '{}', JSON.parse(DEEP))],
    'r.json',
    { batch: 'b', at: 0 },
  );
  const starts = rollouts.map(({ events }) => events.find((event) => event.kind === 'tool.start'));
  assert.deepEqual(
    starts.map((start) => start?.data.arguments),
    [DEEP, DEEP, { x: 1 }],
  );
  assert.deepEqual(
    skipped.map(({ place, why }) => [place, why]),
    [['r.json[3]', 'nested deeper than 256 levels']],
  );
});

it('are the malformed output of a model', () => {
  const start = startOf({ type: 'tool_call', id: 'c', name: 'find', arguments: DEEP }, 'pure');
  assert.deepEqual([start.arguments, start.raw], [{}, DEEP]);
});
