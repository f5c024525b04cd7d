/**
 * The clerk at the small desk of `examples/training`: used if its three tools are available. By rule: it looks up the
 * member, then the loans, then renews what the question names, and answers in the words that the tasks expect. With a
 * temperature, it guesses, gives up, or picks another loan at times, so that its attempts have to be filtered.
 */
import { z } from 'zod';
import type { Random } from '../random.ts';
import type { Turn } from '../text/completion.ts';
import type { Conversation } from './conversation.ts';
import type { PastCall } from './pastCall.ts';

/** How often it errs in a turn at temperature 1. */
const SLIP = 0.08;

const loansResult = z.object({ loans: z.array(z.object({ title: z.string(), loan_id: z.string(), due: z.string() })) });
const memberResult = z.object({ member_id: z.string() });
const dueResult = z.object({ due: z.string() });

const NO_MEMBER = 'There is no such member.';

export function isSmallDesk(tools: ReadonlySet<string>): boolean {
  return tools.has('find_member') && tools.has('loans_of');
}

export function smallDesk({ requests, calls }: Conversation, random: Random, temperature: number): Turn {
  const question = requests.at(-1) ?? '';
  const quoted = [...question.matchAll(/"([^"]+)"/g)].map(([, text]) => text ?? '');
  const name = quoted.at(-1);
  if (name === undefined) return answer('Which member is it?');
  const slips = (): boolean => random.chance(SLIP * temperature);
  const found = calls.find((call) => call.name === 'find_member');
  if (found === undefined)
    return slips() ? answer(`${name} has ${1 + random.below(3)} loans.`) : calling('find_member', { name });
  const member = read(found, memberResult)?.member_id;
  if (member === undefined) return answer(NO_MEMBER);
  const listed = calls.find((call) => call.name === 'loans_of');
  if (listed === undefined) return slips() ? answer(NO_MEMBER) : calling('loans_of', { member_id: member });
  const loans = read(listed, loansResult)?.loans ?? [];
  if (question.startsWith('How many')) return answer(`${name} has ${loans.length} loans.`);
  const wanted = slips() ? random.pick(loans) : loans.find(({ title }) => title === quoted[0]);
  if (wanted === undefined) return answer('There is no such loan.');
  if (question.startsWith('When')) return answer(`It is due ${wanted.due}.`);
  const renewed = calls.find((call) => call.name === 'renew_loan');
  if (renewed !== undefined) return answer(`Renewed until ${read(renewed, dueResult)?.due ?? wanted.due}.`);
  // It says so without doing it.
  return slips() ? answer(`Renewed until ${wanted.due}.`) : calling('renew_loan', { loan_id: wanted.loan_id });
}

/** Returns the result of a call; undefined if it failed or is something else. */
function read<T>({ result }: PastCall, schema: z.ZodType<T>): T | undefined {
  if (result?.ok !== true) return undefined;
  const parsed = schema.safeParse(result.value);
  return parsed.success ? parsed.data : undefined;
}

function calling(name: string, args: object): Turn {
  return { reasoning: '', content: '', calls: [{ name, arguments: JSON.stringify(args) }] };
}

function answer(content: string): Turn {
  return { reasoning: '', content, calls: [] };
}
