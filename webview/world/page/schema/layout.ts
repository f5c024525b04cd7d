/** Places the tables of a schema: those that others refer to on the left, lines between them in the gaps. */
import type { WorldTable } from '../../../../src/protocol/worldPage.ts';

export const HEAD_HEIGHT = 27;
export const LINE_HEIGHT = 20;
export const TABLE_WIDTH = 232;
/** Columns of a table that are drawn; the others are counted. */
const MAX_COLUMNS = 14;
const PADDING_BOTTOM = 5;
const GAP_X = 76;
const GAP_Y = 28;
const MARGIN = 20;
/** Lines of tables that refer to themselves are left of the first ones. */
const MARGIN_LEFT = 44;
/** Distance between parallel lines in a gap. */
const LANE = 6;
/** Higher columns of tables are split. */
const MIN_COLUMN_HEIGHT = 560;
const SWEEPS = 4;

export interface PlacedTable {
  readonly table: WorldTable;
  /** Columns that are drawn: keys first if there are more. */
  readonly columns: WorldTable['columns'];
  /** Number of columns that are not drawn. */
  readonly more: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface PlacedRelation {
  /** The table with the foreign key: the “many” end. */
  readonly from: string;
  readonly to: string;
  /** An SVG path from the many end to the one end. */
  readonly path: string;
  /** Positions and directions of both ends: −1: the line goes to the left. */
  readonly many: RelationEnd;
  readonly one: RelationEnd;
}

interface RelationEnd {
  readonly x: number;
  readonly y: number;
  readonly side: -1 | 1;
}

export interface SchemaLayout {
  readonly tables: readonly PlacedTable[];
  readonly relations: readonly PlacedRelation[];
  readonly width: number;
  readonly height: number;
}

export function layoutSchema(tables: readonly WorldTable[]): SchemaLayout {
  const byName = new Map(tables.map((table) => [table.name, table]));
  const groups = columnsOfTables(tables, byName);
  const placed = new Map<string, PlacedTable>();
  let x = MARGIN_LEFT;
  for (const group of groups) {
    let y = MARGIN;
    for (const table of group) {
      const { columns, more } = drawnColumns(table);
      const height = heightOf(columns.length, more);
      placed.set(table.name, { table, columns, more, x, y, width: TABLE_WIDTH, height });
      y += height + GAP_Y;
    }
    x += TABLE_WIDTH + GAP_X;
  }
  const all = [...placed.values()];
  return {
    tables: all,
    relations: relationsOf(all, placed),
    width: Math.max(0, ...all.map((table) => table.x + table.width)) + MARGIN,
    height: Math.max(0, ...all.map((table) => table.y + table.height)) + MARGIN,
  };
}

function heightOf(columns: number, more: number): number {
  return HEAD_HEIGHT + (columns + (more > 0 ? 1 : 0)) * LINE_HEIGHT + PADDING_BOTTOM;
}

function drawnColumns(table: WorldTable): Pick<PlacedTable, 'columns' | 'more'> {
  const { columns } = table;
  if (columns.length <= MAX_COLUMNS) return { columns, more: 0 };
  const isUsed = ({ name, isKey }: WorldTable['columns'][number]): boolean =>
    isKey || table.foreignKeys.some((key) => key.columns.includes(name));
  const drawn = [...columns.filter(isUsed), ...columns.filter((column) => !isUsed(column))].slice(0, MAX_COLUMNS - 1);
  const kept = columns.filter((column) => drawn.includes(column)); // in their order
  return { columns: kept, more: columns.length - kept.length };
}

/** Groups tables by the length of the longest chain of references from them; unrelated ones come last. */
function columnsOfTables(tables: readonly WorldTable[], byName: ReadonlyMap<string, WorldTable>): WorldTable[][] {
  const targets = (table: WorldTable): WorldTable[] =>
    table.foreignKeys.flatMap((key) => {
      const target = byName.get(key.table);
      return target === undefined || target === table ? [] : [target];
    });
  const ranks = new Map<WorldTable, number>();
  const visiting = new Set<WorldTable>();
  const rankOf = (table: WorldTable): number => {
    const known = ranks.get(table);
    if (known !== undefined) return known;
    visiting.add(table);
    const rank = Math.max(
      -1,
      ...targets(table).map((target) => (visiting.has(target) ? -1 : rankOf(target))), // a circle of references
    );
    visiting.delete(table);
    ranks.set(table, rank + 1);
    return rank + 1;
  };
  const related = new Set(tables.flatMap((table) => (targets(table).length === 0 ? [] : [table, ...targets(table)])));
  const groups: WorldTable[][] = [];
  for (const table of tables) if (related.has(table)) (groups[rankOf(table)] ??= []).push(table);
  const alone = tables.filter((table) => !related.has(table));
  const ordered = inOrder(
    groups.filter((group) => group.length > 0),
    targets,
  );
  const heights = (group: readonly WorldTable[]): number =>
    group.reduce((sum, table) => {
      const { columns, more } = drawnColumns(table);
      return sum + heightOf(columns.length, more) + GAP_Y;
    }, 0);
  const whole = heights(tables);
  // About twice as wide as high, as an editor is.
  const limit = Math.max(MIN_COLUMN_HEIGHT, Math.sqrt((whole * (TABLE_WIDTH + GAP_X)) / 2));
  return [...ordered, alone].flatMap((group) => split(group, limit, heights));
}

/** Sorts each group so that its tables are near those that they refer to, and that refer to them. */
function inOrder(groups: WorldTable[][], targets: (table: WorldTable) => readonly WorldTable[]): WorldTable[][] {
  const neighbors = new Map<WorldTable, Set<WorldTable>>();
  const link = (from: WorldTable, to: WorldTable): void => {
    neighbors.set(from, (neighbors.get(from) ?? new Set()).add(to));
  };
  for (const table of groups.flat())
    for (const target of targets(table)) {
      link(table, target);
      link(target, table);
    }
  const position = new Map<WorldTable, number>();
  const number = (group: readonly WorldTable[]): void => {
    for (const [index, table] of group.entries()) position.set(table, (index + 0.5) / group.length);
  };
  for (const group of groups) number(group);
  for (let sweep = 0; sweep < SWEEPS; sweep++)
    for (const group of groups) {
      const mean = (table: WorldTable): number => {
        const near = [...(neighbors.get(table) ?? [])].filter((other) => !group.includes(other));
        if (near.length === 0) return position.get(table) ?? 0;
        return near.reduce((sum, other) => sum + (position.get(other) ?? 0), 0) / near.length;
      };
      const means = new Map(group.map((table) => [table, mean(table)]));
      group.sort((a, b) => (means.get(a) ?? 0) - (means.get(b) ?? 0));
      number(group);
    }
  return groups;
}

function split(
  group: readonly WorldTable[],
  limit: number,
  heights: (group: readonly WorldTable[]) => number,
): WorldTable[][] {
  const parts: WorldTable[][] = [];
  for (const table of group) {
    const last = parts.at(-1);
    if (last === undefined || heights([...last, table]) > limit + GAP_Y) parts.push([table]);
    else last.push(table);
  }
  return parts;
}

function relationsOf(all: readonly PlacedTable[], placed: ReadonlyMap<string, PlacedTable>): PlacedRelation[] {
  const lanes = new Map<number, number>();
  const relations: PlacedRelation[] = [];
  for (const from of all)
    for (const key of from.table.foreignKeys) {
      const to = placed.get(key.table);
      if (to === undefined) continue;
      const own = key.columns[0] ?? '';
      const other = key.references[0] ?? to.table.columns.find(({ isKey }) => isKey)?.name ?? '';
      const isRightOf = from.x > to.x;
      const side: -1 | 1 = isRightOf || from.x === to.x ? -1 : 1;
      const many = { x: side === -1 ? from.x : from.x + from.width, y: lineOf(from, own), side };
      const oneSide: -1 | 1 = isRightOf ? 1 : -1;
      const one = { x: oneSide === 1 ? to.x + to.width : to.x, y: lineOf(to, other), side: oneSide };
      const gap = many.x + side * 24;
      const lane = lanes.get(gap) ?? 0;
      lanes.set(gap, lane + 1);
      const bend = gap + side * ((lane * LANE) % (GAP_X - 44));
      relations.push({
        from: from.table.name,
        to: to.table.name,
        path: `M ${many.x} ${many.y} H ${bend} V ${one.y} H ${one.x}`,
        many,
        one,
      });
    }
  return relations;
}

function lineOf({ columns, y }: PlacedTable, name: string): number {
  const at = columns.findIndex((column) => column.name.toLowerCase() === name.toLowerCase());
  return y + HEAD_HEIGHT + (Math.max(0, at) + 0.5) * LINE_HEIGHT;
}

/** Returns the nearest table in a direction. */
export function tableTowards(
  { tables }: SchemaLayout,
  name: string,
  [dx, dy]: readonly [number, number],
): string | undefined {
  const from = tables.find(({ table }) => table.name === name);
  if (from === undefined) return tables[0]?.table.name;
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const to of tables) {
    const along = (to.x - from.x) * dx + (to.y - from.y) * dy;
    if (along <= 0) continue;
    const across = Math.abs((to.x - from.x) * dy) + Math.abs((to.y - from.y) * dx);
    const distance = along + 2 * across;
    if (best === undefined || distance < best.distance) best = { name: to.table.name, distance };
  }
  return best?.name;
}
