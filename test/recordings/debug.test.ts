/**
 * Real recordings in the debugger: stepping back reverses stepping forward, and a whole attempt is stepped through over
 * the protocol.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { kitFolder } from '../../src/build/system/kits.ts';
import { connect } from '../../src/client/connect.ts';
import { TrajectoryModel } from '../../src/trace/model.ts';
import { readEvent } from '../../src/trace/upgrades.ts';
import { Bench } from '../support/cli.ts';
import { walkAndReturn } from '../support/cursorWalk.ts';
import { DebugDialogue } from '../support/debugDialogue.ts';

const file = path.join(kitFolder('recordings') ?? '', 'tau-bench', 'gpt-4o-airline.json');
/** Moves of one walk. */
const MOVES = 100;

describe('tau-bench in the debugger', () => {
  const bench = new Bench();
  let batch: string;
  before(async () => {
    ({ batch } = await bench.json<{ batch: string }>(['import', file]));
  });
  after(() => bench.close());

  it('n steps forward and n back end at the same place, in every recording', async () => {
    const { api } = await connect({ store: bench.store });
    let [seed, recordings, moved] = [0, 0, 0];
    for await (const row of api.allRollouts(batch)) {
      const model = new TrajectoryModel();
      for await (const page of api.allEvents(row.rollout)) model.push(page.map((event) => readEvent(event)));
      for (let round = 0; round < 3; round++) moved += await walkAndReturn(model, (seed += 1), MOVES, row.rollout);
      recordings += 1;
    }
    assert.equal(recordings, 200);
    assert.ok(moved > recordings * MOVES, `${moved} moves`);
  });

  it('a whole attempt is stepped through to its end, each stop at a line of its text', async () => {
    const dap = new DebugDialogue(bench.folder, process.env);
    try {
      const first = await dap.start('launch', { mode: 'replay', batch, task: '0', attempt: 1, store: bench.store });
      const lines = [Number(first.place.split(':').at(-1))];
      const tools = new Set<string>();
      for (;;) {
        const where = await dap.go('stepIn');
        if (where.reason === 'pause') break;
        lines.push(Number(where.place.split(':').at(-1)));
        tools.add(where.top);
      }
      assert.ok(lines.length > 10);
      assert.deepEqual(
        lines,
        lines.toSorted((a, b) => a - b),
        'down the page',
      );
      assert.ok(
        [...tools].some((name) => /^[a-z_]+$/.test(name)),
        'into its calls',
      );
    } finally {
      await dap.close();
    }
  });
});
