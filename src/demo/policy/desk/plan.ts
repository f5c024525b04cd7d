/** Plans the calls of a request, as far as the known facts allow. */
import type { TurnCall } from '../../text/completion.ts';
import type { Loan, Memory, Outcome } from './memory.ts';
import type { DeskRequest, Intent, Person, RequestedValue } from './request.ts';

/** A call to make. */
export interface Act {
  readonly tool: string;
  readonly args: Readonly<Record<string, string>>;
}

/** What the clerk plans, before mistakes. */
export interface Plan {
  readonly kind: 'read' | 'write' | 'answer';
  readonly reasoning: string;
  readonly acts: readonly Act[];
  /** The last message; empty while there are calls to make. */
  readonly answer: string;
}

export function callOf({ tool, args }: Act): TurnCall {
  return { name: tool, arguments: JSON.stringify(args) };
}

/** Returns the lookups that an intent needs first, as far as they are known now. */
export function lookupsFor(intent: Intent, memory: Memory, requested: RequestedValue | undefined): Act[] {
  const acts: Act[] = [];
  for (const person of intent.people) {
    const candidates = memory.candidates(person);
    if (candidates === undefined) {
      acts.push({ tool: 'find_member', args: { name: person.name } });
      continue;
    }
    const id = memberId(person, memory);
    if (id === undefined) continue;
    const ofMember = { member_id: id };
    const readsFines = intent.verb === 'look' && requested === 'owed';
    const needsLoans = intent.verb === 'renew' || intent.verb === 'return' || (intent.verb === 'look' && !readsFines);
    if (needsLoans && !memory.loans.has(id)) acts.push({ tool: 'list_loans', args: ofMember });
    const needsFines = readsFines || (intent.verb === 'pay' && intent.which === 'all');
    if (needsFines && !memory.fines.has(id)) acts.push({ tool: 'list_fines', args: ofMember });
  }
  if (intent.verb === 'borrow' || intent.verb === 'hold') {
    for (const title of intent.titles) {
      if (!memory.books.has(title.toLowerCase())) acts.push({ tool: 'find_books', args: { text: title } });
    }
  }
  return acts;
}

/** Returns all calls of an intent, done or not. */
export function actsFor(intent: Intent, memory: Memory): Act[] {
  return intent.people.flatMap((person): Act[] => {
    const member_id = memberId(person, memory);
    if (member_id === undefined) return [];
    switch (intent.verb) {
      case 'look':
        return [];
      case 'renew':
        return loansFor(intent, memory.loans.get(member_id) ?? []).map((loan) => renewal(loan, intent, memory));
      case 'return':
        return loansFor(intent, memory.loans.get(member_id) ?? []).map(({ loan_id }) => ({
          tool: 'return_book',
          args: { loan_id },
        }));
      case 'pay':
        return finesFor(intent, member_id, memory).map((fine_id) => ({ tool: 'pay_fine', args: { fine_id } }));
      case 'borrow':
      case 'hold':
        return intent.titles.flatMap((title) => {
          const book_id = memory.books.get(title.toLowerCase());
          return book_id === undefined || book_id === null
            ? []
            : [{ tool: intent.verb === 'borrow' ? 'check_out' : 'place_hold', args: { member_id, book_id } }];
        });
    }
  });
}

/** Renews a loan, or returns it if it cannot be renewed and the request says so. */
function renewal({ loan_id }: Loan, intent: Intent, memory: Memory): Act {
  const refused = memory.outcome('renew_loan', { loan_id })?.state === 'refused';
  return { tool: refused && intent.otherwise === 'return' ? 'return_book' : 'renew_loan', args: { loan_id } };
}

function loansFor(intent: Intent, loans: readonly Loan[]): readonly Loan[] {
  if (intent.which === 'all') return loans;
  if (intent.which === 'overdue') return loans.filter((loan) => loan.days_overdue > 0);
  return loans.filter((loan) => intent.titles.some((title) => title.toLowerCase() === loan.title.toLowerCase()));
}

/** Returns all fines on the list, or those from books returned in this conversation. */
function finesFor(intent: Intent, memberId: string, memory: Memory): string[] {
  if (intent.which === 'all') return (memory.fines.get(memberId)?.fines ?? []).map((fine) => fine.fine_id);
  return memory.results('return_book').flatMap((result) => result.fine?.fine_id ?? []);
}

/** Returns the ID of a person's member, if there is exactly one. */
export function memberId(person: Person, memory: Memory): string | undefined {
  const candidates = memory.candidates(person) ?? [];
  return candidates.length === 1 ? candidates[0]?.member_id : undefined;
}

/** Returns all refused or failed parts of a request, with the reason. */
export function setbacks(request: DeskRequest, memory: Memory): Extract<Outcome, { why: string }>[] {
  return request.intents
    .flatMap((intent) => actsFor(intent, memory))
    .flatMap((act) => {
      const outcome = memory.outcome(act.tool, act.args);
      return outcome === undefined || outcome.state === 'done' ? [] : [outcome];
    });
}
