/**
 * Limits the cost of expressions: regular expressions run in linear time (as CEL requires), and nested loops over lists
 * have a budget. A single loop needs none, because the data is in memory.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { RE2JS } from 're2js';

/** Elements that nested comprehensions may visit in one evaluation. */
const BUDGET = 1_000_000;
const PATTERNS = 64;

const COMPREHENSIONS = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

let spent = 0;
const patterns = new Map<string, RE2JS>();

/** Resets the budget before an evaluation. Evaluation is synchronous, so one counter is enough. */
export function startBudget(): void {
  spent = 0;
}

/** Counts the elements of a list before a loop. Throws when the budget is exceeded. */
export function metered(value: unknown): unknown {
  spent += Array.isArray(value) ? value.length : 1;
  if (spent > BUDGET)
    throw new Error(`the nested lists are too long (more than ${BUDGET.toLocaleString('en')} evaluations)`);
  return value;
}

/** Returns whether `text` contains a match of `pattern` (RE2 syntax). Throws for an invalid pattern. */
export function matches(text: string, pattern: string): boolean {
  let compiled = patterns.get(pattern);
  if (compiled === undefined) {
    compiled = RE2JS.compile(pattern);
    if (patterns.size >= PATTERNS) patterns.clear();
    patterns.set(pattern, compiled);
  }
  return compiled.test(text);
}

/** Returns the child nodes. */
export function operands(node: ASTNode): ASTNode[] {
  const nodes: ASTNode[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    else if (typeof value === 'object' && value !== null && 'op' in value && 'range' in value)
      nodes.push(value as ASTNode); // only nodes have both
  };
  visit(node.args);
  return nodes;
}

interface Insertion {
  readonly at: number;
  readonly remove: number;
  readonly text: string;
}

/**
 * Rewrites an expression: `matches` becomes `matches_` (defined above), and if comprehensions are nested, every list in
 * a loop becomes `metered_(list)`. Edits the text at the positions of the parsed nodes.
 */
export function withLimits(text: string, root: ASTNode): string {
  const insertions: Insertion[] = [];
  const nested = nesting(root) > 1;
  const meter = (node: ASTNode): void => {
    insertions.push(
      { at: node.range.start, remove: 0, text: 'metered_(' },
      { at: node.range.end, remove: 0, text: ')' },
    );
  };
  const visit = (node: ASTNode, inside: boolean): void => {
    const loop = isComprehension(node);
    if (node.op === 'rcall') {
      const [name, receiver] = node.args;
      if (name === 'matches') {
        const at = text.indexOf('matches', receiver.range.end);
        insertions.push({ at, remove: 'matches'.length, text: 'matches_' });
      } else if (loop && nested) {
        meter(receiver);
      }
    } else if (node.op === 'in' && inside) {
      meter(node.args[1]);
    }
    for (const operand of operands(node)) visit(operand, inside || loop);
  };
  visit(root, false);
  let limited = text;
  // Applied from the end, so that positions stay valid. At the same position, later insertions come first.
  for (const { at, remove, text: inserted } of insertions
    .map((insertion, index) => ({ ...insertion, index }))
    .sort((a, b) => b.at - a.at || order(a.text, b.text) || b.index - a.index)) {
    limited = limited.slice(0, at) + inserted + limited.slice(at + remove);
  }
  return limited;
}

/** At the same position, a closing parenthesis comes before an opening one. */
function order(a: string, b: string): number {
  return Number(a === ')') - Number(b === ')');
}

function nesting(node: ASTNode): number {
  const deepest = Math.max(0, ...operands(node).map(nesting));
  return isComprehension(node) ? deepest + 1 : deepest;
}

export function isComprehension(node: ASTNode): boolean {
  return node.op === 'rcall' && COMPREHENSIONS.has(node.args[0]) && node.args[2].length >= 2;
}
