/**
 * Members of a team. A member that can hand off and got no handoff itself hands off to the first target; a leader sends
 * the request to all members at once. A system prompt that says "only look up" makes the clerk look up what the request
 * needs, with the tools that the prompt names, and report it in the form of `summary.ts`, so that the recipient can
 * continue.
 */
import { Random } from '../random.ts';
import type { ChatRequest } from '../request.ts';
import type { Turn } from '../text/completion.ts';
import type { Conversation } from './conversation.ts';
import { clerk } from './desk/clerk.ts';
import { summary } from './summary.ts';

type Tools = NonNullable<ChatRequest['tools']>;

const HANDOFF_TOOL = /^hand_off_to_/;

/** Returns the turn that passes the work to others; undefined if there are none, or they already have it. */
export function delegate({ requests, calls }: Conversation, tools: Tools): Turn | undefined {
  const handoff = tools.find(({ function: { name } }) => HANDOFF_TOOL.test(name));
  if (handoff !== undefined && requests.length === 1) {
    return {
      reasoning: 'Somebody else does this.',
      content: '',
      calls: [{ name: handoff.function.name, arguments: JSON.stringify({ message: 'Please take this request.' }) }],
    };
  }
  const members = tools
    .filter(({ function: { parameters } }) => isAgentTool(parameters))
    .map(({ function: { name } }) => name);
  if (members.length === 0 || calls.some(({ name }) => members.includes(name))) return undefined;
  const task = requests.join('\n');
  return {
    reasoning: 'I ask the others.',
    content: '',
    calls: members.map((name) => ({ name, arguments: JSON.stringify({ task }) })),
  };
}

/** Returns the turn of a member that only looks things up; undefined if the system prompt does not say so. */
export function lookUpOnly(conversation: Conversation, tools: ReadonlySet<string>): Turn | undefined {
  if (!/\bonly look up\b/i.test(conversation.system)) return undefined;
  const named = new Set([...tools].filter((name) => new RegExp(`\\b${name}\\b`).test(conversation.system)));
  const turn = clerk(conversation, named, new Random(0), 0);
  return turn.calls.length > 0 ? turn : summary(conversation);
}

/** Whether a tool is another agent, whose only argument is a task. */
function isAgentTool(parameters: unknown): boolean {
  const properties =
    typeof parameters === 'object' && parameters !== null && 'properties' in parameters
      ? parameters.properties
      : undefined;
  return typeof properties === 'object' && properties !== null && Object.keys(properties).join() === 'task';
}
