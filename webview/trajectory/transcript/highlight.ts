/** Marks the matches of a search in the text on the screen, without changing its elements. */
import { placesOf } from './find.ts';

const MATCH = 'transcript-match';
const CURRENT = 'transcript-current';
/** Elements whose texts are apart from what is before and after. */
const BLOCKS = 'p, li, td, th, pre, [data-part]';

/** Marks all matches inside an element. `current`: the one to stand out. Returns its place on the screen. */
export function highlight(
  root: HTMLElement,
  query: string,
  /** The element that contains the current match. */
  row: HTMLElement | undefined,
  current: { readonly part: string; readonly nth: number } | undefined,
): DOMRect | undefined {
  if (!('highlights' in CSS)) return undefined;
  CSS.highlights.delete(MATCH);
  CSS.highlights.delete(CURRENT);
  if (query === '') return undefined;
  const ranges: Range[] = [];
  let chosen: Range | undefined;
  for (const part of root.querySelectorAll<HTMLElement>('[data-part]')) {
    const found = rangesIn(part, query);
    ranges.push(...found);
    if (part.dataset['part'] === current?.part && row?.contains(part) === true)
      chosen = found[Math.min(current?.nth ?? 0, found.length - 1)] ?? chosen;
  }
  CSS.highlights.set(MATCH, new Highlight(...ranges));
  if (chosen === undefined) return undefined;
  const mark = new Highlight(chosen);
  mark.priority = 1;
  CSS.highlights.set(CURRENT, mark);
  return chosen.getBoundingClientRect();
}

export function clearHighlights(): void {
  if (!('highlights' in CSS)) return;
  CSS.highlights.delete(MATCH);
  CSS.highlights.delete(CURRENT);
}

function rangesIn(part: HTMLElement, query: string): Range[] {
  const pieces: { readonly node: Text; readonly start: number }[] = [];
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  let text = '';
  let block: Element | null | undefined;
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    if (!(node instanceof Text)) continue;
    const around = node.parentElement?.closest(BLOCKS);
    if (block !== undefined && around !== block) text += '\n';
    block = around;
    pieces.push({ node, start: text.length });
    text += node.data;
  }
  return placesOf(text, query).flatMap((at) => {
    const [from, to] = [pieceAt(pieces, at), pieceAt(pieces, at + query.length - 1)];
    if (from === undefined || to === undefined) return [];
    const range = new Range();
    range.setStart(from.node, at - from.start);
    range.setEnd(to.node, Math.min(to.node.length, at + query.length - to.start));
    return [range];
  });
}

function pieceAt<T extends { readonly start: number }>(pieces: readonly T[], at: number): T | undefined {
  return pieces.findLast((piece) => piece.start <= at);
}
