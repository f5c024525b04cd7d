/** verl: our rows in its classes, and our advantages against its functions. */
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

describe('verl 0.9.1', { timeout: 600_000 }, () => {
  it('loads rows of tokens, and has the same advantages', async () => {
    const groups = randomGroups(2);
    const found = await runPython(
      { trainer: 'verl', script: 'golden_verl.py', input: groups },
      z.object({ outputs: z.number(), verl: advantages, dr_grpo: advantages, rloo: advantages }),
    );
    assert.equal(found.outputs, rows.get('verl'));
    assertAdvantages('verl', groups, found.verl);
    // It has the reward itself for a single member, from which ours learn nothing.
    const compared = groups.filter((rewards) => rewards.filter((one) => one !== null).length !== 1);
    const of = (all: readonly (number | null)[][]): (number | null)[][] =>
      all.filter((_, index) => compared.includes(groups[index] ?? []));
    assertAdvantages('dr_grpo', compared, of(found.dr_grpo));
    assertAdvantages('rloo', compared, of(found.rloo));
  });
});
