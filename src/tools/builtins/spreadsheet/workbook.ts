/**
 * A workbook (.xlsx). Cells are edited in the XML tree of their sheet, so everything else (charts, styles, pictures)
 * stays unchanged.
 */
import { ClassedError } from '../../../trace/classedError.ts';
import { type Parts, pack, partText, unpack } from '../office/archive.ts';
import {
  append,
  attribute,
  childOf,
  childrenOf,
  type Document,
  type Element,
  element,
  elementsOf,
  parseXml,
  relations,
  relationsPart,
  textIn,
  xmlText,
} from '../office/xml.ts';
import { type Spot, spotName, type Value } from './cells.ts';
import { DateFormats } from './dates.ts';
import { emptyWorkbook, SHEET, SHEET_TYPE, WORKSHEET_RELATION } from './empty.ts';
import { Evaluator } from './formula/evaluate.ts';
import { FormulaError } from './formula/tokens.ts';
import { Sheet } from './sheet.ts';

const WORKBOOK = 'xl/workbook.xml';
const TYPES = '[Content_Types].xml';
const CHAIN = 'xl/calcChain.xml';

export class Workbook {
  readonly #parts: Parts;
  readonly #main: string;
  readonly #tree: Document;
  readonly #strings: readonly string[];
  readonly #paths = new Map<string, string>();
  readonly #opened = new Map<string, Sheet>();
  readonly #names = new Map<string, string>();
  readonly dates: DateFormats;

