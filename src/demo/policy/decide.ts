/**
 * Decides what the demo model says next. It is a set of rules, not a language model, and stores nothing between
 * requests: it knows only the conversation in the request. The first of these that matches is used:
 *
 * 1. the judge with marks: the prompt asks it for an evaluation (`worldJudge.ts`);
 * 2. directions: the user's message says which tools to call (`directions.ts`);
 * 3. the judge: the system prompt makes it one (`judge.ts`);
 * 4. the world model: the system prompt makes it the environment of an agent in the sample's library (`deskWorld/`);
 * 5. the page writer: the system prompt makes it the search engine and the web of an agent (`pageWriter.ts`);
 * 6. the simulated user: the system prompt makes it one (`user.ts`);
 * 7. the summary: the last message asks to sum up the conversation (`summary.ts`);
 * 8. a team: the tools hand off or delegate to other agents, or the system prompt says to only look things up
 *    (`team.ts`);
 * 9. the clerk at the sample workspace's lending desk: the tools of the desk are available (`desk/`);
 * 10. the researcher: the tools of a search world are available (`researcher.ts`);
 * 11. the clerk at the small desk of `examples/training`: its tools are available (`smallDesk.ts`);
 * 12. otherwise, it says what it is (`introduction.ts`).
 *
 * Only the clerks, the researcher, and a faulty world make mistakes. They follow from the seed; a higher temperature
 * causes more of those of the clerks and the researcher.
 */
import type { Faults } from '../faults.ts';
import { hashText, mix, Random } from '../random.ts';
import { type ChatRequest, contentText } from '../request.ts';
import type { Turn } from '../text/completion.ts';
import { readConversation } from './conversation.ts';
import { clerk } from './desk/clerk.ts';
import { deskWorld, playedLibrary } from './deskWorld/deskWorld.ts';
import { readDirections } from './directions.ts';
import { introduction } from './introduction.ts';
import { isJudge, judge } from './judge.ts';
import { isPageWriter, pageWriter } from './pageWriter.ts';
import { isResearcher, researcher } from './researcher.ts';
import { isSmallDesk, smallDesk } from './smallDesk.ts';
import { isSummaryRequest, summary } from './summary.ts';
import { delegate, lookUpOnly } from './team.ts';
import { isUser, simulatedUser } from './user.ts';
import { isWorldJudge, worldJudge } from './worldJudge.ts';

/** How the model errs: `mistakes` multiplies the clerk's temperature. */
export type Manner = Pick<Faults, 'mistakes' | 'worldErrors'>;

/** Returns the next turn. The same request with the same seed gets the same turn. */
export function decide(request: ChatRequest, seed: number, { mistakes, worldErrors }: Manner): Turn {
  const conversation = readConversation(request.messages);
  const toolsAllowed = request.tool_choice !== 'none';
  const tools = new Set(toolsAllowed ? (request.tools ?? []).map((tool) => tool.function.name) : []);
  if (isWorldJudge(conversation)) return worldJudge(conversation);
  const directed = readDirections(request.messages);
  if (directed !== undefined) return directed;
  if (isJudge(conversation.system)) return judge(conversation);
  const library = playedLibrary(conversation.system);
  if (library !== undefined) return deskWorld(conversation, library, seed, worldErrors);
  if (isPageWriter(conversation.system)) return pageWriter(conversation, seed, worldErrors);
  if (isUser(conversation.system)) return simulatedUser(conversation);
  if (isSummaryRequest(conversation)) return summary(conversation);
  const teamed = delegate(conversation, toolsAllowed ? (request.tools ?? []) : []) ?? lookUpOnly(conversation, tools);
  if (teamed !== undefined) return teamed;
  const last = conversation.last;
  const random = new Random(mix(seed, request.messages.length, last === undefined ? 0 : hashText(contentText(last))));
  const temperature = (request.temperature ?? 1) * mistakes;
  if (tools.has('find_member') && tools.has('list_loans')) return clerk(conversation, tools, random, temperature);
  if (isResearcher(tools)) return researcher(conversation, tools, random, temperature);
  if (isSmallDesk(tools)) return smallDesk(conversation, random, temperature);
  return introduction(tools);
}
