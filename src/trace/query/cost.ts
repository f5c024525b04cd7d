/**
 * What keeps an expression cheap: regular expressions that run in linear time (as CEL demands), and a budget for
 * lists inside lists. One pass over data needs no budget: the data is in memory.
 */
import type { ASTNode } from '@marcbachmann/cel-js';
import { RE2JS } from 're2js';

/** Elements that nested comprehensions of one evaluation may look at. */
const BUDGET = 1_000_000;
const PATTERNS = 64;

const COMPREHENSIONS = new Set(['all', 'exists', 'exists_one', 'map', 'filter']);

let spent = 0;
const patterns = new Map<string, RE2JS>();

/** Evaluation is synchronous, so one counter serves all. */
export function startBudget(): void {
  spent = 0;
}

/** Counts the elements of a list that is about to be gone through. Throws when the budget is used up. */
export function metered(value: unknown): unknown {
  spent += Array.isArray(value) ? value.length : 1;
  if (spent > BUDGET)
    throw new Error(`the nested lists are too long (more than ${BUDGET.toLocaleString('en')} evaluations)`);
  return value;
}

/** Whether `pattern` (RE2 syntax) is found in `text`. Throws on a broken pattern. */
export function matches(text: string, pattern: string): boolean {
  let compiled = patterns.get(pattern);
  if (compiled === undefined) {
    compiled = RE2JS.compile(pattern);
    if (patterns.size >= PATTERNS) patterns.clear();
    patterns.set(pattern, compiled);
  }
  return compiled.test(text);
}

/** Nodes directly below a node. */
export function operands(node: ASTNode): ASTNode[] {
  const found: ASTNode[] = [];
  const look = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(look);
    else if (typeof value === 'object' && value !== null && 'op' in value && 'range' in value)
      found.push(value as ASTNode); // nodes, and only they, have both
  };
  look(node.args);
  return found;
}

interface Insertion {
  readonly at: number;
  readonly remove: number;
  readonly text: string;
}

/**
 * The expression with `matches` as `matches_` (ours), and, where one comprehension is inside another, every list that
 * is gone through as `metered_(list)`. Done on the text by the positions of the parsed nodes.
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
  // From the end, so that positions stay true; at one position, what was put in last stands first.
  for (const { at, remove, text: put } of insertions
    .map((insertion, index) => ({ ...insertion, index }))
    .sort((a, b) => b.at - a.at || order(a.text, b.text) || b.index - a.index)) {
    limited = limited.slice(0, at) + put + limited.slice(at + remove);
  }
  return limited;
}

/** At one position a bracket that closes belongs before one that opens. */
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
