/** A sheet of a workbook; cells are edited in its XML tree. */
import {
  append,
  attribute,
  childOf,
  childrenOf,
  type Document,
  type Element,
  element,
  elementsOf,
  Text,
  textIn,
} from '../office/xml.ts';
import { CellError, parseSpot, type Spot, spotName, type Value } from './cells.ts';
import { shiftFormula } from './formula/tokens.ts';

/** A shared formula, which only the first of its cells contains. */
interface SharedFormula {
  readonly formula: string;
  readonly spot: Spot;
}

export class Sheet {
  changed = false;
  readonly #tree: Document;
  readonly #data: Element;
  readonly #strings: readonly string[];
  readonly #rows = new Map<number, { readonly row: Element; readonly cells: Map<number, Element> }>();
  readonly #shared = new Map<string, SharedFormula>();
  #used: Spot = { column: 0, row: 0 };

  constructor(tree: Document, strings: readonly string[]) {
    this.#tree = tree;
    this.#strings = strings;
    const [data] = elementsOf(tree, 'sheetData');
    this.#data = data ?? element('sheetData', {});
    let row = 0;
    for (const rowElement of childrenOf(this.#data, 'row')) {
      row = Number(attribute(rowElement, 'r') ?? row + 1);
      const cells = new Map<number, Element>();
      let column = 0;
      for (const cell of childrenOf(rowElement, 'c')) {
        column = parseSpot(attribute(cell, 'r') ?? '')?.column ?? column + 1;
        cells.set(column, cell);
        this.#grow({ column, row });
        this.#share(cell, { column, row });
      }
      this.#rows.set(row, { row: rowElement, cells });
    }
  }

  /** The last used column and row; 0 if the sheet is empty. */
  get used(): Spot {
    return this.#used;
  }

  style(spot: Spot): number {
    return Number(attribute(this.#cell(spot), 's') ?? 0);
  }

  /** Returns the formula of a cell, or otherwise its value. */
  content(spot: Spot): { readonly value: Value } | { readonly formula: string } {
    const formula = this.formula(spot);
    return formula === undefined ? { value: this.result(spot) ?? null } : { formula };
  }

  /** Returns the formula of a cell without `=`. */
  formula(spot: Spot): string | undefined {
    const found = childOf(this.#cell(spot), 'f');
    if (found === undefined) return undefined;
    const text = textIn(found);
    if (text !== '' || attribute(found, 't') !== 'shared') return text === '' ? undefined : text;
    const shared = this.#shared.get(attribute(found, 'si') ?? '');
    return shared === undefined
      ? undefined
      : shiftFormula(shared.formula, spot.column - shared.spot.column, spot.row - shared.spot.row);
  }

  /**
   * Returns the value of a cell; for a formula, the stored result, or undefined if there is none. A blank cell has
   * null.
   */
  result(spot: Spot): Value | undefined {
    const cell = this.#cell(spot);
    if (cell === undefined) return null;
    const type = attribute(cell, 't') ?? 'n';
    if (type === 'inlineStr') return [...elementsOf(cell, 't')].map(textIn).join('');
    const valueElement = childOf(cell, 'v');
    if (valueElement === undefined) return childOf(cell, 'f') === undefined ? null : undefined;
    const text = textIn(valueElement);
    switch (type) {
      case 's':
        return this.#strings[Number(text)] ?? '';
      case 'b':
        return text === '1';
      case 'e':
        return new CellError(text);
      case 'n':
        return text === '' ? null : Number(text);
      default:
        return text;
    }
  }

  /** Iterates over all cells with a formula. */
  *formulas(): Generator<Spot> {
    for (const [row, { cells }] of this.#rows) {
      for (const [column, cell] of cells) if (childOf(cell, 'f') !== undefined) yield { column, row };
    }
  }

  /** Writes a value, or a formula as `=…`. Keeps the style of the cell. */
  write(spot: Spot, value: string | number | boolean | null): void {
    this.#unshare(spot);
    const cell = this.#cell(spot) ?? this.#newCell(spot);
    cell.children = [];
    delete cell.attribs['t'];
    this.changed = true;
    if (typeof value === 'string' && value.startsWith('=') && value.length > 1)
      append(cell, this.#element('f', {}, [value.slice(1)]));
    else if (typeof value === 'string') {
      cell.attribs['t'] = 'inlineStr';
      append(cell, this.#element('is', {}, [this.#element('t', { 'xml:space': 'preserve' }, [value])]));
    } else if (value !== null) this.#writeResult(cell, value);
  }

  /** Stores the result of a formula. */
  storeResult(spot: Spot, value: Value): void {
    const cell = this.#cell(spot);
    if (cell === undefined) return;
    cell.children = cell.children.filter((node) => !('name' in node) || !node.name.endsWith('v'));
    delete cell.attribs['t'];
    this.changed = true;
    if (value !== null) this.#writeResult(cell, value);
  }

  finished(): Document {
    const [dimension] = elementsOf(this.#tree, 'dimension');
    if (dimension !== undefined && this.#used.row > 0) dimension.attribs['ref'] = `A1:${spotName(this.#used)}`;
    return this.#tree;
  }

  #writeResult(cell: Element, value: Exclude<Value, null>): void {
    if (typeof value === 'boolean') cell.attribs['t'] = 'b';
    else if (typeof value === 'string') cell.attribs['t'] = 'str';
    else if (value instanceof CellError) cell.attribs['t'] = 'e';
    append(
      cell,
      this.#element('v', {}, [
        typeof value === 'boolean' ? (value ? '1' : '0') : value instanceof CellError ? value.name : String(value),
      ]),
    );
  }

  #cell({ column, row }: Spot): Element | undefined {
    return this.#rows.get(row)?.cells.get(column);
  }

  #newCell(spot: Spot): Element {
    let line = this.#rows.get(spot.row);
    if (line === undefined) {
      line = { row: this.#element('row', { r: String(spot.row) }), cells: new Map() };
      const after =
        spot.row > this.#used.row
          ? undefined
          : [...this.#rows].filter(([row]) => row > spot.row).sort(([a], [b]) => a - b)[0];
      append(this.#data, line.row, after?.[1].row);
      this.#rows.set(spot.row, line);
    }
    const cell = this.#element('c', { r: spotName(spot) });
    const after =
      spot.column > this.#used.column
        ? undefined
        : [...line.cells].filter(([column]) => column > spot.column).sort(([a], [b]) => a - b)[0];
    append(line.row, cell, after?.[1]);
    line.cells.set(spot.column, cell);
    this.#grow(spot);
    return cell;
  }

  #grow({ column, row }: Spot): void {
    this.#used = { column: Math.max(this.#used.column, column), row: Math.max(this.#used.row, row) };
  }

  #share(cell: Element, spot: Spot): void {
    const formula = childOf(cell, 'f');
    const id = attribute(formula, 'si');
    if (formula !== undefined && id !== undefined && attribute(formula, 't') === 'shared' && textIn(formula) !== '')
      this.#shared.set(id, { formula: textIn(formula), spot });
  }

  /** Before the cell with a shared formula is overwritten, gives the other cells their own copies. */
  #unshare(spot: Spot): void {
    const formula = childOf(this.#cell(spot), 'f');
    const id = attribute(formula, 'si');
    if (formula === undefined || id === undefined || textIn(formula) === '') return;
    for (const other of this.formulas()) {
      const found = childOf(this.#cell(other), 'f');
      if (found === undefined || attribute(found, 'si') !== id) continue;
      const copy = this.formula(other) ?? '';
      found.attribs = {};
      found.children = [];
      append(found, new Text(copy));
    }
  }

  /** Creates an element with the same prefix as its neighbors. */
  #element(
    name: string,
    attributes: Readonly<Record<string, string>>,
    children: readonly (Element | string)[] = [],
  ): Element {
    const neighbor = this.#data.name;
    return element(`${neighbor.slice(0, neighbor.indexOf(':') + 1)}${name}`, attributes, children);
  }
}
