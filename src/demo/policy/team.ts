/**
 * Members of a team. Who may hand work on and was handed none does so, to the first there is; who leads others gives
 * all
 * of them the request at once. A system prompt that says "only look up" makes the clerk one who looks up what the
 * request
 * needs, with the tools that the prompt names, and tells it in the form in which `summary.ts` does: so whoever is told
 * goes on from there.
 */
import { Random } from '../random.ts';
import type { ChatRequest } from '../request.ts';
import type { Turn } from '../text/completion.ts';
import type { Conversation } from './conversation.ts';
import { clerk } from './desk/clerk.ts';
import { summary } from './summary.ts';

type Tools = NonNullable<ChatRequest['tools']>;

const HANDS_ON = /^hand_off_to_/;

/** The turn that gives work to others; undefined when there is nobody, or they have it. */
export function passOn({ asked, calls }: Conversation, tools: Tools): Turn | undefined {
  const handsOn = tools.find(({ function: { name } }) => HANDS_ON.test(name));
  if (handsOn !== undefined && asked.length === 1) {
    return {
      reasoning: 'Somebody else does this.',
      content: '',
      calls: [{ name: handsOn.function.name, arguments: JSON.stringify({ message: 'Please take this request.' }) }],
    };
  }
  const members = tools
    .filter(({ function: { parameters } }) => takesTask(parameters))
    .map(({ function: { name } }) => name);
  if (members.length === 0 || calls.some(({ name }) => members.includes(name))) return undefined;
  const task = asked.join('\n');
  return {
    reasoning: 'I ask the others.',
    content: '',
    calls: members.map((name) => ({ name, arguments: JSON.stringify({ task }) })),
  };
}

/** The turn of one who only looks up; undefined when nothing says so. */
export function lookUp(conversation: Conversation, tools: ReadonlySet<string>): Turn | undefined {
  if (!/\bonly look up\b/i.test(conversation.system)) return undefined;
  const named = new Set([...tools].filter((name) => new RegExp(`\\b${name}\\b`).test(conversation.system)));
  const turn = clerk(conversation, named, new Random(0), 0);
  return turn.calls.length > 0 ? turn : summary(conversation);
}

/** Whether a tool is another agent, which is told one task. */
function takesTask(parameters: unknown): boolean {
  const properties =
    typeof parameters === 'object' && parameters !== null && 'properties' in parameters
      ? parameters.properties
      : undefined;
  return typeof properties === 'object' && properties !== null && Object.keys(properties).join() === 'task';
}
