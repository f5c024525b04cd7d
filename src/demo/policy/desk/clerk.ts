/**
 * The clerk: looks up what the request needs, then carries out its parts one after another, then answers. Lookups that
 * do not depend on each other are made in one turn, and so are the calls of one part (renew three loans). If it can, it
 * predicts what it changes (`lookahead.ts`).
 */

import type { Random } from '../../random.ts';
import type { Turn } from '../../text/completion.ts';
import type { Conversation } from '../conversation.ts';
import { finalAnswer } from './answer.ts';
import { lookingAhead } from './lookahead.ts';
import { Memory } from './memory.ts';
import { DONE_TEXT, withMistake } from './mistakes.ts';
import { type Act, actsFor, callOf, lookupsFor, type Plan } from './plan.ts';
import { type DeskRequest, readRequest } from './request.ts';

/** Returns the next turn of a conversation at the desk. `temperature` 0: no mistakes. */
export function clerk(
  conversation: Conversation,
  tools: ReadonlySet<string>,
  random: Random,
  temperature: number,
): Turn {
  const request = readRequest(conversation.requests);
  const memory = new Memory(conversation);
  const isDone = conversation.replies.some((text) => text.includes(DONE_TEXT));
  const plan = planNext(request, memory, tools, isDone);
  const planned = { reasoning: plan.reasoning, content: plan.answer, calls: plan.acts.map(callOf) };
  const turn = withMistake(plan, memory, random, temperature) ?? planned;
  return plan.kind === 'write' && tools.has('predict') ? lookingAhead(turn, planned, conversation) : turn;
}

function planNext(request: DeskRequest, memory: Memory, tools: ReadonlySet<string>, isDone: boolean): Plan {
  const possible = (act: Act): boolean => tools.has(act.tool);
  if (!isDone) {
    const lookups = unique(
      request.intents.flatMap((intent) => lookupsFor(intent, memory, request.requestedValue)),
    ).filter((act) => possible(act) && !memory.hasFailed(act.tool, act.args));
    if (lookups.length > 0) return { kind: 'read', reasoning: reasonFor(lookups), acts: lookups, answer: '' };
    for (const intent of request.intents) {
      const todo = unique(actsFor(intent, memory)).filter(
        (act) => possible(act) && memory.outcome(act.tool, act.args) === undefined,
      );
      if (todo.length > 0) return { kind: 'write', reasoning: reasonFor(todo), acts: todo, answer: '' };
    }
  }
  return { kind: 'answer', reasoning: 'Everything I can do is done.', acts: [], answer: finalAnswer(request, memory) };
}

function unique(acts: readonly Act[]): Act[] {
  return [...new Map(acts.map((act) => [`${act.tool} ${JSON.stringify(act.args)}`, act])).values()];
}

const REASONS: Readonly<Record<string, string>> = {
  find_member: 'I need to know which member this is.',
  find_books: 'I need the id of the book.',
  list_loans: 'I look at what is on loan.',
  list_fines: 'I look at the fines.',
  renew_loan: 'These loans are to be renewed.',
  return_book: 'This goes back.',
  check_out: 'The book can be lent now.',
  place_hold: 'I put them on the waiting list.',
  pay_fine: 'The fines are paid one by one.',
};

function reasonFor(acts: readonly Act[]): string {
  return [...new Set(acts.map((act) => REASONS[act.tool] ?? `I call ${act.tool}.`))].join(' ');
}
