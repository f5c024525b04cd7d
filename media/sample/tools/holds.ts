import { tool, type ToolContext } from 'rollout-studio';
import { z } from 'zod';
import type { Desk } from '../worlds/library/desk.ts';

export const place_hold = tool({
  description: 'Puts a member on the waiting list for a book of which no copy is free. At most 3 holds a member.',
  input: z.object({
    member_id: z.string().regex(/^M-\d+$/, 'a member id like M-1001').describe('Id of a member, from find_member'),
    book_id: z.string().regex(/^B-\d+$/, 'a book id like B-201').describe('Id of a book, from find_books'),
  }),
  effect: 'restorable',
  run: (args, { state: desk }: ToolContext<Desk>) => desk.placeHold(args.member_id, args.book_id),
});
