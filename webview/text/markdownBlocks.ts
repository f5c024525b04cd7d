/**
 * Parses the Markdown that models write into blocks and spans: paragraphs, headings, lists, quotes, code, tables,
 * emphasis, and links. HTML is text. Never fails: unknown syntax is text, too.
 */
import { withoutEnd } from '../../src/common/text.ts';

export type Span =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'code'; readonly text: string }
  | { readonly type: 'strong' | 'em' | 'del'; readonly spans: readonly Span[] }
  | { readonly type: 'link'; readonly url: string; readonly spans: readonly Span[] };

export type Block =
  | { readonly type: 'paragraph'; readonly spans: readonly Span[] }
  | { readonly type: 'heading'; readonly level: number; readonly spans: readonly Span[] }
  | { readonly type: 'code'; readonly language: string; readonly text: string }
  | {
      readonly type: 'list';
      readonly ordered: boolean;
      readonly start: number;
      readonly items: readonly (readonly Block[])[];
    }
  | { readonly type: 'quote'; readonly blocks: readonly Block[] }
  | {
      readonly type: 'table';
      readonly head: readonly (readonly Span[])[];
      readonly rows: readonly (readonly (readonly Span[])[])[];
    }
  | { readonly type: 'rule' };

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*(\S*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+)(?=\S)/;
const QUOTE = /^ {0,3}> ?/;
const DASHES = /^:?-+:?$/;
/** Wider tables stay text: every row gets all columns. */
const MAX_COLUMNS = 200;
/** Deeper nesting stays text. */
const MAX_DEPTH = 12;

export function markdownBlocks(text: string, depth = 0): Block[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const blocks: Block[] = [];
  let at = 0;
  let paragraph: string[] = [];
  const endParagraph = (): void => {
    if (paragraph.length > 0) blocks.push({ type: 'paragraph', spans: markdownSpans(paragraph.join('\n')) });
    paragraph = [];
  };
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    const item = ITEM.exec(line);
    if (line.trim() === '') {
      endParagraph();
      at += 1;
    } else if (fence !== null) {
      endParagraph();
      const mark = fence[1] ?? '```';
      const from = at + 1;
      at = from;
      while (at < lines.length && !(lines[at] ?? '').trimStart().startsWith(mark)) at += 1;
      blocks.push({ type: 'code', language: fence[2] ?? '', text: lines.slice(from, at).join('\n') });
      at += 1;
    } else if (heading !== null) {
      endParagraph();
      blocks.push({
        type: 'heading',
        level: heading[1]?.length ?? 1,
        spans: markdownSpans(withoutMarks(heading[2] ?? '')),
      });
      at += 1;
    } else if (RULE.test(line)) {
      endParagraph();
      blocks.push({ type: 'rule' });
      at += 1;
    } else if (QUOTE.test(line) && depth < MAX_DEPTH) {
      endParagraph();
      const from = at;
      while (at < lines.length && QUOTE.test(lines[at] ?? '')) at += 1;
      blocks.push({
        type: 'quote',
        blocks: markdownBlocks(
          lines
            .slice(from, at)
            .map((quoted) => quoted.replace(QUOTE, ''))
            .join('\n'),
          depth + 1,
        ),
      });
    } else if (item !== null && depth < MAX_DEPTH) {
      endParagraph();
      at = parseList(lines, at, blocks, depth);
    } else if (paragraph.length === 0 && startsTable(line, lines[at + 1] ?? '')) {
      const head = cellsOf(line).map(markdownSpans);
      const rows: Span[][][] = [];
      at += 2;
      while (at < lines.length && (lines[at] ?? '').includes('|')) {
        const cells = cellsOf(lines[at] ?? '').map(markdownSpans);
        rows.push(head.map((_, column) => cells[column] ?? []));
        at += 1;
      }
      blocks.push({ type: 'table', head, rows });
    } else {
      paragraph.push(line);
      at += 1;
    }
  }
  endParagraph();
  return blocks;
}

