/** The sample's library, with the rules of its desk: what each tool returns, or the error that it throws. */
import type { Json, JsonObject } from '../../../common/json.ts';
import type { LibraryRows } from './rows.ts';

const LOAN_DAYS = 21;
const RENEWAL_DAYS = 14;
const MAX_RENEWALS = 2;
const MAX_LOANS = 5;
const MAX_HOLDS = 3;
const FINE_LIMIT_CENTS = 500;
const OVERDUE_CENTS_PER_DAY = 20;
const MAX_OVERDUE_CENTS = 600;
const MAX_BOOKS = 10;
const DAY_MS = 86_400_000;

type Row<K extends keyof LibraryRows> = LibraryRows[K] extends (infer R)[] ? R : never;

/** A call that the desk refuses. */
export class Refused extends Error {}

export class Library {
  readonly #rows: LibraryRows;

  constructor(rows: LibraryRows) {
    // Calls change only these tables. A structured clone of all takes most of the time of a call.
    const { loans, holds, fines } = rows;
    this.#rows = { ...rows, loans: copyOf(loans), holds: copyOf(holds), fines: copyOf(fines) };
  }

  /** Makes a call. Throws Refused; undefined for an unknown tool. */
  call(tool: string, args: JsonObject): Json | undefined {
    const arg = (name: string): string => {
      const value = args[name];
      if (typeof value === 'string') return value;
      throw new Refused(`${name} is missing.`);
    };
    switch (tool) {
      case 'find_member':
        return this.#findMembers(arg('name'));
      case 'find_books':
        return this.#findBooks(arg('text'));
      case 'list_loans':
        return this.#loansOf(arg('member_id'));
      case 'list_fines':
        return this.#finesOf(arg('member_id'));
      case 'renew_loan':
        return this.#renew(arg('loan_id'));
      case 'check_out':
        return this.#checkOut(arg('member_id'), arg('book_id'));
      case 'return_book':
        return this.#return(arg('loan_id'));
      case 'place_hold':
        return this.#placeHold(arg('member_id'), arg('book_id'));
      case 'pay_fine':
        return this.#pay(arg('fine_id'));
      default:
        return undefined;
    }
  }

