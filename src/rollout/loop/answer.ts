import { isJsonObject, type Json } from '../../common/json.ts';
import type { AnswerRule } from '../../config/submission.ts';
import type { ToolSpec } from '../ports.ts';

/**
 * Returns the answer in a final message by a rule; null if there is none, which is scored as failed. The last match
 * counts, because a model may correct itself. With rule `tool`, only a call answers.
 */
export function answerOf(rule: AnswerRule, text: string): Json {
  switch (rule.kind) {
    case 'last_message':
      return text.trim() === '' ? null : text;
    case 'tool':
      return null;
    case 'tag':
      return (
        lastMatch(new RegExp(`<${escaped(rule.tag)}>([\\s\\S]*?)</${escaped(rule.tag)}>`, 'g'), text)?.trim() ?? null
      );
    case 'regex':
      return lastMatch(new RegExp(rule.regex, 'g'), text) ?? null;
  }
}

/** Returns the first group of the last match, or the whole match if the pattern has no group. */
function lastMatch(pattern: RegExp, text: string): string | undefined {
  const match = [...text.matchAll(pattern)].at(-1);
  return match === undefined ? undefined : (match[1] ?? match[0]);
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/**
 * Returns the answer in the arguments of the answer tool: `answer`, otherwise the only argument, otherwise all of them.
 */
export function answerOfCall(args: Json): Json {
  if (!isJsonObject(args)) return args;
  if (Object.hasOwn(args, 'answer')) return args['answer'] ?? null;
  const values = Object.values(args);
  return values.length === 1 ? (values[0] ?? null) : args;
}

/** Creates the tool for `answer: { tool: <name> }` if neither the agent nor the world has a tool with that name. */
export function answerTool(name: string): ToolSpec {
  return {
    name,
    description: 'Submits the final answer and ends the task. Call it once, when you are done.',
    parameters: {
      type: 'object',
      properties: { answer: { type: 'string', description: 'The final answer.' } },
      required: ['answer'],
      additionalProperties: false,
    },
    effect: 'pure',
    sessionBound: false,
    from: { kind: 'builtin', name: 'answer' },
  };
}
