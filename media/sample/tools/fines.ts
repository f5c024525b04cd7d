import { tool, type ToolContext } from 'rollout-studio';
import { z } from 'zod';
import type { Desk } from '../worlds/library/desk.ts';

export const list_fines = tool({
  description: 'Lists the unpaid fines of a member, and their total in euros.',
  input: z.object({ member_id: z.string().regex(/^M-\d+$/, 'a member ID like M-1001').describe('ID of a member, from find_member') }),
  effect: 'pure',
  run: (args, { state: desk }: ToolContext<Desk>) => desk.finesOf(args.member_id),
});

export const pay_fine = tool({
  description: 'Records the full payment of one fine.',
  input: z.object({ fine_id: z.string().regex(/^F-\d+$/, 'a fine ID like F-501').describe('ID of a fine, from list_fines or return_book') }),
  effect: 'restorable',
  run: (args, { state: desk }: ToolContext<Desk>) => desk.payFine(args.fine_id),
});
