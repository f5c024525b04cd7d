import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  cohensKappa,
  coincidencesOf,
  krippendorffsAlpha,
  shareOf,
} from '../../../../src/trace/agreement/coefficients.ts';

/** Computes alpha from one row per rater; a dot is a missing value. */
function alpha(rows: readonly string[]): number | null {
  const raters = rows.map((row) => row.split(' '));
  const categories = [...new Set(raters.flat())].filter((value) => value !== '.');
  const sums = { paired: categories.map(() => 0), differing: 0 };
  for (const unit of raters[0]!.keys()) {
    const { paired, differing } = coincidencesOf(
      categories.map((category) => raters.filter((values) => values[unit] === category).length),
    );
    sums.paired = sums.paired.map((count, at) => count + (paired[at] ?? 0));
    sums.differing += differing;
  }
  return krippendorffsAlpha(sums.paired, sums.differing);
}

const near = (actual: number | null, expected: number, digits: number): void =>
  assert.equal(actual?.toFixed(digits), expected.toFixed(digits));

describe("Cohen's kappa", () => {
  it('equals the figures that were published', () => {
    // Cohen 1960, table 1: two judges, three categories, 200 patients.
    const patients = [
      [88, 14, 18],
      [10, 40, 10],
      [2, 6, 12],
    ];
    near(shareOf(patients), 0.7, 3);
    near(cohensKappa(patients), 0.492, 3);
    // Feinstein and Cicchetti, “High agreement but low kappa”, J. Clin. Epidemiol. 43, 1990: equal shares, two kappas.
    near(
      cohensKappa([
        [40, 9],
        [6, 45],
      ]),
      0.7,
      2,
    ); // prettier
    near(
      cohensKappa([
        [80, 10],
        [5, 5],
      ]),
      0.32,
      2,
    );
    near(
      shareOf([
        [80, 10],
        [5, 5],
      ]),
      0.85,
      3,
    );
  });

  it('has no value without units, and when chance explains everything', () => {
    assert.equal(
      cohensKappa([
        [0, 0],
        [0, 0],
      ]),
      null,
    );
    assert.equal(
      shareOf([
        [0, 0],
        [0, 0],
      ]),
      null,
    );
    assert.equal(
      cohensKappa([
        [7, 0],
        [0, 0],
      ]),
      null,
    );
    assert.equal(
      cohensKappa([
        [0, 3],
        [3, 0],
      ]),
      -1,
    );
  });
});

describe("Krippendorff's alpha", () => {
  it('equals the figures that were published', () => {
    // Krippendorff 2011, section A: binary data, two observers, no missing data.
    near(alpha(['0 1 0 0 0 0 0 0 1 0', '1 1 1 0 0 1 0 0 0 0']), 0.095, 3);
    // Section B: nominal data, two observers.
    near(alpha(['a a b b d c c c e d d a', 'b a b b b c c c e d d d']), 0.692, 3);
    // Section C: nominal data, four observers, missing values.
    const observers = [
      '1 2 3 3 2 1 4 1 2 . . .',
      '1 2 3 3 2 2 4 1 2 5 . 3',
      '. 3 3 3 2 3 4 2 2 5 1 .',
      '1 2 3 3 2 4 4 1 2 5 1 .',
    ];
    near(alpha(observers), 0.743, 3);
  });

  it('has no value if nothing is paired, or nothing differs', () => {
    assert.equal(alpha(['1 . 2', '. 1 .']), null);
    assert.equal(alpha(['1 1', '1 1']), null);
    assert.equal(alpha(['1 2', '1 2']), 1);
  });
});
