/** Parses the argument of context menus in the Testing view. */
import { z } from 'zod';

/** The identifying fields of a `vscode.TestItem`. */
const item = z.object({
  id: z.string(),
  parent: z
    .object({ id: z.string() })
    .nullish()
    .transform((parent) => parent?.id),
});
export type MenuItem = z.infer<typeof item>;

/** Returns undefined if the argument is not a test item. */
export function menuItem(argument: unknown): MenuItem | undefined {
  return item.safeParse(argument).data;
}
