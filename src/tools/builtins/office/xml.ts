/**
 * XML trees of office documents. Names are compared without prefixes, because every program uses its own.
 */
import render from 'dom-serializer';
import { type ChildNode, type Document, Element, Text } from 'domhandler';
import { parseMarkup } from '../markup.ts';

export type { ChildNode, Document };
export { Element, Text };

export const XML_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

export function parseXml(text: string): Document {
  return parseMarkup(text, { xml: true });
}

/** Serializes a tree with the XML declaration that office documents need. */
export function xmlText(tree: Document): string {
  return XML_HEAD + render(childrenOf(tree), { xmlMode: true, encodeEntities: 'utf8' });
}

/** Returns `row` for `x:row`. */
export function localName({ name }: Element): string {
  return name.slice(name.indexOf(':') + 1);
}

/** Returns the child elements, optionally only those with a name. */
export function childrenOf(parent: { readonly children: readonly ChildNode[] } | undefined, name?: string): Element[] {
  return (parent?.children ?? []).filter(
    (node): node is Element => node instanceof Element && (name === undefined || localName(node) === name),
  );
}

export function childOf(
  parent: { readonly children: readonly ChildNode[] } | undefined,
  name: string,
): Element | undefined {
  return parent?.children.find((node): node is Element => node instanceof Element && localName(node) === name);
}

/** Iterates over all descendants with a name, in document order. */
export function* elementsOf(
  parent: { readonly children: readonly ChildNode[] } | undefined,
  name: string,
): Generator<Element> {
  const waiting: ChildNode[] = [...(parent?.children ?? [])].reverse();
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!(node instanceof Element)) continue;
    if (localName(node) === name) yield node;
    for (let i = node.children.length - 1; i >= 0; i--) {
      const child = node.children[i];
      if (child !== undefined) waiting.push(child);
    }
  }
}

/** Returns the value of an attribute, with any prefix. */
export function attribute(element: Element | undefined, name: string): string | undefined {
  if (element === undefined) return undefined;
  const own = element.attribs[name];
  if (own !== undefined) return own;
  const found = Object.keys(element.attribs).find((key) => key.endsWith(`:${name}`));
  return found === undefined ? undefined : element.attribs[found];
}

/** Returns the text directly inside an element. */
export function textIn(element: Element | undefined): string {
  return (element?.children ?? []).map((node) => (node instanceof Text ? node.data : '')).join('');
}

/** Creates an element; add it to a tree with `append`. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string>>,
  children: readonly (Element | string)[] = [],
): Element {
  const created = new Element(name, { ...attributes });
  for (const child of children) append(created, typeof child === 'string' ? new Text(child) : child);
  return created;
}

/** Inserts a node at the end, or before another one. */
export function append(parent: Element, node: Element | Text, before?: ChildNode): void {
  node.parent = parent;
  const at = before === undefined ? -1 : parent.children.indexOf(before);
  parent.children.splice(at === -1 ? parent.children.length : at, 0, node);
}

/** Returns the targets of the relations of a part by ID, as paths in the archive. */
export function relations(
  xml: string | undefined,
  part: string,
): ReadonlyMap<string, { readonly path: string; readonly type: string }> {
  const found = new Map<string, { path: string; type: string }>();
  if (xml === undefined) return found;
  for (const relation of elementsOf(parseXml(xml), 'Relationship')) {
    const id = attribute(relation, 'Id');
    const target = attribute(relation, 'Target');
    if (id === undefined || target === undefined || attribute(relation, 'TargetMode') === 'External') continue;
    found.set(id, { path: resolved(target, part), type: (attribute(relation, 'Type') ?? '').split('/').at(-1) ?? '' });
  }
  return found;
}

/** Resolves a target, e.g. `worksheets/sheet1.xml` in `xl/workbook.xml` to `xl/worksheets/sheet1.xml`. */
function resolved(target: string, part: string): string {
  if (target.startsWith('/')) return target.slice(1);
  const steps = part.split('/').slice(0, -1);
  for (const step of target.split('/')) {
    if (step === '..') steps.pop();
    else if (step !== '.') steps.push(step);
  }
  return steps.join('/');
}

/** Returns the file with the relations of a part, e.g. `xl/_rels/workbook.xml.rels`. */
export function relationsPart(part: string): string {
  const at = part.lastIndexOf('/') + 1;
  return `${part.slice(0, at)}_rels/${part.slice(at)}.rels`;
}
