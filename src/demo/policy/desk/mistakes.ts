/**
 * The clerk's mistakes. At temperature 0 there are none; at 1, about half of the attempts at a sample task pass. Longer
 * tasks fail more often, because each step may go wrong. Some mistakes can be fixed in the next turn (arguments that
 * are not JSON, an unknown tool, a misspelled name), others cannot (the wrong loan renewed, a part forgotten, an answer
 * too early). A mistake has an effect only through the text: the clerk remembers only the conversation.
 */

import type { Random } from '../../random.ts';
import type { Turn, TurnCall } from '../../text/completion.ts';
import type { Memory } from './memory.ts';
import { type Act, callOf, type Plan } from './plan.ts';

/** Probability of a mistake at temperature 1: per lookup turn, per action, per last message. */
const RATES = { read: 0.22, write: 0.25, answer: 0.22 };
const MAX_RATE = 0.9;

/** After this text, the clerk considers the request done. */
export const DONE_TEXT = 'I leave the rest as it is.';

/** Returns the turn with a mistake in it, or undefined if there is none this time. */
export function withMistake(plan: Plan, memory: Memory, random: Random, temperature: number): Turn | undefined {
  const chances = plan.kind === 'write' ? plan.acts.length : 1;
  const p = Math.min(MAX_RATE, RATES[plan.kind] * temperature);
  if (!random.chance(1 - (1 - p) ** chances)) return undefined;
  if (plan.kind === 'answer') return wrongAnswer(plan, random);
  const dice = random.next();
  const target = random.below(plan.acts.length);
  const act = plan.acts[target];
  if (act === undefined) return undefined;
  const replaced = (call: TurnCall): Turn =>
    turn(
      plan.reasoning,
      plan.acts.map((other, i) => (i === target ? call : callOf(other))),
    );
  const right = callOf(act);
  if (dice < 0.12) return replaced({ ...right, arguments: right.arguments.slice(0, -1 - random.below(4)) });
  if (dice < 0.24) return replaced({ ...right, name: MISNAMED[act.tool] ?? `${act.tool}s` });
  if (dice < 0.5) return tooEarly(plan, target, random);
  if (plan.kind === 'read') return replaced(callOf(misspelled(act)));
  const extra = otherTarget(act, plan, memory, random);
  if (extra === undefined) return tooEarly(plan, target, random);
  return dice < 0.85 ? replaced(callOf(extra)) : turn(plan.reasoning, [...plan.acts.map(callOf), callOf(extra)]);
}

const MISNAMED: Readonly<Record<string, string>> = {
  find_member: 'search_members',
  find_books: 'find_book',
  list_loans: 'get_loans',
  list_fines: 'get_fines',
  renew_loan: 'renew_book',
  check_out: 'checkout',
  return_book: 'return_loan',
  place_hold: 'reserve_book',
  pay_fine: 'pay_fines',
};

function turn(reasoning: string, calls: readonly TurnCall[], content = ''): Turn {
  return { reasoning, content, calls };
}

/** Forgets one of several calls, or considers everything done. */
function tooEarly(plan: Plan, target: number, random: Random): Turn {
  if (plan.acts.length > 1 && plan.kind === 'write')
    return turn(plan.reasoning, plan.acts.filter((_, i) => i !== target).map(callOf), DONE_TEXT);
  return turn('This should be all.', [], random.chance(0.5) ? 'Everything is done.' : 'I have taken care of it.');
}

/** Shortens a name or changes an ID: the result shows the mistake, and the right lookup follows. */
function misspelled({ tool, args }: Act): Act {
  return {
    tool,
    args: mapValues(args, (value) =>
      /\d$/.test(value) ? value.replace(/\d+$/, (digits) => String(Number(digits) + 7)) : value.slice(0, -2),
    ),
  };
}

/** Uses the wrong loan, fine, or book: one from the conversation if possible. */
function otherTarget(act: Act, plan: Plan, memory: Memory, random: Random): Act | undefined {
  const intended = new Set(plan.acts.flatMap((other) => Object.values(other.args)));
  const candidates: Readonly<Record<string, readonly string[]>> = {
    loan_id: [...memory.loans.values()].flat().map((loan) => loan.loan_id),
    fine_id: [...memory.fines.values()].flatMap((list) => list.fines).map((fine) => fine.fine_id),
    book_id: [...memory.loans.values()].flat().map((loan) => loan.book_id),
  };
  const argument = random.pick(Object.entries(act.args));
  if (argument === undefined) return undefined;
  const [name, value] = argument;
  const others = (candidates[name] ?? []).filter((id) => !intended.has(id));
  return { ...act, args: { ...act.args, [name]: random.pick(others) ?? nextId(value) } };
}

function nextId(id: string): string {
  return id.replace(/\d+$/, (digits) => String(Number(digits) + 1));
}

/**
 * Returns a date that is a week off, a number that is one off, or the wrong word. A message without a value cannot be
 * wrong.
 */
function wrongAnswer(plan: Plan, random: Random): Turn | undefined {
  const { answer } = plan;
  if (/\s/.test(answer)) return undefined;
  const day = /^(\d{4}-\d\d-)(\d\d)$/.exec(answer);
  const wrong =
    day !== null
      ? `${day[1] ?? ''}${String(((Number(day[2]) + 6) % 28) + 1).padStart(2, '0')}`
      : /^\d+\.\d\d$/.test(answer)
        ? (Number(answer) + 0.2 * (1 + random.below(4))).toFixed(2)
        : /^\d+$/.test(answer)
          ? String(Number(answer) + 1)
          : 'done';
  return turn('I give what was asked for.', [], wrong);
}

function mapValues(args: Readonly<Record<string, string>>, change: (value: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, change(value)]));
}
