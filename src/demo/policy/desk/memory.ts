/** What the clerk knows, read from the tool results of the conversation for each turn. */
import { z } from 'zod';
import { isJsonObject, type Json } from '../../../common/json.ts';
import type { Conversation } from '../conversation.ts';
import type { PastCall } from '../pastCall.ts';
import type { Person } from './request.ts';

const member = z.object({ member_id: z.string(), name: z.string(), address: z.string() });
const book = z.object({ book_id: z.string(), title: z.string() });
const loan = z.object({
  loan_id: z.string(),
  book_id: z.string(),
  title: z.string(),
  due: z.string(),
  days_overdue: z.number(),
});
const fine = z.object({ fine_id: z.string(), amount: z.string() });
const fineList = z.object({ fines: z.array(fine), total: z.string() });
const done = z.object({
  title: z.string().optional(),
  due: z.string().optional(),
  paid: z.string().optional(),
  position: z.number().optional(),
  fine: fine.nullish(),
});
type Member = z.infer<typeof member>;
export type Loan = z.infer<typeof loan>;
type FineList = z.infer<typeof fineList>;
export type Done = z.infer<typeof done>;

/** The outcome of an action: done, forbidden by a rule, or abandoned after failures. */
export type Outcome =
  | { readonly state: 'done'; readonly result: Done }
  | { readonly state: 'refused' | 'failed'; readonly why: string };

/** A read that failed this often is not repeated. */
const MAX_FAILURES = 3;

export class Memory {
  readonly #calls: readonly PastCall[];
  /** Members by the name with which they were looked up. */
  readonly members = new Map<string, readonly Member[]>();
  /** IDs of books by title in lower case; null = not found. */
  readonly books = new Map<string, string | null>();
  /** Loans by member, as first listed. */
  readonly loans = new Map<string, readonly Loan[]>();
  readonly fines = new Map<string, FineList>();
  readonly #outcomes = new Map<string, Outcome>();
  readonly #failures = new Map<string, number>();

  constructor({ calls }: Conversation) {
    this.#calls = calls;
    for (const call of calls) this.#add(call);
  }

  /** Returns the outcome of an action; undefined if it should be tried (again). Failures without a rule are retried. */
  outcome(tool: string, args: Readonly<Record<string, string>>): Outcome | undefined {
    return this.#outcomes.get(keyOf(tool, args));
  }

  /** Returns whether a lookup has failed for good. */
  hasFailed(tool: string, args: Readonly<Record<string, string>>): boolean {
    return (this.#failures.get(keyOf(tool, args)) ?? 0) >= MAX_FAILURES;
  }

  /** Returns all members that match a person of the request. */
  candidates(person: Person): readonly Member[] | undefined {
    const found = this.members.get(person.name.toLowerCase());
    const named = found?.filter((candidate) => candidate.name.toLowerCase() === person.name.toLowerCase());
    const { address } = person;
    return address === undefined ? named : named?.filter((candidate) => candidate.address.includes(address));
  }

  /** Returns the results of all successful calls of a tool, in order. */
  results(tool: string): Done[] {
    return this.#calls.flatMap((call) => {
      const result = call.name === tool && call.result?.ok === true ? done.safeParse(call.result.value) : undefined;
      return result?.success === true ? [result.data] : [];
    });
  }

  #add({ name, args, result }: PastCall): void {
    if (args === null || result === undefined) return;
    const key = keyOf(name, args);
    if (name === 'predict') {
      this.#addPrediction(args['tool'], args['arguments'], result);
      return;
    }
    if (!result.ok) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      if (/not allowed/i.test(result.text)) this.#outcomes.set(key, { state: 'refused', why: result.text });
      else if (failures >= MAX_FAILURES) this.#outcomes.set(key, { state: 'failed', why: result.text });
      return;
    }
    const { value } = result;
    const textOf = (argument: string): string => (typeof args[argument] === 'string' ? args[argument] : '');
    const memberId = textOf('member_id');
    if (name === 'find_member')
      this.#parse(z.array(member), value, (found) => this.members.set(textOf('name').toLowerCase(), found));
    else if (name === 'find_books') {
      this.#parse(z.array(book), value, (found) => {
        for (const { title, book_id } of found) this.books.set(title.toLowerCase(), book_id);
        const text = textOf('text').toLowerCase();
        if (!this.books.has(text)) this.books.set(text, null);
      });
    } else if (name === 'list_loans') {
      this.#parse(z.array(loan), value, (found) => {
        if (!this.loans.has(memberId)) this.loans.set(memberId, found);
        for (const { title, book_id } of found) this.books.set(title.toLowerCase(), book_id);
      });
    } else if (name === 'list_fines') {
      this.#parse(fineList, value, (found) => {
        if (!this.fines.has(memberId)) this.fines.set(memberId, found);
      });
    } else this.#parse(done, value, (found) => this.#outcomes.set(key, { state: 'done', result: found }));
  }

  /** A rule that forbids a call is known once it is predicted. */
  #addPrediction(tool: Json = null, args: Json = null, result: NonNullable<PastCall['result']>): void {
    if (result.ok || typeof tool !== 'string' || !isJsonObject(args) || !/not allowed/i.test(result.text)) return;
    this.#outcomes.set(keyOf(tool, args), { state: 'refused', why: result.text });
  }

  #parse<T>(schema: z.ZodType<T>, value: unknown, keep: (found: T) => void): void {
    const read = schema.safeParse(value);
    if (read.success) keep(read.data);
  }
}

function keyOf(tool: string, args: Readonly<Record<string, unknown>>): string {
  return `${tool} ${Object.keys(args)
    .sort()
    .map((name) => `${name}=${String(args[name])}`)
    .join(' ')}`;
}
