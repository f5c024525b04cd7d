/** Converts HTML to Markdown-like text: headings, paragraphs, lists, tables, and links. */
import { type ChildNode, Element, Text } from 'domhandler';
import { markdownTable } from '../documents/markdownTable.ts';
import { parseMarkup } from '../markup.ts';

interface ReadablePage {
  readonly title: string | undefined;
  readonly text: string;
}

/** Elements without readable text. */
const HIDDEN = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'iframe',
  'object',
  'head',
  'canvas',
  'select',
  'button',
  'dialog',
  'title',
]);
/** Elements around the main content. */
const AROUND = new Set(['nav', 'footer', 'aside', 'form', 'header']);
const AROUND_ROLES = new Set(['navigation', 'banner', 'contentinfo', 'complementary', 'search']);
const BLOCKS = new Set([
  'p',
  'div',
  'section',
  'article',
  'main',
  'ul',
  'ol',
  'dl',
  'dt',
  'dd',
  'table',
  'figure',
  'figcaption',
  'blockquote',
  'address',
  'details',
  'summary',
  'hr',
  'body',
  'html',
  'header',
  'footer',
  'nav',
  'aside',
  'form',
  'fieldset',
]);
/** Minimum share of all text that a main element must have to be used. */
const MAIN_SHARE = 0.25;
const MAX_DEPTH = 500;

/** Converts a page. Links are resolved against `base`; without it, they are omitted. */
export function readable(html: string, base?: URL): ReadablePage {
  const tree = parseMarkup(html, { xml: false });
  const title = find(tree.children, 'title');
  const whole = textOf(tree.children, { base, whole: false });
  // The whole page may consist of elements that usually surround the content.
  const all = whole.trim() === '' ? textOf(tree.children, { base, whole: true }) : whole;
  const main = find(tree.children, 'main') ?? find(tree.children, 'article');
  const inner = main === undefined ? '' : textOf(main.children, { base, whole: false });
  const text = inner.length >= all.length * MAIN_SHARE && inner !== '' ? inner : all;
  const heading = title === undefined ? '' : plain(title.children).replaceAll(/\s+/g, ' ').trim();
  return { title: heading === '' ? undefined : heading, text: tidy(text) };
}

function find(nodes: readonly ChildNode[], name: string): Element | undefined {
  const waiting = [...nodes].reverse();
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!(node instanceof Element)) continue;
    if (node.name === name && !(name === 'title' && node.parent instanceof Element && node.parent.name === 'svg'))
      return node;
    for (const child of node.children.toReversed()) waiting.push(child);
  }
  return undefined;
}

interface Options {
  readonly base: URL | undefined;
  /** Whether to include elements around the content. */
  readonly whole: boolean;
}

function textOf(nodes: readonly ChildNode[], options: Options, depth = 0): string {
  if (depth > MAX_DEPTH) return '';
  let text = '';
  for (const node of nodes) {
    if (node instanceof Text) text += node.data.replaceAll(/\s+/g, ' ');
    else if (node instanceof Element) text += elementText(node, options, depth + 1);
  }
  return text;
}

function elementText(element: Element, options: Options, depth: number): string {
  const { name, attribs } = element;
  if (
    HIDDEN.has(name) ||
    'hidden' in attribs ||
    attribs['aria-hidden'] === 'true' ||
    /display:\s*none/i.test(attribs['style'] ?? '')
  )
    return '';
  if (!options.whole && (AROUND.has(name) || AROUND_ROLES.has(attribs['role'] ?? ''))) return '';
  const inner = (): string => textOf(element.children, options, depth);
  switch (name) {
    case 'br':
      return '\n';
    case 'hr':
      return '\n\n---\n\n';
    case 'pre':
      return `\n\n\`\`\`\n${plain(element.children).replace(/^\n|\n$/g, '')}\n\`\`\`\n\n`;
    case 'li':
      return `\n- ${inner().trim().replaceAll(/\n+/g, '\n  ')}`;
    case 'a':
      return link(inner(), attribs['href'], options.base);
    case 'img':
      return (attribs['alt'] ?? '').trim() === '' ? '' : `[image: ${(attribs['alt'] ?? '').trim()}]`;
    case 'table':
      return tableText(element, options, depth);
    default: {
      if (/^h[1-6]$/.test(name))
        return `\n\n${'#'.repeat(Number(name[1]))} ${inner().replaceAll(/\s+/g, ' ').trim()}\n\n`;
      return BLOCKS.has(name) ? `\n\n${inner()}\n\n` : inner();
    }
  }
}

function link(text: string, href: string | undefined, base: URL | undefined): string {
  const label = text.trim();
  if (
    label === '' ||
    base === undefined ||
    href === undefined ||
    href.startsWith('#') ||
    !URL.canParse(href, base.href)
  )
    return text;
  const url = new URL(href, base);
  return url.protocol === 'http:' || url.protocol === 'https:'
    ? `[${label.replaceAll(/\s+/g, ' ')}](${url.href})`
    : text;
}

/** Formats a table. Layout tables (nested or single-column) are treated as text. */
function tableText(table: Element, options: Options, depth: number): string {
  const below = (parent: Element): Element[] =>
    parent.children.filter((node): node is Element => node instanceof Element);
  const rows = below(table).flatMap((part) =>
    part.name === 'tr'
      ? [part]
      : /^t(head|body|foot)$/.test(part.name)
        ? below(part).filter(({ name }) => name === 'tr')
        : [],
  );
  const cells = rows.map((row) => below(row).filter(({ name }) => name === 'td' || name === 'th'));
  if (cells.every((row) => row.length < 2) || find(table.children, 'table') !== undefined)
    return cells
      .flat()
      .map((cell) => `\n\n${textOf(cell.children, options, depth)}\n\n`)
      .join('');
  const cellText = (cell: Element): string => textOf(cell.children, options, depth).replaceAll(/\s+/g, ' ').trim();
  return `\n\n${markdownTable(cells.map((row) => row.map(cellText)))}\n\n`;
}

/** Returns the text without any formatting. */
function plain(nodes: readonly ChildNode[]): string {
  let text = '';
  const waiting = [...nodes].reverse();
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (node instanceof Text) text += node.data;
    else if (node instanceof Element) for (const child of node.children.toReversed()) waiting.push(child);
  }
  return text;
}

/** Collapses whitespace outside code blocks. */
function tidy(text: string): string {
  const outside = (part: string): string =>
    part
      .replaceAll(/[ \t]*\n[ \t]*(?![ \t]*- )/g, '\n')
      .replaceAll(/\n{3,}/g, '\n\n')
      .replaceAll(/ {2,}(?!- )/g, ' ');
  return text
    .split(/(\n```\n[^]*?\n```\n)/)
    .map((part, index) => (index % 2 === 0 ? outside(part) : part))
    .join('')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}
