import { tool, type ToolContext } from 'rollout-studio';
import { z } from 'zod';
import type { Desk } from '../worlds/library/desk.ts';

export const place_hold = tool({
  description: 'Puts a member on the waiting list for a book with no free copy. A member can have up to 3 holds.',
  input: z.object({
    member_id: z.string().regex(/^M-\d+$/, 'a member ID like M-1001').describe('ID of a member, from find_member'),
    book_id: z.string().regex(/^B-\d+$/, 'a book ID like B-201').describe('ID of a book, from find_books'),
  }),
  effect: 'restorable',
  run: (args, { state: desk }: ToolContext<Desk>) => desk.placeHold(args.member_id, args.book_id),
});
