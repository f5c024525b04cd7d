import { tool, type ToolContext } from 'rollout-studio';
import { z } from 'zod';
import type { Desk } from '../worlds/library/desk.ts';

export const find_member = tool({
  description: 'Finds members by name or part of it. Names are not unique: check the address. Returns an empty list if nobody has this name.',
  input: z.object({ name: z.string().min(2).describe('Full name or part of it, e.g. "Mira Okafor"') }),
  effect: 'pure',
  run: ({ name }, { state: desk }: ToolContext<Desk>) => desk.findMembers(name),
});
