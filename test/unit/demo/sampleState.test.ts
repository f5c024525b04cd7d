/** The initial state of the sample's simulation is that of its library, as far as no seed decides it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { rowsIn } from '../../../src/demo/policy/deskWorld/rows.ts';

type Row = Record<string, unknown>;

const WORLDS = path.resolve(import.meta.dirname, '../../../media/sample/worlds');
/** Members from this one on, and what they have borrowed, depend on the seed. */
const FIRST_OTHER = 'M-1031';

it('a simulation of the sample knows all rows that every seed makes, and which copies are lent', async () => {
  const state = rowsIn(readFileSync(path.join(WORLDS, 'simulation', 'state.md'), 'utf8'));
  // Its types are those of a workspace.
  const { seedRows } = (await import(pathToFileURL(path.join(WORLDS, 'library', 'seed.ts')).href)) as {
    seedRows: (seed: number) => Record<string, Row[]>;
  };
  assert.ok(state !== undefined);
  for (let seed = 0; seed < 50; seed++) {
    const real = seedRows(seed);
    for (const table of ['members', 'books', 'copies', 'loans', 'holds', 'fines'] as const) {
      const isFixed = (row: Row): boolean =>
        String(table === 'members' ? row['id'] : (row['member_id'] ?? '')) < FIRST_OTHER;
      const known: Row[] = state[table];
      const fields = Object.keys(known[0] ?? {});
      assert.deepEqual(
        known.filter(isFixed),
        (real[table] ?? [])
          .filter(isFixed)
          .map((row) => Object.fromEntries(fields.map((field) => [field, row[field]]))),
        `${table} with seed ${seed}`,
      );
    }
    const lent = (loans: readonly Row[] = []) =>
      loans.filter(({ returned }) => returned === null).map((loan) => [loan['id'], loan['copy_id']]);
    assert.deepEqual(lent(state.loans), lent(real['loans']), `lent copies with seed ${seed}`);
  }
});