  /** Throws ClassedError `tool_error` if the bytes are not a workbook. */
  constructor(bytes: Uint8Array | undefined) {
    this.#parts = bytes === undefined ? emptyWorkbook() : unpack(bytes, 'an .xlsx workbook');
    this.#main =
      [...relations(partText(this.#parts, '_rels/.rels'), '').values()].find(({ type }) => type === 'officeDocument')
        ?.path ?? WORKBOOK;
    const text = partText(this.#parts, this.#main);
    if (text === undefined)
      throw new ClassedError('tool_error', 'This is not an .xlsx workbook: it contains no workbook.');
    this.#tree = parseXml(text);
    const parts = relations(partText(this.#parts, relationsPart(this.#main)), this.#main);
    for (const sheet of elementsOf(this.#tree, 'sheet')) {
      const part = parts.get(sheet.attribs['r:id'] ?? attribute(sheet, 'id') ?? '');
      const name = attribute(sheet, 'name');
      // Chart sheets have no cells.
      if (name !== undefined && part?.type === 'worksheet') this.#paths.set(name, part.path);
    }
    for (const name of elementsOf(this.#tree, 'definedName'))
      this.#names.set((attribute(name, 'name') ?? '').toLowerCase(), textIn(name));
    const strings = partText(this.#parts, [...parts.values()].find(({ type }) => type === 'sharedStrings')?.path ?? '');
    this.#strings = strings === undefined ? [] : [...elementsOf(parseXml(strings), 'si')].map(stringText);
    const styles = partText(this.#parts, [...parts.values()].find(({ type }) => type === 'styles')?.path ?? '');
    this.dates = new DateFormats(
      styles === undefined ? undefined : parseXml(styles),
      ['1', 'true'].includes(attribute([...elementsOf(this.#tree, 'workbookPr')][0], 'date1904') ?? ''),
    );
  }

  get names(): readonly string[] {
    return [...this.#paths.keys()];
  }

  /** Returns a sheet. Throws ClassedError `tool_error` if it does not exist. */
  sheet(name: string): Sheet {
    const opened = this.#opened.get(name);
    if (opened !== undefined) return opened;
    const text = partText(this.#parts, this.#paths.get(name) ?? '');
    if (text === undefined)
      throw new ClassedError('tool_error', `Unknown sheet "${name}". Sheets: ${this.names.join(', ')}.`);
    const sheet = new Sheet(parseXml(text), this.#strings);
    this.#opened.set(name, sheet);
    return sheet;
  }

  /** Adds a sheet at the end. */
  addSheet(name: string): Sheet {
    if (name.length > 31 || /[\\/?*[\]:]/.test(name))
      throw new ClassedError(
        'invalid_arguments',
        `"${name}" is not a valid sheet name: use up to 31 characters, without \\ / ? * [ ] :.`,
      );
    const number =
      1 +
      Math.max(
        0,
        ...Object.keys(this.#parts).map((part) => Number(/^xl\/worksheets\/sheet(\d+)\.xml$/.exec(part)?.[1] ?? 0)),
      );
    const path = `xl/worksheets/sheet${number}.xml`;
    const sheets = [...elementsOf(this.#tree, 'sheets')][0];
    if (sheets === undefined) throw new ClassedError('tool_error', 'The workbook has no list of sheets.');
    const ids = childrenOf(sheets).map((sheet) => Number(attribute(sheet, 'sheetId') ?? 0));
    const relation = `rStudio${number}`;
    append(
      sheets,
      element('sheet', {
        name,
        sheetId: String(1 + Math.max(0, ...ids)),
        'r:id': relation,
        ...(this.#tree.children.some((node) => 'attribs' in node && 'xmlns:r' in node.attribs)
          ? {}
          : { 'xmlns:r': WORKSHEET_RELATION.replace(/\/worksheet$/, '') }),
      }),
    );
    this.#parts[path] = new TextEncoder().encode(SHEET);
    const target = path.slice('xl/'.length);
    this.#change(relationsPart(this.#main), (root) =>
      append(
        root,
        element('Relationship', {
          Id: relation,
          Type: WORKSHEET_RELATION,
          Target: this.#main.startsWith('xl/') ? target : `/${path}`,
        }),
      ),
    );
    this.#change(TYPES, (root) => append(root, element('Override', { PartName: `/${path}`, ContentType: SHEET_TYPE })));
    this.#paths.set(name, path);
    return this.sheet(name);
  }

  /** Recalculates all formulas and stores their results. Returns failures such as `Sheet1!B2: reason`. */
  recalculate(): string[] {
    const evaluator = this.evaluator();
    const problems: string[] = [];
    for (const name of this.names) {
      const sheet = this.sheet(name);
      for (const spot of sheet.formulas()) {
        try {
          sheet.storeResult(spot, evaluator.value(name, spot));
        } catch (error) {
          if (!(error instanceof FormulaError)) throw error;
          problems.push(`${name}!${spotName(spot)}: ${error.message}`);
        }
      }
    }
    return problems;
  }

  evaluator(): Evaluator {
    return new Evaluator({
      sheets: this.names,
      used: (sheet) => this.sheet(sheet).used,
      cell: (sheet, spot) => this.sheet(sheet).content(spot),
      definedName: (name) => this.#names.get(name.toLowerCase()),
    });
  }

  /** Returns the value of a cell; for a formula, the stored result, or otherwise evaluates it. */
  value(name: string, spot: Spot, evaluator: Evaluator): Value {
    const sheet = this.sheet(name);
    return sheet.result(spot) ?? evaluator.value(name, spot);
  }

  bytes(): Uint8Array {
    for (const [name, sheet] of this.#opened) {
      const path = this.#paths.get(name);
      if (path !== undefined && sheet.changed) this.#parts[path] = new TextEncoder().encode(xmlText(sheet.finished()));
    }
    this.#removeChain();
    // Lets Excel recalculate everything, including formulas that are not supported here.
    const root = childrenOf(this.#tree)[0];
    const calc = childOf(root, 'calcPr');
    if (calc !== undefined) calc.attribs['fullCalcOnLoad'] = '1';
    this.#parts[this.#main] = new TextEncoder().encode(xmlText(this.#tree));
    return pack(this.#parts);
  }

  /** Removes the calculation chain, which is outdated when formulas change; Excel recreates it. */
  #removeChain(): void {
    if (this.#parts[CHAIN] === undefined) return;
    Reflect.deleteProperty(this.#parts, CHAIN);
    const without = (root: Element): void => {
      root.children = root.children.filter(
        (node) =>
          !('attribs' in node) ||
          !`${attribute(node, 'PartName') ?? ''}${attribute(node, 'Target') ?? ''}`.endsWith('calcChain.xml'),
      );
    };
    this.#change(TYPES, without);
    this.#change(relationsPart(this.#main), without);
  }

  #change(part: string, act: (root: Element) => void): void {
    const text = partText(this.#parts, part);
    if (text === undefined) throw new ClassedError('tool_error', `The workbook has no ${part}.`);
    const tree = parseXml(text);
    const [root] = childrenOf(tree);
    if (root !== undefined) act(root);
    this.#parts[part] = new TextEncoder().encode(xmlText(tree));
  }
}

/** Returns plain or rich text without phonetic hints. */
function stringText(item: Element): string {
  return childrenOf(item)
    .map((child) =>
      child.name.endsWith('rPh') ? '' : child.name.endsWith('r') ? textIn(childOf(child, 't')) : textIn(child),
    )
    .join('');
}
