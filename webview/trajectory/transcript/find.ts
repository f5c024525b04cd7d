/** Finds a text in the rows of a transcript. Texts are compared as they are shown, without the marks of Markdown. */
import { type Block as MarkdownBlock, markdownBlocks, type Span } from '../../text/markdownBlocks.ts';
import type { Content } from './content.ts';

export interface Found {
  /** seq of the row. */
  readonly seq: number;
  /** The part of the row, see `partsOf`. */
  readonly part: string;
  /** Number of the occurrence in its part, from 0. */
  readonly nth: number;
}

/** The texts of a row, by the name of their part. Names of parts that open and close are the keys of these. */
export function partsOf({ title, detail, blocks }: Content): readonly (readonly [part: string, text: string])[] {
  return [
    ['title', detail === undefined ? title : `${title}\n${detail}`],
    ...blocks.flatMap((block): (readonly [string, string])[] => {
      switch (block.kind) {
        case 'text':
          return [[block.key, markdownText(block.text)]];
        case 'folded':
          return [[block.key, markdownText(block.text)]];
        case 'failure':
          return [[block.key, block.text]];
        case 'call':
          return [
            [`${block.args.key}:name`, block.name],
            [block.args.key, block.args.text],
            ...(block.result === undefined ? [] : [[block.result.key, block.result.text] as const]),
          ];
        case 'link':
        case 'large':
        case 'image':
          return [];
      }
    }),
  ];
}

/** Returns where a text occurs in a row. */
export function findIn(seq: number, content: Content, query: string): Found[] {
  return partsOf(content).flatMap(([part, text]) => placesOf(text, query).map((_, nth) => ({ seq, part, nth })));
}

/** Returns the offsets of a text in another one, without regard to case. */
export function placesOf(text: string, query: string): number[] {
  const [from, what] = [text.toLowerCase(), query.toLowerCase()];
  const places: number[] = [];
  if (what === '') return places;
  for (let at = from.indexOf(what); at !== -1; at = from.indexOf(what, at + what.length)) places.push(at);
  return places;
}

/** Returns a Markdown text as it is shown, blocks separated by line breaks. */
function markdownText(text: string): string {
  return /[*_`#~|[\]>+-]/.test(text) ? markdownBlocks(text).map(blockText).join('\n') : text;
}

function blockText(block: MarkdownBlock): string {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return spansText(block.spans);
    case 'code':
      return block.text;
    case 'list':
      return block.items.map((item) => item.map(blockText).join('\n')).join('\n');
    case 'quote':
      return block.blocks.map(blockText).join('\n');
    case 'table':
      return [block.head, ...block.rows].map((cells) => cells.map(spansText).join('\n')).join('\n');
    case 'rule':
      return '';
  }
}

function spansText(spans: readonly Span[]): string {
  return spans.map((span) => ('text' in span ? span.text : spansText(span.spans))).join('');
}