  #findMembers(name: string): Json {
    const part = name.trim().toLowerCase();
    return byId(this.#rows.members.filter((member) => member.name.toLowerCase().includes(part))).map(
      ({ id, name: whole, address, card_expires }) => ({ member_id: id, name: whole, address, card_expires }),
    );
  }

  #findBooks(text: string): Json {
    const part = text.trim().toLowerCase();
    const found = this.#rows.books.filter(({ title, author }) => `${title}\n${author}`.toLowerCase().includes(part));
    return byId(found)
      .slice(0, MAX_BOOKS)
      .map(({ id, title, author, year }) => ({
        book_id: id,
        title,
        author,
        year,
        copies: this.#rows.copies.filter(({ book_id }) => book_id === id).length,
        available: this.#freeCopies(id).length,
        waiting: this.#waiting(id).length,
      }));
  }

  #loansOf(memberId: string): Json {
    this.#member(memberId);
    return this.#openLoans(memberId).map((loan) => {
      const { id, title } = this.#bookOf(loan);
      const days = this.#daysOverdue(loan.due);
      return { loan_id: loan.id, book_id: id, title, due: loan.due, days_overdue: days, renewals: loan.renewals };
    });
  }

  #finesOf(memberId: string): Json {
    this.#member(memberId);
    const fines = byId(this.#unpaid(memberId));
    return {
      fines: fines.map(({ id, reason, cents }) => ({ fine_id: id, reason, amount: euros(cents) })),
      total: euros(this.#owed(memberId)),
    };
  }

  #renew(loanId: string): Json {
    const loan = this.#openLoan(loanId);
    const { id, title } = this.#bookOf(loan);
    if (loan.renewals >= MAX_RENEWALS)
      throw notAllowed(`"${title}" was renewed ${loan.renewals} times already; ${MAX_RENEWALS} is the limit`);
    if (this.#waiting(id).length > 0) throw notAllowed(`another member waits for "${title}"`);
    loan.due = addDays(loan.due > this.#rows.today ? loan.due : this.#rows.today, RENEWAL_DAYS);
    loan.renewals++;
    return { loan_id: loanId, title, due: loan.due, renewals: loan.renewals };
  }

  #checkOut(memberId: string, bookId: string): Json {
    const member = this.#member(memberId);
    const book = this.#book(bookId);
    const owed = this.#owed(memberId);
    const { today } = this.#rows;
    if (member.card_expires < today) throw notAllowed(`the card of ${member.name} expired on ${member.card_expires}`);
    if (owed >= FINE_LIMIT_CENTS)
      throw notAllowed(
        `${member.name} owes ${euros(owed)}; from ${euros(FINE_LIMIT_CENTS)} on nothing can be borrowed`,
      );
    if (this.#openLoans(memberId).length >= MAX_LOANS)
      throw notAllowed(`${member.name} has ${MAX_LOANS} loans, which is the limit`);
    const ready = this.#rows.holds.find(
      (hold) => hold.book_id === bookId && hold.member_id === memberId && hold.status === 'ready',
    );
    const copy = ready?.copy_id ?? this.#freeCopies(bookId)[0]?.id;
    if (copy === undefined) throw notAllowed(`no copy of "${book.title}" is free; a hold can be placed`);
    const due = addDays(today, LOAN_DAYS);
    const id = nextId(this.#rows.loans, 'L');
    this.#rows.loans.push({ id, copy_id: copy, member_id: memberId, due, renewals: 0, returned: null });
    if (ready !== undefined) ready.status = 'fulfilled';
    return { loan_id: id, copy_id: copy, title: book.title, due };
  }

  #return(loanId: string): Json {
    const loan = this.#openLoan(loanId);
    const { id, title } = this.#bookOf(loan);
    const cents = Math.min(this.#daysOverdue(loan.due) * OVERDUE_CENTS_PER_DAY, MAX_OVERDUE_CENTS);
    const [hold] = this.#waiting(id);
    loan.returned = this.#rows.today;
    let fine: Json = null;
    if (cents > 0) {
      const fineId = nextId(this.#rows.fines, 'F');
      const reason = `"${title}" returned late`;
      this.#rows.fines.push({ id: fineId, member_id: loan.member_id, reason, cents, paid: null });
      fine = { fine_id: fineId, amount: euros(cents) };
    }
    if (hold !== undefined) Object.assign(hold, { status: 'ready', copy_id: loan.copy_id });
    const kept = hold === undefined ? null : { member_id: hold.member_id, name: this.#member(hold.member_id).name };
    return { loan_id: loanId, title, returned: this.#rows.today, fine, kept_for: kept };
  }

  #placeHold(memberId: string, bookId: string): Json {
    const { name } = this.#member(memberId);
    const { title } = this.#book(bookId);
    const active = this.#rows.holds.filter(
      ({ member_id, status }) => member_id === memberId && (status === 'waiting' || status === 'ready'),
    );
    if (active.some((hold) => hold.book_id === bookId)) throw notAllowed(`${name} has a hold on "${title}" already`);
    if (active.length >= MAX_HOLDS) throw notAllowed(`${name} has ${MAX_HOLDS} holds, which is the limit`);
    if (this.#openLoans(memberId).some((loan) => this.#bookOf(loan).id === bookId))
      throw notAllowed(`${name} has "${title}" on loan`);
    if (this.#freeCopies(bookId).length > 0) throw notAllowed(`a copy of "${title}" is free; it can be checked out`);
    const position = this.#waiting(bookId).length + 1;
    const id = nextId(this.#rows.holds, 'H');
    const placed = this.#rows.today;
    this.#rows.holds.push({ id, book_id: bookId, member_id: memberId, placed, status: 'waiting', copy_id: null });
    return { hold_id: id, title, position };
  }

  #pay(fineId: string): Json {
    const fine = this.#rows.fines.find(({ id }) => id === fineId);
    if (fine === undefined) throw new Refused(`There is no fine ${fineId}.`);
    if (fine.paid !== null) throw notAllowed(`fine ${fineId} was paid on ${fine.paid}`);
    fine.paid = this.#rows.today;
    return { fine_id: fineId, paid: euros(fine.cents), still_owed: euros(this.#owed(fine.member_id)) };
  }

  #member(id: string): Row<'members'> {
    return this.#rows.members.find((member) => member.id === id) ?? missing(`member ${id}`);
  }

  #book(id: string): Row<'books'> {
    return this.#rows.books.find((book) => book.id === id) ?? missing(`book ${id}`);
  }

  #bookOf({ copy_id }: Row<'loans'>): Row<'books'> {
    const copy = this.#rows.copies.find(({ id }) => id === copy_id) ?? missing(`copy ${copy_id}`);
    return this.#book(copy.book_id);
  }

  #openLoan(id: string): Row<'loans'> {
    return this.#rows.loans.find((loan) => loan.id === id && loan.returned === null) ?? missing(`open loan ${id}`);
  }

  #openLoans(memberId: string): Row<'loans'>[] {
    return byId(this.#rows.loans.filter((loan) => loan.member_id === memberId && loan.returned === null)).sort((a, b) =>
      order(a.due, b.due),
    );
  }

  /** Neither on loan nor kept on the hold shelf. */
  #freeCopies(bookId: string): Row<'copies'>[] {
    return byId(
      this.#rows.copies.filter(
        ({ id, book_id }) =>
          book_id === bookId &&
          !this.#rows.loans.some((loan) => loan.copy_id === id && loan.returned === null) &&
          !this.#rows.holds.some((hold) => hold.copy_id === id && hold.status === 'ready'),
      ),
    );
  }

  /** The hold that has waited longest comes first. */
  #waiting(bookId: string): Row<'holds'>[] {
    return byId(this.#rows.holds.filter((hold) => hold.book_id === bookId && hold.status === 'waiting')).sort((a, b) =>
      order(a.placed, b.placed),
    );
  }

  #unpaid(memberId: string): Row<'fines'>[] {
    return this.#rows.fines.filter((fine) => fine.member_id === memberId && fine.paid === null);
  }

  #owed(memberId: string): number {
    return this.#unpaid(memberId).reduce((sum, { cents }) => sum + cents, 0);
  }

  #daysOverdue(due: string): number {
    const late = Date.parse(this.#rows.today) - Date.parse(due);
    return late <= 0 ? 0 : Math.round(late / DAY_MS);
  }
}

function notAllowed(reason: string): Refused {
  return new Refused(`Not allowed: ${reason}.`);
}

function missing(what: string): never {
  throw new Refused(`There is no ${what}.`);
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function byId<T extends { readonly id: string }>(rows: readonly T[]): T[] {
  return [...rows].sort((a, b) => order(a.id, b.id));
}

function nextId(rows: readonly { readonly id: string }[], letter: string): string {
  return `${letter}-${Math.max(0, ...rows.map(({ id }) => Number(id.slice(2)))) + 1}`;
}

/** Dates are `YYYY-MM-DD`, so they can be compared as text. */
function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
}

function euros(cents: number): string {
  return (cents / 100).toFixed(2);
}

function copyOf<R extends object>(rows: readonly R[]): R[] {
  return rows.map((row) => ({ ...row }));
}
