/** Arithmetic expressions: a recursive descent parser that evaluates while parsing. */

/** An invalid expression; the message contains the position (1-based) if it is known. */
export class ExpressionError extends Error {}

const CONSTANTS: Readonly<Record<string, number>> = { pi: Math.PI, e: Math.E, tau: 2 * Math.PI };

interface Fn {
  readonly min: number;
  readonly max: number;
  readonly of: (args: readonly number[]) => number;
}
const one = (of: (x: number) => number): Fn => ({ min: 1, max: 1, of: ([x]) => of(x ?? Number.NaN) });
const two = (of: (x: number, y: number) => number): Fn => ({
  min: 2,
  max: 2,
  of: ([x, y]) => of(x ?? Number.NaN, y ?? Number.NaN),
});
const oneOrTwo = (of: (x: number, y: number | undefined) => number): Fn => ({
  min: 1,
  max: 2,
  of: ([x, y]) => of(x ?? Number.NaN, y),
});
const variadic = (of: (args: readonly number[]) => number): Fn => ({ min: 1, max: Infinity, of });

const FUNCTIONS: Readonly<Record<string, Fn>> = {
  abs: one(Math.abs),
  sqrt: one(Math.sqrt),
  cbrt: one(Math.cbrt),
  exp: one(Math.exp),
  ln: one(Math.log),
  /** Base 10, or the base in the second argument. */
  log: oneOrTwo((x, base) => (base === undefined ? Math.log10(x) : Math.log(x) / Math.log(base))),
  log2: one(Math.log2),
  log10: one(Math.log10),
  sin: one(Math.sin),
  cos: one(Math.cos),
  tan: one(Math.tan),
  asin: one(Math.asin),
  acos: one(Math.acos),
  atan: one(Math.atan),
  atan2: two(Math.atan2),
  sinh: one(Math.sinh),
  cosh: one(Math.cosh),
  tanh: one(Math.tanh),
  floor: one(Math.floor),
  ceil: one(Math.ceil),
  trunc: one(Math.trunc),
  sign: one(Math.sign),
  /** Rounds to integers, or to the digits in the second argument; halves away from zero. */
  round: oneOrTwo((x, digits = 0) => (Math.sign(x) * Math.round(Math.abs(x) * 10 ** digits)) / 10 ** digits),
  min: variadic((args) => Math.min(...args)),
  max: variadic((args) => Math.max(...args)),
  sum: variadic(sum),
  mean: variadic((args) => sum(args) / args.length),
  gcd: variadic((args) => args.reduce(gcd)),
  lcm: variadic((args) => args.reduce((a, b) => Math.abs(a * b) / gcd(a, b))),
};

/** Names an expression may use. */
export const NAMES: readonly string[] = [...Object.keys(CONSTANTS), ...Object.keys(FUNCTIONS)];

const TOKEN = new RegExp(
  String.raw`\s*(?:(\d+(?:_\d+)*(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)` +
    String.raw`|([a-zA-Z][a-zA-Z0-9]*)|(\*\*|[-+*/%^!(),×÷−]))`,
  'y',
);
/** Limits nesting, to protect the stack. */
const MAX_DEPTH = 200;

interface Token {
  readonly at: number;
  readonly number?: number;
  readonly name?: string;
  readonly sign?: string;
}

/** Evaluates an expression to a finite number. Throws ExpressionError. */
export function evaluate(text: string): number {
  const parser = new Parser(tokens(text), text.length);
  const value = parser.sum();
  parser.end();
  if (Number.isNaN(value)) throw new ExpressionError('The result is not a real number.');
  if (!Number.isFinite(value)) throw new ExpressionError('The result is infinite or too large (a division by zero?).');
  return value;
}

const SAME: Readonly<Record<string, string>> = { '**': '^', '×': '*', '÷': '/', '−': '-' };

