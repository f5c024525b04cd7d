/**
 * The rules of the desk. Each tool calls one method. If a rule forbids the call, the method throws `Not allowed: …`,
 * which the agent sees as the result.
 */
import type { Database } from './database.ts';

/** The date never changes, so that every attempt has the same one. */
export const TODAY = '2026-03-16';

const LOAN_DAYS = 21;
const RENEWAL_DAYS = 14;
const MAX_RENEWALS = 2;
const MAX_LOANS = 5;
const MAX_HOLDS = 3;
/** A member who owes this much or more cannot borrow. */
const FINE_LIMIT_CENTS = 500;
const OVERDUE_CENTS_PER_DAY = 20;
const MAX_OVERDUE_CENTS = 600;

type Member = { id: string; name: string; address: string; card_expires: string };
type Book = { id: string; title: string; author: string; year: number };
type OpenLoan = { id: string; member_id: string; due: string; renewals: number; copy_id: string; book_id: string; title: string };
type Fine = { id: string; member_id: string; reason: string; cents: number; paid: string | null };

const OPEN_LOANS = `SELECT loans.id, member_id, due, renewals, copy_id, book_id, title
  FROM loans JOIN copies ON copies.id = copy_id JOIN books ON books.id = book_id WHERE returned IS NULL`;
/** Neither on loan nor kept on the hold shelf. */
const FREE_COPIES = `SELECT id FROM copies WHERE book_id = ?
  AND NOT EXISTS (SELECT 1 FROM loans WHERE copy_id = copies.id AND returned IS NULL)
  AND NOT EXISTS (SELECT 1 FROM holds WHERE copy_id = copies.id AND status = 'ready') ORDER BY id`;

/** A rule forbids the call. */
class NotAllowed extends Error {
  constructor(reason: string) {
    super(`Not allowed: ${reason}.`);
  }
}

export class Desk {
  readonly #db: Database;

  constructor(database: Database) {
    this.#db = database;
  }

  // ---- lookups ----

  findMembers(name: string) {
    const members = this.#db.all<Member>('SELECT * FROM members WHERE instr(lower(name), lower(?)) > 0 ORDER BY id', name.trim());
    return members.map(({ id, ...rest }) => ({ member_id: id, ...rest }));
  }

  findBooks(text: string) {
    const books = this.#db.all<Book>('SELECT * FROM books WHERE instr(lower(title || char(10) || author), lower(?)) > 0 ORDER BY id LIMIT 10', text.trim());
    return books.map(({ id, ...rest }) => ({
      book_id: id, ...rest,
      copies: this.#count('SELECT count(*) AS n FROM copies WHERE book_id = ?', id),
      available: this.#db.all(FREE_COPIES, id).length,
      waiting: this.#count("SELECT count(*) AS n FROM holds WHERE book_id = ? AND status = 'waiting'", id),
    }));
  }

