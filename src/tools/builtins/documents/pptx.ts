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
  relationsPart,
  textIn,
} from '../office/xml.ts';
import { markdownTable } from './markdownTable.ts';
import type { DocumentText, Page } from './tools.ts';

const MAIN = 'ppt/presentation.xml';

/** Extracts the text of slides, with tables and speaker notes. Throws ClassedError `tool_error`. */
export function pptxText(bytes: Uint8Array, range: { readonly first: number; readonly last: number }): DocumentText {
  const parts = unpack(bytes, 'a .pptx presentation');
  const main =
    [...relations(partText(parts, '_rels/.rels'), '').values()].find(({ type }) => type === 'officeDocument')?.path ??
    MAIN;
  const xml = partText(parts, main);
  if (xml === undefined)
    throw new ClassedError('tool_error', 'This is not a .pptx presentation: it contains no slides.');
  const targets = relations(partText(parts, relationsPart(main)), main);
  const slides = [...elementsOf(parseXml(xml), 'sldId')].flatMap((slide) => {
    const target = targets.get(slide.attribs['r:id'] ?? '');
    return target === undefined ? [] : [target.path];
  });
  const pages = slides.flatMap((path, index): Page[] =>
    index + 1 < range.first || index + 1 > range.last ? [] : [{ number: index + 1, text: slideText(parts, path) }],
  );
  return { kind: 'pages', word: 'slide', total: slides.length, pages };
}

function slideText(parts: Parts, path: string): string {
  const notes = [...relations(partText(parts, relationsPart(path)), path).values()].find(
    ({ type }) => type === 'notesSlide',
  )?.path;
  const noteTexts = notes === undefined ? [] : blocksIn(parts, notes, 'body');
  return [...blocksIn(parts, path), ...(noteTexts.length === 0 ? [] : [`Notes: ${noteTexts.join('\n')}`])].join('\n\n');
}

/** Returns the texts of the shapes in order; optionally only of one kind of placeholder. */
function blocksIn(parts: Parts, path: string, placeholder?: string): string[] {
  const xml = partText(parts, path);
  if (xml === undefined) return [];
  const [tree] = elementsOf(parseXml(xml), 'spTree');
  return tree === undefined ? [] : shapes(tree, placeholder);
}

function shapes(parent: Element, placeholder: string | undefined): string[] {
  return childrenOf(parent).flatMap((child) => {
    switch (localName(child)) {
      case 'sp': {
        const [kind] = elementsOf(child, 'ph');
        if (placeholder !== undefined && attribute(kind, 'type') !== placeholder) return [];
        const text = bodyText(childOf(child, 'txBody'));
        return text === '' ? [] : [/^(title|ctrTitle)$/.test(attribute(kind, 'type') ?? '') ? `# ${text}` : text];
      }
      case 'grpSp':
      case 'AlternateContent':
      case 'Choice':
        return shapes(child, placeholder);
      case 'graphicFrame':
        return [...elementsOf(child, 'tbl')].map((table) =>
          markdownTable(
            childrenOf(table, 'tr').map((row) =>
              childrenOf(row, 'tc').map((cell) => bodyText(childOf(cell, 'txBody'))),
            ),
          ),
        );
      default:
        return [];
    }
  });
}

function bodyText(body: Element | undefined): string {
  return childrenOf(body, 'p')
    .map((line) =>
      childrenOf(line)
        .map((run) => (localName(run) === 'br' ? '\n' : textIn(childOf(run, 't'))))
        .join(''),
    )
    .join('\n')
    .trim();
}
