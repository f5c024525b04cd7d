/** TRL: our rows in its classes, and our advantages against its lines. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { z } from 'zod';
import { assertAdvantages, randomGroups, writeGoldenRows } from './support/golden.ts';
import { runPython } from './support/python.ts';

let rows: Map<string, number>;
before(async () => {
  rows = await writeGoldenRows();
});

describe('TRL 1.16.0', { timeout: 600_000 }, () => {
  it('loads rows of tokens, renders conversations, and has the same advantages', async () => {
    const groups = randomGroups(1);
    const found = await runPython(
      { trainer: 'trl', script: 'golden_trl.py', input: groups },
      z.object({ samples: z.number(), rendered: z.number(), advantages: z.array(z.array(z.number())) }),
    );
    assert.equal(found.samples, rows.get('trl-async'));
    assert.equal(found.rendered, (rows.get('sft-trl') ?? 0) + (rows.get('pairs-trl') ?? 0));
    // It learns nothing from a completion without a reward.
    assertAdvantages('trl', groups, found.advantages, 0);
  });
});
