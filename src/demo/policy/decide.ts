/**
 * What the demo model says next. It is a set of rules, no language model, and keeps nothing between requests: all it
 * knows is the conversation it is sent. The first of these that fits plays:
 *
 * 1. directions: the user's message says which tools to call (`directions.ts`);
 * 2. the judge: the system prompt makes it one (`judge.ts`);
 * 3. the simulated user: the system prompt makes it one (`user.ts`);
 * 4. the summary: the last message asks to sum up the conversation (`summary.ts`);
 * 5. a team: the tools hand work to other agents, or the system prompt says to look things up only (`team.ts`);
 * 6. the clerk at the sample workspace's lending desk: the tools of the desk are there (`desk/`);
 * 7. otherwise it says what it is (`stranger.ts`).
 *
 * Only the clerk makes mistakes. They follow from the seed, and there are more of them the higher the temperature.
 */
import { hashText, mix, Random } from '../random.ts';
import { type ChatRequest, contentText } from '../request.ts';
import type { Turn } from '../text/completion.ts';
import { readConversation } from './conversation.ts';
import { clerk } from './desk/clerk.ts';
import { readDirections } from './directions.ts';
import { isJudge, judge } from './judge.ts';
import { otherAgent } from './otherAgent.ts';
import { isSummaryRequest, summary } from './summary.ts';
import { lookUp, passOn } from './team.ts';
import { isUser, simulatedUser } from './user.ts';

/** `seed`: the same request with the same seed gets the same turn. `mistakes`: multiplies the temperature. */
export function decide(request: ChatRequest, seed: number, mistakes: number): Turn {
  const conversation = readConversation(request.messages);
  const toolsAllowed = request.tool_choice !== 'none';
  const tools = new Set(toolsAllowed ? (request.tools ?? []).map((tool) => tool.function.name) : []);
  const directed = readDirections(request.messages);
  if (directed !== undefined) return directed;
  if (isJudge(conversation.system)) return judge(conversation);
  if (isUser(conversation.system)) return simulatedUser(conversation);
  if (isSummaryRequest(conversation)) return summary(conversation);
  const teamed = passOn(conversation, toolsAllowed ? (request.tools ?? []) : []) ?? lookUp(conversation, tools);
  if (teamed !== undefined) return teamed;
  if (tools.has('find_member') && tools.has('list_loans')) {
    const last = conversation.last;
    const random = new Random(mix(seed, request.messages.length, last === undefined ? 0 : hashText(contentText(last))));
    return clerk(conversation, tools, random, (request.temperature ?? 1) * mistakes);
  }
  return otherAgent(tools);
}
