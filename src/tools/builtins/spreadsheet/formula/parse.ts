/** Parses spreadsheet formulas to trees. */
import { type Area, CellError, LAST } from '../cells.ts';
import { FormulaError, type Token, tokens } from './tokens.ts';

export type Formula =
  | { readonly kind: 'value'; readonly value: number | string | boolean | null | CellError }
  | { readonly kind: 'area'; readonly sheet: string | undefined; readonly area: Area }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Formula[] }
  | { readonly kind: 'operator'; readonly sign: string; readonly left: Formula; readonly right: Formula }
  | { readonly kind: 'negative' | 'percent'; readonly of: Formula }
  /** `{1,2;3,4}` */
  | { readonly kind: 'table'; readonly rows: readonly (readonly Formula[])[] };

/** Operators by precedence, weakest first. All are left-associative, even powers. */
const LEVELS: readonly (readonly string[])[] = [
  ['=', '<>', '<', '>', '<=', '>='],
  ['&'],
  ['+', '-'],
  ['*', '/'],
  ['^'],
];
const MAX_DEPTH = 200;

/** Parses a formula without its `=`. Throws FormulaError. */
export function parseFormula(formula: string): Formula {
  const parser = new Parser(tokens(formula));
  const tree = parser.expression();
  parser.end();
  return tree;
}

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(list: readonly Token[]) {
    this.#tokens = list;
  }

  expression(): Formula {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new FormulaError('The formula is nested too deeply.');
    const tree = this.#level(0);
    this.#depth -= 1;
    return tree;
  }

  end(): void {
    const token = this.#tokens[this.#next];
    if (token !== undefined) throw new FormulaError(`Unexpected ${show(token)}.`);
  }

  #level(level: number): Formula {
    const signs = LEVELS[level];
    if (signs === undefined) return this.#signed();
    let left = this.#level(level + 1);
    for (let sign = this.#sign(signs); sign !== undefined; sign = this.#sign(signs))
      left = { kind: 'operator', sign, left, right: this.#level(level + 1) };
    return left;
  }

  /** In sheets, a sign binds stronger than a power: `-2^2` is 4. */
  #signed(): Formula {
    let negative = false;
    for (let sign = this.#sign(['+', '-']); sign !== undefined; sign = this.#sign(['+', '-']))
      negative = negative !== (sign === '-');
    let tree = this.#atom();
    while (this.#sign(['%']) !== undefined) tree = { kind: 'percent', of: tree };
    return negative ? { kind: 'negative', of: tree } : tree;
  }

  #atom(): Formula {
    const token = this.#tokens[this.#next];
    this.#next += 1;
    switch (token?.kind) {
      case undefined:
        throw new FormulaError('The formula ends too early.');
      case 'number':
      case 'text':
        return { kind: 'value', value: token.value };
      case 'error':
        return { kind: 'value', value: new CellError(token.value) };
      case 'cell':
        return this.#area(token);
      case 'name':
        return /^(true|false)$/i.test(token.value)
          ? { kind: 'value', value: token.value.toLowerCase() === 'true' }
          : { kind: 'name', name: token.value };
      case 'call':
        return { kind: 'call', name: token.value, args: this.#arguments() };
      case 'sign':
        if (token.value === '(') {
          const tree = this.expression();
          this.#need(')');
          return tree;
        }
        if (token.value === '{') return this.#table();
        throw new FormulaError(`Unexpected ${show(token)}.`);
    }
  }

  #area(first: Extract<Token, { kind: 'cell' }>): Formula {
    let last = first;
    if (this.#sign([':']) !== undefined) {
      const token = this.#tokens[this.#next];
      if (token?.kind !== 'cell') throw new FormulaError('Expected a cell after ":".');
      this.#next += 1;
      last = token;
    }
    const columns = [first.column?.at ?? 1, last.column?.at ?? LAST.column];
    const rows = [first.row?.at ?? 1, last.row?.at ?? LAST.row];
    return {
      kind: 'area',
      sheet: first.sheet,
      area: {
        from: { column: Math.min(...columns), row: Math.min(...rows) },
        to: { column: Math.max(...columns), row: Math.max(...rows) },
      },
    };
  }

  #arguments(): Formula[] {
    const args: Formula[] = [];
    if (this.#sign([')']) !== undefined) return args;
    for (;;) {
      // An empty argument is a blank.
      args.push(this.#at(',') || this.#at(';') || this.#at(')') ? { kind: 'value', value: null } : this.expression());
      if (this.#sign([',', ';']) !== undefined) continue;
      this.#need(')');
      return args;
    }
  }

  #table(): Formula {
    const rows: Formula[][] = [[]];
    for (;;) {
      rows.at(-1)?.push(this.#signed());
      const sign = this.#sign([',', ';', '}']);
      if (sign === undefined) throw new FormulaError('Expected "}" at the end of the array.');
      if (sign === '}') return { kind: 'table', rows };
      if (sign === ';') rows.push([]);
    }
  }

  #at(sign: string): boolean {
    const token = this.#tokens[this.#next];
    return token?.kind === 'sign' && token.value === sign;
  }

  #sign(signs: readonly string[]): string | undefined {
    const token = this.#tokens[this.#next];
    if (token?.kind !== 'sign' || !signs.includes(token.value)) return undefined;
    this.#next += 1;
    return token.value;
  }

  #need(sign: string): void {
    const token = this.#tokens[this.#next];
    if (this.#sign([sign]) === undefined)
      throw new FormulaError(`Expected "${sign}"${token === undefined ? ' at the end' : `, not ${show(token)}`}.`);
  }
}

function show(token: Token): string {
  return token.kind === 'cell' ? 'a cell' : `"${token.value}"`;
}
