/**
 * Directions: a user's message that says which tools to call, to try any workspace without a model.
 *
 *     call add {"a": 1, "b": 2}          one turn that calls `add`
 *     and search {"text": "rain"}        … and `search` in the same turn
 *     call next_page {} times 20         twenty turns
 *     call add {"a": oops                arguments are passed to the tool as written
 *     say Half way there.                text in the same turn as the calls before
 *     answer It is {{last}}.             the last message; {{last}} = the last tool's result
 *
 * Other lines are ignored. A message with only an `answer` line is answered immediately. Without `answer`, the answer
 * is the last tool's result. The number of the assistant's messages since the directions determines the turn. There are
 * no mistakes.
 */
import { type ChatMessage, contentText } from '../request.ts';
import type { Turn, TurnCall } from '../text/completion.ts';

const HAS_CALL = /^[ \t]*call[ \t]+\S/m;
const ONLY_ANSWER = /^\s*answer[ \t]+[^\n]+\s*$/;
const LINE = /^[ \t]*(call|and|say|answer)[ \t]+(.+?)[ \t]*$/;
const CALL = /^(\S+)(?:[ \t]+([^]*?))??(?:[ \t]+times[ \t]+(\d+))?$/;

interface Step {
  calls: TurnCall[];
  say: string;
  times: number;
}

/** Returns the next turn, or undefined if no user's message contains directions. */
export function readDirections(messages: readonly ChatMessage[]): Turn | undefined {
  const at = messages.findLastIndex((message) => {
    if (message.role !== 'user') return false;
    const text = contentText(message);
    return HAS_CALL.test(text) || ONLY_ANSWER.test(text);
  });
  const message = messages[at];
  if (message === undefined) return undefined;
  const { steps, answer } = parse(contentText(message));
  if (steps.length === 0 && answer === undefined) return undefined;
  const since = messages.slice(at + 1);
  let remaining = since.filter((later) => later.role === 'assistant').length;
  for (const step of steps) {
    if (remaining < step.times) return { reasoning: 'I follow the directions.', content: step.say, calls: step.calls };
    remaining -= step.times;
  }
  const lastResult = since.findLast((later) => later.role === 'tool');
  const last = lastResult === undefined ? '' : contentText(lastResult);
  return {
    reasoning: '',
    content: (answer ?? (last === '' ? 'Done.' : '{{last}}')).replaceAll('{{last}}', () => last),
    calls: [],
  };
}

function parse(text: string): { steps: Step[]; answer: string | undefined } {
  const steps: Step[] = [];
  let answer: string | undefined;
  for (const line of text.split('\n')) {
    const [, keyword, rest = ''] = LINE.exec(line) ?? [];
    const step = steps.at(-1);
    if (keyword === 'answer') answer = rest;
    else if (keyword === 'say' && step !== undefined) step.say = rest;
    else if (keyword === 'call' || (keyword === 'and' && step !== undefined)) {
      const [, name = '', args = '', times] = CALL.exec(rest) ?? [];
      const call = { name, arguments: args === '' ? '{}' : args };
      if (keyword === 'call' || step === undefined) steps.push({ calls: [call], say: '', times: Number(times ?? 1) });
      else step.calls.push(call);
    }
  }
  return { steps, answer };
}
