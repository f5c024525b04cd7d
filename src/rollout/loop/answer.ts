import { isJsonObject, type Json } from '../../common/json.ts';
import type { AnswerRule } from '../../config/submission.ts';
import { ANSWER_TOOL } from '../../trace/answerTool.ts';
import type { ToolSpec, UntrustedWork } from '../ports.ts';

/**
 * Returns the answer in a final message by a rule; null if there is none, which is scored as failed. The last match
 * counts, because a model may correct itself. With rule `tool`, only a call answers. Throws ClassedError
 * `malformed_output` if the search takes too long.
 */
export async function answerOf(
  rule: AnswerRule,
  text: string,
  work: UntrustedWork,
  signal: AbortSignal,
): Promise<Json> {
  switch (rule.kind) {
    case 'last_message':
      return text.trim() === '' ? null : text;
    case 'tool':
      return null;
    case 'tag':
      return lastElement(text, rule.tag)?.trim() ?? null;
    case 'regex': {
      const match = await work.search({ pattern: rule.regex, flags: '', text, which: 'last' }, signal);
      return match === null ? null : (match[1] ?? match[0] ?? null);
    }
  }
}

/** Returns the content of the last element, from an opening tag to the next closing one. Takes linear time. */
function lastElement(text: string, tag: string): string | undefined {
  const [opening, closing] = [`<${tag}>`, `</${tag}>`];
  let content: string | undefined;
  for (let at = 0; ; ) {
    const start = text.indexOf(opening, at);
    const end = start === -1 ? -1 : text.indexOf(closing, start + opening.length);
    if (end === -1) return content;
    content = text.slice(start + opening.length, end);
    at = end + closing.length;
  }
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
    description: ANSWER_TOOL,
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
