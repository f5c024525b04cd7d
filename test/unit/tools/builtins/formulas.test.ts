/**
 * Formulas as models write them, with the values of LibreOffice 7.4 (those of XLOOKUP, UNIQUE, and errors: as Excel
 * documents them). Each line of the fixture is a formula, a tab, and its value as JSON.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { CellError, type Value } from '../../../../src/tools/builtins/spreadsheet/cells.ts';
import { Evaluator } from '../../../../src/tools/builtins/spreadsheet/formula/evaluate.ts';
import { FormulaError } from '../../../../src/tools/builtins/spreadsheet/formula/tokens.ts';
import { FIXTURES } from '../../../support/tools.ts';

/** Columns A to L. */
const ROWS: readonly (readonly Value[])[] = [
  [1, 'apple', 10, 46082, -100, 'apple', 1.5, 1, null, 2, 3, null],
  [2, 'pear', 7.5, 46113, 20, 'pear', 2.5, 'text', null, 4, 7, null],
  [3, 'apple', 3.25, 46091, 30, 'fig', 3.5, true, null, 0.2, 0.3, 0.5],
  [4, 'fig', 8, 46174, 40, 'plum', 4.5],
  [5, 'banana', 6, 46205, 60],
  [3],
];
const AT = { column: 15, row: 20 };

function computed(formula: string): Value {
  const evaluator = new Evaluator({
    sheets: ['S'],
    used: () => ({ column: 12, row: 8 }),
    definedName: () => undefined,
    cell: (_sheet, { row, column }) =>
      row === AT.row && column === AT.column ? { formula } : { value: ROWS[row - 1]?.[column - 1] ?? null },
  });
  return evaluator.value('S', AT);
}

test('formulas have the same values as in spreadsheet programs', () => {
  const lines = readFileSync(path.join(FIXTURES, 'formulas.tsv'), 'utf8').trimEnd().split('\n');
  assert.ok(lines.length > 350);
  for (const line of lines) {
    const [formula = '', json = ''] = line.split('\t');
    const expected = JSON.parse(json) as Value;
    const value = computed(formula);
    if (typeof expected === 'number' && typeof value === 'number')
      assert.ok(Math.abs(value - expected) <= 1e-9 * Math.max(1, Math.abs(expected)), `${formula}: ${value}`);
    else assert.equal(value instanceof CellError ? value.name : value, expected, formula);
  }
});

test('unsupported functions are refused by name', () => {
  for (const [formula, text] of [
    ['UNIQUE(B1:B5)', /^UNIQUE returns 4 values, but a cell holds only one\. .*INDEX/],
    ['A1:A3*2', /^The formula returns 3 values/],
    ['CONVERT(1,"mi","km")', /^The function CONVERT is not supported\.$/],
    ['OFFSET(A1,1,1)', /^The function OFFSET is not supported\.$/],
    ['LET(x,1,x)', /LET|x/],
    ['IFS(A1:A3>1,1)', /^The function IFS expects one value/],
    ['TEXT(0.75,"# ?/?")', /^TEXT does not support the format "# \?\/\?"\.$/],
  ] as const)
    assert.throws(
      () => computed(formula),
      (error) => error instanceof FormulaError && text.test(error.message),
      formula,
    );
});
