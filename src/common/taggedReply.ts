/**
 * Reads replies whose result is in a tag, after thinking, by the rules of Qwen-AgentWorld's evaluation. All of it takes
 * time in proportion to the text, whatever a model writes.
 */
import { strip } from './pythonText.ts';

/** A tag in a text, and what it is. */
interface Tag {
  readonly at: number;
  readonly opens: boolean;
}

/**
 * Removes `<think>` blocks. Without its opening tag, everything before `</think>` is thinking; without its closing tag,
 * everything up to the next opening of `tag`, or to the end.
 */
export function withoutThinking(text: string, tag: string): string {
  const tags = [...text.matchAll(/<(\/?)think>/giu)].map(({ index, 1: slash }): Tag => ({ at: index, opens: !slash }));
  if (tags.length === 0) return text;
  return strip(without(text, thinkingIn(text, tags, tag)));
}

/** Returns the content of the last `tag`, which may lack its closing tag; undefined if there is none. */
export function lastTagged(text: string, tag: string): string | undefined {
  const opening = [...text.matchAll(new RegExp(`<${tag}>`, 'giu'))].at(-1);
  if (opening === undefined) return undefined;
  const rest = text.slice(opening.index + opening[0].length);
  const end = rest.search(new RegExp(`</${tag}>`, 'iu'));
  return strip(end === -1 ? rest : rest.slice(0, end));
}

type Range = readonly [from: number, to: number];

/** Each opening tag belongs to the first closing tag after it that has none. */
function thinkingIn(text: string, tags: readonly Tag[], tag: string): Range[] {
  const closing = tags.filter(({ opens }) => !opens).map(({ at }) => at + '</think>'.length);
  const results = [...text.matchAll(new RegExp(`<${tag}>`, 'giu'))].map(({ index }) => index);
  const ranges: Range[] = [];
  let next = 0;
  let nextResult = 0;
  const orphan = (): void => {
    ranges.push([0, closing[next] ?? 0]);
    next++;
  };
  for (const { at, opens } of tags) {
    if (!opens) continue;
    while ((closing[next] ?? Infinity) <= at) orphan();
    const end = closing[next];
    if (end !== undefined) {
      ranges.push([at, end]);
      next++;
      continue;
    }
    while ((results[nextResult] ?? Infinity) < at) nextResult++;
    ranges.push([at, results[nextResult] ?? text.length]);
  }
  while (next < closing.length) orphan();
  return ranges;
}

function without(text: string, ranges: readonly Range[]): string {
  let result = '';
  let end = 0;
  for (const [from, to] of ranges.toSorted(([one], [other]) => one - other)) {
    if (from > end) result += text.slice(end, from);
    end = Math.max(end, to);
  }
  return result + text.slice(end);
}
