import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  attemptsSeen,
  hit,
  layoutOf,
  numbered,
  ROW,
  rowsSeen,
  scrollTo,
} from '../../../../webview/batch/model/geometry.ts';

const wide = layoutOf({ width: 1400, height: 600, attempts: 32, page: 1440, longest: 140 });
const many = layoutOf({ width: 1000, height: 600, attempts: 500, page: 1440, longest: 140 });
const still = { left: 0, top: 0 };

suite('the geometry of the grid', () => {
  test('makes cells as wide as all attempts allow', () => {
    assert.equal(wide.cell, 22);
    assert.ok(wide.cells + 32 * wide.cell <= wide.width);
    assert.equal(layoutOf({ width: 1000, height: 600, attempts: 60, page: 1000, longest: 140 }).cell, 11);
    assert.equal(many.cell, 8);
    assert.ok(many.whole > many.width);
  });

  test('fits all 32 attempts on a page of 480 and one of 400', () => {
    for (const [page, cell] of [
      [480, 8],
      [400, 6],
    ] as const) {
      const layout = layoutOf({ width: page, height: 600, attempts: 32, page, longest: 300 });
      assert.equal(layout.cell, cell);
      assert.ok(layout.cells + 32 * layout.cell <= page, String(page));
    }
  });

  test('has columns after the cells only where there is room', () => {
    assert.ok((wide.columns[0]?.x ?? 0) > wide.cells + 32 * 22);
    assert.deepEqual(layoutOf({ width: 1056, height: 600, attempts: 32, page: 1440, longest: 140 }).columns, []);
  });

  test('finds under a point what is drawn there, scrolled or not', () => {
    for (const scroll of [still, { left: 100, top: 4321 }]) {
      for (const [row, attempt] of [
        [200, 20],
        [201, 1 + Math.ceil(100 / many.cell)],
      ] as const) {
        const x = many.cells + (attempt - 1) * many.cell - scroll.left;
        const y = row * ROW - scroll.top;
        for (const [dx, dy] of [
          [0, 0],
          [many.cell - 1, ROW - 1],
        ] as const)
          assert.deepEqual(hit(many, 100_000, x + dx, y + dy, scroll), { part: 'cell', row, attempt });
      }
    }
    assert.deepEqual(hit(wide, 10, 5, 3 * ROW, still), { part: 'name', row: 3 });
    assert.deepEqual(hit(wide, 10, 5, 10 * ROW, still), { part: 'nothing' });
    assert.deepEqual(hit(wide, 10, 5, -1, still), { part: 'nothing' });
    assert.deepEqual(hit(wide, 10, wide.cells + 32 * 22 + 1, 0, still), { part: 'name', row: 0 });
  });

  test('draws only what is visible, to the last of 200,000 rows and of 500 attempts', () => {
    assert.deepEqual(rowsSeen(wide, 200_000, 0), { from: 0, to: 28 });
    assert.deepEqual(rowsSeen(wide, 200_000, 200_000 * ROW - 600), { from: 199_972, to: 200_000 });
    assert.deepEqual(attemptsSeen(wide, 0), { from: 1, to: 33 });
    const end = many.whole - many.width;
    assert.equal(attemptsSeen(many, end).to, 501);
    assert.ok(attemptsSeen(many, end).from > 380);
  });

  test('scrolls a cell fully into view, and not when it already is', () => {
    assert.deepEqual(scrollTo(wide, 3, 5, { left: 0, top: 10 }), { left: 0, top: 10 });
    assert.deepEqual(scrollTo(wide, 100, 5, still), { left: 0, top: 101 * ROW - 600 });
    assert.deepEqual(scrollTo(wide, 0, undefined, { left: 7, top: 500 }), { left: 7, top: 0 });
    const { left } = scrollTo(many, 0, 500, still);
    const x = many.cells + 499 * many.cell - left;
    assert.ok(x >= many.cells && x + many.cell <= many.width);
    assert.deepEqual(scrollTo(many, 0, 1, { left, top: 0 }), still);
  });

  test('leaves room between the numbers of the header', () => {
    for (const layout of [wide, many]) {
      const shows = numbered(layout);
      let last = -Infinity;
      for (let attempt = 1; attempt <= layout.attempts; attempt++) {
        if (!shows(attempt)) continue;
        assert.ok((attempt - last) * layout.cell >= 24, `${layout.cell} ${attempt}`);
        last = attempt;
      }
    }
  });
});