function tokens(text: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  let at = 0;
  while (text.slice(at).trim() !== '') {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    const start = at + (text.slice(at).length - text.slice(at).trimStart().length);
    if (match === null) throw new ExpressionError(`Unexpected "${text[start] ?? ''}" at position ${start + 1}.`);
    const [, number, name, sign] = match;
    if (number !== undefined) found.push({ at: start, number: Number(number.replaceAll('_', '')) });
    else if (name !== undefined) found.push({ at: start, name });
    else if (sign !== undefined) found.push({ at: start, sign: SAME[sign] ?? sign });
    at = TOKEN.lastIndex;
  }
  return found;
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #length: number;
  #next = 0;
  #depth = 0;

  constructor(list: readonly Token[], length: number) {
    this.#tokens = list;
    this.#length = length;
  }

  sum(): number {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new ExpressionError('The expression is nested too deeply.');
    let value = this.#product();
    for (;;) {
      if (this.#accept('+')) value += this.#product();
      else if (this.#accept('-')) value -= this.#product();
      else break;
    }
    this.#depth -= 1;
    return value;
  }

  end(): void {
    const token = this.#tokens[this.#next];
    if (token !== undefined) throw new ExpressionError(`Unexpected ${show(token)} at position ${token.at + 1}.`);
  }

  #product(): number {
    let value = this.#signed();
    for (;;) {
      if (this.#accept('*')) value *= this.#signed();
      else if (this.#accept('/')) value /= this.#signed();
      else if (this.#accept('%')) value %= this.#signed();
      else return value;
    }
  }

  /** A sign binds weaker than a power: -2^2 = -4. */
  #signed(): number {
    let sign = 1;
    for (;;) {
      if (this.#accept('-')) sign = -sign;
      else if (!this.#accept('+')) break;
    }
    const value = this.#power();
    return sign < 0 ? -value : value;
  }

  /** Powers are right-associative: 2^3^2 = 2^9. */
  #power(): number {
    const base = this.#factorial();
    if (!this.#accept('^')) return base;
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new ExpressionError('The expression is nested too deeply.');
    const value = base ** this.#signed();
    this.#depth -= 1;
    return value;
  }

  #factorial(): number {
    let value = this.#atom();
    while (this.#accept('!')) value = factorial(value);
    return value;
  }

  #atom(): number {
    const token = this.#tokens[this.#next];
    if (token === undefined)
      throw new ExpressionError(`The expression ends too early, at position ${this.#length + 1}.`);
    this.#next += 1;
    if (token.number !== undefined) return token.number;
    if (token.name !== undefined) return this.#evaluateName(token.name, token.at);
    if (token.sign !== '(') throw new ExpressionError(`Unexpected ${show(token)} at position ${token.at + 1}.`);
    const value = this.sum();
    this.#need(')');
    return value;
  }

  #evaluateName(name: string, at: number): number {
    const lower = name.toLowerCase();
    if (Object.hasOwn(CONSTANTS, lower)) return CONSTANTS[lower] ?? Number.NaN;
    const fn = Object.hasOwn(FUNCTIONS, lower) ? FUNCTIONS[lower] : undefined;
    if (fn === undefined)
      throw new ExpressionError(`Unknown name "${name}" at position ${at + 1}. Available: ${NAMES.join(', ')}.`);
    this.#need('(');
    const args = [this.sum()];
    while (this.#accept(',')) args.push(this.sum());
    this.#need(')');
    if (args.length < fn.min || args.length > fn.max)
      throw new ExpressionError(
        `${name} takes ${fn.min === fn.max ? fn.min : `${fn.min} to ${fn.max}`} arguments, not ` +
          `${args.length} (position ${at + 1}).`,
      );
    return fn.of(args);
  }

  #accept(sign: string): boolean {
    if (this.#tokens[this.#next]?.sign !== sign) return false;
    this.#next += 1;
    return true;
  }

  #need(sign: string): void {
    const token = this.#tokens[this.#next];
    if (!this.#accept(sign))
      throw new ExpressionError(`Expected "${sign}" at position ${(token?.at ?? this.#length) + 1}.`);
  }
}

function show(token: Token): string {
  return `"${token.name ?? token.sign ?? String(token.number)}"`;
}

function factorial(n: number): number {
  if (!Number.isInteger(n) || n < 0)
    throw new ExpressionError(`${n}! is not defined: factorials need a non-negative integer.`);
  let value = 1;
  for (let i = 2; i <= n && Number.isFinite(value); i++) value *= i;
  return value;
}

function sum(args: readonly number[]): number {
  return args.reduce((a, b) => a + b, 0);
}

function gcd(a: number, b: number): number {
  let [x, y] = [Math.abs(a), Math.abs(b)];
  while (y > 0) [x, y] = [y, x % y];
  return x;
}
