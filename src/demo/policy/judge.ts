/**
 * The judge: used if the system prompt calls the model a judge and asks for a score. By rule: 1 if the answer contains
 * the expected text, ignoring case and white space, 0 if not, 0.5 if nothing is expected. The parts are in tags
 * (`<expected>…</expected>`, `<answer>…</answer>`), as the scorer `judge` writes them.
 */
import type { Turn } from '../text/completion.ts';
import type { Conversation } from './conversation.ts';

export function isJudge(system: string): boolean {
  return /\byou are (?:a|the) judge\b/i.test(system) && /\bscore\b/i.test(system);
}

export function judge({ requests }: Conversation): Turn {
  const text = requests.at(-1) ?? '';
  const expected = section(text, 'expected');
  const answer = section(text, 'answer') ?? '';
  const fold = (value: string): string => value.toLowerCase().replace(/\s+/g, ' ').trim();
  const score = expected === undefined ? 0.5 : fold(answer).includes(fold(expected)) ? 1 : 0;
  const explanation =
    expected === undefined
      ? 'The demo model judges by comparing with an expected answer, and there is none.'
      : `The demo model compared texts: the answer ${score === 1 ? 'contains' : 'does not contain'} the expected text.`;
  return { reasoning: '', content: JSON.stringify({ score, explanation }), calls: [] };
}

function section(text: string, name: string): string | undefined {
  return new RegExp(`<${name}>\\n?([^]*?)\\n?</${name}>`).exec(text)?.[1];
}
