import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  CellError,
  columnLetters,
  columnNumber,
  parseSpot,
  type Spot,
  spotName,
  type Value,
} from '../../../../src/tools/builtins/spreadsheet/cells.ts';
import { Evaluator } from '../../../../src/tools/builtins/spreadsheet/formula/evaluate.ts';
import { FormulaError, shiftFormula } from '../../../../src/tools/builtins/spreadsheet/formula/tokens.ts';

const VALUES: Readonly<Record<string, Value>> = {
  A1: 1,
  A2: 2,
  A3: 3,
  B1: 'x',
  B2: 'y',
  B3: 'X',
  C1: 10,
  C2: 20,
  C3: 30,
  E1: new CellError('#N/A'),
};
const FORMULAS: Readonly<Record<string, string>> = { D1: 'A1+1', D2: 'D1*10', F1: 'F2', F2: 'F1' };

/** Results of formulas on a small sheet; `Other` has 5 everywhere. */
function value(formula: string): Value {
  const evaluator = new Evaluator({
    sheets: ['S', 'Other one'],
    used: () => ({ column: 6, row: 3 }),
    definedName: (name) => (name.toLowerCase() === 'rate' ? "'Other one'!$A$1/100" : undefined),
    cell: (sheet, spot: Spot) => {
      const name = spotName(spot);
      if (name === 'Z99') return { formula };
      if (sheet !== 'S') return { value: 5 };
      return FORMULAS[name] === undefined ? { value: VALUES[name] ?? null } : { formula: FORMULAS[name] };
    },
  });
  return evaluator.value('S', { column: 26, row: 99 });
}

/** Formula → value, as in Excel. */
const CASES: Readonly<Record<string, Value>> = {
  'A1+A2*2^2': 9,
  '-2^2': 4,
  '2^3^2': 64,
  '50%': 0.5,
  '(1+2)*3': 9,
  '1/4': 0.25,
  '"a"&A2&TRUE': 'a2TRUE',
  'A2="2"': false,
  'B1=B3': true,
  '"b">"a"': true,
  'A9=0': true,
  '0.1+0.2&""': '0.3',
  'SUM(A1:A3)': 6,
  'SUM(A:A)': 6,
  'SUM(3:3)': 33,
  'SUM(A1:A3,C1)': 16,
  'AVERAGE(A1:A3)': 2,
  'MEDIAN(A1:A3)': 2,
  'MAX(A1:C3)': 30,
  'COUNT(A1:B3)': 3,
  'COUNTA(A1:B4)': 6,
  'COUNTBLANK(A1:A5)': 2,
  'SUMIF(B1:B3,"x",C1:C3)': 40,
  'SUMIFS(C1:C3,B1:B3,"x",A1:A3,">1")': 30,
  'COUNTIF(A1:A3,">=2")': 2,
  'SUMPRODUCT(A1:A3,C1:C3)': 140,
  'SUMPRODUCT((B1:B3="x")*C1:C3)': 40,
  'PRODUCT(A1:A3)': 6,
  'VLOOKUP(2,A1:C3,3,FALSE)': 20,
  'VLOOKUP("Y",B1:C3,2,FALSE)': 20,
  'HLOOKUP(1,A1:C3,2,FALSE)': 2,
  'INDEX(C1:C3,MATCH("Y",B1:B3,0))': 20,
  'XLOOKUP("y",B1:B3,C1:C3)': 20,
  '_xlfn.XLOOKUP("q",B1:B3,C1:C3,"none")': 'none',
  'ROWS(A1:B3)': 3,
  'COLUMN(C1)': 3,
  'IF(A1>0,"yes",1/0)': 'yes',
  'IF(A1>5,1)': false,
  'IFERROR(1/0,"none")': 'none',
  'IFS(A1=2,"a",A1=1,"b")': 'b',
  'CHOOSE(2,1/0,7)': 7,
  'SWITCH(A2,1,"one",2,"two")': 'two',
  'AND(A1=1,B1="X")': true,
  'NOT(A1=1)': false,
  'LEFT("hello",2)': 'he',
  'UPPER(B1)': 'X',
  'TEXT(1234.5,"#,##0.00")': '1,234.50',
  'LEN("a""b")': 3,
  'SUBSTITUTE("a-b","-","+")': 'a+b',
  'TRIM("  a  b ")': 'a b',
  'DATE(2024,1,31)': 45322,
  'YEAR(45322)': 2024,
  'EDATE(DATE(2024,1,31),1)': 45351,
  'DATEDIF(DATE(2020,1,1),DATE(2021,3,1),"m")': 14,
  'WEEKDAY(DATE(2024,1,1))': 2,
  'ROUND(2.345,2)': 2.35,
  'MOD(7,3)': 1,
  'STDEV.S(A1:A3)': 1,
  'RANK(C2,C1:C3)': 2,
  'ROUND(PMT(0.05/12,360,-100000),2)': 536.82,
  'SUM({1,2;3,4})': 10,
  'D2+1': 21,
  "'Other one'!B7": 5,
  "SUM('Other one'!A1:A2)": 10,
  'Rate*100': 5,
  'ISBLANK(A9)': true,
  'ISERROR(E1)': true,
  'IFNA(E1,0)': 0,
  A9: 0,
};

describe('a formula', () => {
  for (const [formula, expected] of Object.entries(CASES))
    it(`${formula} is ${JSON.stringify(expected)}`, () => assert.deepEqual(value(formula), expected));

  it('returns errors as values', () => {
    const errors = ['1/0', '"a"+1', 'E1+1', 'SUM(E1,1)', 'VLOOKUP(9,A1:C3,3,FALSE)', 'SQRT(-1)'].map((formula) => {
      const result = value(formula);
      return result instanceof CellError ? result.name : result;
    });
    assert.deepEqual(errors, ['#DIV/0!', '#VALUE!', '#N/A', '#N/A', '#N/A', '#NUM!']);
  });

  it('reports what it does not understand', () => {
    for (const [formula, said] of [
      ['NOPE(1)', /function NOPE is not supported/],
      ['1+', /ends too early/],
      ['SUM(A1', /Expected "\)"/],
      ['F1', /refers to itself/],
      ['Missing!A1', /Unknown sheet "Missing"/],
      ['what', /does not define the name "what"/],
      ['A1?', /Unexpected "\?" at position 3/],
      [`${'('.repeat(300)}1`, /too deeply/],
    ] as const) {
      assert.throws(
        () => value(formula),
        (error) => error instanceof FormulaError && said.test(error.message),
        formula,
      );
    }
  });

  it('is moved with its cell, except for parts with a dollar', () => {
    assert.equal(shiftFormula('SUM(A$1:$B2)+C3&"A1"', 1, 2), 'SUM(B$1:$B4)+D5&"A1"');
    assert.equal(shiftFormula('A1', -1, 0), '#REF!');
  });
});

it('cells are written in letters and digits', () => {
  assert.deepEqual([1, 26, 27, 52, 703, 16_384].map(columnLetters), ['A', 'Z', 'AA', 'AZ', 'AAA', 'XFD']);
  assert.deepEqual(['A', 'Z', 'AA', 'XFD'].map(columnNumber), [1, 26, 27, 16_384]);
  assert.deepEqual(
    [parseSpot('$b$3'), parseSpot('XFE1'), parseSpot('A0'), parseSpot('1A')],
    [{ column: 2, row: 3 }, undefined, undefined, undefined],
  );
});
