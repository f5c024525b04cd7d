/**
 * Formats the accessibility tree of a page as text. Playwright's own text shows every wrapper with a ref, which costs
 * agents several times as many tokens.
 */
import { z } from 'zod';

const state = z.union([z.boolean(), z.string(), z.number()]).optional();
const accessibleNode = z.object({
  role: z.string(),
  name: z.string().default(''),
  /** The content, if it is only text. */
  text: z.string().optional(),
  ref: z.string().optional(),
  /** `pointer` if it reacts to clicks. */
  cursor: z.string().optional(),
  url: z.string().optional(),
  checked: state,
  disabled: state,
  expanded: state,
  selected: state,
  pressed: state,
  level: state,
  invalid: state,
  get children() {
    return z.array(z.union([z.string(), accessibleNode])).optional();
  },
});
type AccessibleNode = z.output<typeof accessibleNode>;
export const accessibleTree = z.array(z.union([z.string(), accessibleNode]));

const STATES = ['checked', 'disabled', 'expanded', 'selected', 'pressed', 'level', 'invalid'] as const;
/** Roles that only group their content. */
const WRAPPERS = new Set(['fragment', 'generic', 'none', 'presentation', 'paragraph', 'rowgroup', 'text']);

/** Formats a tree: one line per element, with its `ref`. `base`: base URL of links. Pure. */
export function snapshotText(tree: z.output<typeof accessibleTree>, base: string): string {
  return tree.flatMap((node) => linesOf(node, base, '')).join('\n');
}

/** `base` is undefined in other frames, whose links stay as written. */
function linesOf(node: string | AccessibleNode, base: string | undefined, indent: string): string[] {
  if (typeof node === 'string') return [`${indent}- text: ${node}`];
  const { role, name, text, cursor, children = [] } = node;
  if (WRAPPERS.has(role) && name === '' && cursor !== 'pointer')
    return [...(text === undefined ? [] : [text]), ...children].flatMap((child) => linesOf(child, base, indent));
  const inner = role === 'iframe' ? undefined : base;
  return [`${indent}- ${lineOf(node, base)}`, ...children.flatMap((child) => linesOf(child, inner, `${indent}  `))];
}

function lineOf(node: AccessibleNode, base: string | undefined): string {
  const { role, name, text, ref, url } = node;
  const states = STATES.flatMap((key) => {
    const value = node[key];
    if (value === undefined || value === false) return [];
    return [value === true ? `[${key}]` : `[${key}=${value}]`];
  });
  const line = [
    role,
    ...(name === '' ? [] : [JSON.stringify(name)]),
    ...states,
    ...(ref === undefined ? [] : [`[ref=${ref}]`]),
    ...(url === undefined ? [] : [`(${URL.parse(url, base)?.href ?? url})`]),
  ].join(' ');
  return text === undefined || text === name ? line : `${line}: ${text}`;
}
