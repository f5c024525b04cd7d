import { isCollection, isPair, type Node, type YAMLError } from 'yaml';

/** Levels of lists and groups that a file may have. */
export const MAX_DEPTH = 200;

/** Returns the first list or group of a document that is nested too deeply. Does not recurse. */
export function tooDeep(root: unknown): Node | undefined {
  const waiting = [{ node: root, depth: 1 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, depth } = next;
    if (isPair(node)) waiting.push({ node: node.value, depth }, { node: node.key, depth });
    if (!isCollection(node)) continue;
    if (depth > MAX_DEPTH) return node;
    for (let at = node.items.length - 1; at >= 0; at--) waiting.push({ node: node.items[at], depth: depth + 1 });
  }
  return undefined;
}

/** Returns whether the parser gave up because of the nesting, which is deeper than its stack. */
export function isOverflow({ message }: YAMLError): boolean {
  return /maximum call stack|stack overflow/i.test(message);
}
