import { ClassedError } from '../../../trace/classedError.ts';
import { type Parts, partText, unpack } from '../office/archive.ts';
import {
  attribute,
  childOf,
  childrenOf,
  type Element,
  elementsOf,
  localName,
  parseXml,
  relations,
  textIn,
} from '../office/xml.ts';
import { markdownTable } from './markdownTable.ts';
import type { DocumentText } from './tools.ts';

const MAIN = 'word/document.xml';

/**
 * Extracts the text of a Word document: headings, paragraphs, lists, tables, and notes. Throws ClassedError
 * `tool_error`.
 */
export function docxText(bytes: Uint8Array): DocumentText {
  const parts = unpack(bytes, 'a .docx document');
  const main =
    [...relations(partText(parts, '_rels/.rels'), '').values()].find(({ type }) => type === 'officeDocument')?.path ??
    MAIN;
  const xml = partText(parts, main);
  if (xml === undefined) throw new ClassedError('tool_error', 'This is not a .docx document: it contains no text.');
  const [body] = elementsOf(parseXml(xml), 'body');
  const blocks = body === undefined ? [] : blocksOf(body);
  const folder = main.slice(0, main.lastIndexOf('/') + 1);
  for (const kind of ['footnote', 'endnote']) blocks.push(...notes(parts, `${folder}${kind}s.xml`, kind));
  return { kind: 'text', text: blocks.join('\n\n') };
}

function blocksOf(parent: Element): string[] {
  return childrenOf(parent).flatMap((child) => {
    switch (localName(child)) {
      case 'p':
        return paragraph(child);
      case 'tbl':
        return [
          markdownTable(
            childrenOf(child, 'tr').map((row) => childrenOf(row, 'tc').map((cell) => blocksOf(cell).join(' '))),
          ),
        ];
      // Frames around blocks.
      case 'sdt':
      case 'sdtContent':
      case 'ins':
      case 'customXml':
        return blocksOf(child);
      default:
        return [];
    }
  });
}

function paragraph(element: Element): string[] {
  const text = inline(element).trim();
  if (text === '') return [];
  const properties = childOf(element, 'pPr');
  const style = attribute(childOf(properties, 'pStyle'), 'val') ?? '';
  const level = style === 'Title' ? 1 : Number(/^Heading ?([1-6])$/i.exec(style)?.[1] ?? 0);
  if (level > 0) return [`${'#'.repeat(level)} ${text}`];
  return [childOf(properties, 'numPr') === undefined ? text : `- ${text}`];
}

function inline(parent: Element): string {
  return childrenOf(parent)
    .map((child) => {
      switch (localName(child)) {
        case 't':
          return textIn(child);
        case 'tab':
          return '\t';
        case 'br':
        case 'cr':
          return '\n';
        case 'footnoteReference':
        case 'endnoteReference':
          return `[${localName(child).replace('Reference', '')} ${attribute(child, 'id') ?? ''}]`;
        // Deleted text, formatting, and the fallback copies of drawings.
        case 'del':
        case 'pPr':
        case 'rPr':
        case 'instrText':
        case 'Fallback':
          return '';
        default:
          return inline(child);
      }
    })
    .join('');
}

function notes(parts: Parts, part: string, kind: string): string[] {
  const xml = partText(parts, part);
  if (xml === undefined) return [];
  return [...elementsOf(parseXml(xml), kind)].flatMap((note) => {
    const text = blocksOf(note).join(' ');
    return attribute(note, 'type') !== undefined || text === ''
      ? []
      : [`[${kind} ${attribute(note, 'id') ?? ''}]: ${text}`];
  });
}
