import { tool, type ToolContext } from 'rollout-studio';
import { z } from 'zod';
import type { Desk } from '../worlds/library/desk.ts';

export const find_books = tool({
  description: 'Finds books by a part of the title or the author. Tells how many copies there are, how many are free, and how many members wait. At most 10.',
  input: z.object({ text: z.string().min(2).describe('Part of a title or an author, e.g. "Salt Road"') }),
  effect: 'pure',
  run: ({ text }, { state: desk }: ToolContext<Desk>) => desk.findBooks(text),
});
