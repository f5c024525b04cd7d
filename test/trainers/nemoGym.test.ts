/** NeMo Gym: our rows in its classes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { writeGoldenRows } from './support/golden.ts';
import { runPython } from './support/python.ts';

describe('NeMo Gym 0.4.0', { timeout: 600_000 }, () => {
  it('loads rollouts, whose prompts continue what came before', async () => {
    const rows = await writeGoldenRows();
    const found = await runPython(
      { trainer: 'nemo-gym', script: 'golden_nemo.py' },
      z.object({ rollouts: z.number() }),
    );
    assert.equal(found.rollouts, rows.get('nemo-gym'));
  });
});