  loansOf(memberId: string) {
    this.#member(memberId);
    return this.#db.all<OpenLoan>(`${OPEN_LOANS} AND member_id = ? ORDER BY due, loans.id`, memberId).map((loan) => ({
      loan_id: loan.id, book_id: loan.book_id, title: loan.title, due: loan.due, days_overdue: daysOverdue(loan.due), renewals: loan.renewals,
    }));
  }

  finesOf(memberId: string) {
    this.#member(memberId);
    const fines = this.#db.all<Fine>('SELECT * FROM fines WHERE member_id = ? AND paid IS NULL ORDER BY id', memberId);
    return { fines: fines.map(({ id, reason, cents }) => ({ fine_id: id, reason, amount: euros(cents) })), total: euros(this.#owed(memberId)) };
  }

  // ---- changes ----

  renew(loanId: string) {
    const loan = this.#openLoan(loanId);
    if (loan.renewals >= MAX_RENEWALS) throw new NotAllowed(`"${loan.title}" was renewed ${loan.renewals} times already; ${MAX_RENEWALS} is the limit`);
    if (this.#nextHold(loan.book_id) !== undefined) throw new NotAllowed(`another member waits for "${loan.title}"`);
    const due = addDays(loan.due > TODAY ? loan.due : TODAY, RENEWAL_DAYS);
    this.#db.run('UPDATE loans SET due = ?, renewals = renewals + 1 WHERE id = ?', due, loanId);
    return { loan_id: loanId, title: loan.title, due, renewals: loan.renewals + 1 };
  }

  checkOut(memberId: string, bookId: string) {
    const member = this.#member(memberId);
    const book = this.#book(bookId);
    const owed = this.#owed(memberId);
    if (member.card_expires < TODAY) throw new NotAllowed(`the card of ${member.name} expired on ${member.card_expires}`);
    if (owed >= FINE_LIMIT_CENTS) throw new NotAllowed(`${member.name} owes ${euros(owed)}; from ${euros(FINE_LIMIT_CENTS)} on nothing can be borrowed`);
    if (this.loansOf(memberId).length >= MAX_LOANS) throw new NotAllowed(`${member.name} has ${MAX_LOANS} loans, which is the limit`);
    const ready = this.#db.get<{ id: string; copy_id: string }>("SELECT id, copy_id FROM holds WHERE book_id = ? AND member_id = ? AND status = 'ready'", bookId, memberId);
    const copyId = ready?.copy_id ?? this.#db.get<{ id: string }>(FREE_COPIES, bookId)?.id;
    if (copyId === undefined) throw new NotAllowed(`no copy of "${book.title}" is free; a hold can be placed`);
    const due = addDays(TODAY, LOAN_DAYS);
    return this.#db.atomically(() => {
      const loanId = this.#db.insert('loans', { copy_id: copyId, member_id: memberId, borrowed: TODAY, due, renewals: 0, returned: null });
      if (ready !== undefined) this.#db.run("UPDATE holds SET status = 'fulfilled' WHERE id = ?", ready.id);
      return { loan_id: loanId, copy_id: copyId, title: book.title, due };
    });
  }

  /** A late return costs a fine. The book is kept for the first member waiting for it, if any. */
  returnLoan(loanId: string) {
    const loan = this.#openLoan(loanId);
    const cents = Math.min(daysOverdue(loan.due) * OVERDUE_CENTS_PER_DAY, MAX_OVERDUE_CENTS);
    const hold = this.#nextHold(loan.book_id);
    return this.#db.atomically(() => {
      this.#db.run('UPDATE loans SET returned = ? WHERE id = ?', TODAY, loanId);
      const fineId = cents === 0 ? null
        : this.#db.insert('fines', { member_id: loan.member_id, loan_id: loanId, reason: `"${loan.title}" returned late`, cents, paid: null });
      if (hold !== undefined) this.#db.run("UPDATE holds SET status = 'ready', copy_id = ? WHERE id = ?", loan.copy_id, hold.id);
      return {
        loan_id: loanId, title: loan.title, returned: TODAY,
        fine: fineId === null ? null : { fine_id: fineId, amount: euros(cents) },
        kept_for: hold === undefined ? null : { member_id: hold.member_id, name: this.#member(hold.member_id).name },
      };
    });
  }

  placeHold(memberId: string, bookId: string) {
    const member = this.#member(memberId);
    const book = this.#book(bookId);
    const active = this.#db.all<{ book_id: string }>("SELECT book_id FROM holds WHERE member_id = ? AND status IN ('waiting', 'ready')", memberId);
    if (active.some((hold) => hold.book_id === bookId)) throw new NotAllowed(`${member.name} has a hold on "${book.title}" already`);
    if (active.length >= MAX_HOLDS) throw new NotAllowed(`${member.name} has ${MAX_HOLDS} holds, which is the limit`);
    if (this.loansOf(memberId).some((loan) => loan.book_id === bookId)) throw new NotAllowed(`${member.name} has "${book.title}" on loan`);
    if (this.#db.all(FREE_COPIES, bookId).length > 0) throw new NotAllowed(`a copy of "${book.title}" is free; it can be checked out`);
    const position = this.#count("SELECT count(*) AS n FROM holds WHERE book_id = ? AND status = 'waiting'", bookId) + 1;
    const holdId = this.#db.insert('holds', { book_id: bookId, member_id: memberId, placed: TODAY, status: 'waiting', copy_id: null });
    return { hold_id: holdId, title: book.title, position };
  }

  payFine(fineId: string) {
    const fine = this.#db.get<Fine>('SELECT * FROM fines WHERE id = ?', fineId);
    if (fine === undefined) throw new Error(`There is no fine ${fineId}.`);
    if (fine.paid !== null) throw new NotAllowed(`fine ${fineId} was paid on ${fine.paid}`);
    this.#db.run('UPDATE fines SET paid = ? WHERE id = ?', TODAY, fineId);
    return { fine_id: fineId, paid: euros(fine.cents), still_owed: euros(this.#owed(fine.member_id)) };
  }

  // ---- helpers of the rules ----

  #member(id: string): Member {
    const member = this.#db.get<Member>('SELECT * FROM members WHERE id = ?', id);
    if (member === undefined) throw new Error(`There is no member ${id}.`);
    return member;
  }

  #book(id: string): Book {
    const book = this.#db.get<Book>('SELECT * FROM books WHERE id = ?', id);
    if (book === undefined) throw new Error(`There is no book ${id}.`);
    return book;
  }

  #openLoan(id: string): OpenLoan {
    const loan = this.#db.get<OpenLoan>(`${OPEN_LOANS} AND loans.id = ?`, id);
    if (loan === undefined) throw new Error(`There is no open loan ${id}.`);
    return loan;
  }

  /** Returns the hold that has waited longest. */
  #nextHold(bookId: string): { id: string; member_id: string } | undefined {
    return this.#db.get("SELECT id, member_id FROM holds WHERE book_id = ? AND status = 'waiting' ORDER BY placed, id", bookId);
  }

  #owed(memberId: string): number {
    return this.#count('SELECT coalesce(sum(cents), 0) AS n FROM fines WHERE member_id = ? AND paid IS NULL', memberId);
  }

  #count(sql: string, value: string): number {
    return this.#db.get<{ n: number }>(sql, value)?.n ?? 0;
  }
}

/** Dates are `YYYY-MM-DD`, so they can be compared as text. */
function addDays(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

function daysOverdue(due: string): number {
  return due >= TODAY ? 0 : Math.round((Date.parse(TODAY) - Date.parse(due)) / 86_400_000);
}

function euros(cents: number): string {
  return (cents / 100).toFixed(2);
}
