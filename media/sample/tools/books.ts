import { tool, type ToolContext } from 'rollout-studio';
import { z } from 'zod';
import type { Desk } from '../worlds/library/desk.ts';

export const find_books = tool({
  description: 'Finds up to 10 books by part of the title or the author. Returns how many copies there are, how many are free, and how many members are waiting.',
  input: z.object({ text: z.string().min(2).describe('Part of a title or an author, e.g. "Salt Road"') }),
  effect: 'pure',
  run: ({ text }, { state: desk }: ToolContext<Desk>) => desk.findBooks(text),
});
