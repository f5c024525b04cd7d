import type { Memory } from './memory.ts';
import { memberId, setbacks } from './plan.ts';
import type { DeskRequest, RequestedValue } from './request.ts';

/**
 * Returns the last message: only the requested value if there is one, otherwise a line about what was done and what was
 * not.
 */
export function finalAnswer(request: DeskRequest, memory: Memory): string {
  const unknown = request.people.filter((person) => memberId(person, memory) === undefined);
  if (request.intents.length === 0)
    return 'I did not understand what to do. The demo model knows renewing, returning, borrowing, holds and fines.';
  for (const person of unknown) {
    const count = memory.candidates(person)?.length ?? 0;
    if (count > 1) return `There are ${count} members called ${person.name}. Which address?`;
    return `I found no member called ${person.name}.`;
  }
  const problems = setbacks(request, memory);
  if (request.refusal !== undefined && problems.length > 0) return request.refusal;
  const value = request.requestedValue === undefined ? undefined : valueOf(request.requestedValue, request, memory);
  if (value !== undefined) return value;
  if (problems.length > 0) return `Not everything could be done. ${problems.map((problem) => problem.why).join(' ')}`;
  const actions = actionsIn(memory);
  return actions.length === 0 ? 'There was nothing to do.' : `Done: ${actions.join(', ')}.`;
}

function valueOf(requested: RequestedValue, request: DeskRequest, memory: Memory): string | undefined {
  const ids = request.people.flatMap((person) => memberId(person, memory) ?? []);
  const loans = ids.flatMap((id) => memory.loans.get(id) ?? []);
  switch (requested) {
    case 'due': {
      const titles = request.intents.flatMap((intent) => intent.titles.map((title) => title.toLowerCase()));
      return (
        memory.results('check_out').at(-1) ??
        memory.results('renew_loan').at(-1) ??
        loans.find((loan) => titles.includes(loan.title.toLowerCase()))
      )?.due;
    }
    case 'position': {
      const position = memory.results('place_hold').at(-1)?.position;
      return position === undefined ? undefined : String(position);
    }
    case 'renewed':
      return String(memory.results('renew_loan').length);
    case 'returned':
      return String(memory.results('return_book').length);
    case 'loans':
      return String(loans.length);
    case 'overdue':
      return String(loans.filter((loan) => loan.days_overdue > 0).length);
    case 'paid':
      return sum(memory.results('pay_fine').map((result) => result.paid ?? '0'));
    case 'owed':
      return sum(ids.map((id) => memory.fines.get(id)?.total ?? '0'));
  }
}

function actionsIn(memory: Memory): string[] {
  const titles = (tool: string, verb: string): string[] =>
    memory.results(tool).map((result) => `${verb} "${result.title ?? ''}"`);
  const paid = memory.results('pay_fine');
  return [
    ...titles('renew_loan', 'renewed'),
    ...titles('return_book', 'took back'),
    ...titles('check_out', 'lent'),
    ...titles('place_hold', 'placed a hold on'),
    ...(paid.length === 0 ? [] : [`took ${sum(paid.map((result) => result.paid ?? '0'))} in fines`]),
  ];
}

/** Adds amounts, which are texts like 3.40; cents add up without rounding errors. */
function sum(amounts: readonly string[]): string {
  return (amounts.reduce((cents, amount) => cents + Math.round(Number(amount) * 100), 0) / 100).toFixed(2);
}