/** Parses the list that starts at line `from`. Returns the index of the line after it. */
function parseList(lines: readonly string[], from: number, blocks: Block[], depth: number): number {
  const first = ITEM.exec(lines[from] ?? '');
  const ordered = /\d/.test(first?.[2] ?? '');
  const items: Block[][] = [];
  let at = from;
  while (at < lines.length) {
    const match = ITEM.exec(lines[at] ?? '');
    if (match === null || /\d/.test(match[2] ?? '') !== ordered || RULE.test(lines[at] ?? '')) break;
    const indent = match[0].length;
    const own = [(lines[at] ?? '').slice(indent)];
    at += 1;
    while (at < lines.length) {
      const line = lines[at] ?? '';
      const inside = line.startsWith(' '.repeat(Math.min(indent, 2)));
      if (
        line.trim() === ''
          ? !/^\s{2,}\S/.test(lines[at + 1] ?? '')
          : !inside &&
            (ITEM.test(line) || (lines[at - 1] ?? '').trim() === '' || HEADING.test(line) || FENCE.test(line))
      )
        break;
      own.push(line.slice(Math.min(indent, line.length - line.trimStart().length)));
      at += 1;
    }
    while (at < lines.length && (lines[at] ?? '').trim() === '' && ITEM.test(lines[at + 1] ?? '')) at += 1;
    items.push(markdownBlocks(own.join('\n'), depth + 1));
  }
  blocks.push({ type: 'list', ordered, start: ordered ? Number.parseInt(first?.[2] ?? '1', 10) : 1, items });
  return at;
}

/** Removes the marks at the end of a heading. `\s*#*\s*$` would take cubic time. */
function withoutMarks(heading: string): string {
  return withoutEnd(heading.trimEnd(), '#').trimEnd();
}

/** Returns whether `line` is the head of a table: the next line has a cell of dashes below each of its cells. */
function startsTable(line: string, next: string): boolean {
  if (!line.includes('|')) return false;
  const [head, dashes] = [cellsOf(line), cellsOf(next)];
  return head.length <= MAX_COLUMNS && head.length === dashes.length && dashes.every((cell) => DASHES.test(cell));
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/** Each alternative starts with a different character, so no position is tried twice. */
const SPAN = new RegExp(
  [
    /\\([\\`*_{}[\]()#+\-.!|~<>])/, // an escaped character
    /(`+)([\s\S]*?[^`])\2(?!`)/, // code
    /\*\*(?=\S)([\s\S]*?\S)\*\*/,
    /__(?=\S)([\s\S]*?\S)__(?!\w)/,
    /~~(?=\S)([\s\S]*?\S)~~/,
    /\*(?=[^\s*])([\s\S]*?[^\s*])\*(?!\*)/,
    /(?<!\w)_(?=[^\s_])([\s\S]*?[^\s_])_(?!\w)/,
    /\[([^[\]]*)\]\((https?:\/\/[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)\)/, // a link
    /(https?:\/\/[^\s<>"'`)\]]*[^\s<>"'`)\].,;:!?])/, // a bare address
  ]
    .map(({ source }) => source)
    .join('|'),
  'g',
);
/** Longer paragraphs stay plain text, because matching spans could be slow. */
const MAX_SPAN_CHARS = 20_000;

export function markdownSpans(text: string): Span[] {
  if (text.length > MAX_SPAN_CHARS) return [{ type: 'text', text }];
  const spans: Span[] = [];
  let at = 0;
  for (const match of text.matchAll(SPAN)) {
    if (match.index > at) spans.push({ type: 'text', text: text.slice(at, match.index) });
    spans.push(spanOf(match));
    at = match.index + match[0].length;
  }
  if (at < text.length) spans.push({ type: 'text', text: text.slice(at) });
  return spans;
}

function spanOf(match: RegExpExecArray): Span {
  const [whole, escaped, , code, bold, bold2, struck, em, em2, name, url, bare] = match;
  if (escaped !== undefined) return { type: 'text', text: escaped };
  if (code !== undefined) return { type: 'code', text: code };
  const strong = bold ?? bold2;
  if (strong !== undefined) return { type: 'strong', spans: markdownSpans(strong) };
  if (struck !== undefined) return { type: 'del', spans: markdownSpans(struck) };
  const emphasis = em ?? em2;
  if (emphasis !== undefined) return { type: 'em', spans: markdownSpans(emphasis) };
  if (name !== undefined && url !== undefined)
    return { type: 'link', url, spans: [{ type: 'text', text: name === '' ? url : name }] };
  return { type: 'link', url: bare ?? whole, spans: [{ type: 'text', text: bare ?? whole }] };
}
