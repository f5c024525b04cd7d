/** ms-swift: our rows in its classes and its template, and our advantages against its functions. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { z } from 'zod';
import { assertAdvantages, randomGroups, writeGoldenRows } from './support/golden.ts';
import { runPython } from './support/python.ts';

const advantages = z.array(z.array(z.number().nullable()));

let rows: Map<string, number>;
before(async () => {
  rows = await writeGoldenRows();
});

describe('ms-swift 4.6.0', { timeout: 600_000 }, () => {
  it('trains exactly the IDs of our rows, encodes conversations, and has the same advantages', async () => {
    const groups = randomGroups(3);
    const found = await runPython(
      { trainer: 'swift', script: 'golden_swift.py', input: groups },
      z.object({ outputs: z.number(), encoded: z.number(), ms_swift: advantages, rloo: advantages }),
    );
    assert.equal(found.outputs, rows.get('swift'));
    assert.equal(found.encoded, (rows.get('sft-swift') ?? 0) + (rows.get('pairs-swift') ?? 0));
    assertAdvantages('ms_swift', groups, found.ms_swift);
    assertAdvantages('rloo', groups, found.rloo);
  });
});
