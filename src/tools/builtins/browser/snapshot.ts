/** The accessible tree of a page as text: what is on it, and by which `ref` each thing can be clicked. Pure. */
import { z } from 'zod';

const value = z.object({ value: z.unknown().optional() });
export const accessibleNode = z.object({
  nodeId: z.string(),
  ignored: z.boolean().default(false),
  role: value.optional(),
  name: value.optional(),
  value: value.optional(),
  properties: z.array(z.object({ name: z.string(), value })).default([]),
  childIds: z.array(z.string()).default([]),
  backendDOMNodeId: z.number().optional(),
});
export type AccessibleNode = z.output<typeof accessibleNode>;

/** A frame's tree, its root first. `owner`: the element of the frame above that it is in. */
export interface FrameTree {
  readonly owner: number | undefined;
  readonly nodes: readonly AccessibleNode[];
}

/** Nothing but what is inside of them. */
const EMPTY_ROLES = new Set([
  'generic',
  'none',
  'presentation',
  'RootWebArea',
  'WebArea',
  'InlineTextBox',
  'LineBreak',
  'ListMarker',
  'paragraph',
  'LayoutTable',
  'LayoutTableRow',
  'LayoutTableCell',
  'SvgRoot',
  'Section',
  'rowgroup',
]);
const NAMES: Readonly<Record<string, string>> = {
  StaticText: 'text',
  image: 'img',
  Iframe: 'iframe',
  IframePresentational: 'iframe',
  LabelText: 'label',
  DescriptionListTerm: 'term',
  DescriptionListDetail: 'definition',
  ComboBoxSelect: 'combobox',
  MenuListPopup: 'listbox',
};
/** Told when they are set. */
const STATES = ['checked', 'disabled', 'expanded', 'selected', 'pressed', 'level', 'required', 'invalid'] as const;
const DEEPEST = 400;

/** `e12` of a node: its number in the browser, which stays as long as the node does. */
export function refOf(node: number): string {
  return `e${node}`;
}

/** undefined when it is none. */
export function nodeOf(ref: string): number | undefined {
  const digits = /^e(\d+)$/.exec(ref)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export function snapshotText(frames: readonly FrameTree[]): string {
  const [main] = frames;
  if (main === undefined) return '';
  const lines: string[] = [];
  print(main, frames, 0, lines);
  return lines.join('\n');
}

function print(frame: FrameTree, frames: readonly FrameTree[], indent: number, lines: string[]): void {
  const byId = new Map(frame.nodes.map((node) => [node.nodeId, node]));
  const root = frame.nodes[0];
  if (root !== undefined) visit(root, indent, '');

  function visit(node: AccessibleNode, depth: number, above: string): void {
    const { backendDOMNodeId: number } = node;
    const role = text(node.role);
    const name = text(node.name).replaceAll(/\s+/g, ' ').trim();
    const inner = number === undefined ? undefined : frames.find(({ owner }) => owner === number);
    const focusable = node.properties.some(({ name: key, value: of }) => key === 'focusable' && of.value === true);
    const empty = node.ignored || (EMPTY_ROLES.has(role) && !(focusable && role === 'generic' && name !== ''));
    if (role === 'StaticText') {
      // The name of what it is in tells it already.
      if (!node.ignored && name !== '' && !above.includes(name)) lines.push(`${'  '.repeat(depth)}- text: ${name}`);
      return;
    }
    if (!empty) lines.push(`${'  '.repeat(depth)}- ${line(node, NAMES[role] ?? role, name, number)}`);
    const below = empty ? depth : depth + 1;
    if (below > DEEPEST) return;
    for (const id of node.childIds) {
      const child = byId.get(id);
      if (child !== undefined) visit(child, below, empty ? above : `${name}\n${text(node.value)}`);
    }
    if (inner !== undefined) print(inner, frames, below, lines);
  }
}

function line(node: AccessibleNode, role: string, name: string, number: number | undefined): string {
  const states = STATES.flatMap((state) => {
    const of = node.properties.find((property) => property.name === state)?.value.value;
    if (of === true || of === 'true') return [`[${state}]`];
    return (typeof of === 'string' && of !== 'false') || (typeof of === 'number' && of !== 0)
      ? [`[${state}=${of}]`]
      : [];
  });
  const url = role === 'link' ? node.properties.find((property) => property.name === 'url')?.value.value : undefined;
  const shown = text(node.value);
  return (
    [
      role,
      ...(name === '' ? [] : [JSON.stringify(name)]),
      ...states,
      ...(number === undefined ? [] : [`[ref=${refOf(number)}]`]),
      ...(typeof url === 'string' ? [`(${url})`] : []),
    ].join(' ') + (shown === '' || shown === name ? '' : `: ${shown}`)
  );
}

function text(of: { readonly value?: unknown } | undefined): string {
  return typeof of?.value === 'string' ? of.value : typeof of?.value === 'number' ? String(of.value) : '';
}
