/** Golden rows, and random groups, for the classes and functions of trainers. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { advantagesOf, type Estimator } from '../../../src/trace/groups/advantages.ts';
import { GOLDEN_FOLDER, readRecording, renderRows } from '../../support/goldenRows.ts';
import { Random } from '../../support/random.ts';

/** Writes the golden rows as our formats write them now. Returns the number of rows of each format. */
export async function writeGoldenRows(): Promise<Map<string, number>> {
  const rows = await renderRows(readRecording().batch);
  for (const [format, text] of rows) {
    const file = path.join(GOLDEN_FOLDER, `${format}.jsonl`);
    if (readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
  }
  return new Map([...rows].map(([format, text]) => [format, text.split('\n').length - 1]));
}

/** Groups of 1 to 9 members, of which a fifth are excluded. Half of the groups have rewards of 0 and 1 only. */
export function randomGroups(seed: number, count = 200): (number | null)[][] {
  const random = new Random(seed);
  return Array.from({ length: count }, () => {
    const binary = random.next() < 0.5;
    return Array.from({ length: 1 + Math.floor(random.next() * 9) }, () => {
      if (random.next() < 0.2) return null;
      return binary ? Math.round(random.next()) : random.next() * 4 - 1;
    });
  });
}

/** Asserts that a trainer's advantages are ours. `excluded`: what it has for a member without a reward. */
export function assertAdvantages(
  estimator: Estimator,
  groups: readonly (readonly (number | null)[])[],
  theirs: readonly (readonly (number | null)[])[],
  excluded: number | null = null,
): void {
  assert.equal(theirs.length, groups.length);
  for (const [index, rewards] of groups.entries()) {
    const ours = advantagesOf(estimator, rewards);
    for (const [member, own] of ours.entries()) {
      const their = theirs[index]?.[member];
      const place = `${estimator} of ${JSON.stringify(rewards)}, member ${member}`;
      if (own === null) assert.equal(their, excluded, place);
      else
        assert.ok(
          Math.abs((their ?? NaN) - own) <= 1e-6 * Math.max(1, Math.abs(own)),
          `${place}: ${String(their)}, ours ${own}`,
        );
    }
  }
}
