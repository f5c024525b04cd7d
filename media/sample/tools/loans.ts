import { tool, type ToolContext } from 'rollout-studio';
import { z } from 'zod';
import type { Desk } from '../worlds/library/desk.ts';

const loan_id = z.string().regex(/^L-\d+$/, 'a loan ID like L-3001').describe('ID of a loan, from list_loans');
const member_id = z.string().regex(/^M-\d+$/, 'a member ID like M-1001').describe('ID of a member, from find_member');
const book_id = z.string().regex(/^B-\d+$/, 'a book ID like B-201').describe('ID of a book, from find_books');

export const list_loans = tool({
  description: 'Lists the loans of a member, with due dates and days overdue.',
  input: z.object({ member_id }),
  effect: 'pure',
  run: (args, { state: desk }: ToolContext<Desk>) => desk.loansOf(args.member_id),
});

export const renew_loan = tool({
  description: 'Renews one loan by 14 days from its due date or from today, whichever is later. Possible twice, unless another member is waiting for the book.',
  input: z.object({ loan_id }),
  effect: 'restorable',
  run: (args, { state: desk }: ToolContext<Desk>) => desk.renew(args.loan_id),
});

export const check_out = tool({
  description: 'Lends a free copy of a book, or the one kept for this member, for 21 days. Not possible with an expired card, 5 loans, or fines of 5.00 or more.',
  input: z.object({ member_id, book_id }),
  effect: 'restorable',
  run: (args, { state: desk }: ToolContext<Desk>) => desk.checkOut(args.member_id, args.book_id),
});

export const return_book = tool({
  description: 'Returns a loan. The result contains the fine if it was late (0.20 per day), and the member the book is now kept for, if any.',
  input: z.object({ loan_id }),
  effect: 'restorable',
  run: (args, { state: desk }: ToolContext<Desk>) => desk.returnLoan(args.loan_id),
});
