/** Texts about segments, for pages. */
import { count } from '../../common/units.ts';
import type { Split } from './segments.ts';
import type { SplitReason } from './splitReason.ts';

const SPLIT_TEXTS: Readonly<Record<SplitReason, string>> = {
  compaction: 'messages of the earlier prompt were dropped or summarized',
  edit: 'a person replaced an earlier message',
  injected: 'a message was put between earlier ones',
  unparsed: 'a tool call of the last reply did not parse, and the template writes it in another form',
  reasoning: 'the template drops the reasoning of the last reply',
  arguments: 'the template writes the arguments of the last tool calls in another form',
  tokens: 'the template writes the same messages as other tokens',
};

/** Returns why a segment begins: `the template drops the reasoning of the last reply`. */
export function splitText({ why }: Pick<Split, 'why'>): string {
  return SPLIT_TEXTS[why];
}

/** Describes the first token that differs: by its text if the endpoint told it, otherwise by its ID. */
export function firstDifferenceText({ at, was, is, was_text, is_text }: Omit<Split, 'why'>): string {
  const side = (id: number | undefined, text: string | undefined): string => {
    if (id === undefined) return 'the end';
    return text === undefined ? `ID ${id}` : `${JSON.stringify(text)} (ID ${id})`;
  };
  return `token ${count(at + 1)}: ${side(was, was_text)} in the segment before, ${side(is, is_text)} in this prompt`;
}
