/**
 * The researcher: used if there are the tools of a search world. By rule: it searches for the question, opens the first
 * result, notes down the line of the page whose label is in the question, and answers with it. With a temperature, it
 * opens the second result at times.
 */
import type { Random } from '../random.ts';
import type { Turn } from '../text/completion.ts';
import type { Conversation } from './conversation.ts';
import type { PastCall } from './pastCall.ts';

/** How often it opens the wrong result at temperature 1. */
const WRONG_PAGE = 0.15;

export function isResearcher(tools: ReadonlySet<string>): boolean {
  return tools.has('web_search') && tools.has('web_extractor');
}

export function researcher(
  { requests, calls }: Conversation,
  tools: ReadonlySet<string>,
  random: Random,
  temperature: number,
): Turn {
  const question = requests.at(-1) ?? '';
  const found = calls.find(({ name }) => name === 'web_search');
  if (found === undefined) return calling('I search for it.', 'web_search', { queries: [question] });
  const urls = [...textOf(found).matchAll(/^\[\d+\] (\S+)/gm)].map(([, url]) => url ?? '');
  const [first, second = first] = urls;
  if (first === undefined) return answer('I found nothing.');
  const opened = calls.findLast(({ name }) => name === 'web_extractor');
  if (opened === undefined)
    return calling('I open a result.', 'web_extractor', {
      url: random.chance(WRONG_PAGE * temperature) ? (second ?? first) : first,
    });
  const value = valueFor(question, textOf(opened));
  if (value === undefined) return answer('The page does not say it.');
  if (tools.has('dict_memory') && !calls.some(({ name }) => name === 'dict_memory'))
    return calling('I note it down.', 'dict_memory', { operation: 'add', key: 'answer', value });
  return answer(value);
}

/** Returns the value of the line with the most words of the question in its label. */
function valueFor(question: string, page: string): string | undefined {
  const asked = new Set(wordsOf(question));
  const lines = [...page.matchAll(/^- ([^:\n]+): (.+)$/gm)].map(([, label = '', value = '']) => ({
    value,
    count: wordsOf(label).filter((word) => asked.has(word)).length,
  }));
  return lines.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count)[0]?.value;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z]+/g) ?? [];
}

function textOf({ result }: PastCall): string {
  if (result === undefined) return '';
  return result.ok ? JSON.stringify(result.value) : result.text;
}

function calling(reasoning: string, name: string, args: object): Turn {
  return { reasoning, content: '', calls: [{ name, arguments: JSON.stringify(args) }] };
}

function answer(content: string): Turn {
  return { reasoning: '', content, calls: [] };
}
