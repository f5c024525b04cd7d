import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WorldTable } from '../../../src/protocol/worldPage.ts';
import { layoutSchema, tableTowards } from '../../../webview/world/page/schema/layout.ts';

function table(name: string, refers: readonly string[] = [], columns = 3): WorldTable {
  const names = ['id', ...refers.map((target) => `${target}_id`), 'a', 'b'];
  while (names.length < columns) names.push(`c${names.length}`);
  return {
    name,
    rows: 1,
    columns: names.map((column) => ({ name: column, type: 'INTEGER', isKey: column === 'id', isRequired: false })),
    foreignKeys: refers.map((target) => ({ columns: [`${target}_id`], table: target, references: [] })),
  };
}

describe('the layout of a schema', () => {
  const tables = [
    table('loans', ['members', 'copies']),
    table('copies', ['books']),
    table('members'),
    table('books'),
    table('settings'),
    table('staff', ['staff']),
  ];
  it('puts tables to the right of those that they refer to, and others last', () => {
    const { tables: placed, relations, width } = layoutSchema(tables);
    const x = (name: string): number => placed.find((each) => each.table.name === name)?.x ?? NaN;
    assert.ok(x('books') < x('copies') && x('copies') < x('loans') && x('members') < x('loans'));
    assert.ok(x('settings') > x('loans'));
    assert.deepEqual(relations.map(({ from, to }) => `${from} ${to}`).toSorted(), [
      'copies books',
      'loans copies',
      'loans members',
      'staff staff',
    ]);
    assert.ok(placed.every((each) => each.x >= 0 && each.x + each.width <= width));
  });
  it('draws no table over another one, with 40 of them, circles, and missing ones', () => {
    const many = Array.from({ length: 40 }, (_, index) =>
      table(`t${index}`, [`t${(index * 7) % 40}`, `t${(index * 3) % 40}`, 'gone'], (index * 5) % 30),
    );
    const { tables: placed } = layoutSchema(many);
    assert.equal(placed.length, 40);
    for (const one of placed)
      for (const two of placed)
        assert.ok(
          one === two ||
            one.x + one.width <= two.x ||
            two.x + two.width <= one.x ||
            one.y + one.height <= two.y ||
            two.y + two.height <= one.y,
          `${one.table.name} and ${two.table.name}`,
        );
  });
  it('counts the columns that it does not draw, which are no keys', () => {
    const [wide] = layoutSchema([table('wide', ['wide'], 30)]).tables;
    assert.deepEqual([wide?.columns.length, wide?.more, wide?.columns[1]?.name], [13, 17, 'wide_id']);
  });
  it('finds the next table in each direction', () => {
    const layout = layoutSchema(tables);
    assert.equal(tableTowards(layout, 'copies', [1, 0]), 'loans');
    assert.ok(['books', 'members'].includes(tableTowards(layout, 'copies', [-1, 0]) ?? ''));
    assert.equal(tableTowards(layout, 'books', [-1, 0]), undefined);
    assert.equal(tableTowards(layout, 'gone', [1, 0]), layout.tables[0]?.table.name);
  });
});
